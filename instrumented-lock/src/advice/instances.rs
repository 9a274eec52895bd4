//! Rules about the locks of a class that are waited for: one of them, or all alike.

use super::case::{Case, fold, percent, ratio, share};
use super::thresholds::{EVEN, LOCKS, MUCH_MORE, NEARLY_ALL_WAITING, OF_WAITING, SOME};
use super::{Advice, Confidence};
use crate::report::units::{count, time};
use crate::snapshot::{InstanceSnapshot, LockSnapshot};
use std::fmt::Write as _;

/// The locks of the class: those that live, or if none does any more those that did.
fn locks(lock: &LockSnapshot) -> u64 {
    match lock.instances() {
        0 => lock.used(),
        live => live,
    }
}

/// Locks that were waited for and are told apart, most first.
fn told_apart(lock: &LockSnapshot) -> impl Iterator<Item = &InstanceSnapshot> {
    let all = lock.waited_for().iter();
    all.filter(|it| !it.is_others() && it.contended() > 0)
}

fn described(of: &InstanceSnapshot) -> String {
    let waits = if of.contended() == 1 { "wait" } else { "waits" };
    format!(
        "{} in {} {waits}",
        time(of.blocked()),
        count(of.contended())
    )
}

/// Of many locks one is waited for.
pub(super) fn one_of_many(case: &Case<'_>) -> Option<Advice> {
    let all = locks(case.lock);
    let mut rows = told_apart(case.lock);
    let first = rows.next()?;
    let of_waiting = ratio(first.blocked(), case.blocked());
    let is_it = of_waiting >= OF_WAITING && of_waiting >= MUCH_MORE / all as f64;
    if !(case.is_waited_for() && all >= LOCKS && is_it) {
        return None;
    }
    let is_plain = of_waiting >= NEARLY_ALL_WAITING && case.contended() >= SOME;
    let mut evidence = format!("{}: {}", first.name(), described(first));
    if let Some(next) = rows.next() {
        let _ = write!(
            evidence,
            "; the next is {}: {}",
            next.name(),
            described(next)
        );
    }
    let _ = write!(evidence, "; {}", case.waiting());
    Some(case.advice(
        if is_plain {
            Confidence::High
        } else {
            Confidence::Medium
        },
        format!(
            "1 of {} locks of this class has {} of the waiting.",
            count(all),
            percent(of_waiting)
        ),
        evidence,
        "Find out why everybody comes to this one: a hash that is uneven, one key that is hot, a \
         lock that is shared by mistake. More locks of the class help nobody who waits for it.",
    ))
}

/// Many locks are waited for alike.
pub(super) fn all_alike(case: &Case<'_>) -> Option<Advice> {
    let all = locks(case.lock);
    let first = told_apart(case.lock).next()?;
    let (fair, of_waiting) = (1.0 / all as f64, ratio(first.blocked(), case.blocked()));
    // With fewer waits each, chance makes them differ.
    let is_many = case.contended() >= SOME && case.contended() / all.max(1) >= 10;
    let is_even = share(told_apart(case.lock).count() as u64, all.min(TOLD_APART)) > 0.5;
    if !(case.is_waited_for() && all >= LOCKS && is_many && is_even && of_waiting <= EVEN * fair) {
        return None;
    }
    let evidence = format!(
        "the one that is waited for most has {}, {} of all, {} the average; {}",
        described(first),
        percent(of_waiting),
        fold(of_waiting / fair),
        case.waiting()
    );
    Some(case.advice(
        Confidence::Medium,
        format!("The waiting is spread evenly over {} locks.", count(all)),
        evidence,
        "No single one is worth a look. They are shared out well, so more of them or shorter holds \
         help everybody.",
    ))
}

/// Locks that a class tells apart at least.
const TOLD_APART: u64 = 64;
