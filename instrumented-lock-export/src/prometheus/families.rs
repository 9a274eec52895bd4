//! Which families there are, and what is in them.

use super::series::{OTHER, Series};
use super::sink::{Kind, Sink};
use super::{instances, operations};
use instrumented_lock::{CallSite, LockSnapshot, ModeSnapshot, Snapshot};
use std::collections::BTreeMap;
use std::time::Duration;

/// A mode of a class that has been used, and its labels.
struct Used<'a, L> {
    labels: L,
    mode: &'a ModeSnapshot,
}

/// A class that has been used, and its labels.
struct Class<'a, L> {
    labels: L,
    lock: &'a LockSnapshot,
    modes: Vec<Used<'a, L>>,
}

impl<'a, L: Clone + Default> Class<'a, L> {
    fn new<S: Sink<'a, Labels = L>>(lock: &'a LockSnapshot) -> Self {
        let mut labels = L::default();
        S::label(&mut labels, "lock", lock.name());
        S::label(&mut labels, "kind", &lock.kind().to_string());
        let used = lock.modes().filter(|(_, mode)| is_used(mode));
        let modes = used.map(|(name, mode)| {
            let mut labels = labels.clone();
            S::label(&mut labels, "mode", &name.to_string());
            Used { labels, mode }
        });
        Class {
            modes: modes.collect(),
            labels,
            lock,
        }
    }
}

fn is_used(mode: &ModeSnapshot) -> bool {
    let counts = [
        mode.acquisitions(),
        mode.try_failures(),
        mode.timeouts(),
        mode.holding().count(),
        mode.waiting().count(),
    ];
    counts.into_iter().any(|n| n > 0)
}

fn sleeps(lock: &LockSnapshot) -> bool {
    lock.sleep().waits() > 0
}

/// Gives all of them to a format.
pub(super) fn write<'a, S: Sink<'a>>(out: &mut S, snapshot: &'a Snapshot, series: &Series) {
    let classes: Vec<_> = snapshot
        .locks()
        .iter()
        .map(Class::new::<S>)
        .filter(|class| !class.modes.is_empty() || sleeps(class.lock))
        .collect();
    histograms(out, &classes);
    counters(out, &classes);
    lines(out, &classes, series);
    instances::write(out, snapshot, series);
    operations::write(out, snapshot, series);
    gauges(out, &classes);
    out.family("recording", Kind::Gauge, "Whether recording is on.");
    out.sample(&S::Labels::default(), u64::from(snapshot.is_enabled()));
}

fn histograms<'a, S: Sink<'a>>(out: &mut S, classes: &[Class<'a, S::Labels>]) {
    let help = "How long acquisitions waited for the lock, an immediate one counting 0.";
    out.family("wait_seconds", Kind::Histogram, help);
    for used in modes(classes) {
        out.histogram(&used.labels, used.mode.wait());
    }
    let help = "How long the lock was held, over holds that have ended.";
    out.family("hold_seconds", Kind::Histogram, help);
    for used in modes(classes) {
        out.histogram(&used.labels, used.mode.hold());
    }
    let help = "How long threads slept in a condition variable.";
    out.family("sleep_seconds", Kind::Histogram, help);
    for class in classes.iter().filter(|class| sleeps(class.lock)) {
        out.histogram(&class.labels, class.lock.sleep().time());
    }
}

fn modes<'b, 'a, L>(classes: &'b [Class<'a, L>]) -> impl Iterator<Item = &'b Used<'a, L>> {
    classes.iter().flat_map(|class| &class.modes)
}

/// A counter that is shown at 0 too, or from the first time on.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    Always,
    OnceThereIsOne,
}

type Count = fn(&ModeSnapshot) -> u64;
type Time = fn(&ModeSnapshot) -> Duration;
type OfLine = fn(&CallSite) -> Duration;

fn counters<'a, S: Sink<'a>>(out: &mut S, classes: &[Class<'a, S::Labels>]) {
    let families: [(&'static str, &'static str, Count, Shown); 5] = [
        (
            "acquisitions",
            "Acquisitions.",
            ModeSnapshot::acquisitions,
            Shown::Always,
        ),
        (
            "contended",
            "Acquisitions that had to block.",
            ModeSnapshot::contended,
            Shown::Always,
        ),
        (
            "try_failures",
            "Attempts that gave up at once.",
            ModeSnapshot::try_failures,
            Shown::OnceThereIsOne,
        ),
        (
            "timeouts",
            "Attempts that gave up when their time was over.",
            ModeSnapshot::timeouts,
            Shown::OnceThereIsOne,
        ),
        (
            "bounces",
            "Acquisitions by another thread than the one that had the lock last.",
            ModeSnapshot::bounces,
            Shown::Always,
        ),
    ];
    for (name, help, count, shown) in families {
        out.family(name, Kind::Counter, help);
        for used in modes(classes) {
            let n = count(used.mode);
            if n > 0 || shown == Shown::Always {
                out.sample(&used.labels, n);
            }
        }
    }
    let help = "How long acquisitions waited while the lock was free.";
    out.family("hand_over_seconds", Kind::Counter, help);
    for class in classes {
        out.time(&class.labels, class.lock.hand_over());
    }
}

fn lines<'a, S: Sink<'a>>(out: &mut S, classes: &[Class<'a, S::Labels>], series: &Series) {
    let families: [(&'static str, &'static str, OfLine); 2] = [
        (
            "site_wait_seconds",
            "How long acquisitions waited, by the line that waited.",
            CallSite::blocked_total,
        ),
        (
            "blame_seconds",
            "How long others waited, by the line that held the lock meanwhile.",
            CallSite::blame,
        ),
    ];
    for (name, help, time) in families {
        out.family(name, Kind::Counter, help);
        for class in classes {
            // A line is one series, also where the snapshot has several rows for it.
            let mut rows = BTreeMap::<_, Duration>::new();
            for site in class.lock.call_sites() {
                let time = time(site);
                let known = series.line(class.lock, site);
                if known.is_some() || !time.is_zero() {
                    let site_label = known.unwrap_or_else(|| OTHER.to_owned());
                    let sum = rows.entry((site.mode(), site_label)).or_default();
                    *sum = sum.saturating_add(time);
                }
            }
            for ((mode, site), time) in rows {
                let mut labels = class.labels.clone();
                S::label(&mut labels, "mode", &mode.to_string());
                S::label(&mut labels, "site", &site);
                out.time(&labels, time);
            }
        }
    }
}

fn gauges<'a, S: Sink<'a>>(out: &mut S, classes: &[Class<'a, S::Labels>]) {
    let counts: [(&'static str, &'static str, Count); 2] = [
        ("waiting", "Who waits for the lock now.", |mode| {
            mode.waiting().count()
        }),
        ("holding", "Who holds the lock now.", |mode| {
            mode.holding().count()
        }),
    ];
    for (name, help, count) in counts {
        out.family(name, Kind::Gauge, help);
        for used in modes(classes) {
            out.sample(&used.labels, count(used.mode));
        }
    }
    let times: [(&'static str, &'static str, Time); 2] = [
        (
            "longest_wait_seconds",
            "For how long the first of those who wait now has been waiting.",
            |mode| mode.waiting().longest(),
        ),
        (
            "longest_hold_seconds",
            "For how long the first of those who hold the lock now has been holding it.",
            |mode| mode.holding().longest(),
        ),
    ];
    for (name, help, time) in times {
        out.family(name, Kind::Gauge, help);
        for used in modes(classes) {
            let time = time(used.mode);
            if !time.is_zero() {
                out.time(&used.labels, time);
            }
        }
    }
    let help = "Who sleeps in a condition variable now.";
    out.family("sleeping", Kind::Gauge, help);
    for class in classes.iter().filter(|class| sleeps(class.lock)) {
        out.sample(&class.labels, class.lock.sleep().asleep().count());
    }
    let help = "Locks that have been used and not been dropped.";
    out.family("live_locks", Kind::Gauge, help);
    for class in classes {
        out.sample(&class.labels, class.lock.instances());
    }
}
