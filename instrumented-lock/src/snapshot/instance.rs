//! [`InstanceSnapshot`]: one lock of a class that was waited for.

use std::cmp::Reverse;
use std::time::Duration;

/// What has been waited for one lock of a class: from [`LockSnapshot::waited_for`](super::LockSnapshot::waited_for).
///
/// Found by those that waited, so it costs nothing where nobody does. A class tells apart the 64 locks that were
/// waited for most, and all that have a label; what the others have had is in a row of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InstanceSnapshot {
    pub(crate) label: Option<String>,
    /// 0 for all others.
    pub(crate) address: u64,
    /// What tells it from another lock that was at this address before.
    pub(crate) number: u64,
    pub(crate) is_gone: bool,
    pub(crate) contended: u64,
    pub(crate) blocked_ns: u64,
    pub(crate) blocked_max_ns: u64,
    pub(crate) blame_ns: u64,
}

impl InstanceSnapshot {
    /// The label that it was given by `set_label`.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// Where it was when it was last waited for; with a label, when it was given that. 0 where this is all
    /// [others](Self::is_others).
    pub fn address(&self) -> u64 {
        self.address
    }

    /// What reports call it: its label, else its address, `(others)` for all others.
    pub fn name(&self) -> String {
        match &self.label {
            Some(label) => label.clone(),
            None if self.is_others() => "(others)".to_owned(),
            None => format!("{:#x}", self.address),
        }
    }

    /// Whether these are the locks of the class that are not told apart, together.
    pub fn is_others(&self) -> bool {
        self.address == 0 && self.label.is_none()
    }

    /// Whether the lock has been dropped.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Acquisitions of this lock that had to block. Those of all locks together are the
    /// [`contended`](super::ModeSnapshot::contended) of all modes.
    pub fn contended(&self) -> u64 {
        self.contended
    }

    /// How long those had to wait.
    pub fn blocked(&self) -> Duration {
        Duration::from_nanos(self.blocked_ns)
    }

    /// The longest of them. Of an interval no wait was longer.
    pub fn blocked_max(&self) -> Duration {
        Duration::from_nanos(self.blocked_max_ns)
    }

    /// How long others waited while somebody held this lock, also where they gave up: as
    /// [`CallSite::blame`](super::CallSite::blame).
    pub fn blame(&self) -> Duration {
        Duration::from_nanos(self.blame_ns)
    }

    fn is_same(&self, other: &Self) -> bool {
        match (&self.label, &other.label) {
            (Some(one), Some(other)) => one == other,
            (None, None) => (self.address, self.number) == (other.address, other.number),
            _ => false,
        }
    }

    fn is_empty(&self) -> bool {
        self.contended == 0 && self.blame_ns == 0
    }

    fn merge(&self, other: &Self) -> Self {
        InstanceSnapshot {
            is_gone: self.is_gone && other.is_gone,
            contended: self.contended + other.contended,
            blocked_ns: self.blocked_ns.saturating_add(other.blocked_ns),
            blocked_max_ns: self.blocked_max_ns.max(other.blocked_max_ns),
            blame_ns: self.blame_ns.saturating_add(other.blame_ns),
            ..self.clone()
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        let blocked_ns = self.blocked_ns.saturating_sub(earlier.blocked_ns);
        InstanceSnapshot {
            contended: self.contended.saturating_sub(earlier.contended),
            blocked_ns,
            // One is not longer than all together.
            blocked_max_ns: self.blocked_max_ns.min(blocked_ns),
            blame_ns: self.blame_ns.saturating_sub(earlier.blame_ns),
            ..self.clone()
        }
    }
}

/// Those that were waited for longest first; locks of one label are one.
pub(crate) fn sorted(instances: &[InstanceSnapshot]) -> Vec<InstanceSnapshot> {
    merge(&[], instances)
}

pub(super) fn merge(a: &[InstanceSnapshot], b: &[InstanceSnapshot]) -> Vec<InstanceSnapshot> {
    let mut merged = a.to_vec();
    for also in b {
        match merged.iter_mut().find(|known| known.is_same(also)) {
            Some(known) => *known = known.merge(also),
            None => merged.push(also.clone()),
        }
    }
    merged.retain(|instance| !instance.is_empty());
    merged.sort_by(|a, b| {
        let cost = |of: &InstanceSnapshot| Reverse((of.blocked_ns, of.blame_ns, of.contended));
        let others = a.is_others().cmp(&b.is_others());
        let by_cost = others.then_with(|| cost(a).cmp(&cost(b)));
        by_cost.then_with(|| (&a.label, a.address, a.number).cmp(&(&b.label, b.address, b.number)))
    });
    merged
}

pub(super) fn since(
    later: &[InstanceSnapshot],
    earlier: &[InstanceSnapshot],
) -> Vec<InstanceSnapshot> {
    let interval = later.iter().map(|instance| {
        let before = earlier.iter().find(|before| before.is_same(instance));
        before.map_or_else(|| instance.clone(), |before| instance.since(before))
    });
    sorted(&interval.collect::<Vec<_>>())
}
