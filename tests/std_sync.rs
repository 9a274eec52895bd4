//! Programs written for `std::sync`, run on it and on `instrumented_lock::std_sync`; and what is ours alone.
//!
//! The scenarios in `std_sync/{mutex,rwlock,condvar,whole}.rs` know their locks as `locks` only. They are
//! compiled twice, and what is instrumented about the second time is one import. Most are after the tests that
//! the Rust library has of these types (`library/std/tests/sync` of <https://github.com/rust-lang/rust>, MIT
//! or Apache-2.0), told anew.

use std::sync::mpsc;
use std::time::Duration;
use std::{panic, thread};

#[path = "std_sync"]
mod original {
    use std::sync as locks;
    mod condvar;
    mod mutex;
    mod rwlock;
    mod whole;
}

#[path = "std_sync"]
#[allow(clippy::duplicate_mod, reason = "the same programs, with other locks")]
mod ported {
    use instrumented_lock::std_sync as locks;
    mod condvar;
    mod mutex;
    mod rwlock;
    mod whole;
}

#[path = "std_sync"]
mod ours {
    mod mapped;
    #[cfg(feature = "stats")]
    mod recorded;
    mod traits;
}

/// Longer than anything takes that is not stuck.
const LONG: Duration = Duration::from_secs(20);

/// What `f` returns, run in a thread of its own; panics where that does, or where it is stuck.
fn in_time<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || tell.send(f()).expect("the caller listens"));
    match told.recv_timeout(LONG) {
        Ok(done) => done,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("stuck"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            panic::resume_unwind(thread.join().expect_err("it has told nothing"))
        }
    }
}

/// Runs `f`, which panics, in a thread.
fn panics(f: impl FnOnce() + Send) {
    let panicked = thread::scope(|scope| scope.spawn(f).join());
    assert!(panicked.is_err(), "it did not panic");
}

/// Acts while this is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
