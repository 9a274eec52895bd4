//! [`CallSite`]: what one acquiring line does with a lock.

use super::Location;
use crate::mode::Mode;
use std::time::Duration;

/// What one line that acquires a lock, in one mode, has cost.
///
/// The rows of a lock add up to its totals. Ten lines or more are told apart for each class and mode;
/// when there is another one, the cheapest is added to the row of [all others](Self::is_other).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CallSite {
    pub(crate) location: Location,
    pub(crate) mode: Mode,
    pub(crate) acquisitions: u64,
    pub(crate) releases: u64,
    pub(crate) contended: u64,
    pub(crate) blocked_total_ns: u64,
    pub(crate) blocked_max_ns: u64,
    pub(crate) hold_total_ns: u64,
    pub(crate) hold_max_ns: u64,
    pub(crate) blame_ns: u64,
}

impl CallSite {
    /// The line; `(other)` for the row of all others.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Whether this row stands for all lines that are not told apart.
    pub fn is_other(&self) -> bool {
        self.location.is_other()
    }

    /// How the line acquires. A line that upgrades or downgrades is listed with the mode it
    /// changes to.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Successful acquisitions.
    pub fn acquisitions(&self) -> u64 {
        self.acquisitions
    }

    /// Holds that have ended.
    pub fn releases(&self) -> u64 {
        self.releases
    }

    /// Acquisitions that had to block.
    pub fn contended(&self) -> u64 {
        self.contended
    }

    /// How long they waited, in all.
    pub fn blocked_total(&self) -> Duration {
        Duration::from_nanos(self.blocked_total_ns)
    }

    /// The longest wait. Of an interval it is exact where the interval has the longest one of all, or one
    /// only; otherwise no wait was longer than this.
    pub fn blocked_max(&self) -> Duration {
        Duration::from_nanos(self.blocked_max_ns)
    }

    /// How long the holds that have ended lasted, in all; an estimate where not [every hold is
    /// timed](crate::HoldTiming).
    pub fn hold_total(&self) -> Duration {
        Duration::from_nanos(self.hold_total_ns)
    }

    /// The longest hold that has ended. Of an interval: as for [`blocked_max`](Self::blocked_max).
    pub fn hold_max(&self) -> Duration {
        Duration::from_nanos(self.hold_max_ns)
    }

    /// How long others waited while this line held the lock: every waiter counts for the time that
    /// it overlapped, waits that gave up in the end too. Counted when a wait ends, not before.
    ///
    /// Of an exclusive lock whose waits all succeeded, the blame of all lines and the
    /// [hand-over](super::LockSnapshot::hand_over) are together what was blocked. A reader is blamed
    /// for the writer that it keeps waiting and for the readers behind that; several readers are each
    /// blamed in full. While a lock is waited for, eight of its holding lines are told apart; the
    /// blame of further ones is in the row of [all others](Self::is_other).
    pub fn blame(&self) -> Duration {
        Duration::from_nanos(self.blame_ns)
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.mode == other.mode && self.location == other.location
    }

    pub(crate) fn merge(&self, other: &Self) -> Self {
        CallSite {
            acquisitions: self.acquisitions + other.acquisitions,
            releases: self.releases + other.releases,
            contended: self.contended + other.contended,
            blocked_total_ns: self.blocked_total_ns.saturating_add(other.blocked_total_ns),
            blocked_max_ns: self.blocked_max_ns.max(other.blocked_max_ns),
            hold_total_ns: self.hold_total_ns.saturating_add(other.hold_total_ns),
            hold_max_ns: self.hold_max_ns.max(other.hold_max_ns),
            blame_ns: self.blame_ns.saturating_add(other.blame_ns),
            ..self.clone()
        }
    }

    /// What came after `earlier`, where no wait and no hold of any line was longer than so many nanoseconds.
    fn since(&self, earlier: &Self, longest: Longest) -> Self {
        let contended = self.contended.saturating_sub(earlier.contended);
        let releases = self.releases.saturating_sub(earlier.releases);
        let blocked_total_ns = self
            .blocked_total_ns
            .saturating_sub(earlier.blocked_total_ns);
        let hold_total_ns = self.hold_total_ns.saturating_sub(earlier.hold_total_ns);
        // One is not longer than all together.
        let max = |later: u64, before: u64, count: u64, total: u64, longest: u64| match count {
            0 => 0,
            _ if later > before => later,
            _ => later.min(total).min(longest),
        };
        CallSite {
            acquisitions: self.acquisitions.saturating_sub(earlier.acquisitions),
            releases,
            contended,
            blocked_total_ns,
            blocked_max_ns: max(
                self.blocked_max_ns,
                earlier.blocked_max_ns,
                contended,
                blocked_total_ns,
                longest.blocked_ns,
            ),
            hold_total_ns,
            hold_max_ns: max(
                self.hold_max_ns,
                earlier.hold_max_ns,
                releases,
                hold_total_ns,
                longest.hold_ns,
            ),
            blame_ns: self.blame_ns.saturating_sub(earlier.blame_ns),
            ..self.clone()
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.acquisitions == 0 && self.releases == 0 && self.contended == 0 && self.blame_ns == 0
    }

    /// Most expensive first: by time blocked and blamed for, then by time held.
    pub(crate) fn sort(sites: &mut [CallSite]) {
        sites.sort_by(|a, b| {
            let cost = |site: &CallSite| {
                let waiting = site.blocked_total_ns.saturating_add(site.blame_ns);
                (waiting, site.hold_total_ns, site.acquisitions)
            };
            cost(b)
                .cmp(&cost(a))
                .then_with(|| a.location.cmp(&b.location))
        });
    }
}

pub(super) fn merge(a: &[CallSite], b: &[CallSite]) -> Vec<CallSite> {
    let mut merged = a.to_vec();
    for site in b {
        match merged.iter_mut().find(|known| known.is_same(site)) {
            Some(known) => *known = known.merge(site),
            None => merged.push(site.clone()),
        }
    }
    CallSite::sort(&mut merged);
    merged
}

/// The longest wait and hold of all lines.
#[derive(Clone, Copy)]
pub(super) struct Longest {
    pub(super) blocked_ns: u64,
    pub(super) hold_ns: u64,
}

impl Longest {
    /// Nobody knows.
    const UNKNOWN: Longest = Longest {
        blocked_ns: u64::MAX,
        hold_ns: u64::MAX,
    };
}

/// The rows of an interval, in which of each mode nothing was longer than `longest` says.
pub(super) fn since(
    later: &[CallSite],
    earlier: &[CallSite],
    longest: impl Fn(Mode) -> Longest,
) -> Vec<CallSite> {
    let mut interval: Vec<CallSite> = later
        .iter()
        .map(
            |site| match earlier.iter().find(|before| before.is_same(site)) {
                Some(before) => site.since(before, longest(site.mode)),
                None => site.clone(),
            },
        )
        .collect();
    // A line that a thread has added to the others in between has less than before; so much of
    // what the others have gained is older than the interval.
    for before in earlier.iter().filter(|before| !before.is_other()) {
        let after = later.iter().find(|after| after.is_same(before));
        let lost = after.map_or_else(
            || before.clone(),
            |after| before.since(after, Longest::UNKNOWN),
        );
        let is_others = |site: &&mut CallSite| site.is_other() && site.mode == before.mode;
        if let Some(others) = interval.iter_mut().find(is_others)
            && !lost.is_empty()
        {
            *others = others.since(&lost, longest(others.mode));
        }
    }
    interval.retain(|site| !site.is_empty());
    CallSite::sort(&mut interval);
    interval
}
