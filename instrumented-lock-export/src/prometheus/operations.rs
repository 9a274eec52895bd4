//! What operations have waited for and held.

use super::series::Series;
use super::sink::{Kind, Sink};
use instrumented_lock::{OperationLock, Snapshot};
use std::collections::BTreeMap;
use std::time::Duration;

type Count = fn(&OperationLock) -> u64;
type Time = fn(&OperationLock) -> Duration;

/// By the operation's label and the lock's name.
type Rows<'b, T> = BTreeMap<(&'b str, &'b str), T>;

pub(super) fn write<'a, S: Sink<'a>>(out: &mut S, snapshot: &'a Snapshot, series: &Series) {
    out.family("operations", Kind::Counter, "Operations that were opened.");
    let mut opened = BTreeMap::<&str, u64>::new();
    for operation in snapshot.operations() {
        let sum = opened.entry(series.operation(operation)).or_default();
        *sum = sum.saturating_add(operation.opened());
    }
    for (operation, n) in opened {
        let mut labels = S::Labels::default();
        S::label(&mut labels, "operation", operation);
        out.sample(&labels, n);
    }
    let counts: [(&'static str, &'static str, Count); 2] = [
        (
            "operation_acquisitions",
            "Acquisitions within an operation, of holds that have ended.",
            OperationLock::acquisitions,
        ),
        (
            "operation_contended",
            "Acquisitions within an operation that had to block.",
            OperationLock::contended,
        ),
    ];
    for (name, help, count) in counts {
        out.family(name, Kind::Counter, help);
        for (key, n) in rows(snapshot, series, count, u64::saturating_add) {
            out.sample(&labels::<S>(key), n);
        }
    }
    let times: [(&'static str, &'static str, Time); 3] = [
        (
            "operation_wait_seconds",
            "How long operations waited, by the lock.",
            OperationLock::waited,
        ),
        (
            "operation_hold_seconds",
            "How long operations held locks, by the lock.",
            OperationLock::held,
        ),
        (
            "operation_blame_seconds",
            "How long others waited while an operation held the lock.",
            OperationLock::blame,
        ),
    ];
    for (name, help, time) in times {
        out.family(name, Kind::Counter, help);
        for (key, time) in rows(snapshot, series, time, Duration::saturating_add) {
            out.time(&labels::<S>(key), time);
        }
    }
}

/// Pairs that are not told apart are one for each lock.
fn rows<'b, T: Copy + Default>(
    snapshot: &'b Snapshot,
    series: &Series,
    of: impl Fn(&OperationLock) -> T,
    add: impl Fn(T, T) -> T,
) -> Rows<'b, T> {
    let mut rows = Rows::new();
    for operation in snapshot.operations() {
        for lock in operation.locks() {
            let key = (series.operation_of(operation, lock), lock.lock());
            let sum = rows.entry(key).or_default();
            *sum = add(*sum, of(lock));
        }
    }
    rows
}

fn labels<'a, S: Sink<'a>>((operation, lock): (&str, &str)) -> S::Labels {
    let mut labels = S::Labels::default();
    S::label(&mut labels, "operation", operation);
    S::label(&mut labels, "lock", lock);
    labels
}
