//! The traits of `lock_api` 0.4, for crates that put `parking_lot` 0.12's raw locks into locks of that: they
//! compile with ours too. Their guards have no state, so nothing is measured of what is locked by these.

use super::{Instrumented, Kinds};
use lock_api_04 as old;

/// What guards may be, as `parking_lot`'s features say.
#[cfg(feature = "send_guard")]
type GuardMarker = old::GuardSend;
#[cfg(not(feature = "send_guard"))]
type GuardMarker = old::GuardNoSend;

// SAFETY: every method is the one of the same name of `R`, whose state can be made of nothing.
unsafe impl<R, K> old::RawMutex for Instrumented<R, K>
where
    R: lock_api::RawMutex<Guard: Default>,
    K: Kinds,
{
    const INIT: Self = <Self as lock_api::RawMutex>::INIT;

    type GuardMarker = GuardMarker;

    #[inline]
    fn lock(&self) {
        let _ = self.raw.lock();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.raw.try_lock().is_some()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.raw.unlock(R::Guard::default()) }
    }

    fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }
}

// SAFETY: as above.
unsafe impl<R, K> old::RawMutexFair for Instrumented<R, K>
where
    R: lock_api::RawMutexFair<Guard: Default>,
    K: Kinds,
{
    #[inline]
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.raw.unlock_fair(R::Guard::default()) }
    }
}

// SAFETY: as above.
unsafe impl<R, K> old::RawMutexTimed for Instrumented<R, K>
where
    R: lock_api::RawMutexTimed<Guard: Default>,
    K: Kinds,
{
    type Duration = R::Duration;
    type Instant = R::Instant;

    fn try_lock_for(&self, timeout: R::Duration) -> bool {
        self.raw.try_lock_for(timeout).is_some()
    }

    fn try_lock_until(&self, timeout: R::Instant) -> bool {
        self.raw.try_lock_until(timeout).is_some()
    }
}

// SAFETY: as above.
unsafe impl<R, K> old::RawRwLock for Instrumented<R, K>
where
    R: lock_api::RawRwLock<SharedGuard: Default, ExclusiveGuard: Default>,
    K: Kinds,
{
    const INIT: Self = <Self as lock_api::RawRwLock>::INIT;

    type GuardMarker = GuardMarker;

    #[inline]
    fn lock_shared(&self) {
        let _ = self.raw.lock_shared();
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        self.raw.try_lock_shared().is_some()
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.raw.unlock_shared(R::SharedGuard::default()) }
    }

    #[inline]
    fn lock_exclusive(&self) {
        let _ = self.raw.lock_exclusive();
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        self.raw.try_lock_exclusive().is_some()
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.raw.unlock_exclusive(R::ExclusiveGuard::default()) }
    }

    fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    fn is_locked_exclusive(&self) -> bool {
        self.raw.is_locked_exclusive()
    }
}

// SAFETY: as above.
unsafe impl<R, K> old::RawRwLockDowngrade for Instrumented<R, K>
where
    R: lock_api::RawRwLockDowngrade<SharedGuard: Default, ExclusiveGuard: Default>,
    K: Kinds,
{
    #[inline]
    unsafe fn downgrade(&self) {
        // SAFETY: the caller holds the lock.
        let _ = unsafe { self.raw.downgrade(R::ExclusiveGuard::default()) };
    }
}

// SAFETY: as above.
unsafe impl<R, K> old::RawRwLockRecursive for Instrumented<R, K>
where
    R: super::ReadAgain<SharedGuard: Default, ExclusiveGuard: Default>,
    K: Kinds,
{
    fn lock_shared_recursive(&self) {
        let _ = self.raw.lock_shared_recursive();
    }

    fn try_lock_shared_recursive(&self) -> bool {
        self.raw.try_lock_shared_recursive().is_some()
    }
}

// SAFETY: as above.
unsafe impl<R, K> old::RawRwLockUpgrade for Instrumented<R, K>
where
    R: lock_api::RawRwLockUpgrade<
            SharedGuard: Default,
            ExclusiveGuard: Default,
            UpgradableGuard: Default,
        >,
    K: Kinds,
{
    fn lock_upgradable(&self) {
        let _ = self.raw.lock_upgradable();
    }

    fn try_lock_upgradable(&self) -> bool {
        self.raw.try_lock_upgradable().is_some()
    }

    unsafe fn unlock_upgradable(&self) {
        // SAFETY: the caller holds the lock.
        unsafe { self.raw.unlock_upgradable(R::UpgradableGuard::default()) }
    }

    unsafe fn upgrade(&self) {
        // SAFETY: the caller holds the lock.
        let _ = unsafe { self.raw.upgrade(R::UpgradableGuard::default()) };
    }

    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller holds the lock.
        unsafe { self.raw.try_upgrade(R::UpgradableGuard::default()) }.is_ok()
    }
}
