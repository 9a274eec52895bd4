//! [`Condvar`].

use super::mutex::{MutexGuard, woken};
use crate::class::{Class, DeclaredClass, Instrumentable, Unclassed};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{LockResult, PoisonError, WaitTimeoutResult};
use std::time::{Duration, Instant};

#[cfg(not(feature = "stats"))]
type Raw = crate::raw::PoisoningCondvar;
#[cfg(feature = "stats")]
type Raw = crate::raw::RawCondvar;

/// A condition variable with the interface of [`std::sync::Condvar`], which records how long threads sleep in
/// it, as [`crate::Condvar`] does. Waits never end spuriously.
///
/// Who waits with another mutex than those that wait already panics.
#[repr(transparent)]
pub struct Condvar<C = Unclassed> {
    class: PhantomData<fn() -> C>,
    raw: Raw,
}

impl<C: Class> Condvar<C> {
    /// A condition variable nobody waits for. Costs nothing at run time.
    #[inline]
    #[track_caller]
    #[must_use]
    pub const fn new() -> Self {
        #[cfg(feature = "stats")]
        let raw = match C::DECLARED {
            Some(declaration) => Raw::declared(declaration),
            None => Raw::at_site(std::panic::Location::caller()),
        };
        #[cfg(not(feature = "stats"))]
        let raw = <Raw as lock_api::RawCondvar>::INIT;
        Condvar {
            class: PhantomData,
            raw,
        }
    }
}

impl Condvar {
    /// A condition variable of the class that has this name, as [`Mutex::named`](super::Mutex::named) makes a
    /// lock of it.
    #[track_caller]
    #[must_use]
    pub fn named(name: &str) -> Self {
        #[cfg(feature = "stats")]
        let raw = Raw::named(name);
        #[cfg(not(feature = "stats"))]
        let (raw, _) = (<Raw as lock_api::RawCondvar>::INIT, name);
        Condvar {
            class: PhantomData,
            raw,
        }
    }
}

impl<C> Condvar<C> {
    /// Sleeps, for so long at most. Returns whether the time was up.
    #[cfg(feature = "stats")]
    #[track_caller]
    fn sleep<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, limit: Option<Duration>) -> bool {
        self.raw.sleep_unlocked(
            guard.raw(),
            |sleep| guard.unlocked(sleep),
            |condvar, gate| {
                let Some(limit) = limit else {
                    condvar.wait(gate);
                    return false;
                };
                condvar.wait_for(gate, limit).timed_out()
            },
            |timed_out| *timed_out,
        )
    }

    #[cfg(not(feature = "stats"))]
    fn sleep<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, limit: Option<Duration>) -> bool {
        use lock_api::{RawCondvar as _, RawCondvarTimed as _};

        let (mutex, state) = guard.raw_and_state();
        // SAFETY: the mutex is held with this state.
        unsafe {
            let Some(limit) = limit else {
                self.raw.wait(mutex, state);
                return false;
            };
            self.raw.wait_for(mutex, state, &limit)
        }
    }

    /// Unlocks the mutex and sleeps until notified; the mutex is locked again on return.
    ///
    /// # Errors
    ///
    /// If the mutex is poisoned by then.
    #[inline]
    #[track_caller]
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.sleep(&mut guard, None);
        woken(guard)
    }

    /// [Waits](Self::wait) as long as `condition` says so, which is called with the mutex locked.
    ///
    /// # Errors
    ///
    /// If the mutex is poisoned after a wait.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// [Waits](Self::wait) for so many milliseconds at most. The result says whether it was notified.
    ///
    /// # Errors
    ///
    /// If the mutex is poisoned by then.
    #[track_caller]
    #[deprecated(since = "0.1.0", note = "std's is: use `wait_timeout`")]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        let result = self.wait_timeout(guard, Duration::from_millis(ms.into()));
        let was_notified = |(guard, woken): (_, WaitTimeoutResult)| (guard, !woken.timed_out());
        match result {
            Ok(woken) => Ok(was_notified(woken)),
            Err(error) => Err(PoisonError::new(was_notified(error.into_inner()))),
        }
    }

    /// [Waits](Self::wait) for `dur` at most. The result says whether the time was up.
    ///
    /// # Errors
    ///
    /// If the mutex is poisoned by then.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let result = std_result(self.sleep(&mut guard, Some(dur)));
        match woken(guard) {
            Ok(guard) => Ok((guard, result)),
            Err(error) => Err(PoisonError::new((error.into_inner(), result))),
        }
    }

    /// [Waits](Self::wait) as long as `condition` says so, for `dur` at most. The result says whether the time
    /// was up with the condition still true.
    ///
    /// # Errors
    ///
    /// If the mutex is poisoned after a wait.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = Instant::now();
        loop {
            if !condition(&mut *guard) {
                return Ok((guard, std_result(false)));
            }
            let Some(timeout) = dur.checked_sub(start.elapsed()) else {
                return Ok((guard, std_result(true)));
            };
            guard = self.wait_timeout(guard, timeout)?.0;
        }
    }

    /// Wakes one thread that waits, if any.
    #[inline]
    pub fn notify_one(&self) {
        #[cfg(feature = "stats")]
        self.raw
            .notify(parking_lot::Condvar::notify_one, usize::from);
        #[cfg(not(feature = "stats"))]
        lock_api::RawCondvar::notify_one(&self.raw);
    }

    /// Wakes all threads that wait.
    #[inline]
    pub fn notify_all(&self) {
        #[cfg(feature = "stats")]
        self.raw.notify(parking_lot::Condvar::notify_all, |n| n);
        #[cfg(not(feature = "stats"))]
        lock_api::RawCondvar::notify_all(&self.raw);
    }
}

/// std's word for whether the time was up. Only a condition variable of std's makes one: here one that does
/// not wait, because nothing is to be waited for, or not for any time.
fn std_result(timed_out: bool) -> WaitTimeoutResult {
    let mutex = std::sync::Mutex::new(());
    let nobody = std::sync::Condvar::new();
    let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
    let result = nobody.wait_timeout_while(guard, Duration::ZERO, |()| timed_out);
    let (_guard, result) = result.unwrap_or_else(PoisonError::into_inner);
    result
}

impl<C: Class> Default for Condvar<C> {
    #[inline]
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<C: DeclaredClass> Deref for Condvar<C> {
    type Target = Condvar;

    #[inline]
    fn deref(&self) -> &Self::Target {
        let condvar: *const Self = self;
        // SAFETY: `repr(transparent)` over the same type; `C` has no value.
        unsafe { &*condvar.cast::<Condvar>() }
    }
}

impl<C> fmt::Debug for Condvar<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

#[diagnostic::do_not_recommend]
impl<C> Instrumentable<C> for Condvar {
    type Lock = Condvar<C>;
}
