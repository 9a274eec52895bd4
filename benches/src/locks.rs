//! The ways to have locks that are compared: bare, the floor, instrumented. Those of others are in
//! `peers.rs`.

use crate::clock;
use std::hint::black_box;

/// A way to have locks: what a program imports, and how it then takes them.
pub trait Locks: 'static {
    /// Its mutex.
    type Mutex: Send + Sync;
    /// Its reader-writer lock.
    type RwLock: Send + Sync;

    /// A mutex of the one class that all cases use.
    fn mutex() -> Self::Mutex;
    /// A reader-writer lock of the one class that all cases use.
    fn rwlock() -> Self::RwLock;

    /// The section, with the mutex held.
    fn lock<R>(mutex: &Self::Mutex, section: impl FnOnce(&mut u64) -> R) -> R;
    /// The section, with the lock held for reading.
    fn read<R>(rwlock: &Self::RwLock, section: impl FnOnce(&u64) -> R) -> R;
    /// The section, with the lock held for writing.
    fn write<R>(rwlock: &Self::RwLock, section: impl FnOnce(&mut u64) -> R) -> R;
}

/// Locks with `parking_lot`'s methods.
macro_rules! locks {
    ($(#[$doc:meta])* $Name:ident, $Mutex:ty = $mutex:expr, $RwLock:ty = $rwlock:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $Name {}

        impl $crate::locks::Locks for $Name {
            type Mutex = $Mutex;
            type RwLock = $RwLock;

            fn mutex() -> Self::Mutex {
                $mutex
            }

            fn rwlock() -> Self::RwLock {
                $rwlock
            }

            #[inline(always)]
            fn lock<R>(mutex: &Self::Mutex, section: impl FnOnce(&mut u64) -> R) -> R {
                section(&mut mutex.lock())
            }

            #[inline(always)]
            fn read<R>(rwlock: &Self::RwLock, section: impl FnOnce(&u64) -> R) -> R {
                section(&rwlock.read())
            }

            #[inline(always)]
            fn write<R>(rwlock: &Self::RwLock, section: impl FnOnce(&mut u64) -> R) -> R {
                section(&mut rwlock.write())
            }
        }
    };
}
#[cfg_attr(not(feature = "peers"), allow(unused_imports))]
pub(crate) use locks;

locks! {
    /// `parking_lot`'s, as they are.
    Bare,
    parking_lot::Mutex<u64> = parking_lot::Mutex::new(0),
    parking_lot::RwLock<u64> = parking_lot::RwLock::new(0)
}

locks! {
    /// The instrumented ones. What they record is set by [`Mode`](crate::subject::Mode).
    Ours,
    instrumented_lock::drop_in::Mutex<u64> = instrumented_lock::drop_in::Mutex::new(0),
    instrumented_lock::drop_in::RwLock<u64> = instrumented_lock::drop_in::RwLock::new(0)
}

/// No lock: what the loop and the section take.
#[derive(Debug)]
pub enum Nothing {}

impl Locks for Nothing {
    type Mutex = ();
    type RwLock = ();

    fn mutex() {}

    fn rwlock() {}

    #[inline(always)]
    fn lock<R>((): &(), section: impl FnOnce(&mut u64) -> R) -> R {
        section(black_box(&mut 0))
    }

    #[inline(always)]
    fn read<R>((): &(), section: impl FnOnce(&u64) -> R) -> R {
        section(black_box(&0))
    }

    #[inline(always)]
    fn write<R>((): &(), section: impl FnOnce(&mut u64) -> R) -> R {
        Self::lock(&(), section)
    }
}

/// No lock, and one raw read of the clock.
#[derive(Debug)]
pub enum OneRead {}

impl Locks for OneRead {
    type Mutex = ();
    type RwLock = ();

    fn mutex() {}

    fn rwlock() {}

    #[inline(always)]
    fn lock<R>((): &(), section: impl FnOnce(&mut u64) -> R) -> R {
        black_box(clock::raw());
        Nothing::lock(&(), section)
    }

    #[inline(always)]
    fn read<R>((): &(), section: impl FnOnce(&u64) -> R) -> R {
        black_box(clock::raw());
        Nothing::read(&(), section)
    }

    #[inline(always)]
    fn write<R>((): &(), section: impl FnOnce(&mut u64) -> R) -> R {
        Self::lock(&(), section)
    }
}

/// The floor: the bare lock with two raw reads of the clock inside, nothing recorded. No lock that
/// knows how long it was held can be cheaper.
#[derive(Debug)]
pub enum TwoReads {}

/// The section between two reads of the clock; the difference is handed out and not used.
#[inline(always)]
fn between_reads<R>(section: impl FnOnce() -> R) -> (R, u64) {
    let start = clock::raw();
    let result = section();
    (result, clock::raw().wrapping_sub(start))
}

/// Takes the difference after the unlock, where a lock would record it.
#[inline(always)]
fn ignore_time<R>((result, ticks): (R, u64)) -> R {
    black_box(ticks);
    result
}

impl Locks for TwoReads {
    type Mutex = <Bare as Locks>::Mutex;
    type RwLock = <Bare as Locks>::RwLock;

    fn mutex() -> Self::Mutex {
        Bare::mutex()
    }

    fn rwlock() -> Self::RwLock {
        Bare::rwlock()
    }

    #[inline(always)]
    fn lock<R>(mutex: &Self::Mutex, section: impl FnOnce(&mut u64) -> R) -> R {
        ignore_time(Bare::lock(mutex, |value| between_reads(|| section(value))))
    }

    #[inline(always)]
    fn read<R>(rwlock: &Self::RwLock, section: impl FnOnce(&u64) -> R) -> R {
        ignore_time(Bare::read(rwlock, |value| between_reads(|| section(value))))
    }

    #[inline(always)]
    fn write<R>(rwlock: &Self::RwLock, section: impl FnOnce(&mut u64) -> R) -> R {
        ignore_time(Bare::write(rwlock, |value| {
            between_reads(|| section(value))
        }))
    }
}
