//! Snapshots: what the locks of a process have recorded, as plain data.
//!
//! Nothing here knows how the figures were recorded, and nothing changes while it is looked at.
//! Snapshots of one process can be subtracted, of several added; with the feature `serde` they can
//! be stored and read back.

mod blame;
mod call_site;
mod crates;
mod distribution;
mod in_flight;
mod instance;
mod load;
mod location;
mod lock;
mod operation;
mod order;
mod stack;

pub use blame::Blame;
pub use call_site::CallSite;
pub use crates::CrateSnapshot;
pub use distribution::Distribution;
pub use in_flight::{InFlight, InFlightState, InFlightTotals};
pub use instance::InstanceSnapshot;
pub(crate) use instance::sorted as sorted_instances;
pub use load::Load;
pub use location::Location;
pub(crate) use location::THROUGH_POINTER;
pub use lock::{LockSnapshot, ModeSnapshot, SleepSnapshot};
pub(crate) use operation::OTHER_LOCKS;
pub use operation::{OperationLock, OperationSnapshot};
pub use order::{Finding, FindingKind, Order, OrderEdge, OrderEnd};
pub(crate) use stack::sorted as sorted_stacks;
pub use stack::{Frame, StackRole, StackSnapshot};

use std::time::Duration;

/// The figures of all lock classes at one moment, from [`registry::snapshot`].
///
/// `println!("{snapshot}")` prints the [table](crate::report::table), `{:#}` the wide one.
///
/// # JSON
///
/// With the feature `serde` this is its form; durations are whole nanoseconds.
///
/// ```text
/// {
///   "elapsed_ns": 2004159663,          since locks were first used, or the interval's length
///   "begun_ns": 2003957102,            the same when the snapshot was begun
///   "enabled": true,                   whether recording was on
///   "diagnostics": ["…"],              what is wrong with the declarations, in sentences
///   "locks": [{                        by name
///     "name": "app::Store::index",
///     "kind": "RwLock",
///     "declared_at": {"file": "src/store.rs", "line": 12, "column": 5},
///     "instances": 1,
///     "gone": 3,                       locks that were used and are gone; not written where there are none
///     "unmatched": 0,
///     "clock_anomalies": 0,
///     "nested": 0,                     of a reentrant mutex
///     "sleep": {                       in a condition variable
///       "waits": 0,
///       "timeouts": 0,
///       "asleep": {},                  of the form of "holding" below, if anybody is
///       "time": {}                     of the form of "hold" below
///     },
///     "write": {                       and "read" and "upgradable", of the same form
///       "acquisitions": 3,
///       "try_failures": 0,
///       "timeouts": 0,
///       "releases": 3,
///       "bounces": 1,
///       "contended_bounces": 0,
///       "holding": {"count": 1, "timed": 1, "total_ns": 8, "longest_ns": 8},     if anybody does
///       "waiting": {},                 of the same form, if anybody does
///       "waited_ns": 570,              where it is not the sum of "blocked"
///       "waited_before_ns": 20,        of an interval, where it is not 0
///       "hold": {                      and "blocked" and "wait", of the same form
///         "count": 3,
///         "sum_ns": 570,
///         "sum_of_squares_ns2": "109900",
///         "min_ns": 160,               null where the count is 0
///         "max_ns": 210,
///         "buckets": [[60, 1], [62, 2]]
///       }
///     }
///     "call_sites": [{                 most expensive first
///       "location": {"file": "src/store.rs", "line": 40, "column": 20},
///       "mode": "write",               or "read", "upgradable"
///       "acquisitions": 3, "releases": 3, "contended": 0,
///       "blocked_total_ns": 0, "blocked_max_ns": 0, "hold_total_ns": 570, "hold_max_ns": 210,
///       "blame_ns": 0
///     }],
///     "blame": [{                      largest first
///       "waiter": {}, "holder": {},    locations
///       "waits": 2,
///       "total_ns": 14000
///     }],
///     "waited_for": [{                 if there are any, those that were waited for longest first
///       "label": "shard 17",           null where it has none
///       "address": 140100000000000,    0 for all others together
///       "number": 65553,
///       "is_gone": false,
///       "contended": 2, "blocked_ns": 14000, "blocked_max_ns": 9000, "blame_ns": 12000
///     }],
///     "stacks": [{                     if any are captured, those with the longest time first
///       "role": "waiter",              or "holder"
///       "mode": "write",
///       "count": 2, "total_ns": 14000,
///       "frames": [{                   the innermost first
///         "function": "app::store::Store::get",
///         "file": "src/store.rs",      null where it is not known
///         "line": 40                   likewise
///       }]
///     }],
///     "hand_over_ns": 0,
///     "unblamed": 0
///   }],
///   "in_flight": [{                    longest first
///     "lock": "app::Store::index",
///     "mode": "read",
///     "state": "holding",              or "waiting"
///     "location": {"file": "src/main.rs", "line": 7, "column": 9},
///     "thread": "worker-1",            null where it has no name
///     "age_ns": 80512                  null where it is not known
///   }],
///   "order": {                         if the order of locks is followed
///     "edges": [{
///       "held": {"lock": "app::Store::index", "mode": "read", "location": {}},
///       "wanted": {},                  of the same form
///       "downwards": true,             of locks of one name, if the second is at the lower address
///       "thread": "worker-1",
///       "count": 1
///     }],
///     "findings": [{
///       "kind": "circle",              or "rank", "recursion", "sleep"
///       "edges": []                    of the form above
///     }],
///     "unlisted": 0
///   },
///   "operations": [{                   if there are any, those that waited longest first
///     "name": "GET /keys",
///     "opened": 3,
///     "locks": [{
///       "lock": "app::Store::index",
///       "acquisitions": 3, "hold_total_ns": 570, "hold_max_ns": 210,
///       "contended": 1, "gave_up": 0, "waited_ns": 80, "waited_max_ns": 80,
///       "blame_ns": 0
///     }]
///   }],
///   "stacks_dropped": 3,               not written where it is 0
///   "load": {"threads_ns": 16014000000, "processor_ns": 3904159663, "processors": 2}
/// }
/// ```
///
/// A location has a further field, `"called_through_pointer": true`, where it is that of the declaration
/// in place of a line that is [not known](Location::is_through_pointer).
///
/// In `buckets`, a pair is the number of a bucket and its count; empty ones are left out. Bucket 0
/// holds durations of 0, bucket k those with 2^((k − 2)/8) < ns ≤ 2^((k − 1)/8), bucket 506 all
/// above 2^63 ns.
///
/// [`registry::snapshot`]: crate::registry::snapshot
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Snapshot {
    #[cfg_attr(feature = "serde", serde(rename = "elapsed_ns", with = "nanoseconds"))]
    elapsed: Duration,
    /// The same when the snapshot was begun; `None` where it was stored by a version that did not know it.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub(crate) begun_ns: Option<u64>,
    enabled: bool,
    diagnostics: Vec<String>,
    locks: Vec<LockSnapshot>,
    in_flight: Vec<InFlight>,
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Order::is_empty")
    )]
    order: Order,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    operations: Vec<OperationSnapshot>,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    stacks_dropped: u64,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    load: Load,
}

impl Snapshot {
    /// `locks` are sorted by name and declaration site, `in_flight` by age. The times are those since locks
    /// were first used, before and after all else was found out.
    pub(crate) fn new(
        (begun, elapsed): (Duration, Duration),
        enabled: bool,
        mut diagnostics: Vec<String>,
        locks: Vec<LockSnapshot>,
        in_flight: Vec<InFlight>,
        order: Order,
    ) -> Self {
        diagnostics.extend(name_clashes(&locks));
        Snapshot {
            elapsed,
            begun_ns: u64::try_from(begun.as_nanos()).ok(),
            enabled,
            diagnostics,
            locks,
            in_flight,
            order,
            operations: Vec::new(),
            stacks_dropped: 0,
            load: Load::default(),
        }
    }

    pub(crate) fn with_operations(self, operations: Vec<OperationSnapshot>) -> Self {
        Snapshot {
            operations: operation::sorted(operations),
            ..self
        }
    }

    pub(crate) fn with_dropped_stacks(self, stacks_dropped: u64) -> Self {
        Snapshot {
            stacks_dropped,
            ..self
        }
    }

    pub(crate) fn with_load(self, load: Load) -> Self {
        Snapshot { load, ..self }
    }

    /// The time since locks were first used; for an interval its length, from before the first snapshot
    /// to after the last one.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Whether recording was on when the snapshot was taken.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// All locks, by name.
    pub fn locks(&self) -> &[LockSnapshot] {
        &self.locks
    }

    /// The lock of this name, or the only one whose name ends with `::` and this. `None` where no
    /// lock or more than one answers to it.
    ///
    /// ```
    /// # use instrumented_lock::{Mutex, instrumented, registry};
    /// #[instrumented]
    /// struct Ledger { entries: Mutex<Vec<String>> }
    ///
    /// let snapshot = registry::snapshot();
    /// assert!(snapshot.lock("Ledger::entries").is_some());
    /// assert!(snapshot.lock("Ledger::totals").is_none());
    /// ```
    pub fn lock(&self, name: &str) -> Option<&LockSnapshot> {
        match named(&self.locks, name, LockSnapshot::name)[..] {
            [lock] => Some(lock),
            _ => None,
        }
    }

    /// Who waits and who holds at the moment of the snapshot, longest first. Read without any
    /// instrumented lock and without stopping anyone, so it names the lines while everything hangs.
    pub fn in_flight(&self) -> &[InFlight] {
        &self.in_flight
    }

    /// What waits or holds and is not [listed](Self::in_flight): nothing.
    pub fn in_flight_unlisted(&self) -> u64 {
        let in_flight =
            |(_, mode): (_, &ModeSnapshot)| mode.waiting().count() + mode.holding().count();
        let all: u64 = self
            .locks
            .iter()
            .flat_map(LockSnapshot::modes)
            .map(in_flight)
            .sum();
        all.saturating_sub(self.in_flight.len() as u64)
    }

    /// In which order locks have been taken, and what is wrong with that. Empty unless it is
    /// [followed](crate::order).
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// What the program was doing when it waited for locks and held them: the [operations](mod@crate::operation)
    /// that were opened, those that waited longest first. Empty where the program has none.
    pub fn operations(&self) -> &[OperationSnapshot] {
        &self.operations
    }

    /// The operation of this name, if it has been opened.
    pub fn operation(&self, name: &str) -> Option<&OperationSnapshot> {
        self.operations
            .iter()
            .find(|operation| operation.name() == name)
    }

    /// How many threads used locks, and how busy the processors were.
    pub fn load(&self) -> Load {
        self.load
    }

    /// How many [stacks](LockSnapshot::stacks) were captured and not kept, because 1,024 others were, or nearly so
    /// many.
    pub fn stacks_dropped(&self) -> u64 {
        self.stacks_dropped
    }

    /// What is wrong with the declarations and settings, in sentences: two classes that claim one
    /// name, with both places; an [environment variable](crate::registry::ENVIRONMENT_VARIABLE) that
    /// says nothing.
    pub fn diagnostics(&self) -> &[String] {
        &self.diagnostics
    }

    /// The interval from `earlier` to this snapshot of the same process: its own counts, sums,
    /// deviations and quantiles. A minimum or maximum is exact where the interval moved the
    /// lifetime's, or has one duration only; otherwise it is at most 4.4 % off and never outside the
    /// lifetime's. [`instances`](LockSnapshot::instances) are
    /// those at the end.
    #[must_use = "the interval is returned"]
    pub fn since(&self, earlier: &Snapshot) -> Snapshot {
        let find = |lock: &LockSnapshot| earlier.find(lock);
        let locks = self
            .locks
            .iter()
            .map(|lock| find(lock).map_or_else(|| lock.clone(), |before| lock.since(before)));
        Snapshot {
            elapsed: self.elapsed.saturating_sub(earlier.begun()),
            locks: locks.collect(),
            order: self.order.since(&earlier.order),
            operations: operation::since(&self.operations, &earlier.operations),
            stacks_dropped: self.stacks_dropped.saturating_sub(earlier.stacks_dropped),
            load: self.load.since(earlier.load),
            ..self.clone()
        }
    }

    /// Both snapshots as one: those of two processes, or of two intervals. Locks are the same where
    /// name and declaration site are. The elapsed time is the longer one.
    #[must_use = "the sum is returned"]
    pub fn merge(&self, other: &Snapshot) -> Snapshot {
        let mut locks: Vec<_> = self
            .locks
            .iter()
            .map(|lock| {
                other
                    .find(lock)
                    .map_or_else(|| lock.clone(), |also| lock.merge(also))
            })
            .collect();
        locks.extend(
            other
                .locks
                .iter()
                .filter(|lock| self.find(lock).is_none())
                .cloned(),
        );
        locks.sort_by(|a, b| a.identity().cmp(&b.identity()));
        let mut diagnostics: Vec<_> = [self, other]
            .iter()
            .flat_map(|one| one.diagnostics.iter().cloned())
            .collect();
        diagnostics.extend(name_clashes(&locks));
        diagnostics.sort();
        diagnostics.dedup();
        Snapshot {
            elapsed: self.elapsed.max(other.elapsed),
            begun_ns: self.begun_ns.max(other.begun_ns),
            enabled: self.enabled || other.enabled,
            diagnostics,
            locks,
            in_flight: [&self.in_flight[..], &other.in_flight].concat(),
            order: self.order.merge(&other.order),
            operations: operation::merge(&self.operations, &other.operations),
            stacks_dropped: self.stacks_dropped.saturating_add(other.stacks_dropped),
            load: self.load.merge(other.load),
        }
    }

    /// This snapshot and an [interval](Self::since) that begins where it ends, as one: what `since` takes
    /// apart, up to minimum, maximum and the lines that are told apart. Where intervals have been stored
    /// ([`every`](crate::registry::ENVIRONMENT_VARIABLE)), the first and then each of the others is the whole
    /// time.
    #[must_use = "the longer interval is returned"]
    pub fn then(&self, next: &Snapshot) -> Snapshot {
        let both = self.merge(next);
        let now = |lock: LockSnapshot| match (self.find(&lock), next.find(&lock)) {
            (Some(before), Some(after)) => before.then(after, lock),
            (Some(_), None) => lock.with_nothing_in_flight(),
            _ => lock,
        };
        Snapshot {
            elapsed: self.elapsed.saturating_add(next.elapsed),
            enabled: next.enabled,
            locks: both.locks.into_iter().map(now).collect(),
            in_flight: next.in_flight.clone(),
            begun_ns: next.begun_ns,
            diagnostics: both.diagnostics,
            order: both.order,
            operations: both.operations,
            stacks_dropped: both.stacks_dropped,
            load: both.load,
        }
    }

    /// Only the locks that were used, or are in flight.
    pub(crate) fn without_idle(mut self) -> Self {
        self.locks.retain(|lock| !lock.is_idle());
        self
    }

    fn begun(&self) -> Duration {
        self.begun_ns.map_or(self.elapsed, Duration::from_nanos)
    }

    fn find(&self, lock: &LockSnapshot) -> Option<&LockSnapshot> {
        // Sorted, by every constructor.
        let found = self
            .locks
            .binary_search_by(|other| other.identity().cmp(&lock.identity()));
        found.ok().map(|i| &self.locks[i])
    }
}

/// Those of `all` with this name, or else those whose name ends with `::` and this.
pub(crate) fn named<'a, T>(all: &'a [T], name: &str, name_of: impl Fn(&T) -> &str) -> Vec<&'a T> {
    let exact: Vec<_> = all.iter().filter(|one| name_of(one) == name).collect();
    if !exact.is_empty() {
        return exact;
    }
    let is_tail = |one: &&T| is_named(name_of(one), name);
    all.iter().filter(is_tail).collect()
}

/// Whether a lock has this name, or one that ends with `::` and this.
pub(crate) fn is_named(lock: &str, name: &str) -> bool {
    let path = lock.strip_suffix(name);
    path.is_some_and(|path| path.is_empty() || path.ends_with("::"))
}

/// One sentence for each declaration that claims a name another one has. `locks` are sorted.
fn name_clashes(locks: &[LockSnapshot]) -> Vec<String> {
    locks
        .windows(2)
        .filter(|pair| {
            pair[0].name() == pair[1].name() && pair[0].declared_at() != pair[1].declared_at()
        })
        .map(|pair| {
            format!(
                "two locks are named `{}`, at {} and at {}; give one of them another name with \
                 `#[lock(name = \"…\")]`",
                pair[0].name(),
                pair[0].declared_at(),
                pair[1].declared_at(),
            )
        })
        .collect()
}

/// Whether it need not be written, since it is what is read where nothing is written.
#[cfg(feature = "serde")]
fn is_zero<T: Default + PartialEq>(it: &T) -> bool {
    *it == T::default()
}

#[cfg(feature = "serde")]
mod nanoseconds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    pub(super) fn serialize<S: Serializer>(d: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        u64::try_from(d.as_nanos())
            .unwrap_or(u64::MAX)
            .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_nanos)
    }
}
