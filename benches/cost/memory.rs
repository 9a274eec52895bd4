//! Memory: how large locks are, and what the library allocates for classes, threads and modes, as an
//! allocator sees it that counts in a process of its own.

use crate::child;
use crate::output::{Output, Table};
use instrumented_lock::LockClass;
use instrumented_lock::drop_in::{Mutex, RwLock};
use instrumented_lock::lock_api::{self, RawRwLockUpgrade};
use instrumented_lock_benches::locks::{Bare, Locks, Ours};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The system's allocator. Where the figures are not of memory, the count costs one comparison.
struct Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
/// Bytes that are allocated and not freed. Relaxed: read where all threads stand still.
static BYTES: AtomicI64 = AtomicI64::new(0);

fn count(bytes: usize, sign: i64) {
    if COUNTS.load(Ordering::Relaxed) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        BYTES.fetch_add(sign * bytes, Ordering::Relaxed);
    }
}

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

/// From now on memory is counted.
pub(crate) fn begin_to_count() {
    COUNTS.store(true, Ordering::Relaxed);
}

/// What stays allocated of what `act` allocates.
pub(crate) fn growth(act: impl FnOnce()) -> i64 {
    // A thread that has been waited for frees its last bytes a moment later.
    thread::sleep(Duration::from_millis(20));
    let before = BYTES.load(Ordering::Relaxed);
    act();
    BYTES.load(Ordering::Relaxed) - before
}

const THREADS: usize = 200;
const MANY_THREADS: usize = 1000;
const LOCKS: usize = 1_000_000;

/// Bytes, in the order in which `show` has them.
pub(crate) fn act() {
    begin_to_count();
    // The process's own, and this thread's.
    *Mutex::new(0).lock() += 1;

    let lock = RwLock::new(0);
    *lock.write() += 1;
    println!("{}", growth(|| assert_eq!(*lock.read(), 1)));
    // parking_lot's own table, too.
    growth_by_a_wait::<Bare>();
    println!("{}", growth_by_a_wait::<Ours>());
    println!("{}", growth_by_many_threads(&Mutex::new(0)));
    // A class each, since they are on two lines.
    let few = RwLock::new(0);
    let many = RwLock::new(0);
    for (lock, threads) in [(few, THREADS), (many, MANY_THREADS)] {
        growth_by_every_mode(&parking_lot::RwLock::new(0), threads);
        println!("{}", growth_by_every_mode(&lock, threads));
    }

    let one = || *std::hint::black_box(Mutex::new(0)).lock() += 1;
    let lives = |n| (0..n).for_each(|_| one());
    lives(1);
    // The class has its figures then: a log is folded once in some fifty uses.
    lives(1000);
    println!("{}", growth(|| lives(LOCKS)));
}

/// A thread that has used the class waits for the first time.
fn growth_by_a_wait<L: Locks>() -> i64 {
    let mutex = &L::mutex();
    let step = &Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            L::lock(mutex, |value| *value += 1);
            step.wait();
            step.wait();
            L::lock(mutex, |value| *value += 1);
            step.wait();
            step.wait();
        });
        step.wait();
        L::lock(mutex, |value| *value += 1);
        let grown = growth(|| {
            L::lock(mutex, |_| {
                step.wait();
                // As long as it takes the other one to get there and to wait.
                thread::sleep(Duration::from_millis(50));
            });
            step.wait();
        });
        step.wait();
        grown
    })
}

/// So often that whatever a thread keeps for later has come to the class.
const OFTEN: usize = 200;

/// As many threads as that, all alive, use the mutex after each has used another one.
fn growth_by_many_threads(mutex: &Mutex<u64>) -> i64 {
    let step = &Barrier::new(THREADS + 1);
    let other = &Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(move || {
                *other.lock() += 1;
                step.wait();
                step.wait();
                (0..OFTEN).for_each(|_| *mutex.lock() += 1);
                step.wait();
                step.wait();
            });
        }
        step.wait();
        let grown = growth(|| {
            step.wait();
            step.wait();
        });
        step.wait();
        grown
    })
}

/// So many threads, all alive, wait for the lock and have it, in one mode after the other, after each
/// has used another one.
fn growth_by_every_mode<R: RawRwLockUpgrade + Sync>(
    lock: &lock_api::RwLock<R, u64>,
    threads: usize,
) -> i64 {
    let modes: [fn(&lock_api::RwLock<R, u64>); 3] = [
        |lock| drop(lock.read()),
        |lock| drop(lock.upgradable_read()),
        |lock| drop(lock.write()),
    ];
    let step = &Barrier::new(threads + 1);
    let other = &Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(move || {
                *other.lock() += 1;
                step.wait();
                for mode in modes {
                    step.wait();
                    (0..OFTEN).for_each(|_| mode(lock));
                    step.wait();
                }
                step.wait();
            });
        }
        step.wait();
        let grown = growth(|| {
            for _ in modes {
                let held = lock.write();
                step.wait();
                // As long as it takes all of them to get there and to wait.
                thread::sleep(Duration::from_millis(100));
                drop(held);
                step.wait();
            }
        });
        step.wait();
        grown
    })
}

pub(crate) fn show(output: &mut Output) {
    let mut table = Table::new(["memory", "bytes", "bar"]);
    let mut row = |what: &str, bytes: f64, bar: f64, bar_is: &str| {
        let name = format!("{what}, bytes");
        table.row([
            what,
            &format!("{bytes:.0}"),
            &output.at_most(name, bytes, bar, bar_is),
        ]);
    };
    let more_than = |ours: usize, theirs: usize| ours as f64 - theirs as f64;
    let mutex = more_than(size_of::<Mutex<()>>(), size_of::<parking_lot::Mutex<()>>());
    row("Mutex, more than parking_lot's", mutex, 16.0, "");
    let rwlock = more_than(
        size_of::<RwLock<()>>(),
        size_of::<parking_lot::RwLock<()>>(),
    );
    row("RwLock, more than parking_lot's", rwlock, 16.0, "");
    row(
        "a class that nobody has used",
        size_of::<LockClass>() as f64,
        1024.0,
        " (1 KiB)",
    );

    let figures = child::figures("memory");
    let (a_mode, a_class) = (4096.0, 65_536.0);
    row(
        "an active (thread, class, mode)",
        figures[0],
        a_mode,
        " (4 KiB)",
    );
    row(
        "… with the first wait's",
        figures[0] + figures[1],
        a_mode,
        " (4 KiB)",
    );
    let kib = " (64 KiB)";
    let what = format!("a class of Mutexes at {THREADS} threads");
    row(&what, figures[2], a_class, kib);
    for (threads, bytes) in [(THREADS, figures[3]), (MANY_THREADS, figures[4])] {
        let what = format!("a class of RwLocks, three modes, waits, at {threads} threads");
        row(&what, bytes, a_class, kib);
    }
    row(
        "left by 1,000,000 Mutexes used and dropped",
        figures[5],
        0.0,
        "",
    );
    table.print("memory: sizes, and bytes allocated and not freed in a process of its own");
}
