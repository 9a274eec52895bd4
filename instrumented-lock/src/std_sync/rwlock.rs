//! [`RwLock`] and its guards.

use super::{NotSend, guard_of, parts_of, poisoning_lock, result};
use crate::raw::{LookAtRwLock as _, Poison, Poisonable as _, Poisoning, RawPoisoningRwLock};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::{LockResult, TryLockError, TryLockResult};
use std::thread;

poisoning_lock! {
    /// A reader-writer lock with the interface of [`std::sync::RwLock`], which records, for readers and
    /// writers apart, how long it is waited for and held.
    ///
    /// Only a writer that panics poisons it. `C` is the lock class, as for [`Mutex`](super::annotated::Mutex).
    ///
    /// Memory: that of [`crate::RwLock`] and one word.
    RwLock over lock_api::RwLock<RawPoisoningRwLock, T>,
    raw RawPoisoningRwLock = Poisoning::new(<parking_lot::RawRwLock as lock_api::RawRwLock>::INIT)
}

impl<T: ?Sized, C> RwLock<T, C> {
    /// Acquires the lock with other readers, waiting if need be.
    ///
    /// # Errors
    ///
    /// If a writer panicked while it held the lock. The lock is acquired all the same: the guard is in the
    /// error.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        RwLockReadGuard::new(self.poison(), self.lock.read())
    }

    /// Acquires the lock with other readers if no writer holds it or waits for it.
    ///
    /// # Errors
    ///
    /// If one does, or as [`read`](Self::read).
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        match self.lock.try_read() {
            Some(inner) => Ok(RwLockReadGuard::new(self.poison(), inner)?),
            None => Err(TryLockError::WouldBlock),
        }
    }

    /// Acquires the lock alone, waiting if need be.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    #[inline]
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        RwLockWriteGuard::new(self.lock.write())
    }

    /// Acquires the lock alone if nobody holds it.
    ///
    /// # Errors
    ///
    /// If somebody does, or as [`read`](Self::read).
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        match self.lock.try_write() {
            Some(inner) => Ok(RwLockWriteGuard::new(inner)?),
            None => Err(TryLockError::WouldBlock),
        }
    }

    /// As [`try_read`](Self::try_read) for one who only looks at the value: nothing is recorded.
    fn try_look(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        // SAFETY: the lock is looked at, and not let go.
        let state = unsafe { self.lock.raw() }.try_look();
        match state {
            Some(state) => {
                // SAFETY: it is held, with this state, and has no guard yet.
                let inner = unsafe { self.lock.make_read_guard_unchecked(state) };
                Ok(RwLockReadGuard::new(self.poison(), inner)?)
            }
            None => Err(TryLockError::WouldBlock),
        }
    }
}

impl<T: ?Sized + fmt::Debug, C> fmt::Debug for RwLock<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_struct("RwLock");
        match self.try_look() {
            Ok(guard) => d.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => d.field("data", &&**error.get_ref()),
            // Without quotation marks, other than a mutex.
            Err(TryLockError::WouldBlock) => d.field("data", &format_args!("<locked>")),
        };
        d.field("poisoned", &self.is_poisoned());
        d.finish_non_exhaustive()
    }
}

#[cfg(feature = "serde")]
impl<T: ?Sized + serde::Serialize, C> serde::Serialize for RwLock<T, C> {
    #[track_caller]
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::Error as _;
        match self.read() {
            Ok(guard) => guard.serialize(to),
            Err(_) => Err(S::Error::custom("lock poison error while serializing")),
        }
    }
}

/// The lock is held with other readers while this lives; dropping it unlocks, then records.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    /// That of a part, which is all: it does not know the type of the lock, so that `T` may be a subtype of
    /// what the lock has, as in std's.
    inner: lock_api::MappedRwLockReadGuard<'a, RawPoisoningRwLock, T>,
    not_send: NotSend,
}

guard_of!(RwLockReadGuard);

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    #[inline(always)]
    fn new(
        poison: &Poison,
        inner: lock_api::RwLockReadGuard<'a, RawPoisoningRwLock, T>,
    ) -> LockResult<Self> {
        let guard = RwLockReadGuard {
            inner: lock_api::RwLockReadGuard::map(inner, |value| value),
            not_send: PhantomData,
        };
        result(poison, guard)
    }

    /// A guard for a part of the value. (Of a nightly std.)
    pub fn map<U, F>(orig: Self, f: F) -> MappedRwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
        U: ?Sized,
    {
        MappedRwLockReadGuard {
            inner: lock_api::MappedRwLockReadGuard::map(orig.inner, f),
            not_send: PhantomData,
        }
    }

    /// A guard for a part of the value, if there is one, or else this guard. (Of a nightly std.)
    ///
    /// # Errors
    ///
    /// If `f` returns `None`.
    pub fn filter_map<U, F>(orig: Self, f: F) -> Result<MappedRwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
        U: ?Sized,
    {
        match lock_api::MappedRwLockReadGuard::try_map(orig.inner, f) {
            Ok(inner) => Ok(MappedRwLockReadGuard {
                inner,
                not_send: PhantomData,
            }),
            Err(inner) => Err(RwLockReadGuard {
                inner,
                not_send: PhantomData,
            }),
        }
    }
}

/// The lock is held alone while this lives; dropping it unlocks, then records.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    inner: lock_api::RwLockWriteGuard<'a, RawPoisoningRwLock, T>,
    /// Whether the thread panicked when it acquired the lock, so that it is not to blame.
    was_panicking: bool,
    not_send: NotSend,
}

guard_of!(RwLockWriteGuard, mutable);

// What unwinding leaves half changed has its mark.
impl<T: ?Sized> std::panic::UnwindSafe for RwLockWriteGuard<'_, T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    #[inline(always)]
    fn new(inner: lock_api::RwLockWriteGuard<'a, RawPoisoningRwLock, T>) -> LockResult<Self> {
        let poison = poison(&inner);
        let guard = RwLockWriteGuard {
            inner,
            was_panicking: thread::panicking(),
            not_send: PhantomData,
        };
        result(poison, guard)
    }

    fn into_parts(self) -> (lock_api::RwLockWriteGuard<'a, RawPoisoningRwLock, T>, bool) {
        let this = ManuallyDrop::new(self);
        // SAFETY: moved out of what is not dropped.
        (
            unsafe { ptr::read(&raw const this.inner) },
            this.was_panicking,
        )
    }

    /// Holds the lock with other readers from now on: one hold ends and another begins.
    #[track_caller]
    pub fn downgrade(s: Self) -> RwLockReadGuard<'a, T> {
        let (inner, _) = s.into_parts();
        let inner = lock_api::RwLockWriteGuard::downgrade(inner);
        RwLockReadGuard {
            inner: lock_api::RwLockReadGuard::map(inner, |value| value),
            not_send: PhantomData,
        }
    }

    parts_of!(MappedRwLockWriteGuard);

    fn mapped<U: ?Sized>(orig: Self, mut part: NonNull<U>) -> MappedRwLockWriteGuard<'a, U> {
        let (inner, was_panicking) = orig.into_parts();
        let poison = poison(&inner);
        MappedRwLockWriteGuard {
            // SAFETY: `part` was borrowed from the protected value, which nobody else reaches while the lock
            // is held.
            inner: lock_api::RwLockWriteGuard::map(inner, |_| unsafe { part.as_mut() }),
            poison,
            was_panicking,
            not_send: PhantomData,
        }
    }
}

#[inline(always)]
fn poison<'a, T: ?Sized>(
    inner: &lock_api::RwLockWriteGuard<'a, RawPoisoningRwLock, T>,
) -> &'a Poison {
    // SAFETY: only the mark is looked at.
    unsafe { lock_api::RwLockWriteGuard::rwlock(inner).raw() }.poison()
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        poison(&self.inner).before_unlock(self.was_panicking);
    }
}

/// A [`RwLockReadGuard`] for a part of the protected value. (Of a nightly std.)
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MappedRwLockReadGuard<'a, T: ?Sized> {
    inner: lock_api::MappedRwLockReadGuard<'a, RawPoisoningRwLock, T>,
    not_send: NotSend,
}

guard_of!(MappedRwLockReadGuard);

impl<'a, T: ?Sized> MappedRwLockReadGuard<'a, T> {
    /// A guard for a part of the value.
    pub fn map<U, F>(orig: Self, f: F) -> MappedRwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
        U: ?Sized,
    {
        MappedRwLockReadGuard {
            inner: lock_api::MappedRwLockReadGuard::map(orig.inner, f),
            not_send: PhantomData,
        }
    }

    /// A guard for a part of the value, if there is one, or else this guard.
    ///
    /// # Errors
    ///
    /// If `f` returns `None`.
    pub fn filter_map<U, F>(orig: Self, f: F) -> Result<MappedRwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
        U: ?Sized,
    {
        match lock_api::MappedRwLockReadGuard::try_map(orig.inner, f) {
            Ok(inner) => Ok(MappedRwLockReadGuard {
                inner,
                not_send: PhantomData,
            }),
            Err(inner) => Err(MappedRwLockReadGuard {
                inner,
                not_send: PhantomData,
            }),
        }
    }
}

/// A [`RwLockWriteGuard`] for a part of the protected value. (Of a nightly std.)
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MappedRwLockWriteGuard<'a, T: ?Sized> {
    inner: lock_api::MappedRwLockWriteGuard<'a, RawPoisoningRwLock, T>,
    poison: &'a Poison,
    was_panicking: bool,
    not_send: NotSend,
}

guard_of!(MappedRwLockWriteGuard, mutable);

impl<'a, T: ?Sized> MappedRwLockWriteGuard<'a, T> {
    parts_of!(MappedRwLockWriteGuard);

    fn mapped<U: ?Sized>(orig: Self, mut part: NonNull<U>) -> MappedRwLockWriteGuard<'a, U> {
        let this = ManuallyDrop::new(orig);
        // SAFETY: moved out of what is not dropped.
        let inner = unsafe { ptr::read(&raw const this.inner) };
        MappedRwLockWriteGuard {
            // SAFETY: `part` was borrowed from the protected value, which nobody else reaches while the lock
            // is held.
            inner: lock_api::MappedRwLockWriteGuard::map(inner, |_| unsafe { part.as_mut() }),
            poison: this.poison,
            was_panicking: this.was_panicking,
            not_send: PhantomData,
        }
    }
}

impl<T: ?Sized> Drop for MappedRwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.poison.before_unlock(self.was_panicking);
    }
}
