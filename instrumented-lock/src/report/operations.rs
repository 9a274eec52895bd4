//! The section of the table about operations.

use super::units::{count, time};
use super::who::shorten;
use crate::snapshot::{OperationLock, Snapshot};
use std::fmt::Write as _;
use std::time::Duration;

/// Operations that are listed, and locks of each: those that waited longest.
const OPERATIONS: usize = 10;
const LOCKS: usize = 3;

const LABEL: usize = 46;

/// What each operation has waited for and held, by lock; nothing where the program has none.
pub(super) fn operations(out: &mut String, snapshot: &Snapshot) {
    let all = snapshot.operations();
    if all.is_empty() {
        return;
    }
    let columns = ["count", "waited", "max", "held", "max", "blame"];
    let header = columns.map(|column| format!("{column:>9}")).concat();
    let _ = writeln!(out, "{:LABEL$}{header}", "operations");
    for operation in all.iter().take(OPERATIONS) {
        let locks = operation.locks();
        let longest = |of: fn(&OperationLock) -> Duration| locks.iter().map(of).max();
        let times = [
            Some(operation.waited()),
            longest(OperationLock::waited_max),
            Some(operation.held()),
            longest(OperationLock::held_max),
            Some(operation.blame()),
        ];
        row(out, 2, operation.name(), operation.opened(), times);
        for lock in locks.iter().take(LOCKS) {
            let times = [
                lock.waited(),
                lock.waited_max(),
                lock.held(),
                lock.held_max(),
                lock.blame(),
            ];
            row(out, 4, lock.lock(), lock.acquisitions(), times.map(Some));
        }
        let more = locks.len().saturating_sub(LOCKS);
        if more > 0 {
            let _ = writeln!(out, "    and {more} more");
        }
    }
    let more = all.len().saturating_sub(OPERATIONS);
    if more > 0 {
        let _ = writeln!(out, "  and {more} more");
    }
}

fn row(out: &mut String, indent: usize, label: &str, n: u64, times: [Option<Duration>; 5]) {
    let label = shorten(label, LABEL - indent - 1);
    let _ = write!(
        out,
        "{:indent$}{label:<rest$}{:>9}",
        "",
        count(n),
        rest = LABEL - indent
    );
    for of in times {
        let of = of.filter(|of| !of.is_zero());
        let _ = write!(out, "{:>9}", of.map_or_else(|| "-".to_owned(), time));
    }
    out.push('\n');
}
