//! The manager: a table under a reader-writer lock, and the times of that lock.

use super::statistics::Moments;
use crate::incident::{Driven, Shape, Until, drive};
use instrumented_lock::{Mutex, RwLock, Snapshot, Statistic, instrumented, registry};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The classes of the example begin with this.
pub const PREFIX: &str = "ozone_lock_metrics::";

/// The lock that is measured.
pub const TABLE: &str = "ozone_lock_metrics::Manager::table";

#[instrumented(prefix = "ozone_lock_metrics")]
struct Manager<M> {
    table: RwLock<Vec<u64>>,
    #[lock(skip)]
    metrics: M,
}

/// The four times that are recorded.
#[derive(Clone, Copy, Debug)]
pub enum Time {
    /// Until a reader has the lock.
    ReadWait,
    /// Until it gives it back.
    ReadHold,
    /// Until a writer has the lock.
    WriteWait,
    /// Until it gives it back.
    WriteHold,
}

/// Where they are recorded.
trait Metrics: Default + Sync {
    fn add(&self, time: Time, duration: Duration);
    fn count(&self, time: Time) -> u64;
}

/// The slow shape: one mutex around each statistic.
#[instrumented(prefix = "ozone_lock_metrics")]
#[derive(Default)]
struct SlowMetrics {
    read_wait: Mutex<Moments>,
    read_hold: Mutex<Moments>,
    write_wait: Mutex<Moments>,
    write_hold: Mutex<Moments>,
}

impl Metrics for SlowMetrics {
    fn add(&self, time: Time, duration: Duration) {
        match time {
            Time::ReadWait => self.read_wait.lock().add(duration),
            Time::ReadHold => self.read_hold.lock().add(duration),
            Time::WriteWait => self.write_wait.lock().add(duration),
            Time::WriteHold => self.write_hold.lock().add(duration),
        }
    }

    fn count(&self, time: Time) -> u64 {
        match time {
            Time::ReadWait => self.read_wait.lock().summary().count,
            Time::ReadHold => self.read_hold.lock().summary().count,
            Time::WriteWait => self.write_wait.lock().summary().count,
            Time::WriteHold => self.write_hold.lock().summary().count,
        }
    }
}

/// The fixed shape: stripes.
#[derive(Default)]
struct FixedMetrics([Statistic; 4]);

impl Metrics for FixedMetrics {
    fn add(&self, time: Time, duration: Duration) {
        self.0[time as usize].add(duration);
    }

    fn count(&self, time: Time) -> u64 {
        self.0[time as usize].distribution().count()
    }
}

impl<M: Metrics> Manager<M> {
    fn new() -> Self {
        Manager {
            table: RwLock::new(vec![0; 1024]),
            metrics: M::default(),
        }
    }

    fn look_up(&self, i: usize) -> u64 {
        let start = Instant::now();
        let table = self.table.read();
        let held = Instant::now();
        self.metrics.add(Time::ReadWait, held - start);
        let found = table[i % table.len()];
        drop(table);
        self.metrics.add(Time::ReadHold, held.elapsed());
        found
    }

    fn change(&self, i: usize) {
        let start = Instant::now();
        let mut table = self.table.write();
        let held = Instant::now();
        self.metrics.add(Time::WriteWait, held - start);
        let n = table.len();
        table[i % n] += 1;
        drop(table);
        self.metrics.add(Time::WriteHold, held.elapsed());
    }
}

/// One thread writes, once in so many operations. Readers exclude nobody but it.
const WRITES: u64 = 16_384;

/// What came of a load.
#[derive(Debug)]
pub struct Loaded {
    /// Look-ups and changes.
    pub driven: Driven,
    /// Recorded, by [`Time`].
    pub recorded: [u64; 4],
    /// On the meantime.
    pub report: Snapshot,
}

/// Look-ups and a few changes by many threads.
pub fn load(shape: Shape, threads: usize, until: Until) -> Loaded {
    match shape {
        Shape::Slow => load_with::<SlowMetrics>(threads, until),
        Shape::Fixed => load_with::<FixedMetrics>(threads, until),
    }
}

fn load_with<M: Metrics>(threads: usize, until: Until) -> Loaded {
    let manager = Manager::<M>::new();
    let before = registry::snapshot();
    let driven = drive(threads, until, |number, n| {
        if number == 0 && n.is_multiple_of(WRITES) {
            manager.change(number);
        } else {
            black_box(manager.look_up(number));
        }
    });
    let report = registry::snapshot().since(&before);
    let times = [
        Time::ReadWait,
        Time::ReadHold,
        Time::WriteWait,
        Time::WriteHold,
    ];
    Loaded {
        driven,
        recorded: times.map(|time| manager.metrics.count(time)),
        report,
    }
}
