//! Collecting a snapshot: from what threads have in their logs and classes in their figures to plain
//! data.
//!
//! First every log is folded as far as its records have ended. Then one class after the other is made to
//! stand still: nothing is folded into it while its figures are copied and its holds in flight counted,
//! in the logs that had any. So each acquisition is seen once, in flight or in the figures, whatever its
//! thread does meanwhile; that is what the identities of a snapshot rest on.

use crate::brief::Inside;
use crate::class::LockClass;
use crate::classes;
use crate::clock;
use crate::mode::{Activity, Mode};
use crate::nesting;
use crate::operation;
use crate::processors;
use crate::settings;
use crate::snapshot::{
    Blame, CallSite, Distribution, InFlight, InFlightState, InFlightTotals, InstanceSnapshot, Load,
    Location, LockSnapshot, ModeSnapshot, OTHER_LOCKS, OperationLock, OperationSnapshot,
    SleepSnapshot, Snapshot, sorted_instances,
};
use crate::stacks;
use crate::stats::{
    self, ActivityTotals, Bits, Kind, LineFigures, Page, Pair, Reading, Scratch, Share, Site,
    StandStill, Totals, WaitedFor,
};
use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;

/// See [`registry::snapshot`](crate::registry::snapshot).
pub(crate) fn snapshot() -> Snapshot {
    let _inside = Inside::enter();
    clock::refine();
    let begun = clock::since_start();
    let all = classes::all();
    // Before anything stands still: their names may take a while.
    let mut stacks = stacks::by_class();
    let reading = stats::read();
    let logs = Logs::new(&reading);
    let mut in_flight = Vec::new();
    let mut scratch = Scratch::new();
    let locks = all
        .into_iter()
        .map(|class| LockSnapshot {
            stacks: stacks.remove(&ptr::from_ref(class)).unwrap_or_default(),
            ..lock(class, &logs, &mut scratch, &mut in_flight)
        })
        .collect();
    let operations = operations(&reading);
    let used_for = clock::nanoseconds(0, reading.used_for()).unwrap_or(0);
    drop(reading);
    in_flight.sort_by_key(|entry: &InFlight| std::cmp::Reverse(entry.age()));
    let compiled_out = cfg!(not(feature = "stats")).then(|| {
        "recording is not compiled in; turn on the feature `stats` of instrumented-lock".to_owned()
    });
    Snapshot::new(
        (begun, clock::since_start()),
        cfg!(feature = "stats") && !settings::current().is_off,
        settings::environment_error()
            .into_iter()
            .chain(compiled_out)
            .chain(settings::missing_stacks(settings::current().stacks).map(str::to_owned))
            .collect(),
        locks,
        in_flight,
        nesting::order(),
    )
    .with_operations(operations)
    .with_dropped_stacks(stacks::dropped())
    .with_load(Load {
        threads_ns: used_for,
        processor_ns: u64::try_from(processors::time().as_nanos()).unwrap_or(u64::MAX),
        processors: processors::count(),
    })
}

/// What operations have had.
fn operations(reading: &Reading) -> Vec<OperationSnapshot> {
    let (opened, rows) = reading.operations();
    let names = operation::names();
    let name_of = |number: usize| {
        let place = number.checked_sub(1);
        place
            .and_then(|place| names.get(place))
            .copied()
            .unwrap_or(operation::OTHER)
    };
    let opened = opened.into_iter().enumerate().skip(1);
    let mut operations: Vec<_> = opened
        .map(|(number, opened)| OperationSnapshot {
            name: name_of(number).to_owned(),
            opened,
            locks: Vec::new(),
        })
        .collect();
    for row in rows {
        let number = usize::from(row.scope.operation());
        let Some(operation) = number.checked_sub(1).and_then(|i| operations.get_mut(i)) else {
            continue;
        };
        let lock = match row.class {
            stats::OTHER_CLASSES => OTHER_LOCKS,
            class => LockClass::of_record(class).name(),
        };
        // Two classes may claim one name.
        operation.add(operation_lock(lock, &row.share));
    }
    operations
}

fn operation_lock(lock: &str, share: &Share) -> OperationLock {
    OperationLock {
        lock: lock.to_owned(),
        acquisitions: share.acquisitions,
        hold_total_ns: share.held,
        hold_max_ns: share.held_max,
        contended: share.contended,
        gave_up: share.gave_up,
        waited_ns: share.waited,
        waited_max_ns: share.waited_max,
        blame_ns: share.blame,
    }
}

/// Which pages of logs have anything in flight, by the class that it is of.
struct Logs(HashMap<usize, Vec<&'static Page>>);

impl Logs {
    fn new(reading: &Reading) -> Self {
        let mut all = HashMap::<usize, Vec<&'static Page>>::new();
        for &page in &reading.pages {
            let (waiting, records) = page.in_flight();
            let waits_for = waiting.map(|waiting| waiting.what);
            let whats = Bits(records).map(|index| page.record(index).what());
            for what in whats.chain(waits_for) {
                let pages = all.entry(stats::class_of(what)).or_default();
                if !pages.last().is_some_and(|last| ptr::eq(*last, page)) {
                    pages.push(page);
                }
            }
        }
        Logs(all)
    }

    /// What is in flight of a class that stands still.
    fn in_flight(&self, class: &'static LockClass) -> ClassInFlight {
        let address = ptr::from_ref(&class.stats).addr();
        let mut seen = ClassInFlight {
            entries: Vec::new(),
            waited: [0; 4],
        };
        for &page in self.0.get(&address).into_iter().flatten() {
            let (waiting, records) = page.in_flight();
            let of_class = |what| stats::class_of(what) == address;
            for index in Bits(records).filter(|&index| of_class(page.record(index).what())) {
                seen.add_record(page, index);
            }
            if let Some(waiting) = waiting.filter(|waiting| of_class(waiting.what)) {
                seen.entries.push(Seen {
                    state: InFlightState::Waiting,
                    what: waiting.what,
                    line: waiting.site,
                    since: waiting.since,
                    thread: task_of(page, waiting.record, waiting.what)
                        .or_else(|| page.owner.name()),
                });
            }
        }
        seen
    }
}

/// What is in flight of a class, as the logs have it.
struct ClassInFlight {
    entries: Vec<Seen>,
    /// What waits have lasted that are over and not in the figures yet; nanoseconds, by activity.
    waited: [u64; 4],
}

/// A lock that is waited for or held.
struct Seen {
    state: InFlightState,
    what: usize,
    line: usize,
    since: u64,
    thread: Option<Arc<str>>,
}

impl ClassInFlight {
    fn add_record(&mut self, page: &Page, index: u32) {
        let record = page.record(index);
        let what = record.what();
        match stats::kind_of(what) {
            Kind::Hold => self.entries.push(Seen {
                state: InFlightState::Holding,
                what,
                line: record.site(),
                since: record.start(),
                thread: task_of(page, index, what)
                    .or_else(|| page.owner.name().filter(|_| !page.owner.has_ended(index))),
            }),
            Kind::Waited | Kind::TimedOut if record.start() != stats::UNTIMED_START => {
                let end = record.end().unwrap_or(0);
                let ns = clock::nanoseconds(record.start(), end).unwrap_or(0);
                let waited = &mut self.waited[stats::activity_of(what) as usize];
                *waited = waited.saturating_add(ns);
            }
            _ => {}
        }
    }
}

/// The name of the task whose hold or wait this record is, where the lock is one for tasks.
fn task_of(page: &Page, index: u32, what: usize) -> Option<Arc<str>> {
    let task = stats::tasks::get(page, index)?;
    let is_async = LockClass::of_record(what).kind().is_async();
    is_async.then(|| Arc::from(stats::tasks::name(task)))
}

/// What is in flight of one mode.
#[derive(Default)]
struct ModeInFlight {
    holding: InFlightTotals,
    waiting: InFlightTotals,
    bounces: u64,
    /// How much of what is held, by line.
    lines: Vec<(Option<Site>, u64)>,
    /// What waits have lasted that are over and not in the figures yet; nanoseconds.
    waited: u64,
}

impl ModeInFlight {
    fn add(&mut self, seen: &Seen, age_ns: Option<u64>) {
        if seen.state == InFlightState::Waiting {
            self.waiting.add(age_ns);
            return;
        }
        self.holding.add(age_ns);
        self.bounces += u64::from(seen.what & stats::BOUNCED != 0);
        let site = stats::site_of(seen.line);
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
    let still = class.stats.stand_still();
    let seen = logs.in_flight(class);
    // After all that has been seen has begun or ended. Where nothing has, the clock may not have been settled
    // yet, and is not by a snapshot: a mock may still come.
    let now = seen.entries.first().map_or(0, |_| clock::now());
    let mut of_activity = seen.waited.map(|waited| ModeInFlight {
        waited,
        ..ModeInFlight::default()
    });
    for seen in &seen.entries {
        // What is not timed has no stamp; who moves the mock clock of one thread may have a later one.
        let is_timed = seen.since != stats::UNTIMED_START;
        let age_ns = is_timed.then(|| clock::nanoseconds(seen.since, now).unwrap_or(0));
        let activity = stats::activity_of(seen.what);
        of_activity[activity as usize].add(seen, age_ns);
        if let Some(mode) = activity.mode() {
            in_flight.push(InFlight {
                lock: class.name().to_owned(),
                mode,
                state: seen.state,
                location: Location::of_site(stats::site_of(seen.line), class.declared_at()),
                thread: seen.thread.as_deref().map(str::to_owned),
                age_ns,
            });
        }
    }
    let mut call_sites = Vec::new();
    let (mut nested, mut hand_over_ns) = (0, 0u64);
    let mut modes = [Mode::Write, Mode::Read, Mode::Upgradable].map(|mode| {
        let activity = Activity::from(mode);
        let totals = still.of(activity, scratch);
        let in_flight = &of_activity[activity as usize];
        add_call_sites(&mut call_sites, class, mode, &totals, in_flight);
        nested += totals.nested;
        hand_over_ns = hand_over_ns.saturating_add(totals.hand_over);
        Some(mode_snapshot(&totals, in_flight, scratch))
    });
    CallSite::sort(&mut call_sites);
    let mut mode = |mode: Mode| modes[mode as usize].take().unwrap_or_default();
    let sleeps = still.of(Activity::Sleep, scratch);
    let asleep = of_activity[Activity::Sleep as usize].holding;
    LockSnapshot {
        name: class.name().to_owned(),
        kind: class.kind(),
        declared_at: Location::of_declaration(class.declared_at()),
        instances: still.instances(),
        gone: still.gone(),
        unmatched: still.unmatched(),
        clock_anomalies: still.clock_anomalies(),
        write: mode(Mode::Write),
        read: mode(Mode::Read),
        upgradable: mode(Mode::Upgradable),
        nested,
        sleep: SleepSnapshot {
            waits: sleeps.releases() + asleep.count,
            timeouts: sleeps.timeouts,
            asleep,
            time: distribution(&scratch.hold),
        },
        call_sites,
        blame: Blame::sorted(&pairs(class, &still.pairs())),
        waited_for: waited_for(&still),
        stacks: Vec::new(),
        hand_over_ns,
        // Every lock that is waited for has a watch of its own.
        unblamed: 0,
    }
}

/// Which locks were waited for.
fn waited_for(still: &StandStill<'_>) -> Vec<InstanceSnapshot> {
    let row = |waited_for: WaitedFor| InstanceSnapshot {
        label: None,
        address: 0,
        number: 0,
        is_gone: false,
        contended: waited_for.contended,
        blocked_ns: waited_for.blocked,
        blocked_max_ns: waited_for.blocked_max,
        blame_ns: waited_for.blame,
    };
    let (places, others) = still.waited_for();
    let told_apart = places.into_iter().map(|place| InstanceSnapshot {
        label: place.label.as_deref().map(str::to_owned),
        address: place.address as u64,
        number: u64::from(place.instance.to_bits()),
        is_gone: place.is_gone,
        ..row(place.waited_for)
    });
    sorted_instances(&told_apart.chain([row(others)]).collect::<Vec<_>>())
}

fn mode_snapshot(
    totals: &ActivityTotals,
    in_flight: &ModeInFlight,
    scratch: &Scratch,
) -> ModeSnapshot {
    let releases = totals.releases();
    let blocked = u64::try_from(scratch.blocked.sum).unwrap_or(u64::MAX);
    let beside = [
        totals.gave_up_after,
        in_flight.waited,
        in_flight.waiting.total_ns,
    ];
    let beside = beside.into_iter().fold(0, u64::saturating_add);
    ModeSnapshot {
        acquisitions: releases + in_flight.holding.count,
        try_failures: totals.try_failures,
        timeouts: totals.timeouts,
        releases,
        bounces: totals.bounces + in_flight.bounces,
        contended_bounces: totals.contended_bounces,
        holding: in_flight.holding,
        waiting: in_flight.waiting,
        waited_ns: (beside > 0).then(|| blocked.saturating_add(beside)),
        waited_before_ns: 0,
        hold: distribution(&scratch.hold),
        blocked: distribution(&scratch.blocked),
        wait: Distribution::default(),
    }
    .with_wait()
}

fn add_call_sites(
    all: &mut Vec<CallSite>,
    class: &LockClass,
    mode: Mode,
    totals: &ActivityTotals,
    in_flight: &ModeInFlight,
) {
    let first = all.len();
    // The compiler may have kept several locations for a line.
    let mut add = |row: CallSite| match all[first..].iter_mut().find(|known| known.is_same(&row)) {
        Some(known) => *known = known.merge(&row),
        None => all.push(row),
    };
    for (site, line) in &totals.lines {
        let row = call_site(class, mode, *site, line, 0);
        if !row.is_empty() {
            add(row);
        }
    }
    for &(site, holding) in &in_flight.lines {
        add(call_site(
            class,
            mode,
            site,
            &LineFigures::default(),
            holding,
        ));
    }
}

fn call_site(
    class: &LockClass,
    mode: Mode,
    site: Option<Site>,
    line: &LineFigures,
    in_flight: u64,
) -> CallSite {
    CallSite {
        location: Location::of_site(site, class.declared_at()),
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

fn pairs(class: &LockClass, pairs: &[Pair]) -> Vec<Blame> {
    let line = |site| Location::of_site(site, class.declared_at());
    let blame = |pair: &Pair| Blame {
        waiter: line(pair.waiter),
        holder: line(pair.holder),
        waits: pair.waits,
        total_ns: pair.total,
    };
    pairs.iter().map(blame).collect()
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
