//! [`Blame`]: which line keeps which line waiting.

use super::Location;
use std::cmp::Reverse;
use std::time::Duration;

/// The time that acquisitions of one line waited while a line held the lock. Counted when a wait
/// ends, also where it gives up.
///
/// A class keeps 64 pairs; beyond that the smallest is dropped from the pairs, and stays in the
/// [blame of its holder](super::CallSite::blame).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Blame {
    pub(crate) waiter: Location,
    pub(crate) holder: Location,
    pub(crate) waits: u64,
    pub(crate) total_ns: u64,
}

impl Blame {
    /// Pairs, the largest first; the compiler may have kept several locations for a line.
    pub(crate) fn sorted(pairs: &[Blame]) -> Vec<Blame> {
        merge(&[], pairs)
    }

    /// The line that waited.
    pub fn waiter(&self) -> &Location {
        &self.waiter
    }

    /// The line that held the lock meanwhile.
    pub fn holder(&self) -> &Location {
        &self.holder
    }

    /// How many waits of the one had some time in which the other held the lock, however often it did
    /// so meanwhile.
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// How long the one waited while the other held.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.total_ns)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.waiter == other.waiter && self.holder == other.holder
    }
}

pub(super) fn merge(a: &[Blame], b: &[Blame]) -> Vec<Blame> {
    let mut merged = a.to_vec();
    for pair in b {
        match merged.iter_mut().find(|known| known.is_same(pair)) {
            Some(known) => {
                known.waits += pair.waits;
                known.total_ns = known.total_ns.saturating_add(pair.total_ns);
            }
            None => merged.push(pair.clone()),
        }
    }
    sorted(merged)
}

pub(super) fn since(later: &[Blame], earlier: &[Blame]) -> Vec<Blame> {
    let interval = later.iter().map(|pair| {
        let before = earlier.iter().find(|before| before.is_same(pair));
        let (waits, total) = before.map_or((0, 0), |before| (before.waits, before.total_ns));
        Blame {
            waits: pair.waits.saturating_sub(waits),
            total_ns: pair.total_ns.saturating_sub(total),
            ..pair.clone()
        }
    });
    sorted(
        interval
            .filter(|pair| pair.waits > 0 || pair.total_ns > 0)
            .collect(),
    )
}

fn sorted(mut pairs: Vec<Blame>) -> Vec<Blame> {
    pairs.sort_by_key(|pair| Reverse((pair.total_ns, pair.waits)));
    pairs
}
