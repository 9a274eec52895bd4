//! `lock_api`'s reader-writer traits for an instrumented raw lock.

use super::{Held, Hold, Instrumented, Kinds, Observed, always};
use crate::brief;
use crate::lock_kind::LockKind;
use crate::mode::Activity;
use crate::nesting;
use crate::stats;
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
        let wait = |raw: &R| always(raw.lock_shared());
        match self.acquire(K::RWLOCK, Activity::Read, R::try_lock_shared, wait) {
            Ok(held) => held,
        }
    }

    #[inline]
    #[track_caller]
    fn try_lock_shared(&self) -> Option<Self::SharedGuard> {
        self.try_acquire(K::RWLOCK, Activity::Read, R::try_lock_shared)
    }

    #[inline]
    #[track_caller]
    unsafe fn unlock_shared(&self, guard: Self::SharedGuard) {
        self.lets_go(&guard, Activity::Read, Location::caller());
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        self.release(guard, |raw, inner| unsafe { raw.unlock_shared(inner) });
    }

    #[inline]
    #[track_caller]
    fn lock_exclusive(&self) -> Self::ExclusiveGuard {
        let wait = |raw: &R| always(raw.lock_exclusive());
        match self.acquire(K::RWLOCK, Activity::Write, R::try_lock_exclusive, wait) {
            Ok(held) => held,
        }
    }

    #[inline]
    #[track_caller]
    fn try_lock_exclusive(&self) -> Option<Self::ExclusiveGuard> {
        self.try_acquire(K::RWLOCK, Activity::Write, R::try_lock_exclusive)
    }

    #[inline]
    #[track_caller]
    unsafe fn unlock_exclusive(&self, guard: Self::ExclusiveGuard) {
        self.lets_go(&guard, Activity::Write, Location::caller());
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
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

// SAFETY: every method asks `R` for the same, and what `R` promises holds. The `bump` methods are left to
// the trait's defaults, which unlock and lock through the methods above: one hold ends, another starts.
unsafe impl<R: RawRwLockFair, K: Kinds> RawRwLockFair for Instrumented<R, K> {
    #[inline]
    #[track_caller]
    unsafe fn unlock_shared_fair(&self, guard: Self::SharedGuard) {
        self.lets_go_fairly(&guard, Activity::Read, Location::caller());
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        self.release(guard, |raw, inner| unsafe { raw.unlock_shared_fair(inner) });
    }

    #[inline]
    #[track_caller]
    unsafe fn unlock_exclusive_fair(&self, guard: Self::ExclusiveGuard) {
        self.lets_go_fairly(&guard, Activity::Write, Location::caller());
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        self.release(guard, |raw, inner| unsafe {
            raw.unlock_exclusive_fair(inner);
        });
    }
}

// SAFETY: every method asks `R` for the same, and what `R` promises holds.
unsafe impl<R: RawRwLockDowngrade, K: Kinds> RawRwLockDowngrade for Instrumented<R, K> {
    #[inline]
    #[track_caller]
    unsafe fn downgrade(&self, guard: Self::ExclusiveGuard) -> Self::SharedGuard {
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        self.convert(guard, Activity::Read, |raw, inner| unsafe {
            raw.downgrade(inner)
        })
    }
}

// SAFETY: every method asks `R` for the same, and what `R` promises holds.
unsafe impl<R: RawRwLockTimed, K: Kinds> RawRwLockTimed for Instrumented<R, K> {
    type Duration = R::Duration;
    type Instant = R::Instant;

    #[inline]
    #[track_caller]
    fn try_lock_shared_for(&self, timeout: Self::Duration) -> Option<Self::SharedGuard> {
        let wait = |raw: &R| raw.try_lock_shared_for(timeout).ok_or(());
        self.acquire(K::RWLOCK, Activity::Read, R::try_lock_shared, wait)
            .ok()
    }

    #[inline]
    #[track_caller]
    fn try_lock_shared_until(&self, timeout: Self::Instant) -> Option<Self::SharedGuard> {
        let wait = |raw: &R| raw.try_lock_shared_until(timeout).ok_or(());
        self.acquire(K::RWLOCK, Activity::Read, R::try_lock_shared, wait)
            .ok()
    }

    #[inline]
    #[track_caller]
    fn try_lock_exclusive_for(&self, timeout: Self::Duration) -> Option<Self::ExclusiveGuard> {
        let wait = |raw: &R| raw.try_lock_exclusive_for(timeout).ok_or(());
        self.acquire(K::RWLOCK, Activity::Write, R::try_lock_exclusive, wait)
            .ok()
    }

    #[inline]
    #[track_caller]
    fn try_lock_exclusive_until(&self, timeout: Self::Instant) -> Option<Self::ExclusiveGuard> {
        let wait = |raw: &R| raw.try_lock_exclusive_until(timeout).ok_or(());
        self.acquire(K::RWLOCK, Activity::Write, R::try_lock_exclusive, wait)
            .ok()
    }
}

impl<R: RawRwLockUpgrade, K: Kinds> Instrumented<R, K> {
    /// An upgrade ends the upgradable hold when it is asked for; what it then has to wait for the
    /// other readers counts as a write wait. `wait` may give up and return the upgradable state.
    ///
    /// # Safety
    ///
    /// The caller holds the lock upgradably with this state, and `wait` is an upgrade of `R`.
    #[track_caller]
    unsafe fn upgrade_with<E>(
        &self,
        held: Held<R::UpgradableGuard>,
        wait: impl FnOnce(&R, R::UpgradableGuard) -> Result<R::ExclusiveGuard, E>,
        not_upgraded: impl FnOnce(E) -> R::UpgradableGuard,
    ) -> Result<Held<R::ExclusiveGuard>, Held<R::UpgradableGuard>> {
        let location = Location::caller();
        let Some(hold) = held.hold else {
            let upgraded = wait(&self.raw, held.inner).map_err(not_upgraded);
            return upgraded
                .inspect(|_| self.note(Activity::Write, location))
                .map(Held::unobserved)
                .map_err(Held::unobserved);
        };
        let start = hold.end();
        // SAFETY: `R` is held upgradably with the inner state.
        let now = || unsafe { self.raw.try_upgrade(held.inner) };
        let inner = match self.or_ends(held.hold, now) {
            Ok(inner) => {
                self.note(Activity::Write, location);
                let hold = self.succeed(hold, Activity::Write, location, start);
                return Ok(Held { inner, hold });
            }
            Err(inner) => inner,
        };
        if brief::is_inside() {
            hold.record().finish(start);
            let upgraded = wait(&self.raw, inner).map_err(not_upgraded);
            return upgraded.map(Held::unobserved).map_err(Held::unobserved);
        }
        let wait = || self.wait_to_upgrade(hold, location, start, |raw| wait(raw, inner));
        match self.or_ends(Some(hold), wait) {
            Ok(held) => {
                self.note(Activity::Write, location);
                Ok(held)
            }
            Err(error) => Err(Held::observed(not_upgraded(error), hold)),
        }
    }

    /// Waits for the other readers, from `start`, when `hold` ends if the wait succeeds.
    fn wait_to_upgrade<G, E>(
        &self,
        hold: Hold,
        location: &'static Location<'static>,
        start: u64,
        wait: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<Held<G>, E> {
        let record = hold.record();
        let thread = stats::this_thread();
        let class = self.class.class(LockKind::Unknown);
        if class.has_order() {
            let request = self.request(class, Activity::Write, location);
            nesting::is_about_to_acquire(thread, &request);
        }
        let observed = Observed {
            class,
            room: thread.room_for_one(),
            timing: hold.timing(),
            site: class.state().tells_lines().then_some(location),
        };
        // Nobody is kept waiting by what waits itself.
        self.tell_end(record, start, false);
        record.set_what(record.what() & !stats::WATCHED);
        let held = self.wait(thread, &observed, Activity::Write, wait);
        if let Ok(held) = &held {
            record.finish(start);
            self.has_acquired(thread, held.hold);
        } else {
            self.tell_again(record);
        }
        held
    }
}

// SAFETY: every method asks `R` for the same, and what `R` promises holds.
unsafe impl<R: RawRwLockUpgrade, K: Kinds> RawRwLockUpgrade for Instrumented<R, K> {
    type UpgradableGuard = Held<R::UpgradableGuard>;

    #[inline]
    #[track_caller]
    fn lock_upgradable(&self) -> Self::UpgradableGuard {
        let wait = |raw: &R| always(raw.lock_upgradable());
        match self.acquire(
            K::RWLOCK,
            Activity::Upgradable,
            R::try_lock_upgradable,
            wait,
        ) {
            Ok(held) => held,
        }
    }

    #[inline]
    #[track_caller]
    fn try_lock_upgradable(&self) -> Option<Self::UpgradableGuard> {
        self.try_acquire(K::RWLOCK, Activity::Upgradable, R::try_lock_upgradable)
    }

    #[inline]
    #[track_caller]
    unsafe fn unlock_upgradable(&self, guard: Self::UpgradableGuard) {
        self.lets_go(&guard, Activity::Upgradable, Location::caller());
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        self.release(guard, |raw, inner| unsafe { raw.unlock_upgradable(inner) });
    }

    #[inline]
    #[track_caller]
    unsafe fn upgrade(&self, guard: Self::UpgradableGuard) -> Self::ExclusiveGuard {
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        let upgraded = unsafe {
            self.upgrade_with(
                guard,
                |raw, inner| always(raw.upgrade(inner)),
                |no| match no {},
            )
        };
        upgraded.unwrap_or_else(|_| unreachable!("waiting without a limit does not give up"))
    }

    #[inline]
    #[track_caller]
    unsafe fn try_upgrade(
        &self,
        guard: Self::UpgradableGuard,
    ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
        let location = Location::caller();
        let start = guard.hold.map(Hold::end);
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        let now = || unsafe { self.raw.try_upgrade(guard.inner) };
        match self.or_ends(guard.hold, now) {
            Ok(inner) => {
                self.note(Activity::Write, location);
                let succeed = |(hold, start)| self.succeed(hold, Activity::Write, location, start);
                let hold = guard.hold.zip(start).and_then(succeed);
                Ok(Held { inner, hold })
            }
            Err(inner) => {
                if guard.hold.is_some() {
                    self.failed_to_upgrade();
                }
                Err(Held {
                    inner,
                    hold: guard.hold,
                })
            }
        }
    }
}

// SAFETY: every method asks `R` for the same, and what `R` promises holds.
unsafe impl<R: RawRwLockUpgradeFair, K: Kinds> RawRwLockUpgradeFair for Instrumented<R, K> {
    #[inline]
    #[track_caller]
    unsafe fn unlock_upgradable_fair(&self, guard: Self::UpgradableGuard) {
        self.lets_go_fairly(&guard, Activity::Upgradable, Location::caller());
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        self.release(guard, |raw, inner| unsafe {
            raw.unlock_upgradable_fair(inner);
        });
    }
}

// SAFETY: every method asks `R` for the same, and what `R` promises holds.
unsafe impl<R: RawRwLockUpgradeDowngrade, K: Kinds> RawRwLockUpgradeDowngrade
    for Instrumented<R, K>
{
    #[inline]
    #[track_caller]
    unsafe fn downgrade_upgradable(&self, guard: Self::UpgradableGuard) -> Self::SharedGuard {
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        self.convert(guard, Activity::Read, |raw, inner| unsafe {
            raw.downgrade_upgradable(inner)
        })
    }

    #[inline]
    #[track_caller]
    unsafe fn downgrade_to_upgradable(&self, guard: Self::ExclusiveGuard) -> Self::UpgradableGuard {
        let convert = |raw: &R, inner| {
            // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
            unsafe { raw.downgrade_to_upgradable(inner) }
        };
        self.convert(guard, Activity::Upgradable, convert)
    }
}

// SAFETY: every method asks `R` for the same, and what `R` promises holds.
unsafe impl<R: RawRwLockUpgradeTimed, K: Kinds> RawRwLockUpgradeTimed for Instrumented<R, K> {
    #[inline]
    #[track_caller]
    fn try_lock_upgradable_for(&self, timeout: Self::Duration) -> Option<Self::UpgradableGuard> {
        let wait = |raw: &R| raw.try_lock_upgradable_for(timeout).ok_or(());
        self.acquire(
            K::RWLOCK,
            Activity::Upgradable,
            R::try_lock_upgradable,
            wait,
        )
        .ok()
    }

    #[inline]
    #[track_caller]
    fn try_lock_upgradable_until(&self, timeout: Self::Instant) -> Option<Self::UpgradableGuard> {
        let wait = |raw: &R| raw.try_lock_upgradable_until(timeout).ok_or(());
        self.acquire(
            K::RWLOCK,
            Activity::Upgradable,
            R::try_lock_upgradable,
            wait,
        )
        .ok()
    }

    #[inline]
    #[track_caller]
    unsafe fn try_upgrade_for(
        &self,
        guard: Self::UpgradableGuard,
        timeout: Self::Duration,
    ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
        let wait = |raw: &R, inner| {
            // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
            unsafe { raw.try_upgrade_for(inner, timeout) }
        };
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        unsafe { self.upgrade_with(guard, wait, |inner| inner) }
    }

    #[inline]
    #[track_caller]
    unsafe fn try_upgrade_until(
        &self,
        guard: Self::UpgradableGuard,
        timeout: Self::Instant,
    ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
        let wait = |raw: &R, inner| {
            // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
            unsafe { raw.try_upgrade_until(inner, timeout) }
        };
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        unsafe { self.upgrade_with(guard, wait, |inner| inner) }
    }
}
