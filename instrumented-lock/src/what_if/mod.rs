//! What the throughput would be if a lock were held for shorter, or were several, or readers shared it.
//!
//! [`predict`] makes a model of what a snapshot has: as many threads as used locks on average, which go through the
//! locks that matter as often and for as long as they have, with what is left of their time in between. The model is
//! played through as it is, and once more with the [`Change`]. Where as it is it does not come to what has been
//! measured, nothing is predicted.
//!
//! ```
//! use instrumented_lock::what_if::{self, Change};
//! # use instrumented_lock::registry;
//!
//! let snapshot = registry::snapshot();
//! match what_if::predict(&snapshot, "Store::index", &Change::Holds(0.5)) {
//!     Ok(prediction) => println!("{prediction}"),
//!     Err(reason) => println!("nothing can be said: {reason}"),
//! }
//! ```
//!
//! # What is assumed
//!
//! All threads do the same, one lock after the other: what is held together counts twice, and where that makes the
//! model too slow nothing is predicted. What a thread does between locks takes as long as before, and no other lock,
//! disk or network becomes the limit. Processors may become it: no prediction needs more of them than there are; and
//! where they are busy already, nothing is predicted. A change costs nothing itself.
//! Take an [interval](crate::Snapshot::since) in which the program did one thing.
//!
//! Of five systems that were built both ways, four of naps and one of real work, predictions came to between 0.87 and
//! 1.1 times what the mended system then did (the example `what_if`); of three that keep two processors busy nothing is
//! predicted.

mod change;
mod model;
mod simulation;

pub use change::{Change, Unpredictable};

use crate::snapshot::{LockSnapshot, Snapshot};
use model::{Model, waited};
use std::cmp::Reverse;
use std::fmt;

/// What the throughput would be with a [`Change`].
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    lock: String,
    change: Change,
    now: f64,
    expected: f64,
    low: f64,
    high: f64,
    limit: Limit,
}

/// What limits the throughput then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// The locks, or how many threads there are.
    Locks,
    /// The processors.
    Processors,
}

impl Prediction {
    /// The name of the lock class.
    pub fn lock(&self) -> &str {
        &self.lock
    }

    /// What is changed.
    pub fn change(&self) -> &Change {
        &self.change
    }

    /// Acquisitions a second, as measured.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Acquisitions a second with the change.
    pub fn expected(&self) -> f64 {
        self.expected
    }

    /// The least and the most that they may be: whether threads take always or never the same time between locks, and
    /// whether holds need a processor, is not known; and a tenth more on both sides.
    pub fn interval(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// How many times as many acquisitions as now are expected.
    pub fn gain(&self) -> f64 {
        self.expected / self.now
    }

    /// Whether the [interval](Self::interval) goes no further than 25 % from what is expected.
    pub fn is_narrow(&self) -> bool {
        self.low >= 0.75 * self.expected && self.high <= 1.25 * self.expected
    }

    /// What it rests on, in sentences, apart from what is [always assumed](self#what-is-assumed).
    pub fn assumptions(&self) -> Vec<String> {
        let of_change = match &self.change {
            Change::Holds(_) => "What holds lose is not done elsewhere.".to_owned(),
            Change::Outside(_) => "What is done outside takes as long as inside.".to_owned(),
            Change::Shards(n) => format!("All {n} shards are used equally often."),
            Change::Shared(_) => {
                "These lines do not write; readers behind each other have the lock together."
                    .to_owned()
            }
        };
        let mut all = vec![of_change];
        if self.limit == Limit::Processors {
            all.push("The processors are the limit then.".to_owned());
        }
        all
    }
}

/// `Store::index, holds half as long: 1.62 times as many acquisitions (1.45 to 1.81)`.
impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {}: {:.2} times as many acquisitions ({:.2} to {:.2})",
            self.lock,
            self.change,
            self.gain(),
            self.low / self.now,
            self.high / self.now
        )
    }
}

/// How far a model may be from what was measured.
const FITS: std::ops::RangeInclusive<f64> = 0.8..=1.25;

/// What is always added to an interval.
const MARGIN: f64 = 1.1;

/// Predicts the throughput of those who use the lock named `name`, if only that is changed: see the
/// [module](self). Some milliseconds.
///
/// # Errors
///
/// Where nothing can be said, why.
pub fn predict(
    snapshot: &Snapshot,
    name: &str,
    change: &Change,
) -> Result<Prediction, Unpredictable> {
    let lock = snapshot.lock(name).ok_or(Unpredictable::NoSuchLock)?;
    predict_lock(snapshot, lock, change)
}

/// What might be done about the locks that are waited for longest, at most three: holds half as long, eight shards,
/// and of a mutex that several lines take, sharing by the line that holds it longest. Only what is
/// [narrow](Prediction::is_narrow) and brings a tenth or more.
#[must_use = "the predictions are returned"]
pub fn worst(snapshot: &Snapshot) -> Vec<Prediction> {
    let mut locks: Vec<_> = snapshot.locks().iter().collect();
    locks.sort_by_key(|lock| Reverse(waited(lock)));
    let changes = |lock: &LockSnapshot| {
        let mut changes = vec![Change::Holds(0.5), Change::Shards(8)];
        let sites = lock.call_sites().iter().filter(|site| !site.is_other());
        let longest = sites.clone().max_by_key(|site| site.hold_total());
        let is_mutex = lock.read().acquisitions() + lock.upgradable().acquisitions() == 0;
        if let Some(longest) = longest.filter(|_| is_mutex && sites.count() > 1) {
            changes.push(Change::Shared(vec![longest.location().clone()]));
        }
        changes
    };
    let worst = locks.into_iter().take(3);
    let all = worst.flat_map(|lock| changes(lock).into_iter().map(move |change| (lock, change)));
    all.filter_map(|(lock, change)| predict_lock(snapshot, lock, &change).ok())
        .filter(|prediction| prediction.is_narrow() && prediction.gain() >= 1.1)
        .collect()
}

fn predict_lock(
    snapshot: &Snapshot,
    lock: &LockSnapshot,
    change: &Change,
) -> Result<Prediction, Unpredictable> {
    if !change.is_one(lock) {
        return Err(Unpredictable::NoChange);
    }
    let model = Model::new(snapshot, lock)?;
    let changed = model.changed(lock, change);
    let measured = model.acquisitions / model.elapsed_ns;
    let fit = |is_steady| {
        let is = model.system(is_steady).throughput() / measured;
        (is, changed.system(is_steady).throughput() / measured / is)
    };
    // The one that is nearer to what was measured is expected, the other one may be.
    let mut fits = [fit(true), fit(false)];
    fits.sort_by(|a, b| a.0.ln().abs().total_cmp(&b.0.ln().abs()));
    let [(is, gain), (_, other)] = fits;
    if !FITS.contains(&is) {
        return Err(Unpredictable::DoesNotFit(is));
    }
    let now = measured * 1e9;
    let (least, expected_at_most, most) = model.processors_allow(&changed, measured);
    let expected = gain.min(expected_at_most);
    let limit = if expected < gain {
        Limit::Processors
    } else {
        Limit::Locks
    };
    Ok(Prediction {
        lock: lock.name().to_owned(),
        change: change.clone(),
        now,
        expected: expected * now,
        low: gain.min(other).min(least).min(expected) / MARGIN * now,
        high: gain.max(other).min(most).max(expected) * MARGIN * now,
        limit,
    })
}
