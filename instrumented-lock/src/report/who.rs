//! The sections of the table that name lines and locks: who waits most and for which, who is blamed, what is in
//! flight.

use super::units::{count, time};
use crate::snapshot::{CallSite, InFlightState, Location, LockSnapshot, Snapshot, THROUGH_POINTER};
use std::cmp::Reverse;
use std::fmt::Write as _;

/// Lines that a lock is listed with for each question.
const LINES: usize = 3;

/// What is listed as in flight, longest first.
const IN_FLIGHT: usize = 10;

/// The lines of a lock that waited most and those that kept others waiting most; nothing for a lock
/// that nobody waited for.
pub(super) fn waits_and_blame(out: &mut String, lock: &LockSnapshot) {
    let sites = lock.call_sites();
    let mut waiting: Vec<_> = sites.iter().filter(|site| site.contended() > 0).collect();
    waiting.sort_by_key(|site| Reverse(site.blocked_total()));
    for (i, site) in waiting.iter().take(LINES).enumerate() {
        let what = format!(
            "{} in {}, max {}",
            time(site.blocked_total()),
            plural(site.contended(), "wait"),
            time(site.blocked_max())
        );
        entry(out, if i == 0 { "waiting" } else { "" }, site, &what);
    }
    let mut blamed: Vec<_> = sites
        .iter()
        .filter(|site| !site.blame().is_zero())
        .collect();
    blamed.sort_by_key(|site| Reverse(site.blame()));
    for (i, site) in blamed.iter().take(LINES).enumerate() {
        let held = plural(site.releases(), "hold");
        let what = format!(
            "{}, in {held} of {}",
            time(site.blame()),
            time(site.hold_total())
        );
        entry(out, if i == 0 { "blamed" } else { "" }, site, &what);
    }
    let told_apart = lock.waited_for().iter().filter(|it| !it.is_others());
    let told_apart = told_apart.filter(|it| it.contended() > 0);
    for (i, instance) in told_apart.take(LINES).enumerate() {
        // Of one lock there is nothing to tell that is not said already.
        if lock.used() < 2 && instance.label().is_none() {
            break;
        }
        let what = format!(
            "{} in {}, max {}",
            time(instance.blocked()),
            plural(instance.contended(), "wait"),
            time(instance.blocked_max())
        );
        let label = if i == 0 { "locks" } else { "" };
        let gone = if instance.is_gone() { " (gone)" } else { "" };
        let name = shorten_end(&instance.name(), 45 - gone.len());
        let _ = writeln!(out, "  {label:<10} {what:<41} {name}{gone}");
    }
    if !lock.hand_over().is_zero() {
        let _ = writeln!(out, "  {:<10} {}", "hand-over", time(lock.hand_over()));
    }
}

fn entry(out: &mut String, label: &str, site: &CallSite, what: &str) {
    let mode = site.mode();
    let head = format!("  {label:<10} {what:<41} {mode} ");
    let _ = writeln!(out, "{head}{}", place(site.location(), 35));
    through_pointer(out, site.location(), head.chars().count());
}

/// What there is to say of a line that is no caller's, below it.
fn through_pointer(out: &mut String, location: &Location, column: usize) {
    if location.is_through_pointer() {
        let column = column.min(100 - THROUGH_POINTER.len());
        let _ = writeln!(out, "{:column$}{THROUGH_POINTER}", "");
    }
}

/// Who waits and who holds at this moment.
pub(super) fn in_flight(out: &mut String, snapshot: &Snapshot) {
    let all = snapshot.in_flight();
    for (i, entry) in all.iter().take(IN_FLIGHT).enumerate() {
        if i == 0 {
            let _ = writeln!(out, "in flight");
        }
        let state = match entry.state() {
            InFlightState::Waiting => "waiting",
            InFlightState::Holding => "holding",
        };
        let thread = entry
            .thread()
            .map_or(String::new(), |thread| format!(" by {thread}"));
        let age = if entry.is_timed() {
            time(entry.age())
        } else {
            "-".to_owned()
        };
        let what = format!("{state} {age}{thread}");
        let at = place(entry.location(), 30);
        let mode = entry.mode();
        let head = format!("  {what:<28} {mode:<10} {at:<30} ");
        let lock = shorten(
            entry.lock(),
            100usize.saturating_sub(head.chars().count()).max(12),
        );
        let _ = writeln!(out, "{}", shorten_end(&format!("{head}{lock}"), 100));
        through_pointer(out, entry.location(), 42);
    }
    let more = all.len().saturating_sub(IN_FLIGHT) as u64 + snapshot.in_flight_unlisted();
    if more > 0 && !all.is_empty() {
        let _ = writeln!(out, "  and {} more", count(more));
    }
}

pub(super) fn plural(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// `file:line`, which terminals and editors make a link of. A path that is too long loses its
/// start, whole folders at a time: what is left is still a path from somewhere inside.
fn place(location: &Location, width: usize) -> String {
    let mut file = location.file();
    let mut line = String::new();
    if location.is_place() {
        line = format!(":{}", location.line());
    }
    while file.chars().count() + line.len() > width {
        match file.split_once(['/', '\\']) {
            Some((_, rest)) => file = rest,
            None => break,
        }
    }
    format!("{file}{line}")
}

/// At most `width` characters, the end of the text kept: that is where names differ.
pub(super) fn shorten(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let end: String = text.chars().skip(length + 1 - width).collect();
    format!("…{end}")
}

/// At most `width` characters, the start kept.
pub(super) fn shorten_end(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width - 1).collect();
    format!("{start}…")
}
