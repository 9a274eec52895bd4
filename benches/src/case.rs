//! What is done with locks of any kind.

use crate::locks::Locks;
use crate::work;
use crossbeam_utils::CachePadded;
use std::hint::black_box;

/// What is done: pairs of lock and unlock, on so many locks, with so much in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// A mutex, all threads the same; an increment inside.
    Mutex,
    /// The same with 250 ns of work inside.
    MutexWorking,
    /// A reader-writer lock for reading, all threads the same; a load inside.
    Read,
    /// A reader-writer lock for writing, all threads the same; an increment inside.
    Write,
    /// A mutex and inside it another one.
    Nested,
    /// Each thread has a mutex of its own, all of one class; an increment inside.
    Disjoint,
    /// The same with 100 ns of work inside.
    DisjointWorking,
    /// A reader-writer lock for reading, all threads the same, with 100 ns of work inside.
    ReadHerd,
    /// Makes a mutex and drops it.
    Create,
    /// Makes a mutex, locks it once and drops it.
    CreateAndUse,
}

/// A case with its locks: does as many pairs as the second number says, as the thread that the first
/// number says.
pub type Run = Box<dyn Fn(usize, u64) + Send + Sync>;

/// A loop around one expression, which may use the thread's number.
macro_rules! run {
    ($thread:ident => $body:expr) => {
        Box::new(move |$thread, n| {
            for _ in 0..n {
                $body;
            }
        })
    };
}

impl Case {
    /// Whether threads have to wait for each other, and sleep.
    pub fn sleeps(self) -> bool {
        matches!(self, Case::Mutex | Case::MutexWorking)
    }

    /// The case with new locks of kind `L`, for so many threads.
    pub fn of<L: Locks>(self, threads: usize) -> Run {
        // Each in a cache line of its own: where an allocator puts them is nobody's merit.
        let mutex = CachePadded::new(L::mutex());
        let rwlock = CachePadded::new(L::rwlock());
        // Finds out how long that is, before a lock is held.
        work::nanoseconds(0);
        match self {
            Case::Mutex => run!(_t => L::lock(black_box(&*mutex), |value| *value += 1)),
            Case::MutexWorking => run!(_t => L::lock(black_box(&*mutex), |value| {
                work::nanoseconds(250);
                *value += 1;
            })),
            Case::Read => run!(_t => L::read(black_box(&*rwlock), |value| black_box(*value))),
            Case::Write => run!(_t => L::write(black_box(&*rwlock), |value| *value += 1)),
            Case::Nested => {
                let inner = CachePadded::new(L::mutex());
                run!(_t => L::lock(black_box(&*mutex), |value| {
                    *value += 1;
                    L::lock(black_box(&*inner), |value| *value += 1);
                }))
            }
            Case::Disjoint => {
                let locks = of_each::<L>(threads);
                run!(thread => L::lock(black_box(&locks[thread]), |value| *value += 1))
            }
            Case::DisjointWorking => {
                let locks = of_each::<L>(threads);
                run!(thread => L::lock(black_box(&locks[thread]), |value| {
                    work::nanoseconds(100);
                    *value += 1;
                }))
            }
            Case::ReadHerd => run!(_t => L::read(black_box(&*rwlock), |value| {
                work::nanoseconds(100);
                black_box(*value);
            })),
            Case::Create => run!(_t => drop(black_box(L::mutex()))),
            Case::CreateAndUse => run!(_t => {
                let mutex = black_box(L::mutex());
                L::lock(&mutex, |value| *value += 1);
            }),
        }
    }
}

/// A mutex for each thread, none in another's cache line.
fn of_each<L: Locks>(threads: usize) -> Vec<CachePadded<L::Mutex>> {
    (0..threads).map(|_| CachePadded::new(L::mutex())).collect()
}
