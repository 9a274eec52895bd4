//! How the library takes its own locks: they are held for some hundred nanoseconds, never while one of
//! the user's is asked for, and nobody is parked for one. So they allocate nothing, and a child of `fork`
//! finds no queue of threads that it does not have.
//!
//! What is done with them may allocate. An allocator may use locks of the user's that are instrumented, and
//! so come back here, on the same thread: it would wait for itself, or find a table half changed. So whoever
//! may allocate, or has one of these locks, is [`Inside`]; what then comes back records nothing.

use parking_lot::{Mutex, MutexGuard};
use std::cell::Cell;
use std::hint::spin_loop;
use std::marker::PhantomData;
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

thread_local! {
    /// How many [`Inside`] there are of this thread. Without a destructor.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// While it lives, the calling thread is inside the library.
pub(crate) struct Inside {
    is_this_threads: PhantomData<*const ()>,
}

impl Inside {
    pub(crate) fn enter() -> Self {
        INSIDE.set(INSIDE.get() + 1);
        Inside {
            is_this_threads: PhantomData,
        }
    }

    /// Undoes an [`enter`](Self::enter) of this thread whose result has been forgotten, when it is dropped.
    pub(crate) fn entered() -> Self {
        Inside {
            is_this_threads: PhantomData,
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}

/// Whether the calling thread is [`Inside`] already.
pub(crate) fn is_inside() -> bool {
    INSIDE.get() > 0
}

/// The state of a lock whose guard has been forgotten.
pub(crate) fn state() -> State {
    State::default()
}

type State = <parking_lot::RawMutex as lock_api::RawMutex>::Guard;
