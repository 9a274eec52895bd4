//! `parking_lot` 0.12, measured: what a program's `[patch.crates-io]` names, so that every lock in it that is
//! made with `parking_lot` 0.12, in whatever dependency, is in the reports of
//! [`instrumented-lock`](instrumented_lock).
//!
//! ```toml
//! [patch.crates-io]
//! parking_lot = { path = "…/compat/parking_lot-0.12" }
//! ```
//!
//! `INSTRUMENTED_LOCK=report` in the environment then prints the report when the program ends. `README.md`
//! beside this says more, and what cannot be re-exported.
//!
//! All but the reader-writer lock is [`instrumented_lock::drop_in`]. That one has
//! [`read_recursive`](RwLock::read_recursive), which 0.13 has no more.

mod raw_rwlock;
mod rwlock;

#[cfg(feature = "deadlock_detection")]
pub use instrumented_lock::drop_in::deadlock;
#[cfg(feature = "arc_lock")]
pub use instrumented_lock::drop_in::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard,
};
pub use instrumented_lock::drop_in::{
    Condvar, FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard,
    MappedReentrantMutexGuard, Mutex, MutexGuard, Once, OnceState, RawFairMutex, RawMutex,
    RawThreadId, ReentrantMutex, ReentrantMutexGuard, WaitTimeoutResult, lock_api,
};
pub use raw_rwlock::RereadableRwLock;
pub use rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, RawRwLock, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard,
};

macro_rules! constructors {
    ($($name:ident: $Lock:ident;)*) => {
        $(
            #[doc = concat!("[`", stringify!($Lock), "::new`], from before that was `const`.")]
            #[inline]
            #[track_caller]
            pub const fn $name<T>(val: T) -> $Lock<T> {
                $Lock::new(val)
            }
        )*
    };
}

constructors! {
    const_fair_mutex: FairMutex;
    const_mutex: Mutex;
    const_reentrant_mutex: ReentrantMutex;
    const_rwlock: RwLock;
}
