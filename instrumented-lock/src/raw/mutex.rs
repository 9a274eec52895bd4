//! `lock_api`'s mutex traits for an instrumented raw mutex.

use super::{Held, Instrumented, Kinds, always};
use crate::mode::Activity;
use lock_api::{RawMutex, RawMutexFair, RawMutexTimed};
use std::panic::Location;

// SAFETY: every method delegates to one of `R`, which is a raw mutex, with the state that `R`
// returned for the same acquisition. Recording neither locks, unlocks nor unwinds.
unsafe impl<R: RawMutex, K: Kinds> RawMutex for Instrumented<R, K> {
    const INIT: Self = Instrumented::at_site(Location::caller(), R::INIT);

    type Guard = Held<R::Guard>;

    #[inline]
    #[track_caller]
    fn lock(&self) -> Self::Guard {
        let wait = |raw: &R| always(raw.lock());
        match self.acquire(K::MUTEX, Activity::Write, R::try_lock, wait) {
            Ok(held) => held,
        }
    }

    #[inline]
    #[track_caller]
    fn try_lock(&self) -> Option<Self::Guard> {
        self.try_acquire(K::MUTEX, Activity::Write, R::try_lock)
    }

    #[inline]
    #[track_caller]
    unsafe fn unlock(&self, guard: Self::Guard) {
        self.lets_go(&guard, Activity::Write, Location::caller());
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        self.release(guard, |raw, inner| unsafe { raw.unlock(inner) });
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }
}

// SAFETY: every method asks `R` for the same, and what `R` promises holds. `bump` is left to the trait's
// default, which unlocks and locks through the methods above: one hold ends and another starts.
unsafe impl<R: RawMutexFair, K: Kinds> RawMutexFair for Instrumented<R, K> {
    #[inline]
    #[track_caller]
    unsafe fn unlock_fair(&self, guard: Self::Guard) {
        self.lets_go_fairly(&guard, Activity::Write, Location::caller());
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        self.release(guard, |raw, inner| unsafe { raw.unlock_fair(inner) });
    }
}

// SAFETY: every method asks `R` for the same, and what `R` promises holds.
unsafe impl<R: RawMutexTimed, K: Kinds> RawMutexTimed for Instrumented<R, K> {
    type Duration = R::Duration;
    type Instant = R::Instant;

    #[inline]
    #[track_caller]
    fn try_lock_for(&self, timeout: Self::Duration) -> Option<Self::Guard> {
        let wait = |raw: &R| raw.try_lock_for(timeout).ok_or(());
        self.acquire(K::MUTEX, Activity::Write, R::try_lock, wait)
            .ok()
    }

    #[inline]
    #[track_caller]
    fn try_lock_until(&self, timeout: Self::Instant) -> Option<Self::Guard> {
        let wait = |raw: &R| raw.try_lock_until(timeout).ok_or(());
        self.acquire(K::MUTEX, Activity::Write, R::try_lock, wait)
            .ok()
    }
}
