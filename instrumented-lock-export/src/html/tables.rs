//! The tables of the whole snapshot: all locks, what is in flight, the advice.

use super::markup::Markup;
use instrumented_lock::{
    InFlightState, LockSnapshot, Mode, ModeSnapshot, OperationLock, OperationSnapshot, Snapshot,
};
use std::time::Duration;

/// What is listed as in flight, longest first.
const IN_FLIGHT: usize = 200;

/// What is said of locks, the surest first.
const ADVICE: usize = 50;

/// Operations that are listed, those that waited longest, and locks of each.
const OPERATIONS: usize = 100;
const LOCKS: usize = 8;

/// The columns of the table: whether it is text, its head, and what that means.
const COLUMNS: [(bool, &str, &str); 15] = [
    (true, "lock", "its class"),
    (true, "kind", "the type of its locks"),
    (true, "mode", "how it is acquired"),
    (false, "acquired", "acquisitions"),
    (false, "contended", "acquisitions that had to wait"),
    (false, "waited", "how long in all, what goes on included"),
    (
        false,
        "wait p50",
        "half of those that waited waited no longer",
    ),
    (false, "p99", "99 % of those that waited waited no longer"),
    (false, "max", "the longest wait that has ended"),
    (false, "held", "how long in all"),
    (false, "hold p50", "half of the holds lasted no longer"),
    (false, "p99", "99 % of the holds lasted no longer"),
    (false, "max", "the longest hold that has ended"),
    (false, "waiting", "who waits now"),
    (
        false,
        "gave up",
        "attempts that failed at once or timed out",
    ),
];

/// All locks, of which the first so many have details.
pub(super) fn locks(out: &mut Markup, locks: &[&LockSnapshot], with_details: usize) {
    out.raw("<section id=table tabindex=-1><h2>Locks</h2>");
    if locks.is_empty() {
        out.raw("<p>No lock has been used.</section>");
        return;
    }
    out.raw("<p class=ask><label>Only rows with <input id=filter type=search></label> ");
    out.raw("<span id=shown role=status class=faint></span>");
    out.raw("<div class=wide><table id=locks><caption>");
    out.raw(
        "One row for each lock and mode; a head sorts by its column. Those that were waited for ",
    );
    out.raw("longest come first.</caption><thead><tr>");
    for (i, (is_text, name, meaning)) in COLUMNS.iter().enumerate() {
        out.raw("<th scope=col aria-sort=");
        out.raw(if i == 5 { "descending" } else { "none" });
        out.raw(if *is_text { " class=l" } else { "" });
        out.raw(" title=\"");
        out.text(meaning);
        out.raw("\"><button type=button>");
        out.text(name);
        out.raw("</button>");
    }
    out.raw("<tbody>");
    for (i, lock) in locks.iter().enumerate() {
        let link = (i < with_details).then_some(i);
        for (mode, figures) in lock.modes().filter(|(_, mode)| is_used(mode)) {
            row(out, lock, link, Some((mode, figures)));
        }
        if lock.modes().all(|(_, mode)| !is_used(mode)) {
            row(out, lock, link, None);
        }
    }
    out.raw("</table></div></section>");
}

pub(super) fn is_used(mode: &ModeSnapshot) -> bool {
    let in_flight = mode.holding().count() + mode.waiting().count();
    mode.acquisitions() + mode.try_failures() + mode.timeouts() + in_flight > 0
}

fn row(
    out: &mut Markup,
    lock: &LockSnapshot,
    link: Option<usize>,
    mode: Option<(Mode, &ModeSnapshot)>,
) {
    out.raw("<tr><th scope=row class=l>");
    if let Some(i) = link {
        out.raw(&format!("<a href=#lock-{i}>"));
    }
    out.text(lock.name());
    out.raw(if link.is_some() { "</a>" } else { "" });
    out.cell(&lock.kind().to_string());
    let Some((mode, figures)) = mode else {
        // A condition variable: all it has is in its details.
        out.cell("asleep");
        out.count(lock.sleep().waits());
        return;
    };
    out.cell(&mode.to_string());
    out.count(figures.acquisitions());
    out.count(figures.contended());
    let (blocked, hold) = (figures.blocked(), figures.hold());
    out.time(Some(figures.waited()));
    out.time(blocked.quantile(0.5));
    out.time(blocked.quantile(0.99));
    out.time(blocked.max());
    out.time(Some(hold.sum()));
    out.time(hold.quantile(0.5));
    out.time(hold.quantile(0.99));
    out.time(hold.max());
    out.count(figures.waiting().count());
    out.count(figures.try_failures() + figures.timeouts());
}

/// Who waits and who holds.
pub(super) fn in_flight(out: &mut Markup, snapshot: &Snapshot) {
    let all = snapshot.in_flight();
    if all.is_empty() {
        return;
    }
    out.raw("<section id=in-flight><h2>In flight</h2><div class=wide><table><caption>");
    out.text(&format!("{} waiting or holding, longest first", all.len()));
    out.raw("</caption><thead><tr><th class=l>state<th>for<th class=l>lock<th class=l>mode");
    out.raw("<th class=l>thread<th class=l>line<tbody>");
    for entry in all.iter().take(IN_FLIGHT) {
        match entry.state() {
            InFlightState::Waiting => out.raw("<tr><td class=\"l w\">waiting"),
            InFlightState::Holding => out.raw("<tr><td class=l>holding"),
        }
        out.time(entry.is_timed().then(|| entry.age()));
        out.cell(entry.lock());
        out.cell(&entry.mode().to_string());
        out.cell(entry.thread().unwrap_or_default());
        out.place(entry.location());
    }
    out.raw("</table></div>");
    if all.len() > IN_FLIGHT {
        out.raw(&format!("<p>and {} more", all.len() - IN_FLIGHT));
    }
    out.raw("</section>");
}

/// What each operation has waited for and held, by lock.
pub(super) fn operations(out: &mut Markup, snapshot: &Snapshot) {
    let all = snapshot.operations();
    if all.is_empty() {
        return;
    }
    out.raw("<section id=operations><h2>Operations</h2><div class=wide><table><caption>");
    out.raw(
        "What each has waited for and held, in all and by lock; those that waited longest come",
    );
    out.raw(" first</caption><thead><tr><th class=l>operation<th class=l>lock<th>opened");
    out.raw("<th>acquired<th>contended<th>waited<th>max<th>held<th>max");
    out.raw("<th>others waited meanwhile<tbody>");
    for operation in all.iter().take(OPERATIONS) {
        let locks = operation.locks();
        let sum = |of: fn(&OperationLock) -> u64| locks.iter().map(of).sum::<u64>();
        let longest = |of: fn(&OperationLock) -> Duration| locks.iter().map(of).max();
        out.raw("<tr><th scope=row class=l>");
        out.text(operation.name());
        out.raw("<td class=l>all");
        out.count(operation.opened());
        out.count(sum(OperationLock::acquisitions));
        out.count(sum(OperationLock::contended));
        out.time(Some(operation.waited()));
        out.time(longest(OperationLock::waited_max));
        out.time(Some(operation.held()));
        out.time(longest(OperationLock::held_max));
        out.time(Some(operation.blame()));
        for lock in locks.iter().take(LOCKS) {
            lock_of_operation(out, operation, lock);
        }
        if locks.len() > LOCKS {
            let more = locks.len() - LOCKS;
            out.raw(&format!("<tr><td><td class=l>and {more} more"));
        }
    }
    out.raw("</table></div>");
    if all.len() > OPERATIONS {
        out.raw(&format!("<p>and {} more", all.len() - OPERATIONS));
    }
    out.raw("</section>");
}

fn lock_of_operation(out: &mut Markup, operation: &OperationSnapshot, lock: &OperationLock) {
    out.raw("<tr>");
    out.cell(operation.name());
    out.cell(lock.lock());
    out.raw("<td>");
    out.count(lock.acquisitions());
    out.count(lock.contended());
    for time in [
        lock.waited(),
        lock.waited_max(),
        lock.held(),
        lock.held_max(),
        lock.blame(),
    ] {
        out.time(Some(time));
    }
}

/// What the figures mean.
pub(super) fn advice(out: &mut Markup, snapshot: &Snapshot) {
    let advice = snapshot.advice();
    if advice.is_empty() {
        return;
    }
    out.raw("<section id=advice><h2>Advice</h2><ol>");
    for one in advice.iter().take(ADVICE) {
        out.raw("<li><b>");
        out.text(one.lock());
        out.raw("</b> <span class=faint>");
        out.text(&format!("({} confidence)", one.confidence()));
        out.raw("</span><p>");
        out.text(one.finding());
        out.raw("<p class=faint>");
        out.text(one.evidence());
        out.raw("<p>");
        out.text(one.suggestion());
    }
    out.raw("</ol>");
    if advice.len() > ADVICE {
        out.raw(&format!("<p>and {} more", advice.len() - ADVICE));
    }
    out.raw("</section>");
}
