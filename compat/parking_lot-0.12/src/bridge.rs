//! A raw lock of `lock_api` 0.4, as 0.5 knows raw locks.

use instrumented_lock::lock_api;
use instrumented_lock::raw::{ReadAgain, ReadAgainTimed};
use lock_api_04 as old;

/// What a guard is made of: nothing, but that it may be sent or not.
#[cfg(feature = "send_guard")]
pub(crate) type Marker = lock_api::GuardSend;
#[cfg(not(feature = "send_guard"))]
pub(crate) type Marker = lock_api::GuardNoSend;

/// A raw lock `R` with the traits of `lock_api` 0.4, which has those of 0.5 by this. So
/// [`Instrumented`](instrumented_lock::raw::Instrumented) measures it.
#[derive(Debug)]
pub struct Bridge<R>(R);

impl<R> Bridge<R> {
    /// `raw`, which is unlocked.
    pub const fn new(raw: R) -> Self {
        Bridge(raw)
    }
}

fn marked(is_acquired: bool) -> Option<Marker> {
    is_acquired.then(Marker::new)
}

// SAFETY: every method is the one of the same name of `R`, which keeps no state in guards.
unsafe impl<R: old::RawRwLock> lock_api::RawRwLock for Bridge<R> {
    const INIT: Self = Bridge(R::INIT);

    type SharedGuard = Marker;
    type ExclusiveGuard = Marker;

    #[inline]
    fn lock_shared(&self) -> Marker {
        self.0.lock_shared();
        Marker::new()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<Marker> {
        marked(self.0.try_lock_shared())
    }

    #[inline]
    unsafe fn unlock_shared(&self, _: Marker) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.unlock_shared() }
    }

    #[inline]
    fn lock_exclusive(&self) -> Marker {
        self.0.lock_exclusive();
        Marker::new()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<Marker> {
        marked(self.0.try_lock_exclusive())
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, _: Marker) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.unlock_exclusive() }
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    fn is_locked_exclusive(&self) -> bool {
        self.0.is_locked_exclusive()
    }
}

// SAFETY: as above.
unsafe impl<R: old::RawRwLockFair> lock_api::RawRwLockFair for Bridge<R> {
    #[inline]
    unsafe fn unlock_shared_fair(&self, _: Marker) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.unlock_shared_fair() }
    }

    #[inline]
    unsafe fn unlock_exclusive_fair(&self, _: Marker) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.unlock_exclusive_fair() }
    }
}

// SAFETY: as above.
unsafe impl<R: old::RawRwLockDowngrade> lock_api::RawRwLockDowngrade for Bridge<R> {
    #[inline]
    unsafe fn downgrade(&self, guard: Marker) -> Marker {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.downgrade() };
        guard
    }
}

// SAFETY: as above.
unsafe impl<R: old::RawRwLockTimed> lock_api::RawRwLockTimed for Bridge<R> {
    type Duration = R::Duration;
    type Instant = R::Instant;

    #[inline]
    fn try_lock_shared_for(&self, timeout: R::Duration) -> Option<Marker> {
        marked(self.0.try_lock_shared_for(timeout))
    }

    #[inline]
    fn try_lock_shared_until(&self, timeout: R::Instant) -> Option<Marker> {
        marked(self.0.try_lock_shared_until(timeout))
    }

    #[inline]
    fn try_lock_exclusive_for(&self, timeout: R::Duration) -> Option<Marker> {
        marked(self.0.try_lock_exclusive_for(timeout))
    }

    #[inline]
    fn try_lock_exclusive_until(&self, timeout: R::Instant) -> Option<Marker> {
        marked(self.0.try_lock_exclusive_until(timeout))
    }
}

// SAFETY: as above.
unsafe impl<R: old::RawRwLockUpgrade> lock_api::RawRwLockUpgrade for Bridge<R> {
    type UpgradableGuard = Marker;

    #[inline]
    fn lock_upgradable(&self) -> Marker {
        self.0.lock_upgradable();
        Marker::new()
    }

    #[inline]
    fn try_lock_upgradable(&self) -> Option<Marker> {
        marked(self.0.try_lock_upgradable())
    }

    #[inline]
    unsafe fn unlock_upgradable(&self, _: Marker) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.unlock_upgradable() }
    }

    #[inline]
    unsafe fn upgrade(&self, guard: Marker) -> Marker {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.upgrade() };
        guard
    }

    #[inline]
    unsafe fn try_upgrade(&self, guard: Marker) -> Result<Marker, Marker> {
        // SAFETY: the caller's promise is the callee's.
        if unsafe { self.0.try_upgrade() } {
            Ok(guard)
        } else {
            Err(guard)
        }
    }
}

// SAFETY: as above.
unsafe impl<R: old::RawRwLockUpgradeFair> lock_api::RawRwLockUpgradeFair for Bridge<R> {
    #[inline]
    unsafe fn unlock_upgradable_fair(&self, _: Marker) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.unlock_upgradable_fair() }
    }
}

// SAFETY: as above.
unsafe impl<R: old::RawRwLockUpgradeDowngrade> lock_api::RawRwLockUpgradeDowngrade for Bridge<R> {
    #[inline]
    unsafe fn downgrade_upgradable(&self, guard: Marker) -> Marker {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.downgrade_upgradable() };
        guard
    }

    #[inline]
    unsafe fn downgrade_to_upgradable(&self, guard: Marker) -> Marker {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.downgrade_to_upgradable() };
        guard
    }
}

// SAFETY: as above.
unsafe impl<R: old::RawRwLockUpgradeTimed> lock_api::RawRwLockUpgradeTimed for Bridge<R> {
    #[inline]
    fn try_lock_upgradable_for(&self, timeout: R::Duration) -> Option<Marker> {
        marked(self.0.try_lock_upgradable_for(timeout))
    }

    #[inline]
    fn try_lock_upgradable_until(&self, timeout: R::Instant) -> Option<Marker> {
        marked(self.0.try_lock_upgradable_until(timeout))
    }

    #[inline]
    unsafe fn try_upgrade_for(
        &self,
        guard: Marker,
        timeout: R::Duration,
    ) -> Result<Marker, Marker> {
        // SAFETY: the caller's promise is the callee's.
        if unsafe { self.0.try_upgrade_for(timeout) } {
            Ok(guard)
        } else {
            Err(guard)
        }
    }

    #[inline]
    unsafe fn try_upgrade_until(
        &self,
        guard: Marker,
        timeout: R::Instant,
    ) -> Result<Marker, Marker> {
        // SAFETY: the caller's promise is the callee's.
        if unsafe { self.0.try_upgrade_until(timeout) } {
            Ok(guard)
        } else {
            Err(guard)
        }
    }
}

// SAFETY: as above; these acquire as a reader does.
unsafe impl<R: old::RawRwLockRecursive> ReadAgain for Bridge<R> {
    #[inline]
    fn lock_shared_recursive(&self) -> Marker {
        self.0.lock_shared_recursive();
        Marker::new()
    }

    #[inline]
    fn try_lock_shared_recursive(&self) -> Option<Marker> {
        marked(self.0.try_lock_shared_recursive())
    }
}

// SAFETY: as above.
unsafe impl<R: old::RawRwLockRecursiveTimed> ReadAgainTimed for Bridge<R> {
    #[inline]
    fn try_lock_shared_recursive_for(&self, timeout: R::Duration) -> Option<Marker> {
        marked(self.0.try_lock_shared_recursive_for(timeout))
    }

    #[inline]
    fn try_lock_shared_recursive_until(&self, timeout: R::Instant) -> Option<Marker> {
        marked(self.0.try_lock_shared_recursive_until(timeout))
    }
}
