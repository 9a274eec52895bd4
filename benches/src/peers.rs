//! What a program would take instead: locks of other crates, and what people write themselves.

use crate::locks::{Bare, Locks, locks};
use hdrhistogram::Histogram as HdrHistogram;
use hotpath::{InstrumentMutex, InstrumentRwLock};
use parking_lot::Mutex;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use std::marker::PhantomData;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

locks! {
    /// `hotpath`: two `Instant`s for the wait, two for the hold, an event to the queue of the
    /// thread; a collector thread records.
    Hotpath,
    <parking_lot_012::Mutex<u64> as InstrumentMutex>::Output =
        hotpath::mutex!(parking_lot_012::Mutex::new(0)),
    <parking_lot_012::RwLock<u64> as InstrumentRwLock>::Output =
        hotpath::rw_lock!(parking_lot_012::RwLock::new(0))
}

locks! {
    /// `locktick`: maps under locks, by the lines of lock and guard.
    Locktick,
    locktick::parking_lot::Mutex<u64> = locktick::parking_lot::Mutex::new(0),
    locktick::parking_lot::RwLock<u64> = locktick::parking_lot::RwLock::new(0)
}

locks! {
    /// `tracing-mutex`: no times; looks for cycles in the order of locks. Its default names are the
    /// bare locks in a release build, these are not.
    TracingMutex,
    tracing_mutex::parkinglot::tracing::Mutex<u64> =
        tracing_mutex::parkinglot::tracing::Mutex::new(0),
    tracing_mutex::parkinglot::tracing::RwLock<u64> =
        tracing_mutex::parkinglot::tracing::RwLock::new(0)
}

/// `hotpath` serves its figures over HTTP unless it is told not to. Call it before other threads
/// run and before the first lock of `hotpath`.
pub fn quieten() {
    // SAFETY: no other thread runs yet, says the sentence above.
    unsafe { std::env::set_var("HOTPATH_METRICS_SERVER_OFF", "1") };
}

/// Where a hand-written wrapper puts the times of a class; all locks of the class share it.
pub trait Sink: 'static {
    /// Whether the wait is wanted, at the price of a third read of the clock.
    const WAITS: bool;
    /// Takes the times of one acquisition.
    fn record(wait: Duration, hold: Duration);
}

/// `hdrhistogram`s behind a mutex.
#[derive(Debug)]
pub enum Hdr {}

impl Sink for Hdr {
    const WAITS: bool = true;

    #[inline]
    fn record(wait: Duration, hold: Duration) {
        static TIMES: LazyLock<Mutex<[HdrHistogram<u64>; 2]>> = LazyLock::new(|| {
            let histogram = || HdrHistogram::new_with_bounds(1, 60_000_000_000, 3);
            Mutex::new([(); 2].map(|()| histogram().expect("these bounds go together")))
        });
        let [waits, holds] = &mut *TIMES.lock();
        waits.saturating_record(nanoseconds(wait));
        holds.saturating_record(nanoseconds(hold));
    }
}

/// A histogram of `prometheus-client`, in seconds.
#[derive(Debug)]
pub enum Prometheus {}

impl Sink for Prometheus {
    const WAITS: bool = false;

    #[inline]
    fn record(_: Duration, hold: Duration) {
        static HOLD: LazyLock<Histogram> =
            LazyLock::new(|| Histogram::new(exponential_buckets(1e-7, 4.0, 12)));
        HOLD.observe(hold.as_secs_f64());
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A wrapper as one writes it: `Instant::now` around `parking_lot`'s locks.
#[derive(Debug)]
pub struct HandWritten<S>(PhantomData<S>);

/// Records after the unlock.
#[inline(always)]
fn timed<S: Sink, G, R>(take: impl FnOnce() -> G, section: impl FnOnce(&mut G) -> R) -> R {
    let asked = S::WAITS.then(Instant::now);
    let mut guard = take();
    let taken = Instant::now();
    let result = section(&mut guard);
    let hold = taken.elapsed();
    drop(guard);
    S::record(asked.map_or(Duration::ZERO, |asked| taken - asked), hold);
    result
}

impl<S: Sink> Locks for HandWritten<S> {
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
        timed::<S, _, _>(|| mutex.lock(), |guard| section(guard))
    }

    #[inline(always)]
    fn read<R>(rwlock: &Self::RwLock, section: impl FnOnce(&u64) -> R) -> R {
        timed::<S, _, _>(|| rwlock.read(), |guard| section(guard))
    }

    #[inline(always)]
    fn write<R>(rwlock: &Self::RwLock, section: impl FnOnce(&mut u64) -> R) -> R {
        timed::<S, _, _>(|| rwlock.write(), |guard| section(guard))
    }
}
