//! The ways to have locks that are compared: bare, the floor, instrumented. Those of others are in
//! `peers.rs`.

use crate::clock;
use instrumented_lock::Statistic;
use std::hint::black_box;
use std::marker::PhantomData;
use std::time::Duration;

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

/// The bare lock with two raw reads of the clock inside; after the unlock `A` has the difference.
#[derive(Debug)]
pub struct Timed<A>(PhantomData<A>);

/// What becomes of a time that has been measured.
pub trait After: 'static {
    /// Takes it, in ticks, after the unlock.
    fn take(ticks: u64);
}

/// Nothing: the floor. No lock that knows how long it was held can be cheaper.
#[derive(Debug)]
pub enum Ignored {}

impl After for Ignored {
    #[inline(always)]
    fn take(ticks: u64) {
        black_box(ticks);
    }
}

/// It is recorded as locks record theirs: count, sum, squares, minimum, maximum and a histogram, in a
/// stripe of the thread. What ours do more is for knowing what was measured: the class, the line, who
/// had the lock before, who waits, what is in flight.
#[derive(Debug)]
pub enum Recorded {}

static RECORDED: Statistic = Statistic::new();

impl After for Recorded {
    #[inline(always)]
    fn take(ticks: u64) {
        // Ticks in place of nanoseconds, and the shortest way to a duration: neither is recording.
        let ticks = u32::try_from(ticks).unwrap_or(u32::MAX).min(999_999_999);
        RECORDED.add(Duration::new(0, ticks));
    }
}

/// The section between two reads of the clock; the difference is handed out and not used.
#[inline(always)]
fn between_reads<R>(section: impl FnOnce() -> R) -> (R, u64) {
    let start = clock::raw();
    let result = section();
    (result, clock::raw().wrapping_sub(start))
}

/// Takes the difference after the unlock.
#[inline(always)]
fn after<A: After, R>((result, ticks): (R, u64)) -> R {
    A::take(ticks);
    result
}

impl<A: After> Locks for Timed<A> {
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
        after::<A, _>(Bare::lock(mutex, |value| between_reads(|| section(value))))
    }

    #[inline(always)]
    fn read<R>(rwlock: &Self::RwLock, section: impl FnOnce(&u64) -> R) -> R {
        after::<A, _>(Bare::read(rwlock, |value| between_reads(|| section(value))))
    }

    #[inline(always)]
    fn write<R>(rwlock: &Self::RwLock, section: impl FnOnce(&mut u64) -> R) -> R {
        after::<A, _>(Bare::write(rwlock, |value| {
            between_reads(|| section(value))
        }))
    }
}
