//! [`InFlight`] and [`InFlightTotals`]: who waits and who holds right now.

use super::Location;
use crate::mode::Mode;
use std::time::Duration;

/// Whether a thread waits for a lock or has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum InFlightState {
    /// It has asked for the lock and does not have it.
    Waiting,
    /// It has the lock, or has forgotten the guard.
    Holding,
}

/// A lock that a thread waits for or holds at the moment of the snapshot.
///
/// Every thread is listed, with all that it holds. A forgotten guard is listed as long as the process
/// lives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InFlight {
    pub(crate) lock: String,
    pub(crate) mode: Mode,
    pub(crate) state: InFlightState,
    pub(crate) location: Location,
    pub(crate) thread: Option<String>,
    /// Nanoseconds; `None` where it is not known.
    pub(crate) age_ns: Option<u64>,
}

impl InFlight {
    /// The name of the lock.
    pub fn lock(&self) -> &str {
        &self.lock
    }

    /// How it is acquired or to be acquired.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether the thread waits for it or holds it.
    pub fn state(&self) -> InFlightState {
        self.state
    }

    /// The line that waits or has acquired.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The name of the thread, if it has one. None for one that has ended and forgotten
    /// its guard, and in a child of `fork` for the threads that it does not have.
    pub fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    /// For how long it has been waiting, or holding. Zero where that [is not known](Self::is_timed).
    pub fn age(&self) -> Duration {
        Duration::from_nanos(self.age_ns.unwrap_or(0))
    }

    /// Whether it is known since when; not for a hold that is [only counted](crate::HoldTiming).
    pub fn is_timed(&self) -> bool {
        self.age_ns.is_some()
    }
}

/// How many are in flight at the moment of a snapshot, and for how long: all that wait for the locks of
/// a class in one mode, or all that hold them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InFlightTotals {
    pub(crate) count: u64,
    pub(crate) timed: u64,
    pub(crate) total_ns: u64,
    pub(crate) longest_ns: u64,
}

impl InFlightTotals {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Those of them of which it is known since when; the times below are theirs.
    pub fn timed(&self) -> u64 {
        self.timed
    }

    /// For how long they have been in flight, all together.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.total_ns)
    }

    /// For how long the first of them has been in flight.
    pub fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest_ns)
    }

    pub(crate) fn add(&mut self, age_ns: Option<u64>) {
        self.count += 1;
        if let Some(ns) = age_ns {
            self.timed += 1;
            self.total_ns = self.total_ns.saturating_add(ns);
            self.longest_ns = self.longest_ns.max(ns);
        }
    }

    pub(super) fn merge(self, other: Self) -> Self {
        InFlightTotals {
            count: self.count + other.count,
            timed: self.timed + other.timed,
            total_ns: self.total_ns.saturating_add(other.total_ns),
            longest_ns: self.longest_ns.max(other.longest_ns),
        }
    }
}
