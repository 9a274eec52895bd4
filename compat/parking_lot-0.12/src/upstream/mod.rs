//! The raw reader-writer lock of `parking_lot` 0.12.5 (<https://github.com/Amanieu/parking_lot>, MIT or
//! Apache-2.0), copied unchanged but for the paths of its modules: 0.13 has none that can be read again, and a
//! package that stands for `parking_lot` 0.12 cannot depend on it.

#![allow(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    unused,
    clippy::all,
    clippy::pedantic,
    clippy::undocumented_unsafe_blocks,
    reason = "as it is there"
)]

mod elision;
mod raw_rwlock;
mod util;

pub use raw_rwlock::RawRwLock;

/// What 0.12.5 has beside it.
mod raw_mutex {
    use parking_lot_core::UnparkToken;

    /// The lock was let go, and the thread that is woken asks for it.
    pub(super) const TOKEN_NORMAL: UnparkToken = UnparkToken(0);

    /// The lock was handed to the thread that is woken.
    pub(super) const TOKEN_HANDOFF: UnparkToken = UnparkToken(1);
}

mod deadlock {
    pub(super) use parking_lot_core::deadlock::{acquire_resource, release_resource};
}

#[cfg(not(feature = "send_guard"))]
type GuardMarker = lock_api::GuardNoSend;
#[cfg(feature = "send_guard")]
type GuardMarker = lock_api::GuardSend;

use lock_api_04 as lock_api;
