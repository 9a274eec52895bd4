//! [`FairMutex`] and its guards.

use crate::facade::lock_type;
use crate::raw::RawFairMutex;

lock_type! {
    /// A mutex that always hands over to the thread that has waited longest, and records how long
    /// it is waited for and held.
    ///
    /// Like [`Mutex`](crate::Mutex) in everything else; wraps [`parking_lot::FairMutex`].
    FairMutex over lock_api::Mutex<RawFairMutex, T>,
    raw RawFairMutex = <parking_lot::RawFairMutex as lock_api::RawMutex>::INIT
}

/// The lock is held while this lives; dropping it unlocks, then records.
pub type FairMutexGuard<'a, T> = lock_api::MutexGuard<'a, RawFairMutex, T>;

/// A [`FairMutexGuard`] for a part of the protected value.
pub type MappedFairMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawFairMutex, T>;

crate::facade::mutex_methods!(FairMutex, RawFairMutex);

#[cfg(feature = "arc_lock")]
crate::facade::mutex_arc_methods!(FairMutex, lock_api::ArcMutexGuard<RawFairMutex, T>);
