//! What a snapshot says of waiting by operation, and by lock where a class has many: whose part of it is how large.

use instrumented_lock::{
    CallSite, InstanceSnapshot, LockSnapshot, Mode, ModeSnapshot, OperationLock, Snapshot,
};
use std::time::Duration;

/// The part of an operation or of one lock in the waiting for a lock class.
#[cfg_attr(not(feature = "pprof"), allow(dead_code))]
pub(crate) struct Part<'a> {
    pub(crate) lock: &'a LockSnapshot,
    /// What the operation or the lock is called.
    pub(crate) whose: String,
    pub(crate) contentions: u64,
    pub(crate) waited: Duration,
    /// How long others waited meanwhile.
    pub(crate) blame: Duration,
}

/// What has been waited outside of any operation, or in one that does not tell this lock from others.
const NO_OPERATION: &str = "(no operation)";

/// By operation: all that was waited for a lock, as its modes have it.
pub(crate) fn operations(snapshot: &Snapshot) -> Vec<Part<'_>> {
    let of_lock = |lock| {
        let part = |whose: &str, of: &OperationLock| Part {
            lock,
            whose: whose.to_owned(),
            contentions: of.contended(),
            waited: of.waited(),
            blame: of.blame(),
        };
        let operations = snapshot.operations().iter();
        let mut parts: Vec<_> = operations
            .flat_map(|operation| {
                let locks = operation.locks().iter();
                let of_lock = locks.filter(|of| of.lock() == LockSnapshot::name(lock));
                of_lock.map(|of| part(operation.name(), of))
            })
            .collect();
        let mut rest = all_of(lock);
        for part in &parts {
            rest.contentions = rest.contentions.saturating_sub(part.contentions);
            rest.waited = rest.waited.saturating_sub(part.waited);
            rest.blame = rest.blame.saturating_sub(part.blame);
        }
        parts.push(rest);
        parts
    };
    let parts = snapshot.locks().iter().flat_map(of_lock);
    parts.filter(Part::is_any).collect()
}

/// All that was waited for a lock class.
fn all_of(lock: &LockSnapshot) -> Part<'_> {
    let modes = || {
        let modes = [Mode::Write, Mode::Read, Mode::Upgradable].into_iter();
        modes.map(|mode| lock.mode(mode))
    };
    let sites = lock.call_sites().iter();
    Part {
        lock,
        whose: NO_OPERATION.to_owned(),
        contentions: modes().map(ModeSnapshot::contended).sum(),
        waited: sum(modes().map(ModeSnapshot::waited)),
        blame: sum(sites.map(CallSite::blame)),
    }
}

fn sum(times: impl Iterator<Item = Duration>) -> Duration {
    times.fold(Duration::ZERO, Duration::saturating_add)
}

/// By lock of a class, of those that had to wait and then had it.
pub(crate) fn instances(snapshot: &Snapshot) -> Vec<Part<'_>> {
    let of_lock = |lock| {
        let part = move |of: &InstanceSnapshot| Part {
            lock,
            whose: of.name(),
            contentions: of.contended(),
            waited: of.blocked(),
            blame: of.blame(),
        };
        LockSnapshot::waited_for(lock).iter().map(part)
    };
    let parts = snapshot.locks().iter().flat_map(of_lock);
    parts.filter(Part::is_any).collect()
}

impl Part<'_> {
    fn is_any(&self) -> bool {
        self.contentions > 0 || !self.waited.is_zero() || !self.blame.is_zero()
    }
}
