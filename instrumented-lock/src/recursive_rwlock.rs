//! [`RecursiveRwLock`] and its guards.

use crate::facade::lock_type;
use crate::raw::RawRwLockRecursive;

lock_type! {
    /// A reader-writer lock that admits readers while a writer waits, so that a reader may read
    /// again, and records how long it is waited for and held.
    ///
    /// Like [`RwLock`](crate::RwLock) in everything else; wraps [`parking_lot::RecursiveRwLock`].
    /// Every read is an acquisition and a hold of its own, nested ones too.
    RecursiveRwLock over lock_api::RwLock<RawRwLockRecursive, T>,
    raw RawRwLockRecursive = <parking_lot::RawRwLockRecursive as lock_api::RawRwLock>::INIT
}

/// The lock is held with other readers while this lives; dropping it unlocks, then records.
pub type RecursiveRwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLockRecursive, T>;

/// The lock is held alone while this lives; dropping it unlocks, then records.
pub type RecursiveRwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLockRecursive, T>;

/// The lock is held with readers while this lives, and can be made exclusive.
pub type RecursiveRwLockUpgradableReadGuard<'a, T> =
    lock_api::RwLockUpgradableReadGuard<'a, RawRwLockRecursive, T>;

/// A [`RecursiveRwLockReadGuard`] for a part of the protected value.
pub type MappedRecursiveRwLockReadGuard<'a, T> =
    lock_api::MappedRwLockReadGuard<'a, RawRwLockRecursive, T>;

/// A [`RecursiveRwLockWriteGuard`] for a part of the protected value.
pub type MappedRecursiveRwLockWriteGuard<'a, T> =
    lock_api::MappedRwLockWriteGuard<'a, RawRwLockRecursive, T>;

crate::facade::rwlock_methods!(RecursiveRwLock, RawRwLockRecursive);

#[cfg(feature = "arc_lock")]
crate::facade::rwlock_arc_methods!(RecursiveRwLock, RawRwLockRecursive);
