//! [`Mutex`] and its guards.

use super::{NotSend, guard_of, poisoning_lock, result};
use crate::raw::{LookAtMutex as _, Poison, Poisonable as _, Poisoning, RawPoisoningMutex};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
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
        MutexGuard::new(self.lock.lock())
    }

    /// Acquires the mutex if nobody holds it.
    ///
    /// # Errors
    ///
    /// If somebody holds it, or as [`lock`](Self::lock).
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.lock.try_lock() {
            Some(inner) => Ok(MutexGuard::new(inner)?),
            None => Err(TryLockError::WouldBlock),
        }
    }

    /// The same for one who only looks at the value: nothing is recorded.
    fn try_look(&self) -> TryLockResult<MutexGuard<'_, T>> {
        // SAFETY: the mutex is looked at, and not let go.
        let state = unsafe { self.lock.raw() }.try_look();
        match state {
            // SAFETY: it is held, with this state, and has no guard yet.
            Some(state) => Ok(MutexGuard::new(unsafe {
                self.lock.make_guard_unchecked(state)
            })?),
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

/// The mutex is held while this lives; dropping it unlocks, then records.
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) inner: lock_api::MutexGuard<'a, RawPoisoningMutex, T>,
    /// Whether the thread panicked when it acquired the mutex, so that it is not to blame.
    was_panicking: bool,
    not_send: NotSend,
}

guard_of!(MutexGuard, mutable);

// What unwinding leaves half changed has its mark.
impl<T: ?Sized> std::panic::UnwindSafe for MutexGuard<'_, T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    #[inline(always)]
    fn new(inner: lock_api::MutexGuard<'a, RawPoisoningMutex, T>) -> LockResult<Self> {
        let poison = poison(&inner);
        let guard = MutexGuard {
            inner,
            was_panicking: thread::panicking(),
            not_send: PhantomData,
        };
        result(poison, guard)
    }

    /// Whether the mutex is poisoned.
    pub(super) fn is_poisoned(&self) -> bool {
        poison(&self.inner).is_set()
    }

    /// What a guard for a part is made of.
    fn into_parts(self) -> (lock_api::MutexGuard<'a, RawPoisoningMutex, T>, bool) {
        let this = ManuallyDrop::new(self);
        // SAFETY: moved out of what is not dropped.
        (
            unsafe { ptr::read(&raw const this.inner) },
            this.was_panicking,
        )
    }

    /// A guard for a part of the value. (Of a nightly std.)
    pub fn map<U, F>(mut orig: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
        U: ?Sized,
    {
        // With the guard alive, which marks the mutex where this panics.
        let part = NonNull::from(f(&mut orig));
        Self::mapped(orig, part)
    }

    /// A guard for a part of the value, if there is one, or else this guard. (Of a nightly std.)
    ///
    /// # Errors
    ///
    /// If `f` returns `None`.
    pub fn filter_map<U, F>(mut orig: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
        U: ?Sized,
    {
        match f(&mut orig).map(NonNull::from) {
            Some(part) => Ok(Self::mapped(orig, part)),
            None => Err(orig),
        }
    }

    fn mapped<U: ?Sized>(orig: Self, mut part: NonNull<U>) -> MappedMutexGuard<'a, U> {
        let (inner, was_panicking) = orig.into_parts();
        let poison = poison(&inner);
        MappedMutexGuard {
            // SAFETY: `part` was borrowed from the protected value, which nobody else reaches while the mutex
            // is held.
            inner: lock_api::MutexGuard::map(inner, |_| unsafe { part.as_mut() }),
            poison,
            was_panicking,
            not_send: PhantomData,
        }
    }
}

#[inline(always)]
fn poison<'a, T: ?Sized>(inner: &lock_api::MutexGuard<'a, RawPoisoningMutex, T>) -> &'a Poison {
    // SAFETY: only the mark is looked at.
    unsafe { lock_api::MutexGuard::mutex(inner).raw() }.poison()
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        poison(&self.inner).before_unlock(self.was_panicking);
    }
}

/// A [`MutexGuard`] for a part of the protected value. (Of a nightly std.)
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    inner: lock_api::MappedMutexGuard<'a, RawPoisoningMutex, T>,
    poison: &'a Poison,
    was_panicking: bool,
    not_send: NotSend,
}

guard_of!(MappedMutexGuard, mutable);

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// A guard for a part of the value.
    pub fn map<U, F>(mut orig: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
        U: ?Sized,
    {
        let part = NonNull::from(f(&mut orig));
        Self::mapped(orig, part)
    }

    /// A guard for a part of the value, if there is one, or else this guard.
    ///
    /// # Errors
    ///
    /// If `f` returns `None`.
    pub fn filter_map<U, F>(mut orig: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
        U: ?Sized,
    {
        match f(&mut orig).map(NonNull::from) {
            Some(part) => Ok(Self::mapped(orig, part)),
            None => Err(orig),
        }
    }

    fn mapped<U: ?Sized>(orig: Self, mut part: NonNull<U>) -> MappedMutexGuard<'a, U> {
        let this = ManuallyDrop::new(orig);
        // SAFETY: moved out of what is not dropped.
        let inner = unsafe { ptr::read(&raw const this.inner) };
        MappedMutexGuard {
            // SAFETY: `part` was borrowed from the protected value, which nobody else reaches while the mutex
            // is held.
            inner: lock_api::MappedMutexGuard::map(inner, |_| unsafe { part.as_mut() }),
            poison: this.poison,
            was_panicking: this.was_panicking,
            not_send: PhantomData,
        }
    }
}

impl<T: ?Sized> Drop for MappedMutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.poison.before_unlock(self.was_panicking);
    }
}

/// The guard, or an error with it where the mutex is poisoned by now.
pub(super) fn woken<T: ?Sized>(guard: MutexGuard<'_, T>) -> LockResult<MutexGuard<'_, T>> {
    if guard.is_poisoned() {
        Err(PoisonError::new(guard))
    } else {
        Ok(guard)
    }
}
