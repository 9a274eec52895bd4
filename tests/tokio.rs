//! Programs written for `tokio::sync`, run on it and on `instrumented_lock::tokio`; and what is recorded of the
//! latter.
//!
//! The scenarios in `tokio/{mutex,rwlock,semaphore}.rs` know their locks as `locks` only, and are compiled
//! twice. Most are after the tests that tokio has of these types (`tokio/tests/sync_*.rs` of
//! <https://github.com/tokio-rs/tokio>, MIT), told anew.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[path = "tokio"]
mod original {
    use tokio::sync as locks;
    mod mutex;
    mod rwlock;
    mod semaphore;
}

#[path = "tokio"]
#[allow(clippy::duplicate_mod, reason = "the same programs, with other locks")]
mod ported {
    use instrumented_lock::tokio as locks;
    mod mutex;
    mod rwlock;
    mod semaphore;
}

#[cfg(feature = "stats")]
#[path = "tokio/recorded.rs"]
mod recorded;

/// Longer than anything takes that is not stuck.
const LONG: Duration = Duration::from_secs(20);

/// Polls once, with nobody to be woken.
fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// What a future gives at once.
#[track_caller]
fn now<F: Future>(future: F) -> F::Output {
    match poll_once(pin!(future)) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("it has to wait"),
    }
}
