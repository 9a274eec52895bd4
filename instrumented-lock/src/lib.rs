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
//! | [`std_sync`] | the locks of `std::sync` with its interface, poisoning too |
//! | `tokio` | the locks of `tokio::sync` with its interface, for tasks (a feature) |
//! | [`registry`] | all lock classes; takes snapshots; turns recording off and on |
//! | [`Snapshot`], [`LockSnapshot`], [`ModeSnapshot`], [`Distribution`] | the figures, as plain data |
//! | [`Statistic`] | a distribution of one's own, recorded in the same way |
//! | [`Snapshot::by_crate`] | what the locks of a dependency come to as a whole |
//! | [`Snapshot::advice`] | what the figures mean, in sentences |
//! | [`what_if`] | what the throughput would be if a lock were held for shorter, were several, or were shared |
//! | [`report`] | snapshots for people and programs |
//! | [`registry::ENVIRONMENT_VARIABLE`] | reports and settings from outside, without any code |
//! | [`order`] | mistakes in the order in which locks are taken, found before they are deadlocks |
//! | [`deadlock`], [`watch`] | threads that wait for each other; what is held or waited for too long |
//! | [`timeline`] | waits and holds thread by thread, as a trace for ui.perfetto.dev or `chrome://tracing` |
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
//! everything hangs. [`Snapshot::operations`] has the same by what the program was doing, where it says so:
//! [`operation`](mod@operation).
//!
//! # What it costs
//!
//! An uncontended lock and unlock costs little more than the bare lock with two raw clock reads inside;
//! the README has the table. The start is written into the thread's own log when the lock has been
//! taken, the end after the unlock, both by plain stores. Once in some fifty times the thread adds its
//! log up, before it asks for the next lock. While somebody waits for a lock, its holders also note
//! when they take it and, before the unlock, when they let go of it; what that costs does not depend on
//! how many wait.
//!
//! Memory is bounded by the program text, by how many threads are alive at the same time, and by how
//! many locks are waited for at the same time:
//!
//! | what | bytes |
//! |---|---|
//! | a lock | 8 more than `parking_lot`'s mutex, 16 more than its reader-writer lock, and what aligning them to words adds |
//! | a class that is not used | below 1 KiB |
//! | a class in all | 64 KiB at most, at any number of threads |
//! | a thread | 2 KiB for its log; more only while it holds many locks at once |
//! | a thread that opens operations | 1.7 KiB, and 80 for each pair of an operation and a class, 10 KiB at most |
//! | all operations together | 400 KiB at most |
//! | a lock that is waited for | 0.4 KiB, until it is released with nobody having waited for a moment |
//!
//! A mode of a class takes 2.2 KiB once it is used, and as much again once an acquisition has had to
//! wait; several times that, up to the 64 KiB, where threads add up their logs at the same time. Nothing
//! of this is freed: logs and what waits need are used again, by other threads and locks.
//!
//! # Limits
//!
//! - Where a thread's log is full while it holds another lock, that other hold contains the adding up:
//!   some hundred nanoseconds, once in some fifty acquisitions. The same goes for what is allocated for
//!   a first use: of any lock by a thread, of a mode of a class, of a lock by one who waits. A downgrade
//!   or an upgrade may do either while it has the lock.
//! - A thread that adds up its log may have to wait some microseconds for a snapshot that reads the same
//!   class.
//! - Ten lines or more are told apart for each class and mode. Of one lock that is waited for, blame
//!   tells eight holding lines apart. All others share a row. A class keeps 64 pairs of blame.
//! - Who began to hold a lock before anybody waited for it is blamed when that hold ends. Where the wait
//!   is over before that (it gave up, or shares the lock with readers), the last holder is blamed for
//!   what is left, of several readers one.
//! - Holds of some tens of nanoseconds are recorded too short; see [`clock`].
//! - A child of `fork` goes on with the figures of its parent. What other threads of the parent held
//!   stays locked, and in flight without the name of a thread. A process that is made without the C
//!   library's `fork` may find locks of this library taken.
//! - Of a lock that a global allocator uses, what this library itself allocates for the same thread is
//!   [unmatched](LockSnapshot::unmatched). Threads must not wait there in a lock of `parking_lot`'s: it
//!   allocates when one does so for the first time.
//! - A method that is given away as a function, as in `locks.iter().map(Mutex::lock)`, does not know the
//!   line that calls it: it is recorded at the [declaring line](Location::is_through_pointer).
//! - `Debug` and serialisation record nothing, but for a [`lock_api::ReentrantMutex`] that is not inside a
//!   [`ReentrantMutex`]: `lock_api` does not tell there who asks, nor at which line.
//! - A snapshot from a signal handler can wait for the very thread that it interrupted.
//!
//! # Features
//!
//! | feature | |
//! |---|---|
//! | `serde` | `Serialize` and `Deserialize` for snapshots (as JSON: see [`Snapshot`]) and locks |
//! | `tracing` | what the [`watch`] sees and findings about the [`order`] of locks are events of the crate `tracing` |
//! | `tracing-layer` | spans of `tracing` are [operations](mod@operation): the module `operation::layer` |
//! | `arc_lock` | `lock_arc`, `read_arc` and so on: guards that own a handle to their lock |
//! | `send_guard` | guards may be sent to other threads |
//! | `deadlock_detection` | `parking_lot`'s, with its module `deadlock`; not together with `send_guard` |
//! | `owning_ref` | guards are stable addresses for the crate `owning_ref` |
//! | `tokio` | the module `tokio`: its `Mutex`, `RwLock` and `Semaphore`, measured |
//! | `stacks` | [stacks](registry::set_stacks) of those that wait and of those that make them wait; pulls in `backtrace` |
//! | `lock_api_04` | the raw locks have the traits of `lock_api` 0.4 too, unmeasured: `compat/parking_lot-0.12` needs it |
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
mod brief;
pub mod budget;
mod cell;
mod class;
mod classes;
pub mod clock;
mod collect;
mod condvar;
pub mod deadlock;
pub mod drop_in;
mod environment;
mod facade;
mod fair_mutex;
mod fork;
mod histogram;
#[doc = include_str!("../docs/lints.md")]
pub mod lints {}
mod lock_kind;
mod makers;
mod mode;
mod mutex;
mod nesting;
mod notes;
pub mod operation;
pub mod order;
mod place;
mod processors;
pub mod raw;
mod recursive_rwlock;
pub mod registry;
mod remutex;
pub mod report;
mod rwlock;
mod settings;
mod snapshot;
mod stacks;
mod statistic;
mod stats;
pub mod std_sync;
pub mod timeline;
#[cfg(feature = "tokio")]
pub mod tokio;
mod unattended;
pub mod watch;
pub mod what_if;

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
pub use class::{LockClass, Unclassed};
pub use common::*;
pub use condvar::Condvar;
pub use fair_mutex::FairMutex;
pub use instrumented_lock_macros::instrumented;
pub use lock_kind::LockKind;
pub use mode::Mode;
pub use mutex::Mutex;
pub use operation::{Operation, operation};
pub use recursive_rwlock::RecursiveRwLock;
pub use remutex::ReentrantMutex;
pub use rwlock::RwLock;
pub use settings::{HoldTiming, InvalidSetting, Stacks};
pub use snapshot::{
    Blame, CallSite, CrateSnapshot, Distribution, Frame, InFlight, InFlightState, InFlightTotals,
    InstanceSnapshot, Load, Location, LockSnapshot, ModeSnapshot, OperationLock, OperationSnapshot,
    SleepSnapshot, Snapshot, StackRole, StackSnapshot,
};
pub use statistic::Statistic;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// So is that of the page about names.
#[cfg(doctest)]
#[doc = include_str!("../../docs/names.md")]
struct Names;
