//! How the library takes its own locks: they are held for some hundred nanoseconds, never while one of
//! the user's is asked for, and nobody is parked for one. So they allocate nothing, and a child of `fork`
//! finds no queue of threads that it does not have.

use parking_lot::{Mutex, MutexGuard};
use std::hint::spin_loop;
use std::thread;
use std::time::Duration;

/// Attempts before the processor is left to others, and before it is left to those of lower priority.
const SPINS: u32 = 100;
const YIELDS: u32 = 200;
const PAUSE: Duration = Duration::from_micros(50);

/// Waits a little, the longer the more often it has been tried.
pub(crate) fn pause(attempt: u32) {
    if attempt < SPINS {
        spin_loop();
    } else if attempt < SPINS + YIELDS {
        thread::yield_now();
    } else {
        thread::sleep(PAUSE);
    }
}

/// Takes a lock of the library's own.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let mut attempt = 0;
    loop {
        if let Some(guard) = mutex.try_lock() {
            return guard;
        }
        pause(attempt);
        attempt = attempt.saturating_add(1);
    }
}

/// The state of a lock whose guard has been forgotten.
pub(crate) fn state() -> State {
    State::default()
}

type State = <parking_lot::RawMutex as lock_api::RawMutex>::Guard;
