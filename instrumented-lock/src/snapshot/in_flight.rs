//! [`InFlight`]: who waits and who holds right now.

use super::Location;
use crate::clock;
use crate::stats::{Mode, flight};
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
/// A forgotten guard is listed as long as the process lives. A thread is listed with 16 locks at
/// most, and the 65th thread alive and later ones are not; [`Snapshot::in_flight_unlisted`] says how
/// many holds that leaves out.
///
/// [`Snapshot::in_flight_unlisted`]: crate::Snapshot::in_flight_unlisted
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InFlight {
    lock: String,
    mode: Mode,
    state: InFlightState,
    location: Location,
    thread: Option<String>,
    #[cfg_attr(
        feature = "serde",
        serde(rename = "age_ns", with = "super::nanoseconds")
    )]
    age: Duration,
}

impl InFlight {
    /// What all threads have in flight, oldest first.
    pub(super) fn all() -> Vec<InFlight> {
        let now = clock::now();
        let mut all: Vec<_> = flight::listed()
            .into_iter()
            .map(|listed| {
                let stripe = listed.site.stripe();
                let age = clock::nanoseconds(listed.since, now).unwrap_or(0);
                InFlight {
                    lock: stripe.class().name().to_owned(),
                    mode: stripe.mode(),
                    state: if listed.is_waiting {
                        InFlightState::Waiting
                    } else {
                        InFlightState::Holding
                    },
                    location: Location::of_site(listed.site.location()),
                    thread: listed.thread,
                    // A hold that is not timed has no stamp, and none is after every other.
                    age: Duration::from_nanos(age),
                }
            })
            .collect();
        all.sort_by_key(|entry| std::cmp::Reverse(entry.age));
        all
    }

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

    /// The name of the thread, if it has one. None for one that has ended and forgotten its guard.
    pub fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    /// For how long it has been waiting, or holding. Zero for a hold that is not
    /// [timed](crate::HoldTiming).
    pub fn age(&self) -> Duration {
        self.age
    }
}
