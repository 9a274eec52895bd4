//! The locks of `std::sync`, measured: change `use std::sync::…` to `use instrumented_lock::std_sync::…`.
//!
//! Everything that `std::sync` has, as of Rust 1.95, is here under its name: [`Mutex`], [`RwLock`] and
//! [`Condvar`] are this crate's, all else is std's own, the results and errors of the former too. So a file
//! compiles as it did, and a value of such a type goes where one of std's went, but for the locks and guards
//! themselves: they are other types than std's.
//!
//! ```standalone_crate
//! use instrumented_lock::registry;
//! use instrumented_lock::std_sync::{Arc, Mutex};
//! use std::thread;
//!
//! let total = Arc::new(Mutex::new(0));
//! let other = Arc::clone(&total);
//! thread::spawn(move || *other.lock().unwrap() += 1).join().unwrap();
//! assert_eq!(*total.lock().unwrap(), 1);
//!
//! # if cfg!(feature = "stats") {
//! let snapshot = registry::snapshot();
//! assert!(snapshot.locks().iter().any(|lock| lock.write().acquisitions() == 2));
//! # }
//! ```
//!
//! # What is as in std
//!
//! Poisoning: a thread that panics while it could change the protected value marks the lock, and who comes
//! after it gets a [`PoisonError`] with the guard in it. `Debug` writes what std's writes. Locks are
//! `UnwindSafe`, constructors are `const`, guards are never `Send`.
//!
//! # What is recorded
//!
//! The same as of [`crate::Mutex`], [`crate::RwLock`] and [`crate::Condvar`], of which these have the classes,
//! the rules and the reports. That a lock is poisoned changes nothing of what is recorded. `Debug` records
//! nothing. With the feature `stats` off they are `parking_lot`'s locks with a mark beside them.
//!
//! An uncontended lock and unlock costs a tenth more instructions than one of [`crate::Mutex`]: a look at the
//! mark, and at both ends the question whether the thread panics, which std's own locks ask too.
//!
//! # With `#[instrumented]`
//!
//! Where a struct or static of the file is annotated, import [`annotated`]: there the constructors infer the
//! class from the field. (A field that is filled by `Default` or `From` is classed with either import.)
//!
//! ```standalone_crate
//! use instrumented_lock::std_sync::annotated::{Mutex, RwLock};
//! use instrumented_lock::{instrumented, registry};
//!
//! #[instrumented]
//! struct Archive {
//!     pages: RwLock<Vec<u32>>,
//!     notes: Mutex<Vec<String>>,
//! }
//!
//! let archive = Archive { pages: RwLock::new(vec![]), notes: Mutex::new(vec![]) };
//! archive.notes.lock().unwrap().push("begin".to_owned());
//! let snapshot = registry::snapshot();
//! assert_eq!(snapshot.lock("Archive::notes").unwrap().write().acquisitions(), 1);
//! ```
//!
//! # What is otherwise
//!
//! - A condition variable panics where threads wait in it with different mutexes at the same time. std says
//!   that it may.
//! - A thread that locks a mutex again which it holds waits forever, as on most systems with std.
//! - The names that only a nightly std has (`MappedMutexGuard` and its like) are here without a feature.
//!   What a nightly std has beyond that is not.

mod condvar;
mod mutex;
mod rwlock;

use crate::raw::Poison;
pub use mutex::{MappedMutexGuard, MutexGuard};
pub use rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
#[expect(deprecated, reason = "std has it still")]
pub use std::sync::ONCE_INIT;
pub use std::sync::{
    Arc, Barrier, BarrierWaitResult, LazyLock, LockResult, Once, OnceLock, OnceState, PoisonError,
    TryLockError, TryLockResult, WaitTimeoutResult, Weak, atomic, mpsc,
};

/// [`annotated::Mutex`] without a declared class.
pub type Mutex<T> = mutex::Mutex<T>;

/// [`annotated::RwLock`] without a declared class.
pub type RwLock<T> = rwlock::RwLock<T>;

/// [`annotated::Condvar`] without a declared class.
pub type Condvar = condvar::Condvar;

/// The same for files with [`#[instrumented]`](crate::instrumented): the locks have a class, which the
/// constructors infer.
pub mod annotated {
    pub use super::condvar::Condvar;
    pub use super::mutex::Mutex;
    pub use super::rwlock::RwLock;
    pub use super::{
        Arc, Barrier, BarrierWaitResult, LazyLock, LockResult, MappedMutexGuard,
        MappedRwLockReadGuard, MappedRwLockWriteGuard, MutexGuard, Once, OnceLock, OnceState,
        PoisonError, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult,
        WaitTimeoutResult, Weak, atomic, mpsc,
    };
}

/// `value`, of a lock with this mark.
#[inline(always)]
fn result<T>(poison: &Poison, value: T) -> LockResult<T> {
    if poison.is_set() {
        Err(PoisonError::new(value))
    } else {
        Ok(value)
    }
}

/// Defines a lock type `$Lock<T, C>` over `$Api`, with all that does not differ between the two.
macro_rules! poisoning_lock {
    ($(#[$doc:meta])* $Lock:ident over $Api:ty, raw $Raw:ty = $raw:expr) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $Lock<T: ?Sized, C = crate::class::Unclassed> {
            class: std::marker::PhantomData<fn() -> C>,
            lock: $Api,
        }

        impl<T, C: crate::class::Class> $Lock<T, C> {
            /// An unlocked lock that protects `value`. Costs nothing at run time; the lock finds its class
            /// when it is first used.
            #[inline]
            #[track_caller]
            pub const fn new(value: T) -> Self {
                let site = std::panic::Location::caller();
                let raw = crate::facade::observing!($Raw, C, site, $raw);
                Self { class: std::marker::PhantomData, lock: <$Api>::from_raw(raw, value) }
            }
        }

        impl<T> $Lock<T> {
            /// An unlocked lock that protects `value`, of the class that has this name: as
            #[doc = concat!("[`named`](crate::", stringify!($Lock), "::named) there.")]
            #[track_caller]
            pub fn named(name: &str, value: T) -> Self {
                let raw = crate::facade::observing_named!($Raw, $Lock, name, $raw);
                Self { class: std::marker::PhantomData, lock: <$Api>::from_raw(raw, value) }
            }
        }

        impl<T: ?Sized, C> $Lock<T, C> {
            crate::facade::label_method!($Lock);

            #[inline(always)]
            fn poison(&self) -> &crate::raw::Poison {
                // SAFETY: only the mark is looked at.
                let raw = unsafe { self.lock.raw() };
                crate::raw::Poisonable::poison(raw)
            }

            /// Whether the lock is poisoned. Without the lock this may change at any moment.
            #[inline]
            pub fn is_poisoned(&self) -> bool {
                self.poison().is_set()
            }

            /// The lock is not poisoned any more, until another thread panics while it holds it.
            #[inline]
            pub fn clear_poison(&self) {
                self.poison().clear();
            }

            /// The protected value. The lock is gone; nothing is recorded.
            ///
            /// # Errors
            ///
            /// If the lock is poisoned; the value is in the error.
            pub fn into_inner(self) -> std::sync::LockResult<T>
            where
                T: Sized,
            {
                let is_poisoned = self.is_poisoned();
                let value = self.lock.into_inner();
                if is_poisoned { Err(std::sync::PoisonError::new(value)) } else { Ok(value) }
            }

            /// The protected value. Nobody else can hold the lock meanwhile; nothing is recorded.
            ///
            /// # Errors
            ///
            /// If the lock is poisoned; the value is in the error.
            pub fn get_mut(&mut self) -> std::sync::LockResult<&mut T> {
                let is_poisoned = self.is_poisoned();
                let value = self.lock.get_mut();
                if is_poisoned { Err(std::sync::PoisonError::new(value)) } else { Ok(value) }
            }
        }

        // A value that was left half changed is found by its mark.
        impl<T: ?Sized, C> std::panic::UnwindSafe for $Lock<T, C> {}
        impl<T: ?Sized, C> std::panic::RefUnwindSafe for $Lock<T, C> {}

        impl<T: ?Sized, C: crate::class::DeclaredClass> std::ops::Deref for $Lock<T, C> {
            type Target = $Lock<T>;

            #[inline]
            fn deref(&self) -> &Self::Target {
                let lock: *const Self = self;
                // SAFETY: `repr(transparent)` over the same `lock_api` lock; `C` has no value.
                unsafe { &*(lock as *const $Lock<T>) }
            }
        }

        impl<T: ?Sized, C: crate::class::DeclaredClass> std::ops::DerefMut for $Lock<T, C> {
            #[inline]
            fn deref_mut(&mut self) -> &mut Self::Target {
                let lock: *mut Self = self;
                // SAFETY: as for `deref`, and borrowed exclusively.
                unsafe { &mut *(lock as *mut $Lock<T>) }
            }
        }

        impl<T: Default, C: crate::class::Class> Default for $Lock<T, C> {
            #[inline]
            #[track_caller]
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<T, C: crate::class::Class> From<T> for $Lock<T, C> {
            #[inline]
            #[track_caller]
            fn from(value: T) -> Self {
                Self::new(value)
            }
        }

        impl<T: ?Sized, C> crate::__private::probe::IsLock
            for crate::__private::probe::Probe<'_, $Lock<T, C>>
        {
            type Answer = crate::__private::probe::PoisoningLock;
        }

        #[diagnostic::do_not_recommend]
        impl<T: ?Sized, C> crate::class::Instrumentable<C> for $Lock<T> {
            type Lock = $Lock<T, C>;
        }

        #[cfg(feature = "serde")]
        impl<'de, T, C> serde::Deserialize<'de> for $Lock<T, C>
        where
            T: serde::Deserialize<'de>,
            C: crate::class::Class,
        {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                T::deserialize(from).map(Self::new)
            }
        }
    };
}
use poisoning_lock;

/// What a guard can do that leads to `$T`.
macro_rules! guard_of {
    ($Guard:ident, mutable) => {
        guard_of!($Guard);

        impl<T: ?Sized> std::ops::DerefMut for $Guard<'_, T> {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                &mut self.inner
            }
        }
    };
    ($Guard:ident) => {
        impl<T: ?Sized> std::ops::Deref for $Guard<'_, T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                &self.inner
            }
        }

        crate::std_sync::shown_as_value!($Guard);
    };
}
use guard_of;

/// How a guard, whose value may be changed, becomes one for a part of it: by its function `mapped`.
macro_rules! parts_of {
    ($Mapped:ident) => {
        /// A guard for a part of the value. (Of a nightly std.)
        pub fn map<U, F>(mut orig: Self, f: F) -> $Mapped<'a, U>
        where
            F: FnOnce(&mut T) -> &mut U,
            U: ?Sized,
        {
            // With the guard alive, which marks the lock where this panics.
            let part = std::ptr::NonNull::from(f(&mut orig));
            Self::mapped(orig, part)
        }

        /// A guard for a part of the value, if there is one, or else this guard. (Of a nightly std.)
        ///
        /// # Errors
        ///
        /// If `f` returns `None`.
        pub fn filter_map<U, F>(mut orig: Self, f: F) -> Result<$Mapped<'a, U>, Self>
        where
            F: FnOnce(&mut T) -> Option<&mut U>,
            U: ?Sized,
        {
            match f(&mut orig).map(std::ptr::NonNull::from) {
                Some(part) => Ok(Self::mapped(orig, part)),
                None => Err(orig),
            }
        }
    };
}
use parts_of;

/// What a guard shares with other threads, and shows: its value.
macro_rules! shown_as_value {
    ($Guard:ident) => {
        // SAFETY: a shared guard gives nothing but a shared value.
        unsafe impl<T: ?Sized + Sync> Sync for $Guard<'_, T> {}

        impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for $Guard<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + std::fmt::Display> std::fmt::Display for $Guard<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}
use shown_as_value;

/// What keeps a guard from being sent to another thread, as std's are not, with the feature `send_guard` too.
type NotSend = std::marker::PhantomData<*mut ()>;
