//! A thousand lock classes.

use instrumented_lock::drop_in::Mutex;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// One class each: they are made on as many lines, which `build.rs` has written.
static LOCKS: [Mutex<u64>; 1000] = include!(concat!(env!("OUT_DIR"), "/thousand.rs"));

/// The threads that use them at a time.
pub const THREADS: usize = 64;

/// Has the first so many classes used by [`THREADS`] threads, which are all alive meanwhile.
///
/// # Panics
///
/// Where there are not so many.
pub fn activate(classes: usize) {
    let all_here = &Barrier::new(THREADS);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(move || {
                // All are alive from before the first lock until after the last.
                all_here.wait();
                for lock in &LOCKS[..classes] {
                    for _ in 0..10 {
                        *lock.lock() += 1;
                    }
                }
                all_here.wait();
            });
        }
    });
}

/// Has each class taken while each of so many before it is held, in the order in which they stand; then the
/// other way around, once. How long the last pair took of the first, and the one of the second.
pub fn nest(before: usize) -> [Duration; 2] {
    let nested = |outer: &Mutex<u64>, inner: &Mutex<u64>| {
        let start = Instant::now();
        let _outer = outer.lock();
        *inner.lock() += 1;
        start.elapsed()
    };
    let mut last = Duration::ZERO;
    for (i, inner) in LOCKS.iter().enumerate() {
        for outer in &LOCKS[i.saturating_sub(before)..i] {
            // Whatever is done once in so many uses is done here.
            *outer.lock() += 1;
            last = nested(outer, inner);
        }
    }
    [last, nested(&LOCKS[LOCKS.len() - 1], &LOCKS[0])]
}
