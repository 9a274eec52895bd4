//! `lock_api`'s reader-writer traits for an instrumented raw lock.

use super::{Held, Instrumented, Kinds};
use crate::clock;
use crate::stats::Row;
use lock_api::{
    RawRwLock, RawRwLockDowngrade, RawRwLockFair, RawRwLockTimed, RawRwLockUpgrade,
    RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair, RawRwLockUpgradeTimed,
};
use std::panic::Location;

// SAFETY: every method delegates to one of `R`, which is a raw reader-writer lock, with the state
// that `R` returned for the same acquisition. Recording neither locks, unlocks nor unwinds.
unsafe impl<R: RawRwLock, K: Kinds> RawRwLock for Instrumented<R, K> {
    const INIT: Self = Instrumented::at_site(Location::caller(), R::INIT);

    type SharedGuard = Held<R::SharedGuard>;
    type ExclusiveGuard = Held<R::ExclusiveGuard>;

    #[inline]
    #[track_caller]
    fn lock_shared(&self) -> Self::SharedGuard {
        self.acquire(K::RWLOCK, Row::Read, R::try_lock_shared, R::lock_shared)
    }

    #[inline]
    #[track_caller]
    fn try_lock_shared(&self) -> Option<Self::SharedGuard> {
        self.try_acquire(K::RWLOCK, Row::Read, R::try_lock_shared)
    }

    #[inline]
    unsafe fn unlock_shared(&self, guard: Self::SharedGuard) {
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        self.release(guard, |raw, inner| unsafe { raw.unlock_shared(inner) });
    }

    #[inline]
    #[track_caller]
    fn lock_exclusive(&self) -> Self::ExclusiveGuard {
        let (now, wait) = (R::try_lock_exclusive, R::lock_exclusive);
        self.acquire(K::RWLOCK, Row::Write, now, wait)
    }

    #[inline]
    #[track_caller]
    fn try_lock_exclusive(&self) -> Option<Self::ExclusiveGuard> {
        self.try_acquire(K::RWLOCK, Row::Write, R::try_lock_exclusive)
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, guard: Self::ExclusiveGuard) {
        // SAFETY: as for `unlock_shared`.
        self.release(guard, |raw, inner| unsafe { raw.unlock_exclusive(inner) });
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    #[inline]
    fn is_locked_exclusive(&self) -> bool {
        self.raw.is_locked_exclusive()
    }
}

// SAFETY: as above. The `bump` methods are left to the trait's defaults, which unlock and lock
// through the methods above: one hold ends and another starts.
unsafe impl<R: RawRwLockFair, K: Kinds> RawRwLockFair for Instrumented<R, K> {
    #[inline]
    unsafe fn unlock_shared_fair(&self, guard: Self::SharedGuard) {
        // SAFETY: as for `unlock_shared`.
        self.release(guard, |raw, inner| unsafe { raw.unlock_shared_fair(inner) });
    }

    #[inline]
    unsafe fn unlock_exclusive_fair(&self, guard: Self::ExclusiveGuard) {
        // SAFETY: as for `unlock_shared`.
        self.release(guard, |raw, inner| unsafe {
            raw.unlock_exclusive_fair(inner);
        });
    }
}

// SAFETY: as above.
unsafe impl<R: RawRwLockDowngrade, K: Kinds> RawRwLockDowngrade for Instrumented<R, K> {
    #[inline]
    #[track_caller]
    unsafe fn downgrade(&self, guard: Self::ExclusiveGuard) -> Self::SharedGuard {
        // SAFETY: as for `unlock_shared`.
        self.convert(guard, Row::Read, |raw, inner| unsafe {
            raw.downgrade(inner)
        })
    }
}

// SAFETY: as above.
unsafe impl<R: RawRwLockTimed, K: Kinds> RawRwLockTimed for Instrumented<R, K> {
    type Duration = R::Duration;
    type Instant = R::Instant;

    #[inline]
    #[track_caller]
    fn try_lock_shared_for(&self, timeout: Self::Duration) -> Option<Self::SharedGuard> {
        let wait = |raw: &R| raw.try_lock_shared_for(timeout);
        self.acquire_within(K::RWLOCK, Row::Read, R::try_lock_shared, wait)
    }

    #[inline]
    #[track_caller]
    fn try_lock_shared_until(&self, timeout: Self::Instant) -> Option<Self::SharedGuard> {
        let wait = |raw: &R| raw.try_lock_shared_until(timeout);
        self.acquire_within(K::RWLOCK, Row::Read, R::try_lock_shared, wait)
    }

    #[inline]
    #[track_caller]
    fn try_lock_exclusive_for(&self, timeout: Self::Duration) -> Option<Self::ExclusiveGuard> {
        let wait = |raw: &R| raw.try_lock_exclusive_for(timeout);
        self.acquire_within(K::RWLOCK, Row::Write, R::try_lock_exclusive, wait)
    }

    #[inline]
    #[track_caller]
    fn try_lock_exclusive_until(&self, timeout: Self::Instant) -> Option<Self::ExclusiveGuard> {
        let wait = |raw: &R| raw.try_lock_exclusive_until(timeout);
        self.acquire_within(K::RWLOCK, Row::Write, R::try_lock_exclusive, wait)
    }
}

impl<R: RawRwLockUpgrade, K: Kinds> Instrumented<R, K> {
    /// An upgrade ends the upgradable hold when it is asked for; what it then has to wait for the
    /// other readers counts as a write wait. `wait` may give up and return the upgradable state.
    ///
    /// # Safety
    ///
    /// The caller holds the lock upgradably with this state, and `wait` is an upgrade of `R`.
    #[inline]
    #[track_caller]
    unsafe fn upgrade_with(
        &self,
        held: Held<R::UpgradableGuard>,
        wait: impl FnOnce(&R, R::UpgradableGuard) -> Result<R::ExclusiveGuard, R::UpgradableGuard>,
    ) -> Result<Held<R::ExclusiveGuard>, Held<R::UpgradableGuard>> {
        let Some(observed) = held.observed else {
            return wait(&self.raw, held.inner)
                .map(Held::unobserved)
                .map_err(Held::unobserved);
        };
        let start = clock::now();
        // SAFETY: `R` is held upgradably with the inner state.
        let inner = match unsafe { self.raw.try_upgrade(held.inner) } {
            Ok(inner) => {
                self.settle(observed, start);
                let observed = observed.succeed(start, Row::Write, Location::caller());
                return Ok(Held::observed(inner, observed));
            }
            Err(inner) => inner,
        };
        let stripe = observed.site().stripe().of(Row::Write);
        let site = stripe.site(Location::caller());
        stripe.prepare_to_block();
        let waiting = self.begin_wait(site, start);
        match wait(&self.raw, inner) {
            Ok(inner) => {
                let at = clock::now();
                self.settle(observed, start);
                self.end_wait(site, waiting, at, || false);
                observed.ended(start);
                Ok(Held::observed(inner, observed.next(site, at)))
            }
            Err(inner) => {
                self.give_up(site, waiting);
                Err(Held::observed(inner, observed))
            }
        }
    }
}

// SAFETY: as above.
unsafe impl<R: RawRwLockUpgrade, K: Kinds> RawRwLockUpgrade for Instrumented<R, K> {
    type UpgradableGuard = Held<R::UpgradableGuard>;

    #[inline]
    #[track_caller]
    fn lock_upgradable(&self) -> Self::UpgradableGuard {
        let (now, wait) = (R::try_lock_upgradable, R::lock_upgradable);
        self.acquire(K::RWLOCK, Row::Upgradable, now, wait)
    }

    #[inline]
    #[track_caller]
    fn try_lock_upgradable(&self) -> Option<Self::UpgradableGuard> {
        self.try_acquire(K::RWLOCK, Row::Upgradable, R::try_lock_upgradable)
    }

    #[inline]
    unsafe fn unlock_upgradable(&self, guard: Self::UpgradableGuard) {
        // SAFETY: as for `unlock_shared`.
        self.release(guard, |raw, inner| unsafe { raw.unlock_upgradable(inner) });
    }

    #[inline]
    #[track_caller]
    unsafe fn upgrade(&self, guard: Self::UpgradableGuard) -> Self::ExclusiveGuard {
        // SAFETY: as for `unlock_shared`.
        match unsafe { self.upgrade_with(guard, |raw, inner| Ok(raw.upgrade(inner))) } {
            Ok(held) => {
                self.note(Row::Write, Location::caller());
                held
            }
            Err(_) => unreachable!("waiting without a limit does not give up"),
        }
    }

    #[inline]
    #[track_caller]
    unsafe fn try_upgrade(
        &self,
        guard: Self::UpgradableGuard,
    ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
        let location = Location::caller();
        let Some(observed) = guard.observed else {
            // SAFETY: as for `unlock_shared`.
            let tried = unsafe { self.raw.try_upgrade(guard.inner) };
            return tried
                .inspect(|_| self.note(Row::Write, location))
                .map(Held::unobserved)
                .map_err(Held::unobserved);
        };
        let now = clock::now();
        // SAFETY: as for `unlock_shared`.
        match unsafe { self.raw.try_upgrade(guard.inner) } {
            Ok(inner) => {
                self.note(Row::Write, location);
                self.settle(observed, now);
                let observed = observed.succeed(now, Row::Write, location);
                Ok(Held::observed(inner, observed))
            }
            Err(inner) => {
                observed.site().stripe().of(Row::Write).try_failed();
                Err(Held::observed(inner, observed))
            }
        }
    }
}

// SAFETY: as above.
unsafe impl<R: RawRwLockUpgradeFair, K: Kinds> RawRwLockUpgradeFair for Instrumented<R, K> {
    #[inline]
    unsafe fn unlock_upgradable_fair(&self, guard: Self::UpgradableGuard) {
        // SAFETY: as for `unlock_shared`.
        self.release(guard, |raw, inner| unsafe {
            raw.unlock_upgradable_fair(inner);
        });
    }
}

// SAFETY: as above.
unsafe impl<R: RawRwLockUpgradeDowngrade, K: Kinds> RawRwLockUpgradeDowngrade
    for Instrumented<R, K>
{
    #[inline]
    #[track_caller]
    unsafe fn downgrade_upgradable(&self, guard: Self::UpgradableGuard) -> Self::SharedGuard {
        // SAFETY: as for `unlock_shared`.
        self.convert(guard, Row::Read, |raw, inner| unsafe {
            raw.downgrade_upgradable(inner)
        })
    }

    #[inline]
    #[track_caller]
    unsafe fn downgrade_to_upgradable(&self, guard: Self::ExclusiveGuard) -> Self::UpgradableGuard {
        let convert = |raw: &R, inner| {
            // SAFETY: as for `unlock_shared`.
            unsafe { raw.downgrade_to_upgradable(inner) }
        };
        self.convert(guard, Row::Upgradable, convert)
    }
}

// SAFETY: as above.
unsafe impl<R: RawRwLockUpgradeTimed, K: Kinds> RawRwLockUpgradeTimed for Instrumented<R, K> {
    #[inline]
    #[track_caller]
    fn try_lock_upgradable_for(&self, timeout: Self::Duration) -> Option<Self::UpgradableGuard> {
        let wait = |raw: &R| raw.try_lock_upgradable_for(timeout);
        self.acquire_within(K::RWLOCK, Row::Upgradable, R::try_lock_upgradable, wait)
    }

    #[inline]
    #[track_caller]
    fn try_lock_upgradable_until(&self, timeout: Self::Instant) -> Option<Self::UpgradableGuard> {
        let wait = |raw: &R| raw.try_lock_upgradable_until(timeout);
        self.acquire_within(K::RWLOCK, Row::Upgradable, R::try_lock_upgradable, wait)
    }

    #[inline]
    #[track_caller]
    unsafe fn try_upgrade_for(
        &self,
        guard: Self::UpgradableGuard,
        timeout: Self::Duration,
    ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
        let location = Location::caller();
        // SAFETY: as for `unlock_shared`.
        unsafe { self.upgrade_with(guard, |raw, inner| raw.try_upgrade_for(inner, timeout)) }
            .inspect(|_| self.note(Row::Write, location))
    }

    #[inline]
    #[track_caller]
    unsafe fn try_upgrade_until(
        &self,
        guard: Self::UpgradableGuard,
        timeout: Self::Instant,
    ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
        let location = Location::caller();
        // SAFETY: as for `unlock_shared`.
        unsafe { self.upgrade_with(guard, |raw, inner| raw.try_upgrade_until(inner, timeout)) }
            .inspect(|_| self.note(Row::Write, location))
    }
}
