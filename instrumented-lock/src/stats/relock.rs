//! Whose line it is where `lock_api` locks again what it has just unlocked: that of the hold before.
//!
//! In `MutexGuard::unlocked` and its like `lock_api` locks in a closure, which has a line of its own. The
//! line that is meant is that of the thread's last hold of the class. Within a page records are taken
//! from the lowest to the highest, so it is the nearest one below; what was folded away before is
//! remembered with the page.

use super::log::{Bits, Page, Record};
use super::record::{ACTIVITY_AND_CLASS, is_hold, site_of};
use super::site::Site;
use std::panic::Location;

/// Whether the line is `lock_api`'s own.
pub(super) fn is_inside_lock_api(location: &Location<'_>) -> bool {
    let file = location.file();
    file.ends_with("mutex.rs") && is_one(file, &["mutex.rs", "remutex.rs"])
        || file.ends_with("rwlock.rs") && is_one(file, &["rwlock.rs"])
}

#[cold]
fn is_one(file: &str, names: &[&str]) -> bool {
    let is_it = |name: &&str| {
        let folder = file.strip_suffix(*name).unwrap_or_default();
        folder.ends_with(['/', '\\']) && folder.contains("lock_api")
    };
    names.iter().any(is_it)
}

/// The line that a hold of `what` is recorded with which begins at `location`, in the next free record
/// of the calling thread's page.
pub(crate) fn line_of(page: &Page, what: usize, location: Site) -> Site {
    if !is_inside_lock_api(location) {
        return location;
    }
    let before = line_before(page, page.next_index(), what);
    site_of(before).unwrap_or(location)
}

/// The line of a published record that says `line`, in the words of records.
pub(crate) fn line_of_record(page: &Page, index: u32, what: usize, line: usize) -> usize {
    match site_of(line) {
        Some(location) if is_inside_lock_api(location) => match line_before(page, index, what) {
            0 => line,
            before => before,
        },
        _ => line,
    }
}

/// The line of a hold, in the words of records.
pub(crate) fn line_of_its(record: &Record) -> usize {
    let (page, index) = Page::place_of(record);
    line_of_record(page, index, record.what(), record.site())
}

/// The line of the thread's last hold of `what` before that of record `index`; 0 where it is not known.
fn line_before(page: &Page, index: u32, what: usize) -> usize {
    let is_its = |(of, _): &(usize, usize)| (of ^ what) & ACTIVITY_AND_CLASS == 0 && is_hold(*of);
    let below = (0..index).rev().map(|i| {
        let record = page.record(i);
        (record.what(), record.site())
    });
    let remembered = [page.owner.last_hold()];
    let is_users = |line: &usize| site_of(*line).is_some_and(|line| !is_inside_lock_api(line));
    let mut lines = below.chain(remembered).filter(is_its).map(|(_, line)| line);
    lines.find(is_users).unwrap_or(0)
}

/// The owner is about to use the page's records again: what is in flight gets its line now, and the last
/// hold is remembered.
pub(super) fn before_opening(page: &Page) {
    for index in Bits(page.unconsumed()) {
        let record = page.record(index);
        let line = record.site();
        let its = line_of_record(page, index, record.what(), line);
        if its != line {
            record.set_site(its);
        }
    }
    if let Some(last) = page.next_index().checked_sub(1) {
        let record = page.record(last);
        if is_hold(record.what()) {
            let line = line_of_record(page, last, record.what(), record.site());
            page.owner.remember(record.what(), line);
        }
    }
}
