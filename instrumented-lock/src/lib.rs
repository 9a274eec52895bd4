//! Mutex and reader-writer lock that tell which lock waits, how long it is held, and where.

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod class;
pub mod clock;
pub mod drop_in;
mod facade;
mod mutex;
pub mod raw;
pub mod registry;
pub mod report;
mod rwlock;
mod snapshot;
mod stats;

/// The guard types, which are the same for annotated locks and drop-ins.
mod guards {
    pub use crate::mutex::{MappedMutexGuard, MutexGuard};
    pub use crate::rwlock::{
        MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLockReadGuard, RwLockUpgradableReadGuard,
        RwLockWriteGuard,
    };

    #[cfg(feature = "arc_lock")]
    pub use crate::mutex::ArcMutexGuard;
    #[cfg(feature = "arc_lock")]
    pub use crate::rwlock::{
        ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard, ArcRwLockWriteGuard,
    };
}

pub use class::{LockClass, LockKind, Unclassed};
pub use guards::*;
pub use instrumented_lock_macros::instrumented;
pub use lock_api;
pub use mutex::Mutex;
pub use rwlock::RwLock;
pub use snapshot::{Distribution, Location, LockSnapshot, ModeSnapshot, Snapshot};
pub use stats::Mode;
