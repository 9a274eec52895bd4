//! [`OperationSnapshot`]: what an operation has waited for and held.

use super::is_named;
use std::cmp::Reverse;
use std::time::Duration;

/// What stands for locks that are not told apart within an operation.
pub(crate) const OTHER_LOCKS: &str = "(other)";

/// What one [operation](mod@crate::operation) has waited for and held, by lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OperationSnapshot {
    pub(crate) name: String,
    pub(crate) opened: u64,
    pub(crate) locks: Vec<OperationLock>,
}

impl OperationSnapshot {
    /// The name that it was opened by; `(other)` for all that are not told apart.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How often it was opened. One that is open counts already.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// The locks that it has used, those it waited for longest first.
    pub fn locks(&self) -> &[OperationLock] {
        &self.locks
    }

    /// What it has had of the lock of this name, or of the only one whose name ends with `::` and this.
    pub fn lock(&self, name: &str) -> Option<&OperationLock> {
        match super::named(&self.locks, name, OperationLock::lock)[..] {
            [lock] => Some(lock),
            _ => None,
        }
    }

    /// How long it has waited, for all locks.
    pub fn waited(&self) -> Duration {
        total(&self.locks, OperationLock::waited)
    }

    /// How long it has held locks, where it held several at once each of them.
    pub fn held(&self) -> Duration {
        total(&self.locks, OperationLock::held)
    }

    /// How long others waited while it held the locks they waited for.
    pub fn blame(&self) -> Duration {
        total(&self.locks, OperationLock::blame)
    }

    fn is_empty(&self) -> bool {
        self.opened == 0 && self.locks.is_empty()
    }

    fn sort(mut self) -> Self {
        self.locks
            .sort_by(|a, b| b.cost().cmp(&a.cost()).then_with(|| a.lock.cmp(&b.lock)));
        self
    }

    /// Adds what it has had of a lock.
    pub(crate) fn add(&mut self, also: OperationLock) {
        match self.locks.iter_mut().find(|lock| lock.lock == also.lock) {
            Some(lock) => *lock = lock.merge(&also),
            None => self.locks.push(also),
        }
    }

    fn merge(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.opened += other.opened;
        other.locks.iter().cloned().for_each(|lock| both.add(lock));
        both.sort()
    }

    fn since(&self, earlier: &Self) -> Self {
        let find = |lock: &OperationLock| earlier.locks.iter().find(|it| it.lock == lock.lock);
        let locks = self
            .locks
            .iter()
            .map(|lock| find(lock).map_or_else(|| lock.clone(), |before| lock.since(before)));
        OperationSnapshot {
            name: self.name.clone(),
            opened: self.opened.saturating_sub(earlier.opened),
            locks: locks.filter(|lock| !lock.is_empty()).collect(),
        }
        .sort()
    }
}

/// What an operation has had of the locks of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OperationLock {
    pub(crate) lock: String,
    pub(crate) acquisitions: u64,
    pub(crate) hold_total_ns: u64,
    pub(crate) hold_max_ns: u64,
    pub(crate) contended: u64,
    pub(crate) gave_up: u64,
    pub(crate) waited_ns: u64,
    pub(crate) waited_max_ns: u64,
    pub(crate) blame_ns: u64,
}

impl OperationLock {
    /// The name of the lock class; `(other)` for all that are not told apart.
    pub fn lock(&self) -> &str {
        &self.lock
    }

    /// Whether the lock class has this name, or one that ends with `::` and this.
    pub fn is(&self, name: &str) -> bool {
        is_named(&self.lock, name)
    }

    /// Acquisitions in any mode whose holds have ended.
    pub fn acquisitions(&self) -> u64 {
        self.acquisitions
    }

    /// How long those holds lasted, in all; an estimate where not [every hold is timed](crate::HoldTiming).
    pub fn held(&self) -> Duration {
        Duration::from_nanos(self.hold_total_ns)
    }

    /// The longest hold. Of an interval no hold was longer.
    pub fn held_max(&self) -> Duration {
        Duration::from_nanos(self.hold_max_ns)
    }

    /// Acquisitions that had to wait.
    pub fn contended(&self) -> u64 {
        self.contended
    }

    /// Waits that ended without the lock.
    pub fn gave_up(&self) -> u64 {
        self.gave_up
    }

    /// How long both waited, in all.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_ns)
    }

    /// The longest of those waits. Of an interval no wait was longer.
    pub fn waited_max(&self) -> Duration {
        Duration::from_nanos(self.waited_max_ns)
    }

    /// How long others waited while the operation held the lock: as [`CallSite::blame`](crate::CallSite::blame).
    pub fn blame(&self) -> Duration {
        Duration::from_nanos(self.blame_ns)
    }

    fn is_empty(&self) -> bool {
        self.acquisitions + self.contended + self.gave_up == 0 && self.blame_ns == 0
    }

    fn cost(&self) -> (u64, u64, u64) {
        let waiting = self.waited_ns.saturating_add(self.blame_ns);
        (waiting, self.hold_total_ns, self.acquisitions)
    }

    fn merge(&self, other: &Self) -> Self {
        OperationLock {
            lock: self.lock.clone(),
            acquisitions: self.acquisitions + other.acquisitions,
            hold_total_ns: self.hold_total_ns.saturating_add(other.hold_total_ns),
            hold_max_ns: self.hold_max_ns.max(other.hold_max_ns),
            contended: self.contended + other.contended,
            gave_up: self.gave_up + other.gave_up,
            waited_ns: self.waited_ns.saturating_add(other.waited_ns),
            waited_max_ns: self.waited_max_ns.max(other.waited_max_ns),
            blame_ns: self.blame_ns.saturating_add(other.blame_ns),
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        let hold_total_ns = self.hold_total_ns.saturating_sub(earlier.hold_total_ns);
        let waited_ns = self.waited_ns.saturating_sub(earlier.waited_ns);
        OperationLock {
            lock: self.lock.clone(),
            acquisitions: self.acquisitions.saturating_sub(earlier.acquisitions),
            hold_total_ns,
            // One is not longer than all together.
            hold_max_ns: self.hold_max_ns.min(hold_total_ns),
            contended: self.contended.saturating_sub(earlier.contended),
            gave_up: self.gave_up.saturating_sub(earlier.gave_up),
            waited_ns,
            waited_max_ns: self.waited_max_ns.min(waited_ns),
            blame_ns: self.blame_ns.saturating_sub(earlier.blame_ns),
        }
    }
}

fn total(locks: &[OperationLock], of: impl Fn(&OperationLock) -> Duration) -> Duration {
    locks
        .iter()
        .map(of)
        .fold(Duration::ZERO, Duration::saturating_add)
}

/// Most expensive first.
pub(super) fn sorted(operations: Vec<OperationSnapshot>) -> Vec<OperationSnapshot> {
    let operations = operations
        .into_iter()
        .filter(|operation| !operation.is_empty());
    let mut operations: Vec<_> = operations.map(OperationSnapshot::sort).collect();
    operations.sort_by(|a, b| {
        let cost = |of: &OperationSnapshot| Reverse((of.waited(), of.held(), of.opened));
        cost(a).cmp(&cost(b)).then_with(|| a.name.cmp(&b.name))
    });
    operations
}

pub(super) fn merge(a: &[OperationSnapshot], b: &[OperationSnapshot]) -> Vec<OperationSnapshot> {
    let mut merged = a.to_vec();
    for also in b {
        match merged.iter_mut().find(|known| known.name == also.name) {
            Some(known) => *known = known.merge(also),
            None => merged.push(also.clone()),
        }
    }
    sorted(merged)
}

pub(super) fn since(
    later: &[OperationSnapshot],
    earlier: &[OperationSnapshot],
) -> Vec<OperationSnapshot> {
    let find = |name: &str| earlier.iter().find(|before| before.name == name);
    let interval = later.iter().map(|operation| {
        find(&operation.name).map_or_else(|| operation.clone(), |before| operation.since(before))
    });
    sorted(interval.collect())
}
