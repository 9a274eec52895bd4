//! [`Mutex`] and its guards.

use super::core::{Core, Request, Taken, block_on, take_open, try_take, would_block};
use super::{guard_of_value, lock_of_value};
use crate::class::Class;
use crate::lock_kind::LockKind;
use crate::mode::Activity;
use ::tokio::sync::TryLockError;
use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

const REQUEST: Request = Request {
    kind: LockKind::AsyncMutex,
    activity: Activity::Write,
    permits: 1,
};

/// A mutex of tasks with the interface of [`tokio::sync::Mutex`], which records how long it is waited for and
/// held: see [the module](super).
///
/// `C` is the lock class, which `#[instrumented]` puts in; [`tokio::Mutex`](super::Mutex) has it fixed. A
/// function that takes `&tokio::Mutex<T>` accepts a lock of any class.
#[repr(C)]
pub struct Mutex<T: ?Sized, C = crate::class::Unclassed> {
    class: PhantomData<fn() -> C>,
    core: Core,
    data: UnsafeCell<T>,
}

// SAFETY: the value is reached by who has the lock only, or who has the lock for himself.
unsafe impl<T: ?Sized + Send, C> Send for Mutex<T, C> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send, C> Sync for Mutex<T, C> {}

lock_of_value!(Mutex);

impl<T, C: Class> Mutex<T, C> {
    /// An unlocked mutex that protects `value`.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Mutex {
            class: PhantomData,
            core: Core::new::<C>(1, Location::caller()),
            data: UnsafeCell::new(value),
        }
    }

    /// [`new`](Self::new), which is `const` here.
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        Self::new(value)
    }
}

impl<T> Mutex<T> {
    /// An unlocked mutex that protects `value`, of the class that has this name: as
    /// [`named`](crate::Mutex::named) there.
    #[track_caller]
    pub fn named(name: &str, value: T) -> Self {
        Mutex {
            class: PhantomData,
            core: Core::named(name, LockKind::AsyncMutex, 1),
            data: UnsafeCell::new(value),
        }
    }
}

impl<T: ?Sized, C> Mutex<T, C> {
    /// Gives this lock a label, by which reports tell it from others of its class: as
    /// [`set_label`](crate::Mutex::set_label) there.
    pub fn set_label(&self, label: impl Into<Arc<str>>) {
        self.core.label(LockKind::AsyncMutex, label.into());
    }

    /// Acquires the mutex. First come, first served; dropping the future gives up the place in the queue.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        let (site, mutex) = (Location::caller(), self.unclassed());
        async move { MutexGuard::new(take_open(mutex, REQUEST, site).await) }
    }

    /// [`lock`](Self::lock), with a guard that owns a handle to the mutex.
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> impl Future<Output = OwnedMutexGuard<T>> {
        let (site, mutex) = (Location::caller(), self.unclassed_handle());
        async move { OwnedMutexGuard::new(take_open(mutex, REQUEST, site).await) }
    }

    /// [`lock`](Self::lock) for a thread, which waits.
    ///
    /// # Panics
    ///
    /// In a task.
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        block_on(self.lock())
    }

    /// [`lock_owned`](Self::lock_owned) for a thread, which waits.
    ///
    /// # Panics
    ///
    /// In a task.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        block_on(self.lock_owned())
    }

    /// Acquires the mutex if nobody holds it.
    ///
    /// # Errors
    ///
    /// If somebody does.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        match try_take(self.unclassed(), REQUEST) {
            Ok(taken) => Ok(MutexGuard::new(taken)),
            Err(_) => Err(would_block()),
        }
    }

    /// [`try_lock`](Self::try_lock), with a guard that owns a handle to the mutex.
    ///
    /// # Errors
    ///
    /// If somebody holds it.
    #[track_caller]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        match try_take(self.unclassed_handle(), REQUEST) {
            Ok(taken) => Ok(OwnedMutexGuard::new(taken)),
            Err(_) => Err(would_block()),
        }
    }
}

impl<T: ?Sized + fmt::Debug, C> fmt::Debug for Mutex<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_struct("Mutex");
        match self.core.try_look(1) {
            // SAFETY: the mutex is held as long as the look lasts.
            Some(_look) => d.field("data", &unsafe { &*self.data.get() }),
            None => d.field("data", &format_args!("<locked>")),
        };
        d.finish()
    }
}

/// The mutex is held while this lives, across whatever is awaited; dropping it unlocks, then records.
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized> {
    data: *mut T,
    taken: Taken<&'a Mutex<T>>,
    marker: PhantomData<&'a mut T>,
}

// SAFETY: with the guard goes the value, and nothing of the lock depends on the thread.
unsafe impl<T: ?Sized + Send> Send for MutexGuard<'_, T> {}
// SAFETY: a shared guard gives nothing but a shared value.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}

guard_of_value!(['a, T: ?Sized] MutexGuard<'a, T>, T, mutable);

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    fn new(taken: Taken<&'a Mutex<T>>) -> Self {
        MutexGuard {
            data: taken.handle.data.get(),
            taken,
            marker: PhantomData,
        }
    }

    /// The mutex.
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.taken.handle
    }

    /// A guard for a part of the value.
    pub fn map<U, F>(mut this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let data: *mut U = f(&mut this);
        MappedMutexGuard {
            data,
            taken: this.taken.of_core(),
            marker: PhantomData,
        }
    }

    /// A guard for a part of the value, if there is one.
    ///
    /// # Errors
    ///
    /// This guard, if there is none.
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut this).map(|part| -> *mut U { part }) {
            Some(data) => Ok(MappedMutexGuard {
                data,
                taken: this.taken.of_core(),
                marker: PhantomData,
            }),
            None => Err(this),
        }
    }
}

/// A [`MutexGuard`] that owns a handle to its mutex.
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct OwnedMutexGuard<T: ?Sized> {
    data: *mut T,
    taken: Taken<Arc<Mutex<T>>>,
}

// SAFETY: as for `MutexGuard`.
unsafe impl<T: ?Sized + Send> Send for OwnedMutexGuard<T> {}
// SAFETY: as for `MutexGuard`.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedMutexGuard<T> {}

guard_of_value!([T: ?Sized] OwnedMutexGuard<T>, T, mutable);

impl<T: ?Sized> OwnedMutexGuard<T> {
    fn new(taken: Taken<Arc<Mutex<T>>>) -> Self {
        OwnedMutexGuard {
            data: taken.handle.data.get(),
            taken,
        }
    }

    /// The mutex.
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.taken.handle
    }

    /// A guard for a part of the value.
    pub fn map<U, F>(mut this: Self, f: F) -> OwnedMappedMutexGuard<T, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let data: *mut U = f(&mut this);
        OwnedMappedMutexGuard {
            data,
            taken: this.taken,
        }
    }

    /// A guard for a part of the value, if there is one.
    ///
    /// # Errors
    ///
    /// This guard, if there is none.
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut this).map(|part| -> *mut U { part }) {
            Some(data) => Ok(OwnedMappedMutexGuard {
                data,
                taken: this.taken,
            }),
            None => Err(this),
        }
    }
}

/// A [`MutexGuard`] for a part of the value.
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    data: *mut T,
    taken: Taken<&'a Core>,
    marker: PhantomData<&'a mut T>,
}

// SAFETY: as for `MutexGuard`.
unsafe impl<T: ?Sized + Send> Send for MappedMutexGuard<'_, T> {}
// SAFETY: as for `MutexGuard`.
unsafe impl<T: ?Sized + Sync> Sync for MappedMutexGuard<'_, T> {}

guard_of_value!(['a, T: ?Sized] MappedMutexGuard<'a, T>, T, mutable);

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// A guard for a part of the value.
    pub fn map<U, F>(mut this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let data: *mut U = f(&mut this);
        MappedMutexGuard {
            data,
            taken: this.taken,
            marker: PhantomData,
        }
    }

    /// A guard for a part of the value, if there is one.
    ///
    /// # Errors
    ///
    /// This guard, if there is none.
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut this).map(|part| -> *mut U { part }) {
            Some(data) => Ok(MappedMutexGuard {
                data,
                taken: this.taken,
                marker: PhantomData,
            }),
            None => Err(this),
        }
    }
}

/// An [`OwnedMutexGuard`] for a part of the value.
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct OwnedMappedMutexGuard<T: ?Sized, U: ?Sized = T> {
    data: *mut U,
    taken: Taken<Arc<Mutex<T>>>,
}

// SAFETY: as for `MutexGuard`.
unsafe impl<T: ?Sized + Send, U: ?Sized + Send> Send for OwnedMappedMutexGuard<T, U> {}
// SAFETY: as for `MutexGuard`.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send + Sync> Sync for OwnedMappedMutexGuard<T, U> {}

guard_of_value!([T: ?Sized, U: ?Sized] OwnedMappedMutexGuard<T, U>, U, mutable);

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    /// A guard for a part of the value.
    pub fn map<S, F>(mut this: Self, f: F) -> OwnedMappedMutexGuard<T, S>
    where
        S: ?Sized,
        F: FnOnce(&mut U) -> &mut S,
    {
        let data: *mut S = f(&mut this);
        OwnedMappedMutexGuard {
            data,
            taken: this.taken,
        }
    }

    /// A guard for a part of the value, if there is one.
    ///
    /// # Errors
    ///
    /// This guard, if there is none.
    pub fn try_map<S, F>(mut this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, S>, Self>
    where
        S: ?Sized,
        F: FnOnce(&mut U) -> Option<&mut S>,
    {
        match f(&mut this).map(|part| -> *mut S { part }) {
            Some(data) => Ok(OwnedMappedMutexGuard {
                data,
                taken: this.taken,
            }),
            None => Err(this),
        }
    }
}
