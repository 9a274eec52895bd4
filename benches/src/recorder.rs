//! Statistics by themselves, without a lock that they are about: the library's, and the two ways in
//! which others keep them.

use crate::case::Run;
use crossbeam_utils::CachePadded;
use instrumented_lock::Statistic;
use parking_lot::Mutex;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Something that takes durations from many threads.
pub trait Recorder: Default + Send + Sync + 'static {
    /// Takes one.
    fn add(&self, time: Duration);
}

/// A name, and a way to make one that is added to.
pub type Named = (&'static str, fn() -> Run);

/// What is compared: the library's, two others, and the floor.
pub const RECORDERS: [Named; 4] = [
    ("ours, with squares and a histogram", adds::<Statistic>),
    ("a Mutex around count, sum, min, max", adds::<Guarded>),
    ("striped atomic adders", adds::<Striped>),
    ("nothing, the empty loop", adds::<Nothing>),
];

/// Adds durations that differ.
fn adds<R: Recorder>() -> Run {
    let recorder = R::default();
    Box::new(move |_, n| {
        for i in 0..n {
            // Between 100 and 355 ns, so that the minimum and the maximum settle at once.
            #[expect(clippy::cast_possible_truncation, reason = "the low bits are meant")]
            recorder.add(Duration::new(0, 100 + (i as u32).wrapping_mul(37) % 256));
        }
    })
}

/// Nothing is recorded.
#[derive(Debug, Default)]
pub struct Nothing;

impl Recorder for Nothing {
    #[inline]
    fn add(&self, time: Duration) {
        black_box(time);
    }
}

impl Recorder for Statistic {
    #[inline]
    fn add(&self, time: Duration) {
        Statistic::add(self, time);
    }
}

/// Count, sum, minimum and maximum behind a mutex.
#[derive(Debug, Default)]
pub struct Guarded(Mutex<Figures>);

#[derive(Debug, Default)]
struct Figures {
    count: u64,
    sum: u64,
    min: Option<u64>,
    max: u64,
}

impl Recorder for Guarded {
    #[inline]
    fn add(&self, time: Duration) {
        let time = nanoseconds(time);
        let mut figures = self.0.lock();
        figures.count += 1;
        figures.sum += time;
        figures.min = Some(figures.min.map_or(time, |min| min.min(time)));
        figures.max = figures.max.max(time);
    }
}

/// More than a machine of this size has use for, in favour of the stripes.
const STRIPES: usize = 64;

/// Count, sum, minimum and maximum in cells that threads share out among them, as Java's
/// `LongAdder` and `LongAccumulator` do. In their favour: the four of a stripe are in one cache
/// line, threads are dealt to stripes in turn, so that 64 of them never meet, and a minimum or
/// maximum that stays is not written.
#[derive(Debug)]
pub struct Striped(Box<[CachePadded<Cells>]>);

#[derive(Debug)]
struct Cells {
    count: AtomicU64,
    sum: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
}

impl Default for Striped {
    fn default() -> Self {
        let cells = || Cells {
            count: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
        };
        Striped((0..STRIPES).map(|_| CachePadded::new(cells())).collect())
    }
}

impl Recorder for Striped {
    #[inline]
    fn add(&self, time: Duration) {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            // Lazy for the number's sake; without a destructor, so what is left is one comparison.
            static STRIPE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
        }
        let time = nanoseconds(time);
        let cells = &self.0[STRIPE.with(|stripe| *stripe)];
        // Relaxed: sums do not say what came first.
        cells.count.fetch_add(1, Ordering::Relaxed);
        cells.sum.fetch_add(time, Ordering::Relaxed);
        if time < cells.min.load(Ordering::Relaxed) {
            cells.min.fetch_min(time, Ordering::Relaxed);
        }
        if time > cells.max.load(Ordering::Relaxed) {
            cells.max.fetch_max(time, Ordering::Relaxed);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
