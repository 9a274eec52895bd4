//! [`RwLock`] and its guards.

use crate::facade::lock_type;
use crate::raw::RawRwLock;

lock_type! {
    /// A reader-writer lock that records, for readers, upgradable readers and writers apart, how
    /// long it is waited for and held.
    ///
    /// The methods are those of [`parking_lot::RwLock`], which it wraps: `read`, `write`,
    /// `upgradable_read`, their `try_` and timed forms, `get_mut`, `is_locked` and so on; it
    /// dereferences to [`lock_api::RwLock`], which has them. There is no poisoning.
    ///
    /// A downgrade ends the write hold and starts a read hold, and so is an acquisition in the new
    /// mode. An upgrade ends the upgradable hold when it is asked for; what it has to wait for the
    /// other readers is a write wait.
    ///
    /// `C` is the lock class, as for [`Mutex`](crate::Mutex). Memory: `parking_lot`'s lock and two
    /// words.
    ///
    /// ```
    /// use instrumented_lock::{RwLock, instrumented, registry};
    ///
    /// #[instrumented]
    /// static CONFIG: RwLock<Vec<String>> = RwLock::new(Vec::new());
    ///
    /// CONFIG.write().push("verbose".to_owned());
    /// assert_eq!(CONFIG.read().len(), 1);
    ///
    /// let snapshot = registry::snapshot();
    /// let config = snapshot.lock("CONFIG").unwrap();
    /// assert_eq!((config.read().acquisitions(), config.write().acquisitions()), (1, 1));
    /// ```
    RwLock over lock_api::RwLock<RawRwLock, T>,
    raw RawRwLock = <parking_lot::RawRwLock as lock_api::RawRwLock>::INIT
}

/// The lock is held with other readers while this lives; dropping it unlocks, then records.
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;

/// The lock is held alone while this lives; dropping it unlocks, then records.
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;

/// The lock is held with readers while this lives, and can be made exclusive.
pub type RwLockUpgradableReadGuard<'a, T> = lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>;

/// A [`RwLockReadGuard`] for a part of the protected value.
pub type MappedRwLockReadGuard<'a, T> = lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>;

/// A [`RwLockWriteGuard`] for a part of the protected value.
pub type MappedRwLockWriteGuard<'a, T> = lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>;

crate::facade::rwlock_methods!(RwLock, RawRwLock);

#[cfg(feature = "arc_lock")]
crate::facade::rwlock_arc_methods!(RwLock, RawRwLock);
