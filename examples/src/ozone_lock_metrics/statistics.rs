//! The three statistics that are compared.

use crossbeam_utils::CachePadded;
use instrumented_lock::Statistic;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// A statistic that many threads add to.
pub trait Add: Sync {
    /// Adds one duration.
    fn add(&self, duration: Duration);
    /// What is known of all that was added.
    fn read(&self) -> Summary;
}

/// What a statistic knows; `None` what it does not keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Durations added.
    pub count: u64,
    /// The mean of them, in nanoseconds like all that follow.
    pub mean: f64,
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// The standard deviation of the sample.
    pub std_dev: Option<f64>,
    /// What one in a hundred exceeds.
    pub p99: Option<f64>,
}

/// Whole nanoseconds; a duration of centuries is as long as they can say.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Count, mean, sum of squared deviations (by Welford's method), minimum and maximum.
#[derive(Debug)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Moments {
    /// Of nothing.
    #[must_use]
    pub fn new() -> Self {
        Moments {
            count: 0,
            mean: 0.0,
            squares: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }

    /// Adds one duration.
    pub fn add(&mut self, duration: Duration) {
        let ns = nanoseconds(duration) as f64;
        self.count += 1;
        let from_mean = ns - self.mean;
        self.mean += from_mean / self.count as f64;
        self.squares += from_mean * (ns - self.mean);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// What is known.
    pub fn summary(&self) -> Summary {
        let variance = self.squares / self.count.saturating_sub(1) as f64;
        Summary {
            count: self.count,
            mean: self.mean,
            min: self.min,
            max: self.max,
            std_dev: (self.count > 1).then(|| variance.sqrt()),
            p99: None,
        }
    }
}

impl Default for Moments {
    fn default() -> Self {
        Self::new()
    }
}

/// One mutex around everything, as in the report. The standard library's: it is compared for its
/// speed, which instrumentation would spoil.
#[derive(Debug, Default)]
pub struct Synchronized(Mutex<Moments>);

impl Add for Synchronized {
    fn add(&self, duration: Duration) {
        let mut moments = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        moments.add(duration);
    }

    fn read(&self) -> Summary {
        let moments = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        moments.summary()
    }
}

/// Striped adders, as `java.util.concurrent.atomic` has them: as many cells as there are
/// processors, rounded up to a power of two; a thread adds to the cell of its number by atomic
/// read-modify-write, and leaves a minimum or maximum alone that stays what it is. Four adders of
/// their own would touch four cells; these share one.
#[derive(Debug)]
pub struct Adders {
    cells: Box<[CachePadded<Cells>]>,
}

#[derive(Debug)]
struct Cells {
    count: AtomicU64,
    sum: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
}

thread_local! {
    /// Dealt out in turn, which is fairer than the random numbers of the original.
    static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    match NUMBER.get() {
        usize::MAX => {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            NUMBER.set(number);
            number
        }
        number => number,
    }
}

impl Adders {
    /// With cells for the processors at hand.
    #[must_use]
    pub fn new() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let cell = |_| {
            CachePadded::new(Cells {
                count: AtomicU64::new(0),
                sum: AtomicU64::new(0),
                min: AtomicU64::new(u64::MAX),
                max: AtomicU64::new(0),
            })
        };
        Adders {
            cells: (0..processors.next_power_of_two()).map(cell).collect(),
        }
    }

    /// In bytes.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.cells)
    }
}

impl Default for Adders {
    fn default() -> Self {
        Self::new()
    }
}

impl Add for Adders {
    fn add(&self, duration: Duration) {
        let ns = nanoseconds(duration);
        let cells = &self.cells[number() & (self.cells.len() - 1)];
        cells.count.fetch_add(1, Ordering::Relaxed);
        cells.sum.fetch_add(ns, Ordering::Relaxed);
        if ns < cells.min.load(Ordering::Relaxed) {
            cells.min.fetch_min(ns, Ordering::Relaxed);
        }
        if ns > cells.max.load(Ordering::Relaxed) {
            cells.max.fetch_max(ns, Ordering::Relaxed);
        }
    }

    fn read(&self) -> Summary {
        let all = |of: fn(&Cells) -> &AtomicU64| {
            self.cells
                .iter()
                .map(move |cells| of(cells).load(Ordering::Relaxed))
        };
        let count: u64 = all(|cells| &cells.count).sum();
        let sum: u64 = all(|cells| &cells.sum).sum();
        Summary {
            count,
            mean: sum as f64 / count as f64,
            min: all(|cells| &cells.min).min().unwrap_or(0) as f64,
            max: all(|cells| &cells.max).max().unwrap_or(0) as f64,
            std_dev: None,
            p99: None,
        }
    }
}

impl Add for Statistic {
    #[inline]
    fn add(&self, duration: Duration) {
        Statistic::add(self, duration);
    }

    fn read(&self) -> Summary {
        let all = self.distribution();
        let ns = |duration: Duration| duration.as_secs_f64() * 1e9;
        Summary {
            count: all.count(),
            mean: ns(all.sum()) / all.count() as f64,
            min: ns(all.min().unwrap_or_default()),
            max: ns(all.max().unwrap_or_default()),
            std_dev: all.std_dev_ns(),
            p99: all.quantile(0.99).map(ns),
        }
    }
}
