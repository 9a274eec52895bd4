//! Reader-writer locks that a reader may read again, by methods of their own: of `lock_api` 0.4, which 0.5
//! has no more. `compat/parking_lot-0.12` needs them.

use super::{Instrumented, Kinds, always};
use crate::mode::Activity;
use lock_api::{RawRwLock, RawRwLockTimed};

/// A raw reader-writer lock whose [`lock_shared`](RawRwLock::lock_shared) may have to wait for writers that
/// wait, and that has another method for who reads already, which does not.
///
/// # Safety
///
/// As [`RawRwLock`]: these methods acquire the lock as its shared ones do.
pub unsafe trait ReadAgain: RawRwLock {
    /// Acquires the lock with other readers, before writers that wait.
    fn lock_shared_recursive(&self) -> Self::SharedGuard;

    /// The same, if no writer holds it.
    fn try_lock_shared_recursive(&self) -> Option<Self::SharedGuard>;
}

/// The same with limits.
///
/// # Safety
///
/// As [`ReadAgain`].
pub unsafe trait ReadAgainTimed: ReadAgain + RawRwLockTimed {
    /// Acquires the lock with other readers, before writers that wait, waiting for `timeout` at most.
    fn try_lock_shared_recursive_for(&self, timeout: Self::Duration) -> Option<Self::SharedGuard>;

    /// The same, waiting until `timeout` at the latest.
    fn try_lock_shared_recursive_until(&self, timeout: Self::Instant) -> Option<Self::SharedGuard>;
}

// SAFETY: every method asks `R` for the same, and what `R` promises holds.
unsafe impl<R: ReadAgain, K: Kinds> ReadAgain for Instrumented<R, K> {
    #[inline]
    #[track_caller]
    fn lock_shared_recursive(&self) -> Self::SharedGuard {
        let wait = |raw: &R| always(raw.lock_shared_recursive());
        let now = R::try_lock_shared_recursive;
        match self.acquire(K::RWLOCK, Activity::Read, now, wait) {
            Ok(held) => held,
        }
    }

    #[inline]
    #[track_caller]
    fn try_lock_shared_recursive(&self) -> Option<Self::SharedGuard> {
        self.try_acquire(K::RWLOCK, Activity::Read, R::try_lock_shared_recursive)
    }
}

// SAFETY: every method asks `R` for the same, and what `R` promises holds.
unsafe impl<R: ReadAgainTimed, K: Kinds> ReadAgainTimed for Instrumented<R, K> {
    #[inline]
    #[track_caller]
    fn try_lock_shared_recursive_for(&self, timeout: Self::Duration) -> Option<Self::SharedGuard> {
        let wait = |raw: &R| raw.try_lock_shared_recursive_for(timeout).ok_or(());
        let now = R::try_lock_shared_recursive;
        self.acquire(K::RWLOCK, Activity::Read, now, wait).ok()
    }

    #[inline]
    #[track_caller]
    fn try_lock_shared_recursive_until(&self, timeout: Self::Instant) -> Option<Self::SharedGuard> {
        let wait = |raw: &R| raw.try_lock_shared_recursive_until(timeout).ok_or(());
        let now = R::try_lock_shared_recursive;
        self.acquire(K::RWLOCK, Activity::Read, now, wait).ok()
    }
}
