//! One lock: its lines, who waits for whom, its distributions.

use super::markup::{Markup, place};
use super::tables::is_used;
use instrumented_lock::{
    Blame, Distribution, InstanceSnapshot, Location, LockSnapshot, StackRole, StackSnapshot, report,
};
use std::fmt::Write as _;
use std::time::Duration;

/// Lines on each side of the matrix.
const SIDE: usize = 8;

/// Locks of the class that are listed: as many as are told apart without a label.
const INSTANCES: usize = 64;

/// Stacks that are listed.
const STACKS: usize = 24;

/// The details of the lock with this number.
pub(super) fn of_lock(out: &mut Markup, i: usize, lock: &LockSnapshot) {
    out.raw(&format!("<details id=lock-{i} data-lock=\""));
    out.text(lock.name());
    out.raw("\"><summary>");
    out.text(lock.name());
    out.raw("</summary><p>");
    out.text(&format!(
        "{}, {} live, declared at {}",
        lock.kind(),
        report::count(lock.instances()),
        place(lock.declared_at())
    ));
    let counts = [
        ("hand-over to the next thread", lock.hand_over()),
        ("asleep in condition variables", lock.sleep().time().sum()),
    ];
    for (what, time) in counts.iter().filter(|(_, time)| !time.is_zero()) {
        out.text(&format!("; {what} {}", report::time(*time)));
    }
    if lock.bounces() > 0 {
        let bounces = report::count(lock.bounces());
        out.text(&format!(
            "; acquired by another thread than before: {bounces}"
        ));
    }
    instances(out, lock);
    lines(out, lock);
    matrix(out, lock.blame());
    stacks(out, lock);
    distributions(out, lock);
    out.raw("</details>");
}

/// Which locks of the class were waited for; nothing where there is only one that could be.
fn instances(out: &mut Markup, lock: &LockSnapshot) {
    let all = lock.waited_for();
    let is_only = lock.used() < 2 && all.iter().all(|one| one.label().is_none());
    if all.is_empty() || is_only {
        return;
    }
    out.raw("<div class=wide><table><caption>Locks of this class that were waited for</caption>");
    out.raw("<thead><tr><th class=l>lock<th>contended<th>waited<th>max");
    out.raw("<th>others waited while it was held<tbody>");
    let (others, told): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.is_others());
    let left = told.len().saturating_sub(INSTANCES);
    for one in told.into_iter().take(INSTANCES).chain(others) {
        instance(out, one);
    }
    out.raw("</table></div>");
    if left > 0 {
        out.raw(&format!("<p>and {} more", report::count(left as u64)));
    }
}

fn instance(out: &mut Markup, one: &InstanceSnapshot) {
    let gone = if one.is_gone() { ", dropped" } else { "" };
    out.raw("<tr>");
    out.cell(&format!("{}{gone}", one.name()));
    out.count(one.contended());
    for time in [one.blocked(), one.blocked_max(), one.blame()] {
        out.time(Some(time));
    }
}

fn lines(out: &mut Markup, lock: &LockSnapshot) {
    if lock.call_sites().is_empty() {
        return;
    }
    out.raw("<div class=wide><table><caption>Lines that acquire it</caption><thead><tr>");
    out.raw(
        "<th class=l>line<th class=l>mode<th>acquired<th>contended<th>waited<th>max<th>held<th>max",
    );
    out.raw("<th>others waited meanwhile<tbody>");
    for site in lock.call_sites() {
        out.raw("<tr>");
        out.place(site.location());
        out.cell(&site.mode().to_string());
        out.count(site.acquisitions());
        out.count(site.contended());
        for time in [
            site.blocked_total(),
            site.blocked_max(),
            site.hold_total(),
            site.hold_max(),
            site.blame(),
        ] {
            out.time(Some(time));
        }
    }
    out.raw("</table></div>");
}

/// Who waits for whom: a row for a line that waits, a column for one that holds.
fn matrix(out: &mut Markup, pairs: &[Blame]) {
    let waiters = sides(pairs, Blame::waiter);
    let holders = sides(pairs, Blame::holder);
    if waiters.is_empty() {
        return;
    }
    out.raw("<div class=wide><table class=m><caption>Who waited (rows) while who held (columns)");
    out.raw("</caption><thead><tr><th class=l>");
    for holder in &holders {
        out.raw("<th scope=col class=l>");
        out.text(&place(holder));
    }
    out.raw("<tbody>");
    let most = pairs.iter().map(Blame::total).max().unwrap_or_default();
    for waiter in &waiters {
        out.raw("<tr><th scope=row class=l>");
        out.text(&place(waiter));
        for holder in &holders {
            let of_both = |pair: &&Blame| pair.waiter() == *waiter && pair.holder() == *holder;
            match pairs.iter().find(of_both) {
                Some(pair) => {
                    let heat = pair.total().as_secs_f64() / most.as_secs_f64().max(1e-9);
                    out.raw(&format!("<td style=--h:{:.2}>", heat * 0.6));
                    out.raw(&report::time(pair.total()));
                    out.raw(&format!(" in {}", report::count(pair.waits())));
                }
                None => out.raw("<td>"),
            }
        }
    }
    out.raw("</table></div>");
}

/// Who called the lines that waited, and those that made others wait; nothing where that is not captured.
fn stacks(out: &mut Markup, lock: &LockSnapshot) {
    if lock.stacks().is_empty() {
        return;
    }
    out.raw("<div class=wide><table><caption>Who called them: estimates, from some of the waits");
    out.raw("</caption><thead><tr><th class=l>who<th class=l>mode<th>times<th>waited");
    out.raw("<th class=l>functions, the innermost first<tbody>");
    for stack in lock.stacks().iter().take(STACKS) {
        stack_row(out, stack);
    }
    out.raw("</table></div>");
    let left = lock.stacks().len().saturating_sub(STACKS);
    if left > 0 {
        out.raw(&format!("<p>and {} more", report::count(left as u64)));
    }
}

fn stack_row(out: &mut Markup, stack: &StackSnapshot) {
    out.raw("<tr>");
    out.cell(match stack.role() {
        StackRole::Waiter => "waited",
        StackRole::Holder => "held it",
    });
    out.cell(&stack.mode().to_string());
    out.count(stack.count());
    out.time(Some(stack.total()));
    out.raw("<td class=l>");
    for (i, frame) in stack.frames().iter().enumerate() {
        if i > 0 {
            out.raw("<br>");
        }
        out.text(&frame.to_string());
    }
}

/// The lines of one side, those of the largest pairs first.
fn sides<'a>(pairs: &'a [Blame], side: impl Fn(&'a Blame) -> &'a Location) -> Vec<&'a Location> {
    let mut all: Vec<&Location> = Vec::new();
    for pair in pairs {
        let line = side(pair);
        if all.len() < SIDE && !all.contains(&line) {
            all.push(line);
        }
    }
    all
}

const WIDTH: f64 = 700.0;
const HEIGHT: f64 = 46.0;

/// Where a duration is on the axis, in eighths of an octave.
fn eighths(ns: f64) -> f64 {
    if ns.is_finite() {
        ns.max(0.5).log2() * 8.0
    } else {
        63.0 * 8.0
    }
}

fn distributions(out: &mut Markup, lock: &LockSnapshot) {
    let mut all: Vec<(String, &str, &Distribution)> = Vec::new();
    for (mode, figures) in lock.modes().filter(|(_, mode)| is_used(mode)) {
        all.push((format!("{mode}: waits"), "wait", figures.blocked()));
        all.push((format!("{mode}: holds"), "hold", figures.hold()));
    }
    all.push(("asleep".to_owned(), "hold", lock.sleep().time()));
    all.retain(|(.., distribution)| distribution.count() > 0);
    // One axis for all of a lock.
    let ends = all.iter().flat_map(|(.., distribution)| {
        let ends: Vec<_> = distribution
            .buckets()
            .map(|(upper, _)| eighths(upper))
            .collect();
        [ends.first().copied(), ends.last().copied()]
    });
    let ends: Vec<f64> = ends.flatten().collect();
    let low = ends.iter().copied().fold(f64::INFINITY, f64::min) - 6.0;
    let high = ends.iter().copied().fold(low + 10.0, f64::max) + 5.0;
    let x = |at: f64| (at - low) / (high - low) * WIDTH;
    for (name, class, distribution) in all {
        let quantile = |q| report::time(distribution.quantile(q).unwrap_or_default());
        let said = format!(
            "{name}: {}, half of them up to {}, 99 % up to {}, at most {}",
            report::count(distribution.count()),
            quantile(0.5),
            quantile(0.99),
            quantile(1.0)
        );
        let height = HEIGHT + 16.0;
        out.raw(&format!(
            "<p>{said}<svg viewBox=\"0 0 {WIDTH} {height}\" role=img aria-label=\""
        ));
        out.text(&said);
        out.raw("\">");
        ticks(out, low, high, x);
        let most = distribution.buckets().map(|(_, n)| n).max().unwrap_or(1);
        let width = x(low + 1.0);
        out.raw(&format!("<path class={class} d=\""));
        for (upper, n) in distribution.buckets() {
            // The square root, so that what is rare is seen.
            let tall = (n as f64 / most as f64).sqrt() * HEIGHT;
            let right = x(eighths(upper));
            out.raw(&format!(
                "M{:.0} {HEIGHT}v-{:.0}h{:.1}v{:.0}",
                right - width,
                tall.max(1.0),
                width.max(1.0),
                tall.max(1.0)
            ));
        }
        out.raw("\"/></svg>");
    }
}

/// The powers of ten on the axis.
fn ticks(out: &mut Markup, low: f64, high: f64, x: impl Fn(f64) -> f64) {
    let mut last = f64::NEG_INFINITY;
    let mut texts = String::new();
    out.raw("<path class=t d=\"");
    for power in 0..19 {
        let ns = 10u64.pow(power);
        let at = eighths(ns as f64);
        if at < low || at > high {
            continue;
        }
        let x = x(at);
        out.raw(&format!("M{x:.0} 0v{HEIGHT}"));
        // Room for the text.
        if x - last > 60.0 && x < WIDTH - 50.0 {
            let time = report::time(Duration::from_nanos(ns));
            let y = HEIGHT + 12.0;
            let _ = write!(texts, "<text x={x:.0} y={y}>{time}</text>");
            last = x;
        }
    }
    out.raw("\"/>");
    out.raw(&texts);
}
