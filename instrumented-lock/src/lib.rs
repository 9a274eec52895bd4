//! Mutex and reader-writer lock that tell which lock waits, who holds it and for how long.
//!
//! Replace `parking_lot`'s locks by these, put [`#[instrumented]`](instrumented) on the structs,
//! enums and statics that hold them, and print [`registry::snapshot()`](registry::snapshot). In a
//! file that nobody annotates, import from [`drop_in`].
//!
//! # What is where
//!
//! | | |
//! |---|---|
//! | [`Mutex`], [`RwLock`], [`FairMutex`], [`ReentrantMutex`], [`RecursiveRwLock`], [`Condvar`] and their guards | the locks |
//! | [`instrumented`] | declares a lock class for every lock of a struct, enum or static |
//! | [`lints`] | the mistakes that [`instrumented`] refuses, in types and in bodies |
//! | [`drop_in`] | the same locks for files that nobody annotates |
//! | [`registry`] | all lock classes; takes snapshots; turns recording off and on |
//! | [`Snapshot`], [`LockSnapshot`], [`ModeSnapshot`], [`Distribution`] | the figures, as plain data |
//! | [`Statistic`] | a distribution of one's own, recorded in the same way |
//! | [`Snapshot::advice`] | what the figures mean, in sentences |
//! | [`report`] | snapshots for people and programs |
//! | [`budget`] | how often a piece of code takes which lock, as an assertion for tests |
//! | [`clock`] | where time comes from; a mock for tests |
//! | [`raw`] | the instrumentation itself, around any `lock_api` raw lock |
//!
//! # What is recorded
//!
//! Per lock class and mode (read, write, upgradable):
//!
//! | statistic | meaning |
//! |---|---|
//! | acquisitions | successful acquisitions, `try_` ones, upgrades and downgrades included |
//! | contended | acquisitions that had to block: the immediate attempt failed |
//! | try failures, timeouts | attempts that gave up; never acquisitions |
//! | wait | a distribution over all acquisitions, an immediate one counting 0 |
//! | blocked | a distribution over contended acquisitions |
//! | hold | a distribution over releases, from the acquisition to just before the unlock |
//!
//! By type:
//!
//! | type | what is measured |
//! |---|---|
//! | [`Mutex`] | every acquisition as a write; mapped guards end the hold they were made from; `unlocked`, `bump` and a wait for a condition variable end one hold and start another |
//! | [`FairMutex`] | the same |
//! | [`ReentrantMutex`] | the outermost acquisition, as a write; nested ones are [counted](LockSnapshot::nested) |
//! | [`RwLock`] | reads, upgradable reads and writes apart; a downgrade or upgrade ends one hold and starts one of the other mode |
//! | [`RecursiveRwLock`] | the same; every read is a hold of its own, nested ones too |
//! | [`Condvar`] | how long threads [sleep](LockSnapshot::sleep), how many are notified and how many time out; for the mutex too |
//! | [`Once`] | nothing: it is `parking_lot`'s |
//! | [`Instrumented<R>`](raw::Instrumented) | what `R` is used as: a mutex or a reader-writer lock |
//!
//! A guard that is alive or forgotten is in flight: among the acquisitions, not in `hold`.
//! Distributions have exact count, sum, standard deviation, minimum and maximum, and quantiles
//! within 4.4 %.
//!
//! # Who waits, who holds
//!
//! [`LockSnapshot::call_sites`] has a row for every acquiring line: what it waited, held, and how long
//! others waited while it held ([blame](CallSite::blame)). [`LockSnapshot::blame`] has the pairs of
//! waiting and holding lines, [`Snapshot::in_flight`] who waits and holds at this moment, also while
//! everything hangs.
//!
//! # What it costs
//!
//! An uncontended lock and unlock costs about 1.2 times the bare lock with two raw clock reads
//! inside; the README has the table. The statistics are written after the unlock, by plain stores
//! to memory that only the recording thread writes. While somebody waits for a lock, each
//! release of it, and each acquisition for reading, also takes some ten nanoseconds under the lock
//! for blame.
//!
//! Memory is bounded by the program text and the number of slots, not by locks or threads:
//!
//! | what | bytes |
//! |---|---|
//! | a lock | one word more than `parking_lot`'s mutex, two more than its reader-writer lock |
//! | a class that is not used | below 1 KiB |
//! | a class, for each thread slot and mode that has used it | 2.5 KiB, the rows of 10 lines and of all others among them; 1.4 KiB more once an acquisition has blocked |
//! | a class in all | 256 KiB at most, up to 2 KiB of it for pairs of lines that blame was dealt out to |
//! | the process | 64 tables of what is in flight, 0.7 KiB each; 1024 places for locks that are waited for, 0.25 KiB each |
//!
//! There are 68 slots however many threads there are. What a class needs is allocated at first
//! touch, before the lock is taken, and never freed.
//!
//! # Limits
//!
//! - Past the 64th thread alive, and past a class's 256 KiB (about 80 pairs of thread and mode, 50 if
//!   all have waited), threads share four stripes and take a lock of a few nanoseconds to record,
//!   that of a wait while they hold the lock; nothing is lost.
//! - A bucket of a distribution that counts past 2^32 takes 1.3 KiB more for its distribution.
//! - Where a thread's first use of a class, or of a mode of it, comes while it holds another lock
//!   or is a conversion of the same lock, that other hold contains the allocation.
//! - Holds of some tens of nanoseconds are recorded too short; see [`clock`].
//! - The locks must not be used inside a global allocator, as `parking_lot`'s must not.
//! - A snapshot from a signal handler can wait for the very thread that it interrupted.
//!
//! # Features
//!
//! | feature | |
//! |---|---|
//! | `serde` | `Serialize` and `Deserialize` for snapshots (as JSON: see [`Snapshot`]) and locks |
//! | `arc_lock` | `lock_arc`, `read_arc` and so on: guards that own a handle to their lock |
//! | `send_guard` | guards may be sent to other threads |
//!
//! | `deadlock_detection` | `parking_lot`'s, with its module `deadlock`; not together with `send_guard` |
//! | `owning_ref` | guards are stable addresses for the crate `owning_ref` |
//! | `stats`, the only default | recording; without it the locks are `parking_lot`'s in size and code, and snapshots are empty and say why |
//!
//! No feature changes which programs compile, other than by what it adds; only the state that
//! `force_unlock` takes and [`RawThreadId`] are other types without `stats`, `parking_lot`'s own.

// What records nothing and registers nothing is not called.
#![cfg_attr(not(feature = "stats"), allow(dead_code))]

// Named where the attribute's expansion expects it.
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod advice;
pub mod budget;
mod class;
pub mod clock;
mod condvar;
pub mod drop_in;
mod facade;
mod fair_mutex;
#[doc = include_str!("../docs/lints.md")]
pub mod lints {}
mod mutex;
pub mod raw;
mod recursive_rwlock;
pub mod registry;
mod remutex;
pub mod report;
mod rwlock;
mod settings;
mod snapshot;
mod statistic;
mod stats;

/// What is the same for annotated locks and drop-ins.
mod common {
    pub use crate::condvar::WaitTimeoutResult;
    pub use crate::fair_mutex::{FairMutexGuard, MappedFairMutexGuard};
    pub use crate::mutex::{MappedMutexGuard, MutexGuard};
    pub use crate::raw::{
        RawCondvar, RawFairMutex, RawMutex, RawRwLock, RawRwLockRecursive, RawThreadId,
    };
    pub use crate::recursive_rwlock::{
        MappedRecursiveRwLockReadGuard, MappedRecursiveRwLockWriteGuard, RecursiveRwLockReadGuard,
        RecursiveRwLockUpgradableReadGuard, RecursiveRwLockWriteGuard,
    };
    pub use crate::remutex::{MappedReentrantMutexGuard, ReentrantMutexGuard};
    pub use crate::rwlock::{
        MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLockReadGuard, RwLockUpgradableReadGuard,
        RwLockWriteGuard,
    };
    pub use lock_api;
    #[cfg(feature = "arc_lock")]
    pub use lock_api::{
        ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
        ArcRwLockWriteGuard,
    };
    #[cfg(feature = "deadlock_detection")]
    pub use parking_lot::deadlock;
    pub use parking_lot::{Once, OnceState};
}

pub use advice::{Advice, Confidence};
pub use class::{LockClass, LockKind, Unclassed};
pub use common::*;
pub use condvar::Condvar;
pub use fair_mutex::FairMutex;
pub use instrumented_lock_macros::instrumented;
pub use mutex::Mutex;
pub use recursive_rwlock::RecursiveRwLock;
pub use remutex::ReentrantMutex;
pub use rwlock::RwLock;
pub use settings::{HoldTiming, InvalidSetting};
pub use snapshot::{
    Blame, CallSite, Distribution, InFlight, InFlightState, Location, LockSnapshot, ModeSnapshot,
    SleepSnapshot, Snapshot,
};
pub use statistic::Statistic;
pub use stats::Mode;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
