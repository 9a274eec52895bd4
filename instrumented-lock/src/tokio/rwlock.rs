//! [`RwLock`] and its guards.

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

/// As tokio's: so many permits a semaphore has room for.
const MAX_READS: u32 = u32::MAX >> 3;

const READ: Request = Request {
    kind: LockKind::AsyncRwLock,
    activity: Activity::Read,
    permits: 1,
};

/// A reader-writer lock of tasks with the interface of [`tokio::sync::RwLock`], which records, for readers and
/// writers apart, how long it is waited for and held: see [the module](super).
///
/// `C` is the lock class, as for [`Mutex`](super::annotated::Mutex).
#[repr(C)]
pub struct RwLock<T: ?Sized, C = crate::class::Unclassed> {
    class: PhantomData<fn() -> C>,
    /// How many may read at the same time; a writer takes as many permits.
    max_reads: u32,
    core: Core,
    data: UnsafeCell<T>,
}

// SAFETY: the value is reached by who has the lock only, or who has the lock for himself.
unsafe impl<T: ?Sized + Send, C> Send for RwLock<T, C> {}
// SAFETY: as above; readers share the value.
unsafe impl<T: ?Sized + Send + Sync, C> Sync for RwLock<T, C> {}

lock_of_value!(RwLock);

impl<T, C: Class> RwLock<T, C> {
    /// An unlocked lock that protects `value`.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self::with_max_readers(value, MAX_READS)
    }

    /// The same, with a limit to how many may read at the same time.
    ///
    /// # Panics
    ///
    /// If that is 0, or more than `u32::MAX >> 3`.
    #[track_caller]
    pub const fn with_max_readers(value: T, max_reads: u32) -> Self {
        assert!(max_reads != 0, "a RwLock may not be created with 0 readers");
        assert!(
            max_reads <= MAX_READS,
            "a RwLock may not be created with more than 536870911 readers"
        );
        RwLock {
            class: PhantomData,
            max_reads,
            core: Core::new::<C>(max_reads as usize, Location::caller()),
            data: UnsafeCell::new(value),
        }
    }

    /// [`new`](Self::new), which is `const` here.
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        Self::new(value)
    }

    /// [`with_max_readers`](Self::with_max_readers), which is `const` here.
    ///
    /// # Panics
    ///
    /// As there.
    #[track_caller]
    pub const fn const_with_max_readers(value: T, max_reads: u32) -> Self {
        Self::with_max_readers(value, max_reads)
    }
}

impl<T> RwLock<T> {
    /// An unlocked lock that protects `value`, of the class that has this name: as
    /// [`named`](crate::Mutex::named) there.
    #[track_caller]
    pub fn named(name: &str, value: T) -> Self {
        RwLock {
            class: PhantomData,
            max_reads: MAX_READS,
            core: Core::named(name, LockKind::AsyncRwLock, MAX_READS as usize),
            data: UnsafeCell::new(value),
        }
    }
}

impl<T: ?Sized, C> RwLock<T, C> {
    /// Gives this lock a label, by which reports tell it from others of its class: as
    /// [`set_label`](crate::Mutex::set_label) there.
    pub fn set_label(&self, label: impl Into<Arc<str>>) {
        self.core.label(LockKind::AsyncRwLock, label.into());
    }

    fn to_write(&self) -> Request {
        Request {
            kind: LockKind::AsyncRwLock,
            activity: Activity::Write,
            permits: self.max_reads,
        }
    }

    /// Acquires the lock with other readers. First come, first served: behind writers that wait.
    #[track_caller]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> {
        let (site, lock) = (Location::caller(), self.unclassed());
        async move { RwLockReadGuard::new(take_open(lock, READ, site).await) }
    }

    /// [`read`](Self::read), with a guard that owns a handle to the lock.
    #[track_caller]
    pub fn read_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockReadGuard<T>> {
        let (site, lock) = (Location::caller(), self.unclassed_handle());
        async move { OwnedRwLockReadGuard::new(take_open(lock, READ, site).await) }
    }

    /// [`read`](Self::read) for a thread, which waits.
    ///
    /// # Panics
    ///
    /// In a task.
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        block_on(self.read())
    }

    /// Acquires the lock with other readers if no writer holds it or waits for it.
    ///
    /// # Errors
    ///
    /// If one does.
    #[track_caller]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        match try_take(self.unclassed(), READ) {
            Ok(taken) => Ok(RwLockReadGuard::new(taken)),
            Err(_) => Err(would_block()),
        }
    }

    /// [`try_read`](Self::try_read), with a guard that owns a handle to the lock.
    ///
    /// # Errors
    ///
    /// As there.
    #[track_caller]
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        match try_take(self.unclassed_handle(), READ) {
            Ok(taken) => Ok(OwnedRwLockReadGuard::new(taken)),
            Err(_) => Err(would_block()),
        }
    }

    /// Acquires the lock alone. First come, first served.
    #[track_caller]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> {
        let (site, lock, request) = (Location::caller(), self.unclassed(), self.to_write());
        async move { RwLockWriteGuard::new(take_open(lock, request, site).await) }
    }

    /// [`write`](Self::write), with a guard that owns a handle to the lock.
    #[track_caller]
    pub fn write_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockWriteGuard<T>> {
        let (site, request) = (Location::caller(), self.to_write());
        let lock = self.unclassed_handle();
        async move { OwnedRwLockWriteGuard::new(take_open(lock, request, site).await) }
    }

    /// [`write`](Self::write) for a thread, which waits.
    ///
    /// # Panics
    ///
    /// In a task.
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        block_on(self.write())
    }

    /// Acquires the lock alone if nobody holds it.
    ///
    /// # Errors
    ///
    /// If somebody does.
    #[track_caller]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        match try_take(self.unclassed(), self.to_write()) {
            Ok(taken) => Ok(RwLockWriteGuard::new(taken)),
            Err(_) => Err(would_block()),
        }
    }

    /// [`try_write`](Self::try_write), with a guard that owns a handle to the lock.
    ///
    /// # Errors
    ///
    /// As there.
    #[track_caller]
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        let request = self.to_write();
        match try_take(self.unclassed_handle(), request) {
            Ok(taken) => Ok(OwnedRwLockWriteGuard::new(taken)),
            Err(_) => Err(would_block()),
        }
    }
}

#[expect(clippy::missing_fields_in_debug, reason = "as tokio's")]
impl<T: ?Sized + fmt::Debug, C> fmt::Debug for RwLock<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_struct("RwLock");
        match self.core.try_look(1) {
            // SAFETY: the lock is held as a reader as long as the look lasts.
            Some(_look) => d.field("data", &unsafe { &*self.data.get() }),
            None => d.field("data", &format_args!("<locked>")),
        };
        d.finish()
    }
}

/// `map` and `try_map` of a guard, which make a `$Mapped` for a part of the value.
macro_rules! mapping {
    (shared: $T:ty => $Mapped:ident<$of:tt, ..>) => {
        /// A guard for a part of the value.
        pub fn map<F, V: ?Sized>(this: Self, f: F) -> $Mapped<$of, V>
        where
            F: FnOnce(&$T) -> &V,
        {
            let data: *const V = f(&this);
            $Mapped {
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
        pub fn try_map<F, V: ?Sized>(this: Self, f: F) -> Result<$Mapped<$of, V>, Self>
        where
            F: FnOnce(&$T) -> Option<&V>,
        {
            match f(&this).map(|part| -> *const V { part }) {
                Some(data) => Ok($Mapped {
                    data,
                    taken: this.taken,
                    marker: PhantomData,
                }),
                None => Err(this),
            }
        }
    };
    (alone: $T:ty => $Mapped:ident<$of:tt, ..>) => {
        /// A guard for a part of the value.
        pub fn map<F, V: ?Sized>(mut this: Self, f: F) -> $Mapped<$of, V>
        where
            F: FnOnce(&mut $T) -> &mut V,
        {
            let data: *mut V = f(&mut this);
            $Mapped {
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
        pub fn try_map<F, V: ?Sized>(mut this: Self, f: F) -> Result<$Mapped<$of, V>, Self>
        where
            F: FnOnce(&mut $T) -> Option<&mut V>,
        {
            match f(&mut this).map(|part| -> *mut V { part }) {
                Some(data) => Ok($Mapped {
                    data,
                    taken: this.taken,
                    marker: PhantomData,
                }),
                None => Err(this),
            }
        }
    };
}

/// `downgrade` of a guard and its like, which make a `$Read`; and `into_mapped`, which makes a `$Mapped`.
macro_rules! downgrading {
    ($T:ident => $Read:ident<$of:tt, ..>, $Own:ty, $Mapped:ty) => {
        /// Holds the lock with other readers from now on: one hold ends and another begins. No writer comes in
        /// between.
        #[track_caller]
        pub fn downgrade(self) -> $Own {
            $Read {
                data: self.data,
                taken: self.taken.downgrade(),
                marker: PhantomData,
            }
        }

        /// [`downgrade`](Self::downgrade) to a part of the value.
        #[track_caller]
        pub fn downgrade_map<F, V: ?Sized>(this: Self, f: F) -> $Read<$of, V>
        where
            F: FnOnce(&$T) -> &V,
        {
            let data: *const V = f(&this);
            $Read {
                data,
                taken: this.taken.downgrade(),
                marker: PhantomData,
            }
        }

        /// [`downgrade`](Self::downgrade) to a part of the value, if there is one.
        ///
        /// # Errors
        ///
        /// This guard, if there is none.
        #[track_caller]
        pub fn try_downgrade_map<F, V: ?Sized>(this: Self, f: F) -> Result<$Read<$of, V>, Self>
        where
            F: FnOnce(&$T) -> Option<&V>,
        {
            match f(&this).map(|part| -> *const V { part }) {
                Some(data) => Ok($Read {
                    data,
                    taken: this.taken.downgrade(),
                    marker: PhantomData,
                }),
                None => Err(this),
            }
        }

        /// The guard of a part that is all.
        pub fn into_mapped(this: Self) -> $Mapped {
            Self::map(this, |value| value)
        }
    };
}

/// The lock is held with other readers while this lives, across whatever is awaited.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    data: *const T,
    taken: Taken<&'a Core>,
    marker: PhantomData<&'a T>,
}

// SAFETY: it gives nothing but a shared value, and nothing of the lock depends on the thread.
unsafe impl<T: ?Sized + Sync> Send for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockReadGuard<'_, T> {}

guard_of_value!(['a, T: ?Sized] RwLockReadGuard<'a, T>, T);

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    fn new(taken: Taken<&'a RwLock<T>>) -> Self {
        RwLockReadGuard {
            data: taken.handle.data.get(),
            taken: taken.of_core(),
            marker: PhantomData,
        }
    }

    mapping!(shared: T => RwLockReadGuard<'a, ..>);
}

/// The lock is held alone while this lives, across whatever is awaited.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    data: *mut T,
    taken: Taken<&'a Core>,
    marker: PhantomData<&'a mut T>,
}

// SAFETY: with the guard goes the value, and nothing of the lock depends on the thread.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockWriteGuard<'_, T> {}
// SAFETY: a shared guard gives nothing but a shared value.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockWriteGuard<'_, T> {}

guard_of_value!(['a, T: ?Sized] RwLockWriteGuard<'a, T>, T, mutable);

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    fn new(taken: Taken<&'a RwLock<T>>) -> Self {
        RwLockWriteGuard {
            data: taken.handle.data.get(),
            taken: taken.of_core(),
            marker: PhantomData,
        }
    }

    mapping!(alone: T => RwLockMappedWriteGuard<'a, ..>);
    downgrading!(
        T => RwLockReadGuard<'a, ..>, RwLockReadGuard<'a, T>, RwLockMappedWriteGuard<'a, T>
    );
}

/// A [`RwLockWriteGuard`] for a part of the value.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockMappedWriteGuard<'a, T: ?Sized> {
    data: *mut T,
    taken: Taken<&'a Core>,
    marker: PhantomData<&'a mut T>,
}

// SAFETY: as for `RwLockWriteGuard`.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockMappedWriteGuard<'_, T> {}
// SAFETY: as for `RwLockWriteGuard`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockMappedWriteGuard<'_, T> {}

guard_of_value!(['a, T: ?Sized] RwLockMappedWriteGuard<'a, T>, T, mutable);

impl<'a, T: ?Sized> RwLockMappedWriteGuard<'a, T> {
    mapping!(alone: T => RwLockMappedWriteGuard<'a, ..>);
}

/// A [`RwLockReadGuard`] that owns a handle to its lock.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct OwnedRwLockReadGuard<T: ?Sized, U: ?Sized = T> {
    data: *const U,
    taken: Taken<Arc<RwLock<T>>>,
    marker: PhantomData<T>,
}

// SAFETY: as for `RwLockReadGuard`; it may be the last handle, with which the value goes.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Sync> Send for OwnedRwLockReadGuard<T, U> {}
// SAFETY: as for `RwLockReadGuard`.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send + Sync> Sync for OwnedRwLockReadGuard<T, U> {}

guard_of_value!([T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U>, U);

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    fn new(taken: Taken<Arc<RwLock<T>>>) -> Self {
        OwnedRwLockReadGuard {
            data: taken.handle.data.get(),
            taken,
            marker: PhantomData,
        }
    }
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockReadGuard<T, U> {
    /// The lock.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.taken.handle
    }

    mapping!(shared: U => OwnedRwLockReadGuard<T, ..>);
}

/// A [`RwLockWriteGuard`] that owns a handle to its lock.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    data: *mut T,
    taken: Taken<Arc<RwLock<T>>>,
    marker: PhantomData<T>,
}

// SAFETY: as for `RwLockWriteGuard`.
unsafe impl<T: ?Sized + Send + Sync> Send for OwnedRwLockWriteGuard<T> {}
// SAFETY: as for `RwLockWriteGuard`.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedRwLockWriteGuard<T> {}

guard_of_value!([T: ?Sized] OwnedRwLockWriteGuard<T>, T, mutable);

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    fn new(taken: Taken<Arc<RwLock<T>>>) -> Self {
        OwnedRwLockWriteGuard {
            data: taken.handle.data.get(),
            taken,
            marker: PhantomData,
        }
    }

    /// The lock.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.taken.handle
    }

    mapping!(alone: T => OwnedRwLockMappedWriteGuard<T, ..>);
    downgrading!(
        T => OwnedRwLockReadGuard<T, ..>, OwnedRwLockReadGuard<T>, OwnedRwLockMappedWriteGuard<T>
    );
}

/// An [`OwnedRwLockWriteGuard`] for a part of the value.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct OwnedRwLockMappedWriteGuard<T: ?Sized, U: ?Sized = T> {
    data: *mut U,
    taken: Taken<Arc<RwLock<T>>>,
    marker: PhantomData<T>,
}

// SAFETY: as for `RwLockWriteGuard`.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send + Sync> Send
    for OwnedRwLockMappedWriteGuard<T, U>
{
}
// SAFETY: as for `RwLockWriteGuard`.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send + Sync> Sync
    for OwnedRwLockMappedWriteGuard<T, U>
{
}

guard_of_value!([T: ?Sized, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U>, U, mutable);

impl<T: ?Sized, U: ?Sized> OwnedRwLockMappedWriteGuard<T, U> {
    /// The lock.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.taken.handle
    }

    mapping!(alone: U => OwnedRwLockMappedWriteGuard<T, ..>);
}
