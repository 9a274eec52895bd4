//! Collecting a snapshot: from what threads have in their logs and classes in their figures to plain
//! data.
//!
//! First every log is folded as far as its records have ended. Then one class after the other is made to
//! stand still: nothing is folded into it while its figures are copied and its holds in flight counted,
//! in the logs that had any. So each acquisition is seen once, in flight or in the figures, whatever its
//! thread does meanwhile; that is what the identities of a snapshot rest on.

use crate::class::LockClass;
use crate::classes;
use crate::clock;
use crate::mode::{Activity, Mode};
use crate::settings;
use crate::snapshot::{
    Blame, CallSite, Distribution, InFlight, InFlightState, Location, LockSnapshot, ModeSnapshot,
    SleepSnapshot, Snapshot,
};
use crate::stats::{
    self, ActivityTotals, Bits, LineFigures, Page, Pair, Reading, Scratch, Site, Totals, Waiting,
};
use std::collections::HashMap;
use std::ptr;
use std::time::Duration;

/// See [`registry::snapshot`](crate::registry::snapshot).
pub(crate) fn snapshot() -> Snapshot {
    clock::refine();
    let all = classes::all();
    let reading = stats::read();
    let logs = Logs::new(&reading);
    let mut in_flight = Vec::new();
    let mut scratch = Scratch::new();
    let locks = all
        .into_iter()
        .map(|class| lock(class, &logs, &mut scratch, &mut in_flight))
        .collect();
    drop(reading);
    in_flight.sort_by_key(|entry: &InFlight| std::cmp::Reverse(entry.age()));
    let compiled_out = cfg!(not(feature = "stats")).then(|| {
        "recording is not compiled in; turn on the feature `stats` of instrumented-lock".to_owned()
    });
    Snapshot::new(
        clock::since_start(),
        cfg!(feature = "stats") && !settings::current().is_off,
        settings::environment_error()
            .into_iter()
            .chain(compiled_out)
            .collect(),
        locks,
        in_flight,
    )
}

/// Which logs have anything in flight, by the class that it is of.
struct Logs {
    /// In the order of the pages.
    holds: HashMap<usize, Vec<&'static Page>>,
    waits: HashMap<usize, Vec<(&'static Page, Waiting)>>,
}

impl Logs {
    fn new(reading: &Reading) -> Self {
        let mut holds = HashMap::<usize, Vec<&'static Page>>::new();
        let mut waits = HashMap::<usize, Vec<(&'static Page, Waiting)>>::new();
        for &page in &reading.pages {
            if let Some(waiting) = page.waits() {
                let of_class = waits.entry(stats::class_of(waiting.what));
                of_class.or_default().push((page, waiting));
            }
            for index in Bits(page.unconsumed()) {
                let class = stats::class_of(page.record(index).what());
                let pages = holds.entry(class).or_default();
                if !pages.last().is_some_and(|last| ptr::eq(*last, page)) {
                    pages.push(page);
                }
            }
        }
        Logs { holds, waits }
    }

    /// What is held of a class that stands still: a page, a record of it, what that says.
    fn holds(&self, class: usize) -> impl Iterator<Item = (&'static Page, u32, usize)> + '_ {
        let pages = self.holds.get(&class).into_iter().flatten();
        pages.flat_map(move |&page| {
            let records = Bits(page.unconsumed()).map(move |i| (page, i, page.record(i).what()));
            records
                .filter(move |&(_, _, what)| stats::class_of(what) == class && stats::is_hold(what))
        })
    }

    fn waits(&self, class: usize) -> impl Iterator<Item = &(&'static Page, Waiting)> {
        self.waits.get(&class).into_iter().flatten()
    }
}

/// What is in flight of one mode: how much in all, and by line.
#[derive(Default)]
struct Holding {
    count: u64,
    bounces: u64,
    lines: Vec<(Option<Site>, u64)>,
}

impl Holding {
    fn add(&mut self, site: Option<Site>, bounced: bool) {
        self.count += 1;
        self.bounces += u64::from(bounced);
        match self.lines.iter_mut().find(|(of, _)| *of == site) {
            Some((_, n)) => *n += 1,
            None => self.lines.push((site, 1)),
        }
    }
}

fn lock(
    class: &'static LockClass,
    logs: &Logs,
    scratch: &mut Scratch,
    in_flight: &mut Vec<InFlight>,
) -> LockSnapshot {
    let address = ptr::from_ref(&class.stats).addr();
    let still = class.stats.stand_still();
    let mut holding: [Holding; 4] = Default::default();
    for (page, index, what) in logs.holds(address) {
        let record = page.record(index);
        let line = stats::line_of_record(page, index, what, record.site());
        let (activity, site) = (stats::activity_of(what), stats::site_of(line));
        holding[activity as usize].add(site, what & stats::BOUNCED != 0);
        if let Some(mode) = activity.mode() {
            let name = page.owner.name().filter(|_| !page.owner.has_ended(index));
            let state = InFlightState::Holding;
            in_flight.push(entry(
                class,
                mode,
                state,
                site,
                name.as_deref(),
                record.start(),
            ));
        }
    }
    for (page, waiting) in logs.waits(address) {
        if let Some(mode) = stats::activity_of(waiting.what).mode() {
            let (site, name) = (stats::site_of(waiting.site), page.owner.name());
            let state = InFlightState::Waiting;
            in_flight.push(entry(
                class,
                mode,
                state,
                site,
                name.as_deref(),
                waiting.since,
            ));
        }
    }
    let mut call_sites = Vec::new();
    let (mut nested, mut hand_over_ns) = (0, 0u64);
    let mut modes = [Mode::Write, Mode::Read, Mode::Upgradable].map(|mode| {
        let activity = Activity::from(mode);
        let totals = still.of(activity, scratch);
        let holding = &holding[activity as usize];
        add_call_sites(&mut call_sites, mode, &totals, holding);
        nested += totals.nested;
        hand_over_ns = hand_over_ns.saturating_add(totals.hand_over);
        Some(mode_snapshot(&totals, holding, scratch))
    });
    CallSite::sort(&mut call_sites);
    let mut mode = |mode: Mode| modes[mode as usize].take().unwrap_or_default();
    let asleep = still.of(Activity::Sleep, scratch);
    LockSnapshot {
        name: class.name().to_owned(),
        kind: class.kind(),
        declared_at: class.declared_at().into(),
        instances: still.instances(),
        unmatched: still.unmatched(),
        clock_anomalies: still.clock_anomalies(),
        write: mode(Mode::Write),
        read: mode(Mode::Read),
        upgradable: mode(Mode::Upgradable),
        nested,
        sleep: SleepSnapshot {
            waits: asleep.releases() + holding[Activity::Sleep as usize].count,
            timeouts: asleep.timeouts,
            time: distribution(&scratch.hold),
        },
        call_sites,
        blame: Blame::sorted(&still.pairs().iter().map(blame).collect::<Vec<_>>()),
        hand_over_ns,
        // Every lock that is waited for has a watch of its own.
        unblamed: 0,
    }
}

fn entry(
    class: &LockClass,
    mode: Mode,
    state: InFlightState,
    site: Option<Site>,
    thread: Option<&str>,
    since: u64,
) -> InFlight {
    // What is not timed has no stamp, and what began a moment ago one that is later than this.
    let age = if since == stats::UNTIMED_START {
        None
    } else {
        clock::nanoseconds(since, clock::now())
    };
    InFlight {
        lock: class.name().to_owned(),
        mode,
        state,
        location: Location::of_site(site),
        thread: thread.map(str::to_owned),
        age: Duration::from_nanos(age.unwrap_or(0)),
    }
}

fn mode_snapshot(totals: &ActivityTotals, holding: &Holding, scratch: &Scratch) -> ModeSnapshot {
    let releases = totals.releases();
    ModeSnapshot {
        acquisitions: releases + holding.count,
        try_failures: totals.try_failures,
        timeouts: totals.timeouts,
        releases,
        bounces: totals.bounces + holding.bounces,
        contended_bounces: totals.contended_bounces,
        hold: distribution(&scratch.hold),
        blocked: distribution(&scratch.blocked),
        wait: Distribution::default(),
    }
    .with_wait()
}

fn add_call_sites(all: &mut Vec<CallSite>, mode: Mode, totals: &ActivityTotals, holding: &Holding) {
    let first = all.len();
    // The compiler may have kept several locations for a line.
    let mut add = |row: CallSite| match all[first..].iter_mut().find(|known| known.is_same(&row)) {
        Some(known) => *known = known.merge(&row),
        None => all.push(row),
    };
    for (site, line) in &totals.lines {
        let row = call_site(mode, *site, line, 0);
        if !row.is_empty() {
            add(row);
        }
    }
    for &(site, in_flight) in &holding.lines {
        add(call_site(mode, site, &LineFigures::default(), in_flight));
    }
}

fn call_site(mode: Mode, site: Option<Site>, line: &LineFigures, in_flight: u64) -> CallSite {
    CallSite {
        location: Location::of_site(site),
        mode,
        acquisitions: line.releases + in_flight,
        releases: line.releases,
        contended: line.contended,
        blocked_total_ns: line.blocked_total,
        blocked_max_ns: line.blocked_max,
        hold_total_ns: line.hold_total,
        hold_max_ns: line.hold_max,
        blame_ns: line.blame,
    }
}

fn blame(pair: &Pair) -> Blame {
    Blame {
        waiter: Location::of_site(pair.waiter),
        holder: Location::of_site(pair.holder),
        waits: pair.waits,
        total_ns: pair.total,
    }
}

/// What has been added up, as plain data.
pub(crate) fn distribution(totals: &Totals) -> Distribution {
    let some = |ns| (totals.count > 0).then_some(ns);
    Distribution {
        count: totals.count,
        sum_ns: totals.sum,
        sum_of_squares_ns2: totals.squares,
        min_ns: some(totals.min),
        max_ns: some(totals.max),
        buckets: totals.buckets().collect(),
    }
}
