//! [`Case`]: a lock with what every rule asks about it, and how figures are put into words.

use super::thresholds::{OF_TIME, SOME, TIME, WAITS};
use super::{Advice, Confidence};
use crate::lock_kind::LockKind;
use crate::report::units::{count, time};
use crate::snapshot::{CallSite, Distribution, Location, LockSnapshot, ModeSnapshot};
use std::time::Duration;

/// One lock, the time that its figures span, and its figures before that time.
pub(super) struct Case<'a> {
    pub(super) lock: &'a LockSnapshot,
    pub(super) elapsed: Duration,
    pub(super) before: Option<&'a LockSnapshot>,
}

impl<'a> Case<'a> {
    /// `None` where there is too little to say anything about.
    pub(super) fn new(
        lock: &'a LockSnapshot,
        elapsed: Duration,
        before: Option<&'a LockSnapshot>,
    ) -> Option<Self> {
        let case = Case {
            lock,
            elapsed,
            before,
        };
        (!elapsed.is_zero() && case.attempts() >= SOME).then_some(case)
    }

    pub(super) fn advice(
        &self,
        confidence: Confidence,
        finding: impl Into<String>,
        evidence: impl Into<String>,
        suggestion: impl Into<String>,
    ) -> Advice {
        Advice {
            lock: self.lock.name().to_owned(),
            finding: finding.into(),
            evidence: evidence.into(),
            suggestion: suggestion.into(),
            confidence,
        }
    }

    /// Over all modes.
    fn sum(&self, figure: impl Fn(&ModeSnapshot) -> u64) -> u64 {
        let figures = self.lock.modes().map(|(_, mode)| figure(mode));
        figures.fold(0, u64::saturating_add)
    }

    pub(super) fn acquisitions(&self) -> u64 {
        self.sum(ModeSnapshot::acquisitions)
    }

    pub(super) fn contended(&self) -> u64 {
        self.sum(ModeSnapshot::contended)
    }

    /// Holds that were timed.
    pub(super) fn holds(&self) -> u64 {
        self.sum(|mode| mode.hold().count())
    }

    pub(super) fn try_failures(&self) -> u64 {
        self.sum(ModeSnapshot::try_failures)
    }

    pub(super) fn timeouts(&self) -> u64 {
        self.sum(ModeSnapshot::timeouts)
    }

    /// Acquisitions and what gave up.
    pub(super) fn attempts(&self) -> u64 {
        self.acquisitions()
            .saturating_add(self.try_failures())
            .saturating_add(self.timeouts())
    }

    pub(super) fn blocked(&self) -> Duration {
        total(self.lock.modes().map(|(_, mode)| mode.blocked().sum()))
    }

    pub(super) fn blame(&self) -> Duration {
        total(self.lock.call_sites().iter().map(CallSite::blame))
    }

    /// Whether waiting for this lock is worth a thought.
    pub(super) fn is_waited_for(&self) -> bool {
        self.contended() >= WAITS && self.is_worth(self.blocked())
    }

    /// Whether a sum of time is.
    pub(super) fn is_worth(&self, time: Duration) -> bool {
        time >= TIME && ratio(time, self.elapsed) >= OF_TIME
    }

    pub(super) fn is_rwlock(&self) -> bool {
        matches!(
            self.lock.kind(),
            LockKind::RwLock | LockKind::RecursiveRwLock
        )
    }

    /// The lines of one row each, without the row of all others.
    pub(super) fn lines(&self) -> impl Iterator<Item = &'a CallSite> {
        let sites = self.lock.call_sites().iter();
        sites.filter(|site| !site.is_other())
    }

    /// `900 of 1,000 acquisitions had to wait, 7.20 s in all`.
    pub(super) fn waiting(&self) -> String {
        match self.contended() {
            0 => "nobody had to wait for it".to_owned(),
            contended => format!(
                "{} of {} acquisitions had to wait, {} in all",
                count(contended),
                count(self.acquisitions()),
                time(self.blocked())
            ),
        }
    }
}

/// One duration by another; NaN, which is above and below nothing, for nothing by nothing.
pub(super) fn ratio(part: Duration, whole: Duration) -> f64 {
    // In whole nanoseconds, so that a ratio that has a short decimal is that decimal.
    part.as_nanos() as f64 / whole.as_nanos() as f64
}

/// One count by another; NaN as for [`ratio`].
pub(super) fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

pub(super) fn total(durations: impl Iterator<Item = Duration>) -> Duration {
    durations.fold(Duration::ZERO, Duration::saturating_add)
}

/// `n` times a duration.
pub(super) fn times(duration: Duration, n: u64) -> Duration {
    let ns = duration.as_nanos().saturating_mul(u128::from(n));
    Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// A sum by its count.
pub(super) fn mean(sum: Duration, n: u64) -> Duration {
    let ns = sum.as_nanos().checked_div(u128::from(n)).unwrap_or(0);
    Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// The hold that half of the held time falls short of, to the bucket: a single long one among a
/// thousand short ones is it, where it outweighs them.
pub(super) fn typical(hold: &Distribution) -> Duration {
    let longest = hold.max().unwrap_or_default();
    let longest_ns = longest.as_nanos() as f64;
    let weights = || {
        hold.buckets()
            .map(|(ns, n)| (ns, ns.min(longest_ns) * n as f64))
    };
    let whole: f64 = weights().map(|(_, weight)| weight).sum();
    let mut seen = 0.0;
    let half = weights().find(|&(_, weight)| {
        seen += weight;
        seen >= whole / 2.0
    });
    let bound = half.map_or(0.0, |(ns, _)| ns);
    Duration::try_from_secs_f64(bound / 1e9).map_or(longest, |bound| bound.min(longest))
}

/// `62 %`, and `0.4 %` where it is below ten.
pub(super) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 9.95 && percent != 0.0 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// `36 times`, and `2.5 times` where it is below ten.
pub(super) fn fold(factor: f64) -> String {
    if factor < 9.95 {
        format!("{factor:.1} times")
    } else {
        format!("{factor:.0} times")
    }
}

/// `file:line`, which terminals and editors make a link of.
pub(super) fn place(location: &Location) -> String {
    format!("{}:{}", location.file(), location.line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_keep_a_digit_where_they_are_small() {
        let cases = [
            (0.0, "0 %"),
            (0.004, "0.4 %"),
            (0.0994, "9.9 %"),
            (0.0996, "10 %"),
            (0.7, "70 %"),
            (1.0, "100 %"),
        ];
        for (value, text) in cases {
            assert_eq!(percent(value), text);
        }
        assert_eq!(
            (fold(2.04), fold(35.6)),
            ("2.0 times".into(), "36 times".into())
        );
    }

    #[test]
    fn nothing_by_nothing_is_above_and_below_nothing() {
        let none = share(0, 0);
        assert!(!(none >= 0.0 || none <= 0.0));
        assert_eq!(mean(TIME, 0), Duration::ZERO);
        assert_eq!(times(Duration::MAX, 2), Duration::from_nanos(u64::MAX));
    }
}
