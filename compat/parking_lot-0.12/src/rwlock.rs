//! [`RwLock`] and its guards.

use crate::raw_rwlock::RereadableRwLock;
use instrumented_lock::lock_api::{self, RawRwLock as _, RawRwLockFair as _};
use instrumented_lock::raw::{Instrumented, ReadAgain as _, ReadAgainTimed as _};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

/// The raw lock, measured.
pub type RawRwLock = Instrumented<RereadableRwLock>;

/// The lock is held with other readers while this lives.
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;

/// The lock is held alone while this lives.
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;

/// The lock is held with readers while this lives, and can be made exclusive.
pub type RwLockUpgradableReadGuard<'a, T> = lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>;

/// A [`RwLockReadGuard`] for a part of the protected value.
pub type MappedRwLockReadGuard<'a, T> = lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>;

/// A [`RwLockWriteGuard`] for a part of the protected value.
pub type MappedRwLockWriteGuard<'a, T> = lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>;

/// A reader-writer lock that is measured. The methods are those of 0.12: what is not here is in
/// [`lock_api::RwLock`], to which it dereferences.
///
/// [`read`](Self::read) queues behind writers that wait; [`read_recursive`](Self::read_recursive) does not.
#[repr(transparent)]
pub struct RwLock<T: ?Sized>(lock_api::RwLock<RawRwLock, T>);

impl<T> RwLock<T> {
    /// An unlocked lock that protects `val`, named in reports by the line that calls this.
    #[inline]
    #[track_caller]
    pub const fn new(val: T) -> Self {
        let raw = Instrumented::new(RereadableRwLock::INIT);
        RwLock(lock_api::RwLock::from_raw(raw, val))
    }

    /// The same with a raw lock, which keeps its name.
    #[inline]
    pub const fn const_new(raw_rwlock: RawRwLock, val: T) -> Self {
        Self::from_raw(raw_rwlock, val)
    }

    /// The same with a raw lock, which keeps its name.
    #[inline]
    pub const fn from_raw(raw_rwlock: RawRwLock, val: T) -> Self {
        RwLock(lock_api::RwLock::from_raw(raw_rwlock, val))
    }

    /// The protected value.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

/// The methods of `lock_api`'s lock once more, so that paths such as `RwLock::read` name them too.
macro_rules! methods {
    ($($name:ident($($arg:ident: $Arg:ty)?) -> $Out:ty;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of `lock_api`'s lock.")]
            #[inline]
            #[track_caller]
            pub fn $name(&self $(, $arg: $Arg)?) -> $Out {
                self.0.$name($($arg)?)
            }
        )*
    };
}

impl<T: ?Sized> RwLock<T> {
    methods! {
        read() -> RwLockReadGuard<'_, T>;
        try_read() -> Option<RwLockReadGuard<'_, T>>;
        try_read_for(timeout: Duration) -> Option<RwLockReadGuard<'_, T>>;
        try_read_until(timeout: Instant) -> Option<RwLockReadGuard<'_, T>>;
        write() -> RwLockWriteGuard<'_, T>;
        try_write() -> Option<RwLockWriteGuard<'_, T>>;
        try_write_for(timeout: Duration) -> Option<RwLockWriteGuard<'_, T>>;
        try_write_until(timeout: Instant) -> Option<RwLockWriteGuard<'_, T>>;
        upgradable_read() -> RwLockUpgradableReadGuard<'_, T>;
        try_upgradable_read() -> Option<RwLockUpgradableReadGuard<'_, T>>;
        try_upgradable_read_for(timeout: Duration) -> Option<RwLockUpgradableReadGuard<'_, T>>;
        try_upgradable_read_until(timeout: Instant) -> Option<RwLockUpgradableReadGuard<'_, T>>;
        is_locked() -> bool;
        is_locked_exclusive() -> bool;
    }

    /// The protected value. Nobody else can hold the lock meanwhile.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }

    /// Where the protected value is.
    #[inline]
    pub fn data_ptr(&self) -> *mut T {
        self.0.data_ptr()
    }

    #[inline(always)]
    fn held(&self) -> &RawRwLock {
        // SAFETY: what is done with it is up to the methods here.
        unsafe { self.0.raw() }
    }

    /// The raw lock.
    ///
    /// # Safety
    ///
    /// As in `lock_api`: it is not let go while a guard lives.
    #[inline]
    pub unsafe fn raw(&self) -> &RawRwLock {
        self.held()
    }

    /// Acquires the lock with other readers, before writers that wait: for who reads already.
    #[inline]
    #[track_caller]
    pub fn read_recursive(&self) -> RwLockReadGuard<'_, T> {
        let state = self.held().lock_shared_recursive();
        // SAFETY: it is held with this state.
        unsafe { self.0.make_read_guard_unchecked(state) }
    }

    /// The same, if no writer holds it.
    #[inline]
    #[track_caller]
    pub fn try_read_recursive(&self) -> Option<RwLockReadGuard<'_, T>> {
        let state = self.held().try_lock_shared_recursive()?;
        // SAFETY: it is held with this state.
        Some(unsafe { self.0.make_read_guard_unchecked(state) })
    }

    /// [`read_recursive`](Self::read_recursive), waiting for `timeout` at most.
    #[inline]
    #[track_caller]
    pub fn try_read_recursive_for(&self, timeout: Duration) -> Option<RwLockReadGuard<'_, T>> {
        let state = self.held().try_lock_shared_recursive_for(timeout)?;
        // SAFETY: it is held with this state.
        Some(unsafe { self.0.make_read_guard_unchecked(state) })
    }

    /// [`read_recursive`](Self::read_recursive), waiting until `timeout` at the latest.
    #[inline]
    #[track_caller]
    pub fn try_read_recursive_until(&self, timeout: Instant) -> Option<RwLockReadGuard<'_, T>> {
        let state = self.held().try_lock_shared_recursive_until(timeout)?;
        // SAFETY: it is held with this state.
        Some(unsafe { self.0.make_read_guard_unchecked(state) })
    }
}

/// What is done with a lock that is held and whose guard was forgotten. Its hold stays in flight in
/// reports, and the release is counted as unmatched.
macro_rules! forgotten {
    ($($name:ident, $unlock:ident, $held:literal;)*) => {
        $(
            #[doc = concat!("Lets go of the lock, which is held ", $held, " by a guard that was forgotten.")]
            ///
            /// # Safety
            ///
            /// It is held so.
            pub unsafe fn $name(&self) {
                // SAFETY: the caller says that it is held so.
                unsafe { self.held().$unlock(Default::default()) }
            }
        )*
    };
}

impl<T: ?Sized> RwLock<T> {
    forgotten! {
        force_unlock_read, unlock_shared, "with other readers";
        force_unlock_read_fair, unlock_shared_fair, "with other readers";
        force_unlock_write, unlock_exclusive, "alone";
        force_unlock_write_fair, unlock_exclusive_fair, "alone";
    }

    /// A guard of a lock that is held with other readers, without one.
    ///
    /// # Safety
    ///
    /// It is held so.
    pub unsafe fn make_read_guard_unchecked(&self) -> RwLockReadGuard<'_, T> {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.make_read_guard_unchecked(Default::default()) }
    }

    /// A guard of a lock that is held alone, without one.
    ///
    /// # Safety
    ///
    /// It is held so.
    pub unsafe fn make_write_guard_unchecked(&self) -> RwLockWriteGuard<'_, T> {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.make_write_guard_unchecked(Default::default()) }
    }

    /// A guard of a lock that is held upgradably, without one.
    ///
    /// # Safety
    ///
    /// It is held so.
    pub unsafe fn make_upgradable_guard_unchecked(&self) -> RwLockUpgradableReadGuard<'_, T> {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.make_upgradable_guard_unchecked(Default::default()) }
    }
}

/// Guards that own a handle to their lock.
#[cfg(feature = "arc_lock")]
mod arc {
    use super::{Duration, Instant, RawRwLock, RwLock, lock_api};
    use instrumented_lock::raw::{ReadAgain as _, ReadAgainTimed as _};
    use std::sync::Arc;

    type Read<T> = lock_api::ArcRwLockReadGuard<RawRwLock, T>;
    type Write<T> = lock_api::ArcRwLockWriteGuard<RawRwLock, T>;
    type Upgradable<T> = lock_api::ArcRwLockUpgradableReadGuard<RawRwLock, T>;

    macro_rules! arc_methods {
        ($($name:ident($($arg:ident: $Arg:ty)?) -> $Guard:ty;)*) => {
            $(
                #[doc = concat!("`", stringify!($name), "` of `lock_api`: the guard owns a handle to the lock.")]
                #[inline]
                #[track_caller]
                pub fn $name(self: &Arc<Self> $(, $arg: $Arg)?) -> $Guard {
                    Self::as_api(self).$name($($arg)?)
                }
            )*
        };
    }

    impl<T: ?Sized> RwLock<T> {
        /// The same handle, as `lock_api` knows it.
        fn as_api(this: &Arc<Self>) -> Arc<lock_api::RwLock<RawRwLock, T>> {
            let lock = Arc::into_raw(Arc::clone(this));
            // SAFETY: the pointer comes from `Arc::into_raw`; `repr(transparent)` gives both types the same
            // size, alignment and metadata.
            unsafe { Arc::from_raw(lock as *const lock_api::RwLock<RawRwLock, T>) }
        }

        arc_methods! {
            read_arc() -> Read<T>;
            try_read_arc() -> Option<Read<T>>;
            try_read_arc_for(timeout: Duration) -> Option<Read<T>>;
            try_read_arc_until(timeout: Instant) -> Option<Read<T>>;
            write_arc() -> Write<T>;
            try_write_arc() -> Option<Write<T>>;
            try_write_arc_for(timeout: Duration) -> Option<Write<T>>;
            try_write_arc_until(timeout: Instant) -> Option<Write<T>>;
            upgradable_read_arc() -> Upgradable<T>;
            try_upgradable_read_arc() -> Option<Upgradable<T>>;
            try_upgradable_read_arc_for(timeout: Duration) -> Option<Upgradable<T>>;
            try_upgradable_read_arc_until(timeout: Instant) -> Option<Upgradable<T>>;
        }

        /// [`read_recursive`](Self::read_recursive) with a guard that owns a handle to the lock.
        #[track_caller]
        pub fn read_arc_recursive(self: &Arc<Self>) -> Read<T> {
            let state = self.held().lock_shared_recursive();
            // SAFETY: it is held with this state.
            unsafe { Self::as_api(self).make_arc_read_guard_unchecked(state) }
        }

        /// [`try_read_recursive`](Self::try_read_recursive) with a guard that owns a handle to the lock.
        #[track_caller]
        pub fn try_read_recursive_arc(self: &Arc<Self>) -> Option<Read<T>> {
            let state = self.held().try_lock_shared_recursive()?;
            // SAFETY: it is held with this state.
            Some(unsafe { Self::as_api(self).make_arc_read_guard_unchecked(state) })
        }

        /// [`read_arc_recursive`](Self::read_arc_recursive), waiting for `timeout` at most.
        #[track_caller]
        pub fn try_read_arc_recursive_for(self: &Arc<Self>, timeout: Duration) -> Option<Read<T>> {
            let state = self.held().try_lock_shared_recursive_for(timeout)?;
            // SAFETY: it is held with this state.
            Some(unsafe { Self::as_api(self).make_arc_read_guard_unchecked(state) })
        }

        /// [`read_arc_recursive`](Self::read_arc_recursive), waiting until `timeout` at the latest.
        #[track_caller]
        pub fn try_read_arc_recursive_until(self: &Arc<Self>, timeout: Instant) -> Option<Read<T>> {
            let state = self.held().try_lock_shared_recursive_until(timeout)?;
            // SAFETY: it is held with this state.
            Some(unsafe { Self::as_api(self).make_arc_read_guard_unchecked(state) })
        }

        /// A guard of a lock that is held with other readers, without one.
        ///
        /// # Safety
        ///
        /// It is held so.
        pub unsafe fn make_arc_read_guard_unchecked(self: &Arc<Self>) -> Read<T> {
            // SAFETY: the caller's promise is the callee's.
            unsafe { Self::as_api(self).make_arc_read_guard_unchecked(Default::default()) }
        }

        /// A guard of a lock that is held alone, without one.
        ///
        /// # Safety
        ///
        /// It is held so.
        pub unsafe fn make_arc_write_guard_unchecked(self: &Arc<Self>) -> Write<T> {
            // SAFETY: the caller's promise is the callee's.
            unsafe { Self::as_api(self).make_arc_write_guard_unchecked(Default::default()) }
        }
    }
}

impl<T: ?Sized> Deref for RwLock<T> {
    type Target = lock_api::RwLock<RawRwLock, T>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for RwLock<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<T: Default> Default for RwLock<T> {
    #[inline]
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[inline]
    #[track_caller]
    fn from(val: T) -> Self {
        Self::new(val)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(feature = "serde")]
impl<T: ?Sized + serde::Serialize> serde::Serialize for RwLock<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de, T: serde::Deserialize<'de>> serde::Deserialize<'de> for RwLock<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}
