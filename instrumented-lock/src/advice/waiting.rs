//! Rules about threads that wait, or give up waiting.

use super::case::{Case, fold, mean, percent, place, ratio, share, typical};
use super::thresholds::{
    AT_MOST_WHOLE, BUSY, IN_VAIN, MANY_TIMEOUTS, NEARLY_ALL_BLAME, OF_BLAME, OF_BLOCKED,
    OF_HAND_OVER, OFTEN, ONE_HOLD, QUEUE, SOME, SPINNING, TIME, TIMEOUTS, WAITS, WORTH_SHORTENING,
};
use super::{Advice, Confidence};
use crate::report::units::{count, time};
use std::fmt::Write as _;
use std::time::Duration;

/// A lock that is nearly always held limits the program to one operation a hold.
pub(super) fn utilisation(case: &Case<'_>) -> Option<Advice> {
    let hold = case.lock.write().hold();
    let (sum, mean, max) = (hold.sum(), hold.mean()?, hold.max()?);
    let busy = ratio(sum, case.elapsed);
    // Of several locks the sum says nothing about any of them, also where they are gone by now.
    let is_one = case.lock.instances() == 1 && case.lock.used() == 1;
    let is_share = is_one && busy <= AT_MOST_WHOLE;
    let is_steady = hold.count() >= SOME && ratio(max, sum) < ONE_HOLD;
    if !(is_share && is_steady && busy >= BUSY && sum >= TIME) {
        return None;
    }
    let (confidence, now) = if case.is_waited_for() {
        (Confidence::High, "more threads wait longer and do no more")
    } else {
        (Confidence::Low, "there is little left for more threads")
    };
    let finding = format!(
        "It is held exclusively {} of the time and lets at most {} through, however many threads \
         there are.",
        percent(busy.min(1.0)),
        rate(mean),
    );
    let evidence = format!(
        "{} exclusive holds of {} on average are {} of {}; {}",
        count(hold.count()),
        time(mean),
        time(sum),
        time(case.elapsed),
        case.waiting(),
    );
    let suggestion = format!("Shorten the holds, or split the lock by data or by key: {now}.");
    Some(case.advice(confidence, finding, evidence, suggestion))
}

/// `625 operations a second`.
fn rate(hold: Duration) -> String {
    // Slower than this, whole operations a second are too coarse.
    if hold > Duration::from_millis(100) {
        return format!("one operation every {}", time(hold));
    }
    let a_second = 1_000_000_000 / hold.as_nanos().max(1);
    let a_second = u64::try_from(a_second).unwrap_or(u64::MAX);
    format!("{} operations a second", count(a_second))
}

/// One line holds while most of the others' waiting goes by.
pub(super) fn one_line(case: &Case<'_>) -> Option<Advice> {
    let site = case.lines().max_by_key(|site| site.blame())?;
    let of_blame = ratio(site.blame(), case.blame());
    let is_it = site.blame() >= TIME
        && of_blame >= OF_BLAME
        && ratio(site.blame(), case.blocked()) >= OF_BLOCKED;
    let hold = mean(site.hold_total(), site.releases());
    if !(case.is_waited_for() && is_it && hold >= WORTH_SHORTENING) {
        return None;
    }
    let is_plain = of_blame >= NEARLY_ALL_BLAME && case.contended() >= SOME;
    let at = place(site.location());
    let mut evidence = format!(
        "{at} is blamed for {} of {} ({}), in {} holds of {} on average, {} at most; {}",
        time(site.blame()),
        time(case.blame()),
        percent(of_blame),
        count(site.releases()),
        time(hold),
        time(site.hold_max()),
        case.waiting(),
    );
    let mut pairs = case.lock.blame().iter();
    let kept = pairs.find(|pair| pair.holder() == site.location() && !pair.waiter().is_other());
    if let Some(pair) = kept {
        let waiter = place(pair.waiter());
        let _ = write!(
            evidence,
            "; {waiter} waits most for it, {}",
            time(pair.total())
        );
    }
    Some(case.advice(
        if is_plain {
            Confidence::High
        } else {
            Confidence::Medium
        },
        format!("While {at} holds it, most of the others' waiting goes by."),
        evidence,
        format!(
            "Shorten the holds of {at}: prepare before it and finish after it whatever does not \
             need the lock (input and output, allocation, formatting, dropping old values)."
        ),
    ))
}

/// A queue much longer than the holds that it waits for.
pub(super) fn convoy(case: &Case<'_>) -> Option<Advice> {
    let (_, waiting) = (case.lock.modes()).max_by_key(|(_, mode)| mode.blocked().sum())?;
    let wait = waiting.blocked().quantile(0.5)?;
    // Of all modes the longest: writers that wait for slow readers are no convoy.
    let hold = (case.lock.modes().map(|(_, mode)| typical(mode.hold()))).max()?;
    // Otherwise the long ones may be those that were not timed.
    let is_timed = case.holds() >= SOME
        && (case.lock.modes()).all(|(_, mode)| mode.releases() == 0 || mode.hold().count() > 0);
    let often = share(case.contended(), case.acquisitions());
    let factor = ratio(wait, hold.max(Duration::from_nanos(1)));
    if !(case.is_waited_for() && is_timed && often >= OFTEN && factor >= QUEUE) {
        return None;
    }
    let handing_over = ratio(case.lock.hand_over(), case.blocked());
    let confidence = match case.lock.used() {
        // The ones with the waits need not be the ones with the short holds.
        2.. => Confidence::Low,
        _ if handing_over >= OF_HAND_OVER => Confidence::High,
        _ => Confidence::Medium,
    };
    let evidence = format!(
        "half of the waits take {} or more, {} the typical hold of {}; {}, {} of that for a lock \
         that nobody had",
        time(wait),
        fold(factor),
        time(hold),
        case.waiting(),
        percent(handing_over),
    );
    Some(case.advice(
        confidence,
        "Its holds are short and its queue is long: threads pay for waiting in line and for being \
         woken, not for the work under the lock.",
        evidence,
        "Take it less often (do several operations in one hold), shard it, or let fewer threads \
         at it; shorter holds alone help little.",
    ))
}

/// Timed attempts that gave up.
pub(super) fn timeouts(case: &Case<'_>) -> Option<Advice> {
    let (given_up, of_attempts) = (case.timeouts(), share(case.timeouts(), case.attempts()));
    if given_up < WAITS || of_attempts < TIMEOUTS {
        return None;
    }
    let is_the_rule = given_up >= SOME && of_attempts >= MANY_TIMEOUTS;
    let mut evidence = format!(
        "{} of {} attempts ({})",
        count(given_up),
        count(case.attempts()),
        percent(of_attempts)
    );
    let blamed = case.lines().max_by_key(|site| site.blame());
    if let Some(site) = blamed.filter(|site| !site.blame().is_zero()) {
        let (at, blame) = (place(site.location()), time(site.blame()));
        let _ = write!(evidence, "; {at} is blamed most for waiting, {blame}");
    }
    Some(case.advice(
        if is_the_rule {
            Confidence::High
        } else {
            Confidence::Medium
        },
        "Attempts with a time limit give up.",
        evidence,
        "Look at who holds it that long (the blamed lines, and what is in flight when it happens); \
         a longer limit only moves the wait.",
    ))
}

/// `try_` calls that mostly fail.
pub(super) fn try_failures(case: &Case<'_>) -> Option<Advice> {
    let (failures, acquired) = (case.try_failures(), case.acquisitions());
    if failures < SOME || share(failures, case.attempts()) < IN_VAIN {
        return None;
    }
    // Infinite where nothing was acquired.
    let is_loop = share(failures, acquired) >= SPINNING;
    Some(case.advice(
        if is_loop {
            Confidence::Medium
        } else {
            Confidence::Low
        },
        "Most attempts to take it are `try_` calls that fail: a loop that spins?",
        format!(
            "{} failures, {} acquisitions",
            count(failures),
            count(acquired)
        ),
        "If the caller comes back until it succeeds, let it block, or wait for a condition \
         variable; if it does something else instead, all is well.",
    ))
}
