//! [`Condvar`].

use crate::class::{Class, DeclaredClass, Instrumentable, Unclassed};
use crate::mutex::MutexGuard;
use crate::raw::RawCondvar;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;
use std::time::{Duration, Instant};

pub use lock_api::WaitTimeoutResult;

/// A condition variable that records how long threads sleep in it.
///
/// The methods are those of [`parking_lot::Condvar`], which it wraps. Waits never end spuriously.
/// Who waits with another mutex than those that wait already panics.
///
/// A wait ends the hold of the mutex and starts another one when it returns. The time asleep is
/// [its own statistic](crate::SleepSnapshot), of the mutex and of this condition variable; the wait
/// for the mutex after a wake-up is a wait like any other. After `notify_all` the threads wake one
/// after another and compete for the mutex, so a convoy shows as contended acquisitions.
///
/// Memory: four words.
///
/// ```
/// use instrumented_lock::{Condvar, Mutex, instrumented, registry};
/// use std::collections::VecDeque;
/// use std::thread;
///
/// #[instrumented]
/// #[derive(Default)]
/// struct Queue {
///     jobs: Mutex<VecDeque<u32>>,
///     filled: Condvar,
/// }
///
/// let queue = Queue::default();
/// thread::scope(|scope| {
///     scope.spawn(|| {
///         let mut jobs = queue.jobs.lock();
///         queue.filled.wait_while(&mut jobs, |jobs| jobs.is_empty());
///         assert_eq!(jobs.pop_front(), Some(7));
///     });
///     queue.jobs.lock().push_back(7);
///     queue.filled.notify_one();
/// });
/// let snapshot = registry::snapshot();
/// let filled = snapshot.lock("Queue::filled").unwrap();
/// assert_eq!(filled.sleep().notified(), filled.sleep().waits());
/// ```
#[repr(transparent)]
pub struct Condvar<C = Unclassed> {
    class: PhantomData<fn() -> C>,
    raw: RawCondvar,
}

impl<C: Class> Condvar<C> {
    /// A condition variable nobody waits for. Costs nothing at run time.
    #[inline]
    #[track_caller]
    #[must_use]
    pub const fn new() -> Self {
        let raw = match C::DECLARED {
            Some(declaration) => RawCondvar::declared(declaration),
            None => RawCondvar::at_site(Location::caller()),
        };
        Condvar {
            class: PhantomData,
            raw,
        }
    }
}

impl Condvar {
    /// A condition variable of the class that has this name, as [`Mutex::named`](crate::Mutex::named)
    /// makes a lock of it.
    #[track_caller]
    #[must_use]
    pub fn named(name: &str) -> Self {
        Condvar {
            class: PhantomData,
            raw: RawCondvar::named(name),
        }
    }

    /// What is under it.
    #[inline]
    pub fn raw(&self) -> &RawCondvar {
        &self.raw
    }

    /// Wakes one thread that waits. Returns whether there was one.
    #[inline]
    pub fn notify_one(&self) -> bool {
        self.raw
            .notify(parking_lot::Condvar::notify_one, usize::from)
    }

    /// Wakes all threads that wait. Returns how many.
    #[inline]
    pub fn notify_all(&self) -> usize {
        self.raw.notify(parking_lot::Condvar::notify_all, |n| n)
    }

    /// Unlocks the mutex and sleeps until notified; the mutex is locked again on return.
    #[inline]
    #[track_caller]
    pub fn wait<T: ?Sized>(&self, mutex_guard: &mut MutexGuard<'_, T>) {
        self.raw
            .sleep(mutex_guard, parking_lot::Condvar::wait, |()| false);
    }

    /// [Waits](Self::wait) as long as `condition` says so, which is called with the mutex locked.
    #[inline]
    #[track_caller]
    pub fn wait_while<T, F>(&self, mutex_guard: &mut MutexGuard<'_, T>, mut condition: F)
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut **mutex_guard) {
            self.wait(mutex_guard);
        }
    }

    /// [Waits](Self::wait) until `timeout` at the latest. The result says whether the time was up.
    #[inline]
    #[track_caller]
    pub fn wait_until<T: ?Sized>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        timeout: Instant,
    ) -> WaitTimeoutResult {
        self.raw.sleep(
            mutex_guard,
            |condvar, gate| condvar.wait_until(gate, timeout),
            |woken| woken.timed_out(),
        )
    }

    /// [Waits](Self::wait) for `timeout` at most. The result says whether the time was up.
    #[inline]
    #[track_caller]
    pub fn wait_for<T: ?Sized>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.raw.sleep(
            mutex_guard,
            |condvar, gate| condvar.wait_for(gate, timeout),
            |woken| woken.timed_out(),
        )
    }

    /// [Waits](Self::wait) as long as `condition` says so, until `timeout` at the latest. The
    /// result says whether the time was up with the condition still true.
    #[track_caller]
    pub fn wait_while_until<T, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        mut condition: F,
        timeout: Instant,
    ) -> WaitTimeoutResult
    where
        T: ?Sized,
        F: FnMut(&mut T) -> bool,
    {
        let mut woken = in_time();
        loop {
            if !condition(&mut **mutex_guard) {
                return in_time();
            }
            if woken.timed_out() {
                return woken;
            }
            woken = self.wait_until(mutex_guard, timeout);
        }
    }

    /// [Waits](Self::wait) as long as `condition` says so, for `timeout` at most. The result says
    /// whether the time was up with the condition still true.
    #[track_caller]
    pub fn wait_while_for<T: ?Sized, F>(
        &self,
        mutex_guard: &mut MutexGuard<'_, T>,
        condition: F,
        timeout: Duration,
    ) -> WaitTimeoutResult
    where
        F: FnMut(&mut T) -> bool,
    {
        if let Some(timeout) = Instant::now().checked_add(timeout) {
            return self.wait_while_until(mutex_guard, condition, timeout);
        }
        // A time too far away to say is no limit.
        self.wait_while(mutex_guard, condition);
        in_time()
    }
}

/// The result of a wait whose time was not up, which only a condition variable can make.
fn in_time() -> WaitTimeoutResult {
    let gate = parking_lot::Mutex::new(());
    parking_lot::Condvar::new().wait_while_for(&mut gate.lock(), |()| false, Duration::ZERO)
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
        f.pad("Condvar { .. }")
    }
}

#[diagnostic::do_not_recommend]
impl<C> Instrumentable<C> for Condvar {
    type Lock = Condvar<C>;
}
