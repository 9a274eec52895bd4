//! What has ended of a page is also added to what the operations and measurements have had in which it was
//! acquired. Called by the fold, only where there has ever been one.

use super::log::{Bits, Locked, Page, Record};
use super::operations;
use super::owner::PAGE_RECORDS;
use super::record::{Kind, SAMPLED, UNTIMED_START, activity_of, class_of, holder_of, kind_of};
use super::scope::Scope;
use super::scopes::{self, Scopes};
use super::shares::{Row, Shares};
use crate::clock::{self, Scale};

/// Rows that a page keeps; with more, those of operations are handed on.
const MOST: usize = 96;

/// Scopes of one page that are gathered before their records are added.
const GATHERED: usize = 8;

/// All holds of a page that differ in their stamps only, as the fold has sorted them.
#[derive(Clone, Copy)]
pub(super) struct Holds {
    pub(super) what: usize,
    /// One bit for each record.
    pub(super) timed: u64,
    pub(super) untimed: u64,
}

/// What has ended of a page, sorted.
pub(super) struct Ended<'a, I> {
    /// One bit for each record.
    pub(super) all: u64,
    pub(super) holds: I,
    /// How long each of these holds has lasted that is timed; nanoseconds.
    pub(super) durations: &'a [u32; PAGE_RECORDS],
    /// What is in none of the `holds`.
    pub(super) others: u64,
}

/// Adds what has ended to the shares of its scopes.
#[inline(never)]
pub(super) fn apportion<I: Iterator<Item = Holds> + Clone>(
    page: &Locked<'_>,
    ended: &Ended<'_, I>,
) {
    blame(page, ended.others);
    let Some(scopes) = scopes::beside(page.page) else {
        return;
    };
    scopes.with_shares(page, |shares| {
        let mut gathered = [(Scope::NONE, 0u64); GATHERED];
        let mut count = 0;
        for (scope, records) in scopes.runs(ended.all) {
            if scope == Scope::NONE || records == 0 {
                continue;
            }
            if let Some((_, known)) = gathered[..count].iter_mut().find(|(of, _)| *of == scope) {
                *known |= records;
                continue;
            }
            if count == GATHERED {
                add_all(shares, page.page, &gathered, ended);
                count = 0;
            }
            gathered[count] = (scope, records);
            count += 1;
        }
        add_all(shares, page.page, &gathered[..count], ended);
        if shares.len() > MOST {
            hand_on(shares);
        }
    });
}

fn add_all<I: Iterator<Item = Holds> + Clone>(
    shares: &mut Shares,
    page: &Page,
    gathered: &[(Scope, u64)],
    ended: &Ended<'_, I>,
) {
    for &(scope, records) in gathered {
        for holds in ended.holds.clone() {
            let timed = holds.timed & records;
            let count = (timed | holds.untimed & records).count_ones();
            if count == 0
                || kind_of(holds.what) != Kind::Hold
                || activity_of(holds.what).mode().is_none()
            {
                continue;
            }
            let (mut total, mut longest) = (0, 0);
            for record in Bits(timed) {
                let ns = u64::from(ended.durations[record as usize]);
                total += ns;
                longest = longest.max(ns);
            }
            each(scope, |scope| {
                let share = shares.of(scope, class_of(holds.what));
                share.add_holds(u64::from(count), total, longest);
            });
        }
        for index in Bits(ended.others & records) {
            add_one(shares, scope, page, index);
        }
    }
}

/// For the operation and for the measurement of a scope.
#[inline]
fn each(scope: Scope, mut f: impl FnMut(Scope)) {
    let (operation, measurement) = (scope.operation(), scope.measurement());
    if operation != 0 {
        f(Scope::of_operation(operation));
    }
    if measurement != 0 {
        f(Scope::of_measurement(measurement));
    }
}

/// Adds one record of any kind.
#[inline(never)]
fn add_one(shares: &mut Shares, scope: Scope, page: &Page, index: u32) {
    let record = page.record(index);
    let what = record.what();
    let kind = kind_of(what);
    if activity_of(what).mode().is_none() {
        return;
    }
    let ns = nanoseconds(record);
    each(scope, |scope| {
        let share = || class_of(what);
        match kind {
            Kind::Hold => {
                let shift = if what & SAMPLED == 0 {
                    0
                } else {
                    page.shift(index)
                };
                shares
                    .of(scope, share())
                    .add_holds(1, ns.saturating_mul(1 << shift), ns);
            }
            Kind::Waited => shares.of(scope, share()).add_wait(ns, true),
            Kind::TimedOut => shares.of(scope, share()).add_wait(ns, false),
            Kind::Blame | Kind::TryFailed | Kind::Nested | Kind::Duration => {}
        }
    });
}

/// Who has kept others waiting is told by them, on whatever page.
fn blame(locked: &Locked<'_>, others: u64) {
    let page = locked.page;
    for index in Bits(others) {
        let record = page.record(index);
        if kind_of(record.what()) != Kind::Blame {
            continue;
        }
        let holder = holder_of(usize::try_from(record.start()).unwrap_or(0));
        let operation = holder.map_or(0, |holder| holder.operation);
        if operation == 0 {
            continue;
        }
        let ns = clock::scale().nanoseconds(record.end().unwrap_or(0));
        let class = class_of(record.what());
        match scopes::beside(page) {
            Some(scopes) => {
                let scope = Scope::of_operation(operation);
                scopes.with_shares(locked, |shares| shares.of(scope, class).add_blame(ns));
            }
            None => operations::add_blame(operation, class, ns),
        }
    }
}

/// How long a record has lasted; 0 where it has no stamps.
fn nanoseconds(record: &Record) -> u64 {
    let (start, end) = (record.start(), record.end().unwrap_or(0));
    if start == UNTIMED_START {
        return 0;
    }
    let scale: Scale = clock::scale();
    scale.nanoseconds(end.saturating_sub(start))
}

/// Hands the shares of operations on to where all end up.
fn hand_on(shares: &mut Shares) {
    let of_operations = shares.take(|scope| scope.measurement() == 0);
    operations::add(&of_operations);
}

/// The same, for a page.
pub(super) fn hand_on_all(page: &Locked<'_>) {
    if let Some(scopes) = scopes::beside(page.page) {
        scopes.with_shares(page, hand_on);
    }
}

/// Takes out what belongs to this measurement and those in it, and leaves it to an outer one, if there is one.
pub(super) fn take_measured(
    page: &Locked<'_>,
    scopes: &Scopes,
    measurement: u64,
    outer: u64,
) -> Vec<Row> {
    scopes.with_shares(page, |shares| {
        let taken = shares.take(|scope| scope.measurement() >= measurement);
        if outer != 0 {
            for row in &taken {
                shares
                    .of(Scope::of_measurement(outer), row.class)
                    .add(&row.share);
            }
        }
        taken
    })
}

/// Forgets what belongs to measurements.
pub(super) fn forget_measured(page: &Locked<'_>) {
    let Some(scopes) = scopes::beside(page.page) else {
        return;
    };
    scopes.with_shares(page, |shares| {
        if shares.rows().any(|row| row.scope.measurement() != 0) {
            drop(shares.take(|scope| scope.measurement() != 0));
        }
    });
}

/// What is held in this measurement, and those in it, at this moment. For the owner of the page, who has it
/// locked.
pub(super) fn in_flight(page: &Page, scopes: &Scopes, measurement: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    for index in Bits(page.unconsumed()) {
        let record = page.record(index);
        let (what, start) = (record.what(), record.start());
        let is_hold = kind_of(what) == Kind::Hold && activity_of(what).mode().is_some();
        if !is_hold || scopes.at(index).measurement() < measurement {
            continue;
        }
        // Who has acquired nothing has not asked for the time either: the clock is still to be chosen.
        let until = record.end().unwrap_or_else(clock::now);
        let ns = match start {
            UNTIMED_START => 0,
            start => clock::scale().nanoseconds(until.saturating_sub(start)),
        };
        let shift = super::record::shift_of_its(record);
        let mut share = super::shares::Share::default();
        share.add_holds(1, ns.saturating_mul(1 << shift), ns);
        rows.push(Row {
            scope: Scope::of_measurement(measurement),
            class: class_of(what),
            share,
        });
    }
    rows
}
