//! Advice: what the figures of a snapshot mean, and what people do about it.
//!
//! Pure functions of snapshots. A rule is a function of one [`Case`] (a lock and the time its
//! figures span) that speaks or says nothing; `waiting`, `holding` and `kind` have them by what
//! they are about, `thresholds` says from where on a figure counts and why.

mod case;
mod holding;
mod instances;
mod kind;
mod predicted;
mod thresholds;
mod waiting;

use crate::snapshot::{LockSnapshot, Snapshot};
use case::Case;
use std::cmp::Reverse;
use std::fmt;

type Rule = fn(&Case<'_>) -> Option<Advice>;

/// In the order in which equally sure advice on one lock is listed.
const RULES: [Rule; 17] = [
    waiting::utilisation,
    waiting::one_line,
    waiting::convoy,
    instances::one_of_many,
    instances::all_alike,
    waiting::timeouts,
    waiting::try_failures,
    holding::growth,
    holding::uneven,
    holding::in_a_row,
    holding::readers_in_a_mutex,
    kind::short_reads,
    kind::never_read,
    kind::hardly_read,
    kind::never_written,
    kind::one_thread,
    kind::never_upgraded,
];

/// What the figures of a lock mean, and what people do about it: from [`Snapshot::advice`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Advice {
    lock: String,
    finding: String,
    evidence: String,
    suggestion: String,
    confidence: Confidence,
}

/// How far the figures carry an [`Advice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Confidence {
    /// The figures allow it, and something that they do not show decides: read the code first.
    Low,
    /// The figures show it; whether it hurts depends on the program.
    Medium,
    /// The figures show it, and what it costs.
    High,
}

impl Advice {
    /// The name of the lock class.
    pub fn lock(&self) -> &str {
        &self.lock
    }

    /// What is the case: one sentence.
    pub fn finding(&self) -> &str {
        &self.finding
    }

    /// The figures that the finding rests on, with their units, and as `file:line` the lines.
    pub fn evidence(&self) -> &str {
        &self.evidence
    }

    /// What people do about it.
    pub fn suggestion(&self) -> &str {
        &self.suggestion
    }

    /// How far the figures carry it.
    pub fn confidence(&self) -> Confidence {
        self.confidence
    }
}

/// The lock, and a line each for finding, evidence and suggestion.
impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({} confidence)", self.lock, self.confidence)?;
        writeln!(f, "  {}", self.finding)?;
        writeln!(f, "  figures: {}", self.evidence)?;
        write!(f, "  advice: {}", self.suggestion)
    }
}

/// `low`, `medium` or `high`.
impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        })
    }
}

impl Snapshot {
    /// What the figures mean and what people do about it: the surest first, then that on the lock
    /// that was waited for longest.
    ///
    /// Silent where the figures do not say, so an empty list is no certificate. Nothing is said
    /// about fewer than 100 acquisitions or, where waiting is the subject, about fewer than ten
    /// waits, 1 ms or 1 % of the elapsed time blocked in all (several threads that wait at once
    /// each count).
    ///
    /// | finding | from | confidence |
    /// |---|---|---|
    /// | the lock is nearly always held, and so has a ceiling of 1 / mean hold operations a second | one live lock, held exclusively ≥ 70 % of the elapsed time, no single hold ≥ 10 % of that | high where it is waited for, else low |
    /// | one line is behind most of the waiting | [blame](crate::CallSite::blame) of the line ≥ 1 ms, ≥ 60 % of all blame and ≥ 50 % of all time blocked; its holds ≥ 1 µs on average | high from 80 % and 100 waits |
    /// | a convoy: the queue is long, not the holds | half of the waits ≥ 20 × the hold that half of the held time falls short of; ≥ 10 % of the acquisitions wait | low for a class of several locks; high where ≥ 50 % of the waiting is [hand-over](LockSnapshot::hand_over) |
    /// | 1 of many locks of a class has most of the waiting: an uneven hash? | four locks or more, one of them [waited for](LockSnapshot::waited_for) ≥ 60 % of all time blocked and ≥ 4 × its share | high from 80 % and 100 waits |
    /// | the waiting is spread evenly over the locks of a class | four locks or more, none ≥ 3 × its share; ≥ 100 waits and ten for each lock | medium |
    /// | timed attempts give up | ≥ 10 and ≥ 1 % of all attempts | high from 100 and 10 % |
    /// | most attempts are `try_` ones that fail | ≥ 100 and ≥ 50 % of all attempts | low; medium from ten failures an acquisition |
    /// | a line holds longer than before: a scan under the lock? | [`advice_since`](Self::advice_since) only: its mean hold, the longest left out, ≥ 2 × that before and ≥ 1 µs, the difference ≥ 1 ms and ≥ 1 % of the time; ≥ 100 holds before and after | high from 4 × and 1000 holds |
    /// | some holds are far longer than most | ≥ 1000 holds, p99 ≥ 50 × p50 and ≥ 100 µs, and the lock is waited for | low |
    /// | lines take the lock equally often: one operation, several acquisitions? | one mode, ≥ 1000 acquisitions each, at most 2 % apart; fewer waits for a condition variable; ≤ 25 % [bounces](LockSnapshot::bounces); the lock is waited for, or 20 ns an acquisition are ≥ 1 % of the time | low; medium from three lines |
    /// | a mutex with long holds that an `RwLock` would help if most of them only read | `Mutex` and `FairMutex`: mean hold ≥ 10 µs, ≥ 10 % of the acquisitions wait | low |
    /// | an `RwLock` for reads too short to overlap | ≥ 1000 reads, ≥ 50 % of the acquisitions, mean hold < 200 ns; ≥ 50 % bounces, at 100 ns each ≥ 1 % of the time | high where that is ≥ 10 % |
    /// | an `RwLock` that nobody reads | ≥ 1000 writes, no attempt to read | low; medium from 100,000 |
    /// | an `RwLock` that is hardly read | ≥ 1000 acquisitions, ≥ 90 % writes, no upgradable ones; all reads together hold ≤ 1 % of the time | medium |
    /// | an `RwLock` that nobody writes | ≥ 1000 reads, no attempt to write or upgrade | low; medium from 100,000 |
    /// | an `RwLock` that is never read concurrently, since one thread makes all acquisitions | ≥ 1000 reads, no bounces | low; medium from 100,000 |
    /// | upgradable locks that nobody upgrades | ≥ 100 of them, writes ≤ 1 % as many | medium, high where they wait for each other; low where there are writes |
    /// | what would come of a change: shorter holds, shards, lines that share | [`what_if::worst`](crate::what_if::worst) | medium |
    ///
    /// The shares of time are of [`elapsed`](Self::elapsed), also where recording was off
    /// meanwhile. Where not [every hold is timed](crate::HoldTiming), what rests on holds is an
    /// estimate.
    ///
    /// ```
    /// # use instrumented_lock::registry;
    /// for advice in registry::snapshot().advice() {
    ///     println!("{advice}");
    /// }
    /// ```
    ///
    /// Costs about 2 µs for each lock class in use and 4 µs more for each advice on it; some milliseconds for each of the three
    /// locks that are waited for longest, if they are waited for much. Takes no lock.
    #[must_use = "the advice is returned"]
    pub fn advice(&self) -> Vec<Advice> {
        advise(self, |_| None)
    }

    /// The [advice](Self::advice) on the [interval](Self::since) from `earlier` to this snapshot of
    /// the same process, and what only two snapshots tell: lines whose holds have become longer.
    ///
    /// What "never" happens according to it did not happen in the interval.
    #[must_use = "the advice is returned"]
    pub fn advice_since(&self, earlier: &Snapshot) -> Vec<Advice> {
        advise(&self.since(earlier), |lock| {
            let key = (lock.name(), lock.declared_at());
            // Sorted by this, by every constructor.
            let found = earlier
                .locks()
                .binary_search_by(|other| (other.name(), other.declared_at()).cmp(&key));
            found.ok().map(|i| &earlier.locks()[i])
        })
    }
}

fn advise<'a>(
    snapshot: &'a Snapshot,
    before: impl Fn(&LockSnapshot) -> Option<&'a LockSnapshot>,
) -> Vec<Advice> {
    let case = |lock| Case::new(lock, snapshot.elapsed(), before(lock));
    let mut cases: Vec<_> = snapshot.locks().iter().filter_map(case).collect();
    cases.sort_by_key(|case| Reverse(case.blocked()));
    let mut advice: Vec<_> = cases
        .iter()
        .flat_map(|case| RULES.iter().filter_map(move |rule| rule(case)))
        .collect();
    advice.extend(predicted::predicted(snapshot, &cases));
    // Stable: by time blocked where equally sure.
    advice.sort_by_key(|advice| Reverse(advice.confidence));
    advice
}
