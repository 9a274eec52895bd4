//! [`Mutex`] and its guards.

use crate::facade::lock_type;
use crate::raw::RawMutex;

lock_type! {
    /// A mutual exclusion lock that records how long it is waited for and held.
    ///
    /// The methods are those of [`parking_lot::Mutex`], which it wraps: `lock`, `try_lock`,
    /// `try_lock_for`, `try_lock_until`, `get_mut`, `is_locked` and so on; it dereferences to
    /// [`lock_api::Mutex`], which has them. There is no poisoning.
    ///
    /// `C` is the lock class. Leave it out in your own types: `#[instrumented]` puts it in. Where
    /// it cannot be inferred (`let m = Mutex::new(0)`), import
    /// [`drop_in::Mutex`](crate::drop_in::Mutex), which has it fixed.
    ///
    /// A function that takes `&Mutex<T>` accepts a lock of any class.
    ///
    /// Memory: `parking_lot`'s mutex and one word.
    ///
    /// ```
    /// use instrumented_lock::{Mutex, instrumented, registry};
    ///
    /// #[instrumented]
    /// #[derive(Default)]
    /// struct Account {
    ///     balance: Mutex<i64>,
    /// }
    ///
    /// let account = Account::default();
    /// *account.balance.lock() += 100;
    /// let snapshot = registry::snapshot();
    /// assert_eq!(snapshot.lock("Account::balance").unwrap().write().acquisitions(), 1);
    /// ```
    Mutex over lock_api::Mutex<RawMutex, T>,
    raw RawMutex = <parking_lot::RawMutex as lock_api::RawMutex>::INIT
}

/// The lock is held while this lives; dropping it unlocks, then records.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;

/// A [`MutexGuard`] for a part of the protected value.
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;

crate::facade::mutex_methods!(Mutex, RawMutex);

#[cfg(feature = "arc_lock")]
crate::facade::mutex_arc_methods!(Mutex, lock_api::ArcMutexGuard<RawMutex, T>);
