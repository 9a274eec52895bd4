//! What all operations have had: where the shares of the pages end up.

use super::scope::{NUMBERS, Scope};
use super::shares::{OTHER_CLASSES, Row, Shares};
use crate::brief;
use crate::fork::{self, Hooks, Whose};
use parking_lot::Mutex;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

static ALL: Mutex<Shares> = Mutex::new(Shares::new());

/// Pairs of an operation and a class that are told apart; of further ones there is one row an operation. They
/// take at most 400 KiB.
const MOST: usize = 2048;

/// How often operations were opened by threads that have no page any more.
static OPENED: [AtomicU64; NUMBERS] = [const { AtomicU64::new(0) }; NUMBERS];

/// At a fork nobody has the lock.
pub(super) fn heed_forks() {
    fork::call(
        Whose::Operations,
        Hooks {
            before: || mem::forget(brief::lock(&ALL)),
            // SAFETY: `before` has locked it and forgotten the guard, on this thread.
            after: |_| unsafe { ALL.force_unlock(brief::state()) },
        },
    );
}

/// One more has been opened, by a thread that has no page.
pub(super) fn count(operation: u8) {
    if let Some(opened) = OPENED.get(usize::from(operation)) {
        opened.fetch_add(1, Ordering::Relaxed);
    }
}

/// How often those have opened each operation.
pub(super) fn opened() -> impl Iterator<Item = u64> {
    OPENED.iter().map(|of| of.load(Ordering::Relaxed))
}

/// Adds rows of operations.
pub(super) fn add(rows: &[Row]) {
    loop {
        let needed = {
            let mut all = brief::lock(&ALL);
            if all.room() >= rows.len() {
                for row in rows {
                    let is_known = all.len() < MOST || all.has(row.scope, row.class);
                    let class = if is_known { row.class } else { OTHER_CLASSES };
                    all.of(row.scope, class).add(&row.share);
                }
                return;
            }
            all.len() + rows.len()
        };
        // Allocated and freed without the lock.
        let mut other = Shares::with_room(needed + needed / 2);
        let mut all = brief::lock(&ALL);
        if other.room() >= all.len() + rows.len() {
            other.add_all(&all);
            mem::swap(&mut *all, &mut other);
        }
        drop(all);
    }
}

/// How long others waited for a class while an operation held it.
pub(super) fn add_blame(operation: u8, class: usize, ns: u64) {
    let mut row = Row {
        scope: Scope::of_operation(operation),
        class,
        share: super::shares::Share::default(),
    };
    row.share.add_blame(ns);
    add(&[row]);
}

/// All rows so far.
pub(super) fn rows() -> Vec<Row> {
    loop {
        let length = brief::lock(&ALL).len();
        let mut rows = Vec::with_capacity(length);
        let all = brief::lock(&ALL);
        if all.len() <= rows.capacity() {
            rows.extend(all.rows());
            return rows;
        }
    }
}
