//! What a snapshot says of threads and locks, as a [`System`] that can be played through.

use super::change::{Change, Unpredictable};
use super::simulation::{Station, System, Visit};
use crate::mode::Mode;
use crate::snapshot::{CallSite, Distribution, Location, LockSnapshot, ModeSnapshot, Snapshot};
use std::time::Duration;

/// Acquisitions, and waits among them, from which on something is said.
const ACQUISITIONS: u64 = 100;
const WAITS: u64 = 10;

/// The most threads that are played through.
const THREADS: f64 = 1000.0;

/// Locks that are looked at besides the one in question, and how much of the threads' time each has at least.
const LOCKS: usize = 7;
const OF_TIME: f64 = 0.01;

/// How busy the processors may be.
const BUSY: f64 = 0.75;

/// What a snapshot says of threads and locks.
#[derive(Clone)]
pub(super) struct Model {
    pub(super) elapsed_ns: f64,
    threads: f64,
    /// Of the lock in question: operations of the model.
    pub(super) acquisitions: f64,
    /// Between locks, for each of them.
    think_ns: f64,
    /// How long the locks are held, for each of them.
    held_ns: f64,
    /// Processor time for each of them, how much of a thread's time that it does not wait for locks it is, and how
    /// many processors there are; 0 where it is not known.
    processor_ns: f64,
    of_processor: f64,
    processors: f64,
    /// The lock in question is the first.
    stations: Vec<Station>,
}

impl Model {
    pub(super) fn new(snapshot: &Snapshot, lock: &LockSnapshot) -> Result<Self, Unpredictable> {
        let contended: u64 = lock.modes().map(|(_, mode)| mode.contended()).sum();
        if acquisitions(lock) < ACQUISITIONS || contended < WAITS {
            return Err(Unpredictable::TooFew);
        }
        let elapsed_ns = nanoseconds(snapshot.elapsed());
        let load = snapshot.load();
        let busy =
            nanoseconds(load.processor_time()) / elapsed_ns / load.processors().max(1) as f64;
        if busy > BUSY {
            return Err(Unpredictable::Busy(busy));
        }
        let threads_ns = nanoseconds(load.threads_time());
        let threads = threads_ns / elapsed_ns;
        if !(threads > 1.05 && threads <= THREADS) {
            return Err(Unpredictable::Threads);
        }
        let time = |lock: &LockSnapshot| nanoseconds(held(lock)) + nanoseconds(waited(lock));
        let mut others: Vec<_> = snapshot.locks().iter().collect();
        others.retain(|other| !std::ptr::eq(*other, lock) && time(other) >= OF_TIME * threads_ns);
        others.sort_by(|a, b| time(b).total_cmp(&time(a)));
        others.truncate(LOCKS);
        others.insert(0, lock);
        let n = acquisitions(lock) as f64;
        let at_locks: f64 = others.iter().map(|lock| time(lock)).sum();
        let waited: f64 = snapshot
            .locks()
            .iter()
            .map(|lock| nanoseconds(waited(lock)))
            .sum();
        let processor_ns = nanoseconds(load.processor_time());
        Ok(Model {
            elapsed_ns,
            threads,
            acquisitions: n,
            think_ns: ((threads_ns - at_locks) / n).max(0.0),
            held_ns: others
                .iter()
                .map(|lock| nanoseconds(held(lock)))
                .sum::<f64>()
                / n,
            processor_ns: processor_ns / n,
            of_processor: (processor_ns / (threads_ns - waited)).clamp(0.0, 1.0),
            processors: load.processors() as f64,
            stations: others.iter().map(|lock| station(lock, n)).collect(),
        })
    }

    pub(super) fn changed(&self, lock: &LockSnapshot, change: &Change) -> Self {
        let mut changed = self.clone();
        let held_ns = nanoseconds(held(lock)) / self.acquisitions;
        let Some(station) = changed.stations.first_mut() else {
            return changed;
        };
        match change {
            Change::Holds(factor) => {
                station.scale(*factor);
                changed.held_ns -= held_ns * (1.0 - factor);
            }
            Change::Outside(part) => {
                station.scale(1.0 - part);
                changed.think_ns += held_ns * part;
            }
            Change::Shards(n) => {
                let before = std::mem::take(&mut station.locks);
                let mut from = 0.0;
                for at_most in before {
                    let each = (at_most - from) / f64::from(*n);
                    station
                        .locks
                        .extend((1..=*n).map(|i| from + each * f64::from(i)));
                    from = at_most;
                }
            }
            Change::Shared(lines) => station.of_modes = share(lock, lines),
        }
        changed
    }

    pub(super) fn system(&self, is_steady: bool) -> System {
        System {
            threads: self.threads,
            think_ns: self.think_ns,
            is_steady,
            stations: self.stations.clone(),
        }
    }

    /// How many times the throughput the processors allow: if no hold needs them, if holds do as much as all else, if
    /// holds do always.
    pub(super) fn processors_allow(&self, changed: &Model, measured: f64) -> (f64, f64, f64) {
        let saved = self.held_ns - changed.held_ns;
        let allow = |of_holds: f64| {
            let needed = (self.processor_ns - of_holds * saved).max(0.0);
            let most = self.processors / needed / measured;
            // As measured, there was enough for that.
            if most.is_nan() || needed <= 0.0 {
                f64::INFINITY
            } else {
                most.max(1.0)
            }
        };
        if self.processors < 1.0 || self.processor_ns <= 0.0 {
            return (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        }
        (allow(0.0), allow(self.of_processor), allow(1.0))
    }
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_nanos() as f64
}

fn acquisitions(lock: &LockSnapshot) -> u64 {
    lock.modes().map(|(_, mode)| mode.acquisitions()).sum()
}

fn held(lock: &LockSnapshot) -> Duration {
    sum(lock, |mode| mode.hold().sum())
}

pub(super) fn waited(lock: &LockSnapshot) -> Duration {
    sum(lock, ModeSnapshot::waited)
}

fn sum(lock: &LockSnapshot, of: impl Fn(&ModeSnapshot) -> Duration) -> Duration {
    let of_modes = lock.modes().map(|(_, mode)| of(mode));
    of_modes.fold(Duration::ZERO, Duration::saturating_add)
}

/// The locks of a class, where an operation is one of `operations`.
fn station(lock: &LockSnapshot, operations: f64) -> Station {
    let all = acquisitions(lock) as f64;
    let of_mode = |(mode, figures): (Mode, &ModeSnapshot)| Visit {
        share: figures.acquisitions() as f64 / all,
        is_shared: mode == Mode::Read,
        holds: holds(figures.hold(), 1.0),
    };
    let of_modes = lock.modes().filter(|(_, mode)| mode.acquisitions() > 0);
    Station {
        visits: all / operations,
        locks: shares(lock),
        of_modes: of_modes.map(of_mode).collect(),
    }
}

/// How likely it is that a lock of a class is used, or one before it: by who waited, where that is told apart.
fn shares(lock: &LockSnapshot) -> Vec<f64> {
    let told_apart: Vec<_> = lock
        .waited_for()
        .iter()
        .filter(|it| !it.is_others())
        .collect();
    let waits: u64 = told_apart.iter().map(|it| it.contended()).sum();
    // In an interval some may be gone before it.
    let locks = match lock.instances() {
        0 => told_apart.len().max(1) as u64,
        live => live,
    };
    let weights = if locks < 2 {
        vec![1.0]
    } else if waits >= WAITS && told_apart.len() > 1 {
        // Who waits for a lock is those that use it times how busy it is, so about the square of those that use it.
        let weight = |contended: u64| (contended as f64).sqrt();
        told_apart.iter().map(|it| weight(it.contended())).collect()
    } else {
        let locks = usize::try_from(locks.min(64)).unwrap_or(64);
        vec![1.0; locks]
    };
    let whole: f64 = weights.iter().sum();
    let mut sum = 0.0;
    let cumulated = weights.iter().map(|weight| {
        sum += weight / whole;
        sum
    });
    cumulated.collect()
}

/// How long holds are, with their probabilities, so that they have the mean that they have had, times `factor`.
fn holds(hold: &Distribution, factor: f64) -> Vec<(f64, f64)> {
    let count = hold.count() as f64;
    let mut before = 0.0;
    let mut seen = 0.0;
    let mut holds: Vec<_> = hold
        .buckets()
        .map(|(at_most, n)| {
            // The middle of a bucket; the first one is of nothing.
            let middle = if at_most > 0.0 {
                at_most / 2f64.powf(1.0 / 16.0)
            } else {
                0.0
            };
            seen += n as f64;
            before += middle * n as f64;
            (seen / count, middle)
        })
        .collect();
    let scale = nanoseconds(hold.sum()) / before * factor;
    for (_, ns) in &mut holds {
        *ns *= if scale.is_finite() { scale } else { 0.0 };
    }
    holds
}

/// What visits are like where these lines share the lock.
fn share(lock: &LockSnapshot, lines: &[Location]) -> Vec<Visit> {
    let all = acquisitions(lock) as f64;
    let whole = lock.mode(Mode::Write).hold();
    let mut visits = Vec::new();
    let is_shared = |site: &CallSite| lines.contains(site.location());
    for site in lock
        .call_sites()
        .iter()
        .filter(|site| site.acquisitions() > 0)
    {
        let mean = nanoseconds(site.hold_total()) / site.releases().max(1) as f64;
        let of_all = nanoseconds(whole.sum()) / whole.count().max(1) as f64;
        visits.push(Visit {
            share: site.acquisitions() as f64 / all,
            is_shared: is_shared(site) || site.mode() == Mode::Read,
            holds: holds(whole, if of_all > 0.0 { mean / of_all } else { 1.0 }),
        });
    }
    visits
}
