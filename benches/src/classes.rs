//! A thousand lock classes.

use instrumented_lock::drop_in::Mutex;
use std::sync::Barrier;
use std::thread;

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
