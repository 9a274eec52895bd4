//! A thousand lock classes.

use instrumented_lock::drop_in::Mutex;
use std::sync::Barrier;
use std::thread;

/// One class each: they are made on as many lines, which `build.rs` has written.
static LOCKS: [Mutex<u64>; 1000] = include!(concat!(env!("OUT_DIR"), "/thousand.rs"));

/// The thread slots that a thread has to itself.
pub const SLOTS: usize = 64;

/// Has the first so many classes used by as many threads at a time as there are slots.
///
/// # Panics
///
/// Where there are not so many.
pub fn activate(classes: usize) {
    let all_here = &Barrier::new(SLOTS);
    thread::scope(|scope| {
        for _ in 0..SLOTS {
            scope.spawn(move || {
                *LOCKS[0].lock() += 1;
                // Each has a slot of its own now.
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
