//! Small systems, each as it is and as it would be mended. What the mended one then does is predicted from the report
//! on the other one, and compared. In all but the last one work and holds are naps, so that processors are not the
//! limit.

use crate::incident::{Shape, Until};
use crate::ord_map_cache::{self, Cache, OrdMap};
use instrumented_lock::what_if::{self, Change, Prediction, Unpredictable};
use instrumented_lock::{
    Distribution, LockSnapshot, Mutex, RwLock, Snapshot, instrumented, registry,
};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A system, and what is changed about it.
pub struct System {
    /// What it is.
    pub name: &'static str,
    /// The lock that is changed.
    pub lock: &'static str,
    /// As it is, for so long: operations a second, and the report.
    pub now: fn(Duration) -> Measured,
    /// As it would be mended.
    pub mended: fn(Duration) -> Measured,
    /// What that changes; told from the report.
    pub change: fn(&Snapshot) -> Change,
}

/// What a system did.
pub struct Measured {
    /// Operations a second.
    pub rate: f64,
    /// What locks did meanwhile.
    pub snapshot: Snapshot,
}

/// Those that there are.
pub const SYSTEMS: [System; 5] = [
    System {
        name: "one lock, held half as long",
        lock: "what_if::One::state",
        now: |time| one(time, 2_000),
        mended: |time| one(time, 1_000),
        change: |_| Change::Holds(0.5),
    },
    System {
        name: "two in sequence, the first held half as long",
        lock: "what_if::Two::first",
        now: |time| two(time, 2_000),
        mended: |time| two(time, 1_000),
        change: |_| Change::Holds(0.5),
    },
    System {
        name: "a mutex that is mostly read, shared by readers",
        lock: "what_if::Mostly::read",
        now: |time| mostly_read(time, false),
        mended: |time| mostly_read(time, true),
        change: |snapshot| {
            let lock = snapshot.lock("what_if::Mostly::read");
            let sites = lock.into_iter().flat_map(LockSnapshot::call_sites);
            let most = sites.max_by_key(|site| site.acquisitions());
            Change::Shared(
                most.map(|site| site.location().clone())
                    .into_iter()
                    .collect(),
            )
        },
    },
    System {
        name: "one lock, as four shards",
        lock: "what_if::Sharded::shards",
        now: |time| sharded(time, 1),
        mended: |time| sharded(time, 4),
        change: |_| Change::Shards(4),
    },
    System {
        name: "the incident ord_map_cache, with maps built outside of the lock",
        lock: "ord_map_cache::SlowCache::maps",
        now: |time| maps(time, Shape::Slow),
        mended: |time| maps(time, Shape::Fixed),
        change: |snapshot| {
            let lock = snapshot.lock("ord_map_cache::SlowCache::maps");
            let hold = lock.map(|lock| lock.write().hold());
            // Half of the holds, and most of the others, find their map. What the mean has more is building.
            let [typical, mean] = [
                hold.and_then(|it| it.quantile(0.5)),
                hold.and_then(Distribution::mean),
            ]
            .map(|it| it.unwrap_or_default().as_secs_f64());
            Change::Outside(1.0 - typical / mean)
        },
    },
];

#[instrumented(prefix = "what_if")]
struct One {
    state: Mutex<u64>,
}

#[instrumented(prefix = "what_if")]
struct Two {
    first: Mutex<u64>,
    second: Mutex<u64>,
}

#[instrumented(prefix = "what_if")]
struct Mostly {
    read: Mutex<u64>,
    shared: RwLock<u64>,
}

#[instrumented(prefix = "what_if")]
struct Sharded {
    shards: Vec<Mutex<u64>>,
}

fn nap(microseconds: u64) {
    thread::sleep(Duration::from_micros(microseconds));
}

/// Does `work` in `threads` threads over and over, for so long, and reports. It is given a number that is another one
/// each time.
fn drive(threads: u64, time: Duration, work: impl Fn(u64) + Sync) -> Measured {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let run = |thread| {
        let mut n = thread;
        while !stop.load(Ordering::Relaxed) {
            work(n);
            n += threads;
            done.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let run = &run;
        for thread in 0..threads {
            scope.spawn(move || run(thread));
        }
        // Until all have come.
        nap(20_000);
        let (before, begun) = (registry::snapshot(), Instant::now());
        let done_before = done.load(Ordering::Relaxed);
        thread::sleep(time);
        let operations = done.load(Ordering::Relaxed) - done_before;
        let rate = operations as f64 / begun.elapsed().as_secs_f64();
        let snapshot = registry::snapshot().since(&before);
        stop.store(true, Ordering::Relaxed);
        Measured { rate, snapshot }
    })
}

fn one(time: Duration, hold: u64) -> Measured {
    let one = One {
        state: Mutex::new(0),
    };
    drive(6, time, |_| {
        {
            let mut state = one.state.lock();
            *state += 1;
            nap(hold);
        }
        nap(4_000);
    })
}

fn two(time: Duration, first: u64) -> Measured {
    let two = Two {
        first: Mutex::new(0),
        second: Mutex::new(0),
    };
    drive(6, time, |_| {
        {
            let mut state = two.first.lock();
            *state += 1;
            nap(first);
        }
        {
            let mut state = two.second.lock();
            *state += 1;
            nap(1_500);
        }
        nap(1_000);
    })
}

fn mostly_read(time: Duration, is_shared: bool) -> Measured {
    let mostly = Mostly {
        read: Mutex::new(0),
        shared: RwLock::new(0),
    };
    drive(6, time, |n| {
        let is_write = fastrand::Rng::with_seed(n).u32(..32) == 0;
        match (is_shared, is_write) {
            (false, false) => {
                let _read = mostly.read.lock();
                nap(1_500);
            }
            (false, true) => {
                let mut value = mostly.read.lock();
                *value += 1;
                nap(1_500);
            }
            (true, false) => {
                let _read = mostly.shared.read();
                nap(1_500);
            }
            (true, true) => {
                let mut value = mostly.shared.write();
                *value += 1;
                nap(1_500);
            }
        }
        nap(3_000);
    })
}

fn sharded(time: Duration, shards: usize) -> Measured {
    let sharded = Sharded {
        shards: (0..shards).map(|_| Mutex::new(0)).collect(),
    };
    drive(6, time, |n| {
        let shard = fastrand::Rng::with_seed(n).usize(..shards);
        {
            let mut state = sharded.shards[shard].lock();
            *state += 1;
            nap(2_000);
        }
        nap(2_000);
    })
}

fn maps(time: Duration, shape: Shape) -> Measured {
    let cache = Cache::new(shape, OrdMap::build);
    let loaded = ord_map_cache::load(&cache, 16, Until::Elapsed(time));
    Measured {
        rate: loaded.driven.rate(),
        snapshot: loaded.report,
    }
}

/// A prediction, and what then came.
pub struct Checked {
    /// Of operations of the system as it is.
    pub prediction: Result<Prediction, Unpredictable>,
    /// How many times as many operations the mended system did.
    pub gain: f64,
}

impl Checked {
    /// The gain that was predicted by the one that came.
    ///
    /// # Panics
    ///
    /// Where nothing was predicted.
    #[track_caller]
    pub fn ratio(&self) -> f64 {
        match &self.prediction {
            Ok(prediction) => prediction.gain() / self.gain,
            Err(reason) => panic!("{}: {reason}", Location::caller()),
        }
    }
}

/// Runs both forms of a system for so long each, and compares.
pub fn check(system: &System, time: Duration) -> Checked {
    let now = (system.now)(time);
    let mended = (system.mended)(time);
    let change = (system.change)(&now.snapshot);
    Checked {
        prediction: what_if::predict(&now.snapshot, system.lock, &change),
        gain: mended.rate / now.rate,
    }
}
