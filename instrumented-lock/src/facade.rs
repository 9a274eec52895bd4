//! What the typed lock types have in common.
//!
//! A lock type is a `lock_api` type over an instrumented raw lock, plus a class parameter `C` that
//! exists at compile time only: `new` reads it, nothing stores it. A lock with a declared class
//! dereferences to the un-annotated type, and that to `lock_api`'s, where the methods are.

/// The raw part `$Raw` around `$raw`, of class `C` or named by `$site`; the bare one with the feature
/// `stats` off.
#[cfg(feature = "stats")]
macro_rules! observing {
    ($Raw:ty, $C:ident, $site:ident $(, $raw:expr)?) => {
        match $C::DECLARED {
            Some(declaration) => <$Raw>::declared(declaration $(, $raw)?),
            None => <$Raw>::at_site($site $(, $raw)?),
        }
    };
}
#[cfg(not(feature = "stats"))]
macro_rules! observing {
    ($Raw:ty, $C:ident, $site:ident, $raw:expr) => {{
        let _ = $site;
        $raw
    }};
    ($Id:ty, $C:ident, $site:ident) => {
        <$Id as lock_api::GetThreadId>::INIT
    };
}

/// The raw part `$Raw` around `$raw`, of the class that has `$name`.
#[cfg(feature = "stats")]
macro_rules! observing_named {
    ($Raw:ty, $Lock:ident, $name:ident $(, $raw:expr)?) => {
        <$Raw>::named($name, $crate::lock_kind::LockKind::$Lock $(, $raw)?)
    };
}
#[cfg(not(feature = "stats"))]
macro_rules! observing_named {
    ($Raw:ty, $Lock:ident, $name:ident, $raw:expr) => {{
        let _ = $name;
        $raw
    }};
    ($Id:ty, $Lock:ident, $name:ident) => {
        <$Id as lock_api::GetThreadId>::INIT
    };
}

/// Gives the lock around `$raw` a label; nothing with the feature `stats` off.
#[cfg(feature = "stats")]
macro_rules! labelling {
    ($Lock:ident, $raw:expr, $label:ident) => {
        $raw.label($crate::lock_kind::LockKind::$Lock, $label.into())
    };
}
#[cfg(not(feature = "stats"))]
macro_rules! labelling {
    ($Lock:ident, $raw:expr, $label:ident) => {{
        let _: ::std::sync::Arc<str> = $label.into();
    }};
}

/// The method that tells this lock from others of its class.
macro_rules! label_method {
    ($Lock:ident) => {
        /// Gives this lock a label, such as `shard 17`, by which
        /// [reports](crate::LockSnapshot::waited_for) tell it from the other locks of its class. Without one
        /// they go by address.
        ///
        /// The label stays with the lock where it is moved to, and in the report when it is gone. Locks of
        /// one class that have the same label are reported as one. For when the lock is made: it looks for the
        /// class and keeps a copy of the label, 65,000 of them for each class; a lock that is given one
        /// beyond that has none.
        #[inline(never)]
        pub fn set_label(&self, label: impl Into<::std::sync::Arc<str>>) {
            // SAFETY: it is neither locked nor unlocked.
            let raw = unsafe { self.lock.raw() };
            $crate::facade::labelling!($Lock, raw, label);
            let _ = raw;
        }
    };
}

/// Somebody is about to look at what a lock protects: nothing is recorded. The raw lock finds that out by
/// itself, but for that of a reentrant mutex, which has an `$Id`.
macro_rules! looking {
    ($lock:expr) => {};
    ($lock:expr, $Id:ty) => {
        $crate::raw::look_at_reentrant($lock)
    };
}

/// Defines a lock type `$Lock<T, C>` over `$Api`, with all that does not differ between locks.
macro_rules! lock_type {
    (
        $(#[$doc:meta])*
        $Lock:ident over $Api:ty, raw $Raw:ty = $raw:expr $(, and $Id:ty)?
    ) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $Lock<T: ?Sized, C = $crate::class::Unclassed> {
            class: ::std::marker::PhantomData<fn() -> C>,
            lock: $Api,
        }

        impl<T, C: $crate::class::Class> $Lock<T, C> {
            /// An unlocked lock that protects `value`. Costs nothing at run time; the lock finds
            /// its class when it is first used.
            #[inline]
            #[track_caller]
            pub const fn new(value: T) -> Self {
                let site = ::std::panic::Location::caller();
                let lock = <$Api>::from_raw(
                    $crate::facade::observing!($Raw, C, site, $raw),
                    $($crate::facade::observing!($Id, C, site),)?
                    value,
                );
                Self { class: ::std::marker::PhantomData, lock }
            }
        }

        impl<T> $Lock<T> {
            /// An unlocked lock that protects `value`, of the class that has this name: for a lock whose
            /// type or creation nobody can annotate.
            ///
            /// All that are made with one name are of one class, also that of an annotated lock with this
            /// name. A name that is new makes a class, which is never freed, so take few. Looks into the
            /// table of all classes, so it costs more than [`new`](Self::new), and is not `const`: give a
            /// static its name with `#[instrumented(name = "...")]`.
            ///
            /// ```
            /// use instrumented_lock::registry;
            #[doc = concat!("use instrumented_lock::", stringify!($Lock), ";")]
            ///
            #[doc = concat!("let journal = ", stringify!($Lock), "::named(\"journal\", vec![7]);")]
            /// assert_eq!(journal.into_inner(), [7]);
            /// # if cfg!(feature = "stats") {
            /// assert!(registry::snapshot().lock("journal").is_some());
            /// # }
            /// ```
            #[track_caller]
            pub fn named(name: &str, value: T) -> Self {
                let lock = <$Api>::from_raw(
                    $crate::facade::observing_named!($Raw, $Lock, name, $raw),
                    $($crate::facade::observing_named!($Id, $Lock, name),)?
                    value,
                );
                Self { class: ::std::marker::PhantomData, lock }
            }
        }

        impl<T, C> $Lock<T, C> {
            /// A lock around a raw one, which keeps its own class.
            #[inline]
            pub const fn from_raw(raw: $Raw, $(get_thread_id: $Id,)? value: T) -> Self {
                let lock = <$Api>::from_raw(
                    raw,
                    $(::std::convert::identity::<$Id>(get_thread_id),)?
                    value,
                );
                Self { class: ::std::marker::PhantomData, lock }
            }

            /// [`from_raw`](Self::from_raw), by its name in `lock_api` 0.4.
            #[doc(hidden)]
            #[inline]
            pub const fn const_new(raw: $Raw, $(get_thread_id: $Id,)? value: T) -> Self {
                Self::from_raw(raw, $(std::convert::identity::<$Id>(get_thread_id),)? value)
            }

            /// The protected value. The lock is gone; nothing is recorded.
            #[inline]
            pub fn into_inner(self) -> T {
                self.lock.into_inner()
            }

            /// The raw lock and the protected value.
            #[inline]
            pub fn into_inner_with_raw(self) -> ($Raw, $($Id,)? T) {
                self.lock.into_inner_with_raw()
            }
        }

        impl<T: ?Sized, C> $Lock<T, C> {
            $crate::facade::label_method!($Lock);

            /// The protected value. Nobody else can hold the lock meanwhile; nothing is recorded.
            #[inline]
            pub const fn get_mut(&mut self) -> &mut T {
                self.lock.get_mut()
            }

            /// Where the protected value is. Records nothing.
            #[inline]
            pub const fn data_ptr(&self) -> *mut T {
                self.lock.data_ptr()
            }
        }

        impl<T: ?Sized> ::std::ops::Deref for $Lock<T, $crate::class::Unclassed> {
            type Target = $Api;

            #[inline]
            fn deref(&self) -> &Self::Target {
                &self.lock
            }
        }

        impl<T: ?Sized> ::std::ops::DerefMut for $Lock<T, $crate::class::Unclassed> {
            #[inline]
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.lock
            }
        }

        impl<T: ?Sized, C: $crate::class::DeclaredClass> ::std::ops::Deref for $Lock<T, C> {
            type Target = $Lock<T>;

            #[inline]
            fn deref(&self) -> &Self::Target {
                let lock: *const Self = self;
                // SAFETY: `repr(transparent)` over the same `lock_api` lock; `C` has no value.
                unsafe { &*(lock as *const $Lock<T>) }
            }
        }

        impl<T: ?Sized, C: $crate::class::DeclaredClass> ::std::ops::DerefMut for $Lock<T, C> {
            #[inline]
            fn deref_mut(&mut self) -> &mut Self::Target {
                let lock: *mut Self = self;
                // SAFETY: as for `deref`, and borrowed exclusively.
                unsafe { &mut *(lock as *mut $Lock<T>) }
            }
        }

        #[cfg(feature = "arc_lock")]
        impl<T: ?Sized, C> $Lock<T, C> {
            /// The same handle, as `lock_api` knows it.
            fn as_api(this: &::std::sync::Arc<Self>) -> ::std::sync::Arc<$Api> {
                let lock = ::std::sync::Arc::into_raw(::std::sync::Arc::clone(this));
                // SAFETY: the pointer comes from `Arc::into_raw`; `repr(transparent)` gives both
                // types the same size, alignment and metadata.
                unsafe { ::std::sync::Arc::from_raw(lock as *const $Api) }
            }
        }

        impl<T: Default, C: $crate::class::Class> Default for $Lock<T, C> {
            #[inline]
            #[track_caller]
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<T, C: $crate::class::Class> From<T> for $Lock<T, C> {
            #[inline]
            #[track_caller]
            fn from(value: T) -> Self {
                Self::new(value)
            }
        }

        impl<T: ?Sized + ::std::fmt::Debug, C> ::std::fmt::Debug for $Lock<T, C> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::facade::looking!(&self.lock $(, $Id)?);
                ::std::fmt::Debug::fmt(&self.lock, f)
            }
        }

        // The compiler would list this very macro under each foreign lock that is annotated.
        #[diagnostic::do_not_recommend]
        impl<T: ?Sized, C> $crate::class::Instrumentable<C> for $Lock<T> {
            type Lock = $Lock<T, C>;
        }

        #[cfg(feature = "serde")]
        impl<T: ?Sized + ::serde::Serialize, C> ::serde::Serialize for $Lock<T, C> {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::facade::looking!(&self.lock $(, $Id)?);
                self.lock.serialize(serializer)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de, T, C> ::serde::Deserialize<'de> for $Lock<T, C>
        where
            T: ::serde::Deserialize<'de>,
            C: $crate::class::Class,
        {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                T::deserialize(deserializer).map(Self::new)
            }
        }
    };
}

/// The methods of `lock_api`'s lock once more, so that paths such as `Mutex::lock` name them too: no
/// dereference leads from a path.
macro_rules! api_methods {
    (
        $Lock:ident {
            $($name:ident($($arg:ident: $Arg:ty)?) $(-> $Out:ty)?;)*
        }
        unsafe {
            $($unsafe_name:ident($($state:ident: $State:ty)?) $(-> $UnsafeOut:ty)?;)*
        }
    ) => {
        impl<T: ?Sized, C> $Lock<T, C> {
            $(
                #[doc = concat!("`", stringify!($name), "` of `lock_api`'s lock.")]
                #[inline]
                #[track_caller]
                pub fn $name(&self $(, $arg: $Arg)?) $(-> $Out)? {
                    self.lock.$name($($arg)?)
                }
            )*
            $(
                #[doc = concat!("`", stringify!($unsafe_name), "` of `lock_api`'s lock.")]
                ///
                /// # Safety
                ///
                /// As there: the lock is held, without a guard, and has this state.
                #[inline]
                #[track_caller]
                pub unsafe fn $unsafe_name(&self $(, $state: $State)?) $(-> $UnsafeOut)? {
                    // SAFETY: the caller's promise is the callee's.
                    unsafe { self.lock.$unsafe_name($($state)?) }
                }
            )*
        }
    };
}

/// [`api_methods`] of a mutex.
macro_rules! mutex_methods {
    ($Lock:ident, $Raw:ty) => {
        $crate::facade::api_methods! { $Lock {
            lock() -> lock_api::MutexGuard<'_, $Raw, T>;
            try_lock() -> Option<lock_api::MutexGuard<'_, $Raw, T>>;
            try_lock_for(timeout: std::time::Duration)
                -> Option<lock_api::MutexGuard<'_, $Raw, T>>;
            try_lock_until(timeout: std::time::Instant)
                -> Option<lock_api::MutexGuard<'_, $Raw, T>>;
            is_locked() -> bool;
        } unsafe {
            raw() -> &$Raw;
            make_guard_unchecked(state: <$Raw as lock_api::RawMutex>::Guard)
                -> lock_api::MutexGuard<'_, $Raw, T>;
            force_unlock(state: <$Raw as lock_api::RawMutex>::Guard);
            force_unlock_fair(state: <$Raw as lock_api::RawMutex>::Guard);
        }}
    };
}

/// [`api_methods`] of a reader-writer lock.
macro_rules! rwlock_methods {
    ($Lock:ident, $Raw:ty) => {
        $crate::facade::api_methods! { $Lock {
            read() -> lock_api::RwLockReadGuard<'_, $Raw, T>;
            try_read() -> Option<lock_api::RwLockReadGuard<'_, $Raw, T>>;
            try_read_for(timeout: std::time::Duration)
                -> Option<lock_api::RwLockReadGuard<'_, $Raw, T>>;
            try_read_until(timeout: std::time::Instant)
                -> Option<lock_api::RwLockReadGuard<'_, $Raw, T>>;
            write() -> lock_api::RwLockWriteGuard<'_, $Raw, T>;
            try_write() -> Option<lock_api::RwLockWriteGuard<'_, $Raw, T>>;
            try_write_for(timeout: std::time::Duration)
                -> Option<lock_api::RwLockWriteGuard<'_, $Raw, T>>;
            try_write_until(timeout: std::time::Instant)
                -> Option<lock_api::RwLockWriteGuard<'_, $Raw, T>>;
            upgradable_read() -> lock_api::RwLockUpgradableReadGuard<'_, $Raw, T>;
            try_upgradable_read() -> Option<lock_api::RwLockUpgradableReadGuard<'_, $Raw, T>>;
            try_upgradable_read_for(timeout: std::time::Duration)
                -> Option<lock_api::RwLockUpgradableReadGuard<'_, $Raw, T>>;
            try_upgradable_read_until(timeout: std::time::Instant)
                -> Option<lock_api::RwLockUpgradableReadGuard<'_, $Raw, T>>;
            is_locked() -> bool;
            is_locked_exclusive() -> bool;
        } unsafe {
            raw() -> &$Raw;
            make_read_guard_unchecked(state: <$Raw as lock_api::RawRwLock>::SharedGuard)
                -> lock_api::RwLockReadGuard<'_, $Raw, T>;
            make_write_guard_unchecked(state: <$Raw as lock_api::RawRwLock>::ExclusiveGuard)
                -> lock_api::RwLockWriteGuard<'_, $Raw, T>;
            make_upgradable_guard_unchecked(
                state: <$Raw as lock_api::RawRwLockUpgrade>::UpgradableGuard
            ) -> lock_api::RwLockUpgradableReadGuard<'_, $Raw, T>;
            force_unlock_read(state: <$Raw as lock_api::RawRwLock>::SharedGuard);
            force_unlock_read_fair(state: <$Raw as lock_api::RawRwLock>::SharedGuard);
            force_unlock_write(state: <$Raw as lock_api::RawRwLock>::ExclusiveGuard);
            force_unlock_write_fair(state: <$Raw as lock_api::RawRwLock>::ExclusiveGuard);
        }}
    };
}

/// The methods that take `self: &Arc<Self>`, which no dereference reaches: `$name` does what
/// `lock_api`'s does.
#[cfg(feature = "arc_lock")]
macro_rules! arc_methods {
    ($Lock:ident { $($name:ident($($arg:ident: $Arg:ty)?) -> $Guard:ty;)* }) => {
        impl<T: ?Sized, C> $Lock<T, C> {
            $(
                #[doc = concat!(
                    "`", stringify!($name), "` of `lock_api`: the guard owns a handle to the lock."
                )]
                #[inline]
                #[track_caller]
                pub fn $name(self: &::std::sync::Arc<Self> $(, $arg: $Arg)?) -> $Guard {
                    Self::as_api(self).$name($($arg)?)
                }
            )*
        }
    };
}

/// Those of [`arc_methods`] that make a guard of a lock which is held already.
#[cfg(feature = "arc_lock")]
macro_rules! unchecked_arc_methods {
    ($Lock:ident { $($name:ident($($state:ident: $State:ty)?) -> $Guard:ty;)* }) => {
        impl<T: ?Sized, C> $Lock<T, C> {
            $(
                #[doc = concat!("`", stringify!($name), "` of `lock_api`.")]
                ///
                /// # Safety
                ///
                /// The lock is held in this mode, without a guard, and has this state.
                #[inline]
                pub unsafe fn $name(self: &::std::sync::Arc<Self> $(, $state: $State)?) -> $Guard {
                    // SAFETY: the caller's promise is the callee's.
                    unsafe { Self::as_api(self).$name($($state)?) }
                }
            )*
        }
    };
}

/// [`arc_methods`] of a mutex.
#[cfg(feature = "arc_lock")]
macro_rules! mutex_arc_methods {
    ($Lock:ident, $Guard:ty) => {
        $crate::facade::arc_methods! { $Lock {
            lock_arc() -> $Guard;
            try_lock_arc() -> Option<$Guard>;
            try_lock_arc_for(timeout: std::time::Duration) -> Option<$Guard>;
            try_lock_arc_until(timeout: std::time::Instant) -> Option<$Guard>;
        }}
    };
}

/// [`arc_methods`] of a reader-writer lock.
#[cfg(feature = "arc_lock")]
macro_rules! rwlock_arc_methods {
    ($Lock:ident, $Raw:ty) => {
        $crate::facade::arc_methods! { $Lock {
            read_arc() -> lock_api::ArcRwLockReadGuard<$Raw, T>;
            try_read_arc() -> Option<lock_api::ArcRwLockReadGuard<$Raw, T>>;
            try_read_arc_for(timeout: std::time::Duration)
                -> Option<lock_api::ArcRwLockReadGuard<$Raw, T>>;
            try_read_arc_until(timeout: std::time::Instant)
                -> Option<lock_api::ArcRwLockReadGuard<$Raw, T>>;
            write_arc() -> lock_api::ArcRwLockWriteGuard<$Raw, T>;
            try_write_arc() -> Option<lock_api::ArcRwLockWriteGuard<$Raw, T>>;
            try_write_arc_for(timeout: std::time::Duration)
                -> Option<lock_api::ArcRwLockWriteGuard<$Raw, T>>;
            try_write_arc_until(timeout: std::time::Instant)
                -> Option<lock_api::ArcRwLockWriteGuard<$Raw, T>>;
            upgradable_read_arc() -> lock_api::ArcRwLockUpgradableReadGuard<$Raw, T>;
            try_upgradable_read_arc() -> Option<lock_api::ArcRwLockUpgradableReadGuard<$Raw, T>>;
            try_upgradable_read_arc_for(timeout: std::time::Duration)
                -> Option<lock_api::ArcRwLockUpgradableReadGuard<$Raw, T>>;
            try_upgradable_read_arc_until(timeout: std::time::Instant)
                -> Option<lock_api::ArcRwLockUpgradableReadGuard<$Raw, T>>;
        }}
        $crate::facade::unchecked_arc_methods! { $Lock {
            make_arc_read_guard_unchecked(
                state: <$Raw as lock_api::RawRwLock>::SharedGuard
            ) -> lock_api::ArcRwLockReadGuard<$Raw, T>;
            make_arc_write_guard_unchecked(
                state: <$Raw as lock_api::RawRwLock>::ExclusiveGuard
            ) -> lock_api::ArcRwLockWriteGuard<$Raw, T>;
            make_upgradable_arc_guard_unchecked(
                state: <$Raw as lock_api::RawRwLockUpgrade>::UpgradableGuard
            ) -> lock_api::ArcRwLockUpgradableReadGuard<$Raw, T>;
        }}
    };
}

pub(crate) use {
    api_methods, label_method, labelling, lock_type, looking, mutex_methods, observing,
    observing_named, rwlock_methods,
};
#[cfg(feature = "arc_lock")]
pub(crate) use {arc_methods, mutex_arc_methods, rwlock_arc_methods, unchecked_arc_methods};
