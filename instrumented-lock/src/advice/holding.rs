//! Rules about how long, how evenly and how often a lock is held.

use super::case::{Case, fold, mean, percent, place, ratio, share, times};
use super::thresholds::{
    COST_OF_LOCK, EQUAL, GROWN, GROWN_MUCH, IN_A_ROW, LINES, LONG_TAIL, MANY, OFTEN, SOME, UNEVEN,
    WORTH_SHARING, WORTH_SHORTENING,
};
use super::{Advice, Confidence};
use crate::lock_kind::LockKind;
use crate::report::units::{count, time};
use crate::snapshot::CallSite;
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::time::Duration;

/// A line whose holds have become longer since the earlier snapshot; the one that this costs most.
pub(super) fn growth(case: &Case<'_>) -> Option<Advice> {
    let earlier = case.before?.call_sites();
    let grown = case.lines().filter_map(|now| {
        let same =
            |then: &&CallSite| then.location() == now.location() && then.mode() == now.mode();
        grown(now, earlier.iter().find(same)?)
    });
    let grown = grown.max_by_key(|grown| grown.cost)?;
    if !case.is_worth(grown.cost) {
        return None;
    }
    let Grown {
        now,
        before,
        after,
        factor,
        ..
    } = grown;
    let is_plain = factor >= GROWN_MUCH && now.releases() >= MANY && grown.releases_before >= MANY;
    let at = place(now.location());
    let evidence = format!(
        "a {} hold of {at} took {} on average over {} holds before, and {} over {} since, {} as \
         long; together {} more",
        now.mode(),
        time(before),
        count(grown.releases_before),
        time(after),
        count(now.releases()),
        fold(factor),
        time(grown.cost),
    );
    Some(case.advice(
        if is_plain {
            Confidence::High
        } else {
            Confidence::Medium
        },
        format!("The holds of {at} grow with the run: a scan under the lock?"),
        evidence,
        "Look for a loop over everything that is stored, a queue that is never emptied or a map \
         that is never pruned; index it, bound it, or do the scan on a copy.",
    ))
}

struct Grown<'a> {
    now: &'a CallSite,
    releases_before: u64,
    before: Duration,
    after: Duration,
    factor: f64,
    cost: Duration,
}

fn grown<'a>(now: &'a CallSite, then: &CallSite) -> Option<Grown<'a>> {
    if now.releases() < SOME || then.releases() < SOME {
        return None;
    }
    let before = mean(then.hold_total(), then.releases());
    // One that was preempted is no growth.
    let without_longest = now.hold_total().saturating_sub(now.hold_max());
    let after = mean(without_longest, now.releases() - 1);
    let factor = ratio(after, before.max(Duration::from_nanos(1)));
    let cost = times(after.saturating_sub(before), now.releases());
    (factor >= GROWN && after >= WORTH_SHORTENING).then_some(Grown {
        now,
        releases_before: then.releases(),
        before,
        after,
        factor,
        cost,
    })
}

/// A few holds far longer than most: all that one snapshot can say about growth.
pub(super) fn uneven(case: &Case<'_>) -> Option<Advice> {
    let (mode, hold) = case
        .lock
        .modes()
        .map(|(mode, figures)| (mode, figures.hold()))
        .max_by_key(|(_, hold)| hold.sum())?;
    let (p50, p99) = (hold.quantile(0.5)?, hold.quantile(0.99)?);
    let factor = ratio(p99, p50.max(Duration::from_nanos(1)));
    let is_uneven = hold.count() >= MANY && factor >= UNEVEN && p99 >= LONG_TAIL;
    if !(case.is_waited_for() && is_uneven) {
        return None;
    }
    let mut evidence = format!(
        "{} holds ({}): p50 {}, p99 {}, {} at most",
        count(hold.count()),
        mode,
        time(p50),
        time(p99),
        time(hold.max()?),
    );
    let in_mode = case.lines().filter(|site| site.mode() == mode);
    if let Some(site) = in_mode.max_by_key(|site| site.hold_max()) {
        let at = place(site.location());
        let _ = write!(evidence, "; the longest at {at}");
    }
    Some(case.advice(
        Confidence::Low,
        "A few of its holds are far longer than most, and others wait for it.",
        evidence,
        "See what the long ones do: a scan, a growing collection, input or output. \
         `later.advice_since(&earlier)` tells whether holds grow.",
    ))
}

/// Lines that take the lock equally often, by threads that keep it for a while.
pub(super) fn in_a_row(case: &Case<'_>) -> Option<Advice> {
    let lines = equally_often(case);
    let acquisitions = case.acquisitions();
    let is_kept = share(case.lock.bounces(), acquisitions) <= IN_A_ROW;
    let matters = case.is_waited_for() || case.is_worth(times(COST_OF_LOCK, acquisitions));
    // A wait for a condition variable ends with an acquisition at its line, as often as it begins.
    let is_awake = case.lock.sleep().waits() < MANY;
    if lines.len() < 2 || !is_kept || !matters || !is_awake {
        return None;
    }
    let each = lines.iter().map(|site| {
        let at = place(site.location());
        format!("{at} {}", count(site.acquisitions()))
    });
    let evidence = format!(
        "acquisitions: {}; another thread than the last at {} of all {}",
        each.collect::<Vec<_>>().join(", "),
        percent(share(case.lock.bounces(), acquisitions)),
        count(acquisitions),
    );
    Some(case.advice(
        if lines.len() >= LINES {
            Confidence::Medium
        } else {
            Confidence::Low
        },
        format!(
            "{} lines take it equally often: perhaps one operation takes it {} times in a row.",
            lines.len(),
            lines.len()
        ),
        evidence,
        "If one operation runs through these lines, take the lock once and hand the guard on: \
         cheaper, and nobody sees the state in between.",
    ))
}

/// The largest group of lines of one mode whose counts are the same to [`EQUAL`]. An upgrade or a
/// downgrade, which belongs to the acquisition before it, is of another mode than that.
fn equally_often<'a>(case: &Case<'a>) -> Vec<&'a CallSite> {
    let mut lines: Vec<_> = case
        .lines()
        .filter(|site| site.acquisitions() >= MANY)
        .collect();
    lines.sort_by_key(|site| (site.mode(), Reverse(site.acquisitions())));
    let groups = (0..lines.len()).map(|first| {
        let most = lines[first];
        let is_near = |site: &&&CallSite| {
            let missing = most.acquisitions().abs_diff(site.acquisitions());
            site.mode() == most.mode() && share(missing, most.acquisitions()) <= EQUAL
        };
        let length = lines[first..].iter().take_while(is_near).count();
        &lines[first..first + length]
    });
    let longest = groups.max_by_key(|group| (group.len(), group[0].acquisitions()));
    longest.unwrap_or_default().to_vec()
}

/// A mutex with long holds; only the code knows whether they write.
pub(super) fn readers_in_a_mutex(case: &Case<'_>) -> Option<Advice> {
    let hold = case.lock.write().hold();
    let mean = hold.mean()?;
    let is_mutex = matches!(case.lock.kind(), LockKind::Mutex | LockKind::FairMutex);
    let often = share(case.contended(), case.acquisitions());
    let is_long = hold.count() >= SOME && mean >= WORTH_SHARING;
    if !(is_mutex && is_long && often >= OFTEN && case.is_waited_for()) {
        return None;
    }
    Some(case.advice(
        Confidence::Low,
        "It is a mutex that is held for long and often waited for; readers could share it.",
        format!(
            "{} holds of {} on average; {}",
            count(hold.count()),
            time(mean),
            case.waiting()
        ),
        "If most of these holders only read, an `RwLock` lets them in together; if they write, it \
         does not help.",
    ))
}
