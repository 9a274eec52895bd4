//! [`Mutex`] and its guards.

use super::{NotSend, parts_of, poisoning_lock, result, shown_as_value};
use crate::raw::{OwnMutex as _, Poisonable as _, Poisoning, RawPoisoningMutex};
use lock_api::RawMutex as _;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::thread;

poisoning_lock! {
    /// A mutual exclusion lock with the interface of [`std::sync::Mutex`], which records how long it is
    /// waited for and held.
    ///
    /// `C` is the lock class, which `#[instrumented]` puts in; [`std_sync::Mutex`](super::Mutex) has it
    /// fixed. A function that takes `&std_sync::Mutex<T>` accepts a lock of any class.
    ///
    /// Memory: that of [`crate::Mutex`].
    Mutex over lock_api::Mutex<RawPoisoningMutex, T>,
    raw RawPoisoningMutex = Poisoning::new(<parking_lot::RawMutex as lock_api::RawMutex>::INIT)
}

impl<T: ?Sized, C> Mutex<T, C> {
    /// Acquires the mutex, waiting if need be.
    ///
    /// # Errors
    ///
    /// If another thread panicked while it held the mutex. The mutex is acquired all the same: the guard is in
    /// the error.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let state = self.raw().lock();
        // SAFETY: the mutex is held with this state.
        unsafe { MutexGuard::new(&self.lock, state) }
    }

    /// Acquires the mutex if nobody holds it.
    ///
    /// # Errors
    ///
    /// If somebody holds it, or as [`lock`](Self::lock).
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.tried(self.raw().try_lock())
    }

    /// The same for one who only looks at the value: nothing is recorded.
    fn try_look(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.tried(self.raw().try_look())
    }

    #[inline(always)]
    fn raw(&self) -> &RawPoisoningMutex {
        // SAFETY: it is let go by guards only.
        unsafe { self.lock.raw() }
    }

    /// A guard, if the attempt has succeeded.
    #[inline(always)]
    fn tried(&self, state: Option<State>) -> TryLockResult<MutexGuard<'_, T>> {
        match state {
            // SAFETY: the mutex is held with this state.
            Some(state) => Ok(unsafe { MutexGuard::new(&self.lock, state) }?),
            None => Err(TryLockError::WouldBlock),
        }
    }
}

impl<T: ?Sized + fmt::Debug, C> fmt::Debug for Mutex<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_struct("Mutex");
        match self.try_look() {
            Ok(guard) => d.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => d.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => d.field("data", &"<locked>"),
        };
        d.field("poisoned", &self.is_poisoned());
        d.finish_non_exhaustive()
    }
}

#[cfg(feature = "serde")]
impl<T: ?Sized + serde::Serialize, C> serde::Serialize for Mutex<T, C> {
    #[track_caller]
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        match self.lock() {
            Ok(guard) => guard.serialize(to),
            Err(_) => Err(S::Error::custom("lock poison error while serializing")),
        }
    }
}

/// What an acquisition remembers.
type State = <RawPoisoningMutex as lock_api::RawMutex>::Guard;

/// The mutex is held while this lives; dropping it unlocks, then records.
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a lock_api::Mutex<RawPoisoningMutex, T>,
    state: ManuallyDrop<State>,
    /// Whether the thread panicked when it acquired the mutex, so that it is not to blame.
    was_panicking: bool,
    not_send: NotSend,
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the mutex is held.
        unsafe { &*self.mutex.data_ptr() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the mutex is held.
        unsafe { &mut *self.mutex.data_ptr() }
    }
}

shown_as_value!(MutexGuard);

// What unwinding leaves half changed has its mark.
impl<T: ?Sized> std::panic::UnwindSafe for MutexGuard<'_, T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// # Safety
    ///
    /// The mutex is held with this state, and has no other guard.
    #[inline(always)]
    unsafe fn new(
        mutex: &'a lock_api::Mutex<RawPoisoningMutex, T>,
        state: State,
    ) -> LockResult<Self> {
        let guard = MutexGuard {
            mutex,
            state: ManuallyDrop::new(state),
            was_panicking: thread::panicking(),
            not_send: PhantomData,
        };
        result(guard.raw().poison(), guard)
    }

    #[inline(always)]
    pub(super) fn raw(&self) -> &'a RawPoisoningMutex {
        // SAFETY: it is let go by guards only.
        unsafe { self.mutex.raw() }
    }

    /// Lets go of the mutex, does `f`, and takes it again.
    #[cfg(feature = "stats")]
    #[track_caller]
    pub(super) fn unlocked(&mut self, f: impl FnOnce()) {
        // SAFETY: the mutex is held with this state.
        unsafe { self.raw().unlocked(&mut self.state, f) };
    }

    /// The mutex, and with what state it is held.
    #[cfg(not(feature = "stats"))]
    pub(super) fn raw_and_state(&mut self) -> (&'a RawPoisoningMutex, &mut State) {
        (self.raw(), &mut self.state)
    }

    parts_of!(MappedMutexGuard);

    fn mapped<U: ?Sized>(orig: Self, part: NonNull<U>) -> MappedMutexGuard<'a, U> {
        let mut this = ManuallyDrop::new(orig);
        MappedMutexGuard {
            part,
            raw: this.raw(),
            // SAFETY: what this was taken from is not dropped.
            state: ManuallyDrop::new(unsafe { ManuallyDrop::take(&mut this.state) }),
            was_panicking: this.was_panicking,
            variance: PhantomData,
            not_send: PhantomData,
        }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: only here.
        let state = unsafe { ManuallyDrop::take(&mut self.state) };
        // SAFETY: the mutex is held with this state.
        unsafe { self.raw().unlock_marking(state, self.was_panicking) };
    }
}

/// A [`MutexGuard`] for a part of the protected value. (Of a nightly std.)
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    part: NonNull<T>,
    raw: &'a RawPoisoningMutex,
    state: ManuallyDrop<State>,
    was_panicking: bool,
    variance: PhantomData<&'a mut T>,
    not_send: NotSend,
}

impl<T: ?Sized> Deref for MappedMutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the mutex is held.
        unsafe { self.part.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for MappedMutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the mutex is held.
        unsafe { self.part.as_mut() }
    }
}

shown_as_value!(MappedMutexGuard);

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    parts_of!(MappedMutexGuard);

    fn mapped<U: ?Sized>(orig: Self, part: NonNull<U>) -> MappedMutexGuard<'a, U> {
        let mut this = ManuallyDrop::new(orig);
        MappedMutexGuard {
            part,
            raw: this.raw,
            // SAFETY: what this was taken from is not dropped.
            state: ManuallyDrop::new(unsafe { ManuallyDrop::take(&mut this.state) }),
            was_panicking: this.was_panicking,
            variance: PhantomData,
            not_send: PhantomData,
        }
    }
}

impl<T: ?Sized> Drop for MappedMutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: only here.
        let state = unsafe { ManuallyDrop::take(&mut self.state) };
        // SAFETY: the mutex is held with this state.
        unsafe { self.raw.unlock_marking(state, self.was_panicking) };
    }
}

/// The guard, or an error with it where the mutex is poisoned by now.
pub(super) fn woken<T: ?Sized>(guard: MutexGuard<'_, T>) -> LockResult<MutexGuard<'_, T>> {
    if guard.raw().poison().is_set() {
        Err(PoisonError::new(guard))
    } else {
        Ok(guard)
    }
}
