//! The locks of `tokio::sync`, measured: change `use ::tokio::sync::…` to `use instrumented_lock::tokio::…`. (The
//! feature `tokio`.)
//!
//! [`Mutex`], [`RwLock`] and [`Semaphore`] are this crate's, with tokio's interface; all else that `tokio::sync`
//! has is tokio's own, errors too. They are made of tokio's semaphore, as tokio's are, so they are as fair, take
//! part in its budgets of polls, and work on any runtime, or on none.
//!
//! ```
//! use instrumented_lock::registry;
//! use instrumented_lock::tokio::Mutex;
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let sessions = Mutex::new(vec![1]);
//! sessions.lock().await.push(2);
//! assert_eq!(sessions.lock().await.len(), 2);
//! # });
//! # if cfg!(feature = "stats") {
//! let snapshot = registry::snapshot();
//! assert_eq!(snapshot.locks()[0].write().acquisitions(), 2);
//! # }
//! ```
//!
//! # What is recorded
//!
//! The same as of the locks of threads, with these differences:
//!
//! | | |
//! |---|---|
//! | a wait | from the first poll that did not get the lock to the poll that did; never from the making of the future |
//! | a future that is dropped while it waits | a wait that gave up: [a timeout](crate::ModeSnapshot::timeouts) |
//! | a hold | from the acquisition to the release, across every `.await` in between and on whatever threads |
//! | the line | that of `lock()`, where the future is made |
//! | who waits or holds | the task, as `task 17`, by the number that tokio shows; outside of tasks the thread |
//! | permits of a semaphore | a [read](crate::Mode::Read) for each acquisition, of however many permits: others may hold some too |
//! | `SemaphorePermit::forget` | the end of the hold; what is taken off by [`split`](SemaphorePermit::split) is a hold no more, and what is added by [`merge`](SemaphorePermit::merge) ends |
//! | blame | as elsewhere: the lines that held the lock while others waited |
//!
//! Budgets count them, on the thread that polls. The order in which locks are taken is not followed, and no
//! deadlock of tasks is found: what a task holds says nothing of what its thread does meanwhile. A task that
//! hangs is in flight in every report.
//!
//! # What it costs
//!
//! Two clock reads and a record, as of other locks, and a look at the number of the task. A wait takes a page of
//! 2 KiB for itself until the hold that follows has ended; pages are used again.
//!
//! # With `#[instrumented]`
//!
//! As with [`std_sync`](crate::std_sync): where a struct or static of the file is annotated, import
//! [`annotated`], whose constructors infer the class. The rule `guard_across_await` knows that these guards may
//! live there.

mod core;
mod mutex;
mod rwlock;
mod semaphore;

pub use ::tokio::sync::{
    AcquireError, Barrier, BarrierWaitResult, Notify, OnceCell, SetError, SetOnce, SetOnceError,
    TryAcquireError, TryLockError, broadcast, futures, mpsc, oneshot, watch,
};
pub use mutex::{MappedMutexGuard, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard};
pub use rwlock::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use semaphore::{OwnedSemaphorePermit, SemaphorePermit};

/// [`annotated::Mutex`] without a declared class.
pub type Mutex<T> = mutex::Mutex<T>;

/// [`annotated::RwLock`] without a declared class.
pub type RwLock<T> = rwlock::RwLock<T>;

/// [`annotated::Semaphore`] without a declared class.
pub type Semaphore = semaphore::Semaphore;

/// The same for files with [`#[instrumented]`](crate::instrumented): the locks have a class, which the
/// constructors infer.
pub mod annotated {
    pub use super::mutex::Mutex;
    pub use super::rwlock::RwLock;
    pub use super::semaphore::Semaphore;
    pub use super::{
        AcquireError, Barrier, BarrierWaitResult, MappedMutexGuard, MutexGuard, Notify, OnceCell,
        OwnedMappedMutexGuard, OwnedMutexGuard, OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard,
        OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLockMappedWriteGuard, RwLockReadGuard,
        RwLockWriteGuard, SemaphorePermit, SetError, SetOnce, SetOnceError, TryAcquireError,
        TryLockError, broadcast, futures, mpsc, oneshot, watch,
    };
}

/// A lock that protects a value: what does not differ between the two.
macro_rules! lock_of_value {
    ($Lock:ident) => {
        impl<T: ?Sized, C> $Lock<T, C> {
            /// The same lock, whatever its class.
            #[inline]
            fn unclassed(&self) -> &$Lock<T> {
                let lock: *const Self = self;
                // SAFETY: `repr(C)` with the same fields; `C` has no value.
                unsafe { &*(lock as *const $Lock<T>) }
            }

            fn unclassed_handle(self: std::sync::Arc<Self>) -> std::sync::Arc<$Lock<T>> {
                let lock = std::sync::Arc::into_raw(self);
                // SAFETY: the pointer comes from `into_raw`, and both types have the same layout.
                unsafe { std::sync::Arc::from_raw(lock as *const $Lock<T>) }
            }

            /// The protected value. Nobody else can hold the lock meanwhile; nothing is recorded.
            pub fn get_mut(&mut self) -> &mut T {
                self.data.get_mut()
            }

            /// The protected value. The lock is gone; nothing is recorded.
            pub fn into_inner(self) -> T
            where
                T: Sized,
            {
                self.data.into_inner()
            }
        }

        impl<T: ?Sized> crate::tokio::core::Locks for $Lock<T> {
            #[inline]
            fn core(&self) -> &crate::tokio::core::Core {
                &self.core
            }
        }

        impl<T: ?Sized, C: crate::class::DeclaredClass> std::ops::Deref for $Lock<T, C> {
            type Target = $Lock<T>;

            #[inline]
            fn deref(&self) -> &Self::Target {
                self.unclassed()
            }
        }

        impl<T: Default, C: crate::class::Class> Default for $Lock<T, C> {
            #[track_caller]
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<T, C: crate::class::Class> From<T> for $Lock<T, C> {
            #[track_caller]
            fn from(value: T) -> Self {
                Self::new(value)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: ?Sized, C> crate::class::Instrumentable<C> for $Lock<T> {
            type Lock = $Lock<T, C>;
        }
    };
}
use lock_of_value;

/// What a guard gives: its value, and that as text.
macro_rules! guard_of_value {
    ([$($generics:tt)*] $Guard:ty, $T:ident, mutable) => {
        guard_of_value!([$($generics)*] $Guard, $T);

        impl<$($generics)*> std::ops::DerefMut for $Guard {
            #[inline]
            fn deref_mut(&mut self) -> &mut $T {
                // SAFETY: the lock is held alone as long as the guard lives.
                unsafe { &mut *self.data }
            }
        }
    };
    ([$($generics:tt)*] $Guard:ty, $T:ident) => {
        impl<$($generics)*> std::ops::Deref for $Guard {
            type Target = $T;

            #[inline]
            fn deref(&self) -> &$T {
                // SAFETY: the lock is held as long as the guard lives.
                unsafe { &*self.data }
            }
        }

        impl<$($generics)*> std::fmt::Debug for $Guard
        where
            $T: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<$($generics)*> std::fmt::Display for $Guard
        where
            $T: std::fmt::Display,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}
use guard_of_value;
