//! A raw lock with a mark that it has been poisoned, for the locks of [`std_sync`](crate::std_sync): the
//! mark lies where the raw lock leaves bytes unused, so that such a lock is as large as any other.

use super::{Held, Instrumented, Kinds, always};
use crate::mode::Activity;
use lock_api::{RawMutex, RawRwLock, RawRwLockDowngrade};
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Whether a thread has panicked while it could change what the lock protects.
#[derive(Debug)]
pub struct Poison(AtomicBool);

impl Poison {
    pub(crate) const fn new() -> Self {
        Poison(AtomicBool::new(false))
    }

    #[inline(always)]
    pub(crate) fn is_set(&self) -> bool {
        // Relaxed: who has the lock after the one that panicked sees what that one wrote before it let go.
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// The lock is about to be let go: marks it where the thread panics, and did not when it acquired.
    #[inline]
    pub(crate) fn before_unlock(&self, was_panicking: bool) {
        if !was_panicking && thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// A raw lock of type `R` that can be poisoned. It marks nothing itself: the guards of
/// [`std_sync`](crate::std_sync) do.
#[derive(Debug)]
pub struct Poisoning<R> {
    pub(super) raw: R,
    poison: Poison,
}

impl<R> Poisoning<R> {
    pub(crate) const fn new(raw: R) -> Self {
        Poisoning {
            raw,
            poison: Poison::new(),
        }
    }
}

// SAFETY: every method is that of `R`, which is a raw mutex.
unsafe impl<R: RawMutex> RawMutex for Poisoning<R> {
    const INIT: Self = Poisoning::new(R::INIT);

    type Guard = R::Guard;

    #[inline]
    #[track_caller]
    fn lock(&self) -> Self::Guard {
        self.raw.lock()
    }

    #[inline]
    #[track_caller]
    fn try_lock(&self) -> Option<Self::Guard> {
        self.raw.try_lock()
    }

    #[inline]
    #[track_caller]
    unsafe fn unlock(&self, guard: Self::Guard) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.raw.unlock(guard) }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }
}

// SAFETY: every method is that of `R`.
#[cfg(not(feature = "stats"))]
unsafe impl<R: lock_api::RawMutexTimed> lock_api::RawMutexTimed for Poisoning<R> {
    type Duration = R::Duration;
    type Instant = R::Instant;

    fn try_lock_for(&self, timeout: Self::Duration) -> Option<Self::Guard> {
        self.raw.try_lock_for(timeout)
    }

    fn try_lock_until(&self, timeout: Self::Instant) -> Option<Self::Guard> {
        self.raw.try_lock_until(timeout)
    }
}

// SAFETY: every method is that of `R`, which is a raw reader-writer lock.
unsafe impl<R: RawRwLock> RawRwLock for Poisoning<R> {
    const INIT: Self = Poisoning::new(R::INIT);

    type SharedGuard = R::SharedGuard;
    type ExclusiveGuard = R::ExclusiveGuard;

    #[inline]
    #[track_caller]
    fn lock_shared(&self) -> Self::SharedGuard {
        self.raw.lock_shared()
    }

    #[inline]
    #[track_caller]
    fn try_lock_shared(&self) -> Option<Self::SharedGuard> {
        self.raw.try_lock_shared()
    }

    #[inline]
    #[track_caller]
    unsafe fn unlock_shared(&self, guard: Self::SharedGuard) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.raw.unlock_shared(guard) }
    }

    #[inline]
    #[track_caller]
    fn lock_exclusive(&self) -> Self::ExclusiveGuard {
        self.raw.lock_exclusive()
    }

    #[inline]
    #[track_caller]
    fn try_lock_exclusive(&self) -> Option<Self::ExclusiveGuard> {
        self.raw.try_lock_exclusive()
    }

    #[inline]
    #[track_caller]
    unsafe fn unlock_exclusive(&self, guard: Self::ExclusiveGuard) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.raw.unlock_exclusive(guard) }
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

// SAFETY: the method is that of `R`.
unsafe impl<R: RawRwLockDowngrade> RawRwLockDowngrade for Poisoning<R> {
    #[inline]
    #[track_caller]
    unsafe fn downgrade(&self, guard: Self::ExclusiveGuard) -> Self::SharedGuard {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.raw.downgrade(guard) }
    }
}

/// What has a [`Poison`]: a raw lock with one, instrumented or not.
pub(crate) trait Poisonable {
    fn poison(&self) -> &Poison;
}

impl<R> Poisonable for Poisoning<R> {
    #[inline(always)]
    fn poison(&self) -> &Poison {
        &self.poison
    }
}

impl<R, K> Poisonable for Instrumented<Poisoning<R>, K> {
    #[inline(always)]
    fn poison(&self) -> &Poison {
        &self.raw.poison
    }
}

/// What guards of [`std_sync`](crate::std_sync) do with a mutex beside what others do.
pub(crate) trait OwnMutex: RawMutex {
    /// As [`unlock`](RawMutex::unlock), in the caller's code; marks the mutex where the thread panics, and was
    /// not [panicking](thread::panicking) when it acquired.
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn unlock_marking(&self, state: Self::Guard, was_panicking: bool);

    /// Acquires for one who only looks at what the mutex protects, as `Debug` does: nothing is recorded.
    fn try_look(&self) -> Option<Self::Guard>;
}

/// Takes a mutex again when this is dropped.
struct TakesAgain<'a, G, F: FnMut() -> G>(&'a mut ManuallyDrop<G>, F);

impl<G, F: FnMut() -> G> Drop for TakesAgain<'_, G, F> {
    fn drop(&mut self) {
        *self.0 = ManuallyDrop::new((self.1)());
    }
}

#[cfg(not(feature = "stats"))]
impl<R: RawMutex> OwnMutex for Poisoning<R> {
    #[inline(always)]
    unsafe fn unlock_marking(&self, state: Self::Guard, was_panicking: bool) {
        self.poison.before_unlock(was_panicking);
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.unlock(state) }
    }

    fn try_look(&self) -> Option<Self::Guard> {
        self.try_lock()
    }
}

impl<R: RawMutex, K: Kinds> OwnMutex for Instrumented<Poisoning<R>, K> {
    // Small, so that it is inlined with the guard's destructor, which is called from many places.
    #[inline(always)]
    unsafe fn unlock_marking(&self, state: Self::Guard, was_panicking: bool) {
        if self.is_released_fast(&state) && !thread::panicking() {
            // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
            return self.release_fast(state, |raw, inner| unsafe { raw.unlock(inner) });
        }
        self.unlock_marking_slowly(state, was_panicking);
    }

    fn try_look(&self) -> Option<Self::Guard> {
        self.raw.try_lock().map(Held::looked_at)
    }
}

impl<R: RawMutex, K: Kinds> Instrumented<Poisoning<R>, K> {
    #[cold]
    #[inline(never)]
    fn unlock_marking_slowly(&self, state: Held<R::Guard>, was_panicking: bool) {
        self.raw.poison.before_unlock(was_panicking);
        // SAFETY: called with a state with which the lock is held, so `R` is held with the inner state.
        self.release(state, |raw, inner| unsafe { raw.unlock(inner) });
    }

    /// Lets go of the mutex, does `f`, and takes it again, also where `f` panics.
    ///
    /// # Safety
    ///
    /// The mutex is held with this state, which is that of the later hold on return.
    #[track_caller]
    pub(crate) unsafe fn unlocked(
        &self,
        state: &mut ManuallyDrop<Held<R::Guard>>,
        f: impl FnOnce(),
    ) {
        // SAFETY: the state is put there again below.
        let held = unsafe { ManuallyDrop::take(state) };
        // As everywhere where a lock is let go and taken again: the line of the hold before.
        let line = held.line().unwrap_or(Location::caller());
        let _again = TakesAgain(state, || {
            let wait = |raw: &Poisoning<R>| always(raw.lock());
            let now = Poisoning::<R>::try_lock;
            match self.acquire_at(K::MUTEX, Activity::Write, line, now, wait) {
                Ok(held) => held,
            }
        });
        // SAFETY: the caller holds the lock with this state, so `R` is held with the inner state.
        self.release(held, |raw, inner| unsafe { raw.unlock(inner) });
        f();
    }
}

/// Acquires a reader-writer lock as a reader who only looks: nothing is recorded.
pub(crate) trait LookAtRwLock: RawRwLock {
    fn try_look(&self) -> Option<Self::SharedGuard>;
}

#[cfg(not(feature = "stats"))]
impl<R: RawRwLock> LookAtRwLock for Poisoning<R> {
    fn try_look(&self) -> Option<Self::SharedGuard> {
        self.try_lock_shared()
    }
}

impl<R: RawRwLock, K: Kinds> LookAtRwLock for Instrumented<R, K> {
    fn try_look(&self) -> Option<Self::SharedGuard> {
        self.raw.try_lock_shared().map(Held::looked_at)
    }
}

/// `parking_lot`'s condition variable for a mutex that can be poisoned.
#[cfg(not(feature = "stats"))]
pub(crate) struct PoisoningCondvar(parking_lot::RawCondvar);

// SAFETY: every method is that of `parking_lot`'s, for the mutex in the one that is given; both have the same
// guard.
#[cfg(not(feature = "stats"))]
unsafe impl lock_api::RawCondvar for PoisoningCondvar {
    const INIT: Self = PoisoningCondvar(<parking_lot::RawCondvar as lock_api::RawCondvar>::INIT);

    type RawMutex = Poisoning<parking_lot::RawMutex>;

    unsafe fn wait(&self, mutex: &Self::RawMutex, guard: &mut <Self::RawMutex as RawMutex>::Guard) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.wait(&mutex.raw, guard) }
    }

    fn notify_one(&self) -> bool {
        self.0.notify_one()
    }

    fn notify_all(&self) -> usize {
        self.0.notify_all()
    }
}

// SAFETY: every method is that of `parking_lot`'s, likewise.
#[cfg(not(feature = "stats"))]
unsafe impl lock_api::RawCondvarTimed for PoisoningCondvar {
    fn checked_duration_to_instant(timeout: &std::time::Duration) -> Option<std::time::Instant> {
        parking_lot::RawCondvar::checked_duration_to_instant(timeout)
    }

    unsafe fn wait_until(
        &self,
        mutex: &Self::RawMutex,
        guard: &mut <Self::RawMutex as RawMutex>::Guard,
        timeout: &std::time::Instant,
    ) -> bool {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.wait_until(&mutex.raw, guard, timeout) }
    }
}
