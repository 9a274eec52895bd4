//! Which of the locks of a class were waited for.

use super::series::Series;
use super::sink::{Kind, Sink};
use instrumented_lock::{InstanceSnapshot, LockSnapshot, Snapshot};
use std::collections::BTreeMap;
use std::time::Duration;

type Time = fn(&InstanceSnapshot) -> Duration;

pub(super) fn write<'a, S: Sink<'a>>(out: &mut S, snapshot: &'a Snapshot, series: &Series) {
    let help = "Acquisitions that had to block, by the lock of the class.";
    out.family("instance_contended", Kind::Counter, help);
    for lock in snapshot.locks() {
        let n = InstanceSnapshot::contended;
        for (instance, n) in rows(lock, series, n, u64::saturating_add) {
            out.sample(&labels::<S>(lock, &instance), n);
        }
    }
    let times: [(&'static str, &'static str, Time); 2] = [
        (
            "instance_wait_seconds",
            "How long those waited, by the lock of the class.",
            InstanceSnapshot::blocked,
        ),
        (
            "instance_blame_seconds",
            "How long others waited while this lock of the class was held.",
            InstanceSnapshot::blame,
        ),
    ];
    for (name, help, time) in times {
        out.family(name, Kind::Counter, help);
        for lock in snapshot.locks() {
            for (instance, time) in rows(lock, series, time, Duration::saturating_add) {
                out.time(&labels::<S>(lock, &instance), time);
            }
        }
    }
}

/// Locks of a class that have been at one address are one series, as are those that are not told apart.
fn rows<T: Copy + Default>(
    lock: &LockSnapshot,
    series: &Series,
    of: impl Fn(&InstanceSnapshot) -> T,
    add: impl Fn(T, T) -> T,
) -> BTreeMap<String, T> {
    let mut rows = BTreeMap::new();
    for instance in lock.waited_for() {
        let sum = rows.entry(series.instance(lock, instance)).or_default();
        *sum = add(*sum, of(instance));
    }
    rows
}

/// Not `instance`: that is the program in every series that Prometheus scrapes.
fn labels<'a, S: Sink<'a>>(lock: &LockSnapshot, instance: &str) -> S::Labels {
    let mut labels = S::Labels::default();
    S::label(&mut labels, "lock", lock.name());
    S::label(&mut labels, "kind", &lock.kind().to_string());
    S::label(&mut labels, "lock_instance", instance);
    labels
}
