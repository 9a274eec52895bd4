//! [`InFlight`]: who waits and who holds right now.

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
    #[cfg_attr(
        feature = "serde",
        serde(rename = "age_ns", with = "super::nanoseconds")
    )]
    pub(crate) age: Duration,
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

    /// For how long it has been waiting, or holding. Zero for a hold that is not
    /// [timed](crate::HoldTiming).
    pub fn age(&self) -> Duration {
        self.age
    }
}
