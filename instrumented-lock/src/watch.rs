//! A thread that looks out for locks that are held or waited for too long, and for deadlocks.
//!
//! ```no_run
//! use instrumented_lock::watch::{self, Limits};
//! use std::time::Duration;
//!
//! let limits = Limits::of_all(Duration::from_secs(1)).and("Store::index", Duration::from_millis(50));
//! watch::start(limits)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Ten times a second it looks at what is in flight. What is held or waited for beyond its limit is said once,
//! with line, thread, age and those who wait; again when the age has doubled; and when it is over, with its
//! length. [Deadlocks](crate::deadlock) are said when they are found. On standard error, or to
//! [a function](start_with). Without any code: `INSTRUMENTED_LOCK=watch=1s`.
//!
//! With the feature `tracing` they are events of the crate of that name, with the target
//! `instrumented_lock::watch`; on standard error still, as long as the program has set no subscriber.
//!
//! | event | level | fields |
//! |---|---|---|
//! | a hold or wait beyond its limit | `WARN` | `lock`, `state` (`holding` or `waiting`), `mode`, `location`, `thread`, `age_seconds`, `waiting_threads` (their number) |
//! | the same when it is over | `INFO` | the same |
//! | a deadlock, for each of its threads | `ERROR` | `thread`, `lock`, `mode`, `location`, `waiting_seconds`, `holder`, `held_mode`, `held_at` |
//! | what was too much at once | `WARN` | `left_out` |
//!
//! # Cost
//!
//! Each look reads the log of every thread, and nothing of any class: how many classes there are does not
//! matter. Nothing is added to a lock and unlock. What lasts less than a tenth of a second may be missed, and
//! holds that are not timed are.

use crate::brief::Inside;
use crate::class::LockClass;
use crate::clock;
use crate::deadlock::{self, Deadlock};
use crate::mode::{Activity, Mode};
use crate::snapshot::{InFlightState, Location, is_named};
use crate::stats::{self, Bits, Kind, Page};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write as _};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// How often it looks.
const PERIOD: Duration = Duration::from_millis(100);

/// Reports of one look; the others are counted.
const MOST_REPORTS: usize = 16;

/// For how long locks may be held and waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    all: Duration,
    named: Vec<(String, Duration)>,
}

impl Limits {
    /// One for all locks.
    #[must_use]
    pub fn of_all(limit: Duration) -> Self {
        Limits {
            all: limit,
            named: Vec::new(),
        }
    }

    /// Another one for the locks of this name, or whose name ends with `::` and this.
    #[must_use]
    pub fn and(mut self, name: &str, limit: Duration) -> Self {
        self.named.push((name.to_owned(), limit));
        self
    }

    fn least(&self) -> Duration {
        let named = self.named.iter().map(|&(_, limit)| limit);
        named.fold(self.all, Duration::min)
    }

    fn of(&self, class: &LockClass) -> Duration {
        let named = self.named.iter().rev();
        let mut named = named.filter(|(name, _)| is_named(class.name(), name));
        named.next().map_or(self.all, |&(_, limit)| limit)
    }
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Report {
    /// A lock is held or waited for beyond its limit, or has been.
    Long(Long),
    /// Threads wait for each other.
    Deadlock(Deadlock),
    /// So many reports were left out: there were too many at once.
    LeftOut(u64),
}

/// A hold or a wait beyond its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Long {
    state: InFlightState,
    lock: String,
    mode: Mode,
    location: Location,
    thread: Option<String>,
    age: Duration,
    is_over: bool,
    waiting: Vec<Option<String>>,
}

impl Long {
    /// Whether the lock is held or waited for.
    pub fn state(&self) -> InFlightState {
        self.state
    }

    /// The name of the lock.
    pub fn lock(&self) -> &str {
        &self.lock
    }

    /// How it is held or to be had.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The line that has acquired it, or waits.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The name of the thread, if it has one.
    pub fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    /// How long it has been; how long it was at least, where it [is over](Self::is_over): up to a tenth of a
    /// second more.
    pub fn age(&self) -> Duration {
        self.age
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The names of the threads that wait for locks of this name while it is held.
    pub fn waiting(&self) -> &[Option<String>] {
        &self.waiting
    }
}

/// One line, and one more for a deadlock's threads.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let long = match self {
            Report::Long(long) => long,
            Report::Deadlock(deadlock) => return deadlock.fmt(f),
            Report::LeftOut(count) => return write!(f, "{count} more reports at the same time"),
        };
        let name = |name: Option<&str>| match name {
            Some(name) => format!("\"{name}\""),
            None => "a thread without a name".to_owned(),
        };
        let does = match (long.state, long.is_over) {
            (InFlightState::Holding, false) => "has held",
            (InFlightState::Holding, true) => "no longer holds",
            (InFlightState::Waiting, false) => "has waited for",
            (InFlightState::Waiting, true) => "no longer waits for",
        };
        write!(
            f,
            "{} {does} {} ({}, {})",
            name(long.thread()),
            long.lock,
            long.mode,
            long.location
        )?;
        if long.is_over {
            write!(f, ", after {:.1?} or a little more", long.age)?;
        } else {
            write!(f, " for {:.1?}", long.age)?;
        }
        if !long.waiting.is_empty() {
            let names = long.waiting.iter().map(|of| name(of.as_deref()));
            write!(f, "; waiting: {}", names.collect::<Vec<_>>().join(", "))?;
        }
        Ok(())
    }
}

/// How often watching has begun or ended: whoever watches for an older time stops.
static ERA: AtomicU32 = AtomicU32::new(0);

/// Begins to look, in place of whoever did so before; says what it sees on standard error, or with the feature
/// `tracing` as [events](self).
///
/// # Errors
///
/// Where no thread can be made.
pub fn start(limits: Limits) -> io::Result<()> {
    start_with(limits, |report| {
        #[cfg(feature = "tracing")]
        if tracing::dispatcher::has_been_set() {
            return emit(report);
        }
        // Nothing is to be done where it cannot be written.
        let _ = io::stderr().write_all(format!("instrumented-lock: {report}\n").as_bytes());
    })
}

/// A report as events.
#[cfg(feature = "tracing")]
fn emit(report: &Report) {
    const TARGET: &str = "instrumented_lock::watch";
    let seconds = |time: Duration| time.as_secs_f64();
    match report {
        Report::Long(long) => {
            let is_hold = long.state == InFlightState::Holding;
            let state = if is_hold { "holding" } else { "waiting" };
            macro_rules! emit {
                ($level:ident, $message:literal) => {
                    tracing::$level!(
                        target: TARGET,
                        lock = long.lock(),
                        state,
                        mode = %long.mode,
                        location = %long.location,
                        thread = long.thread(),
                        age_seconds = seconds(long.age),
                        waiting_threads = long.waiting.len(),
                        $message,
                    )
                };
            }
            match (is_hold, long.is_over) {
                (true, false) => emit!(warn, "a lock is held for long"),
                (true, true) => emit!(info, "a lock is no longer held"),
                (false, false) => emit!(warn, "a lock is waited for for long"),
                (false, true) => emit!(info, "a lock is no longer waited for"),
            }
        }
        Report::Deadlock(deadlock) => {
            for stuck in deadlock.threads() {
                tracing::error!(
                    target: TARGET,
                    thread = stuck.thread(),
                    lock = stuck.lock(),
                    mode = %stuck.mode(),
                    location = %stuck.location(),
                    waiting_seconds = seconds(stuck.waiting()),
                    holder = stuck.holder(),
                    held_mode = %stuck.held(),
                    held_at = %stuck.held_at(),
                    "threads wait for each other",
                );
            }
        }
        &Report::LeftOut(left_out) => {
            tracing::warn!(target: TARGET, left_out, "more reports at the same time");
        }
    }
}

/// Begins to look, in place of whoever did so before; calls `say` with what it sees, on a thread of its own.
///
/// # Errors
///
/// Where no thread can be made.
pub fn start_with(limits: Limits, mut say: impl FnMut(&Report) + Send + 'static) -> io::Result<()> {
    // Relaxed, here and below: nothing else hangs on it.
    let era = ERA.fetch_add(1, Ordering::Relaxed) + 1;
    let thread = thread::Builder::new().name("instrumented-lock-watch".to_owned());
    thread.spawn(move || {
        let mut watch = Watch::new(limits);
        while ERA.load(Ordering::Relaxed) == era {
            watch.look().iter().for_each(&mut say);
            thread::sleep(PERIOD);
        }
    })?;
    Ok(())
}

/// Ends it.
pub fn stop() {
    ERA.fetch_add(1, Ordering::Relaxed);
}

/// What tells a hold or a wait from all others: its page, its record or none, its start.
type Key = (usize, Option<u32>, u64);

struct Watch {
    limits: Limits,
    /// What has been said, and at which age it is said again.
    told: HashMap<Key, (Long, Duration)>,
    deadlocks: Vec<Deadlock>,
}

impl Watch {
    fn new(limits: Limits) -> Self {
        Watch {
            limits,
            told: HashMap::new(),
            deadlocks: Vec::new(),
        }
    }

    /// What there is to be said now.
    fn look(&mut self) -> Vec<Report> {
        let mut reports = self.look_at_all();
        let deadlocks = deadlock::find();
        let is_new = |found: &&Deadlock| !self.deadlocks.iter().any(|known| known.is_same(found));
        let new = deadlocks.iter().filter(is_new).cloned();
        reports.extend(new.map(Report::Deadlock));
        self.deadlocks = deadlocks;
        let left_out = reports.len().saturating_sub(MOST_REPORTS);
        // Deadlocks come last and are kept.
        reports.drain(..left_out);
        if left_out > 0 {
            reports.push(Report::LeftOut(left_out as u64));
        }
        reports
    }

    fn look_at_all(&mut self) -> Vec<Report> {
        let _inside = Inside::enter();
        let (pages, _) = stats::pages_and_held();
        let now = clock::now();
        let mut waiting = HashMap::<usize, Vec<Option<String>>>::new();
        let mut seen = Vec::new();
        for page in pages {
            let (waits, records) = page.in_flight();
            if let Some(waits) = waits {
                let threads = waiting.entry(stats::class_of(waits.what)).or_default();
                threads.push(name_of(page));
                seen.push((page, None, waits.what, waits.site, waits.since));
            }
            for index in Bits(records) {
                let record = page.record(index);
                let is_hold = stats::kind_of(record.what()) == Kind::Hold
                    && stats::activity_of(record.what()) != Activity::Sleep
                    && record.start() != stats::UNTIMED_START
                    && record.end().is_none();
                if is_hold {
                    let (what, site) = (record.what(), record.site());
                    seen.push((page, Some(index), what, site, record.start()));
                }
            }
        }
        let mut reports = Vec::new();
        let mut told = HashMap::new();
        for (page, index, what, site, since) in seen {
            let age = Duration::from_nanos(clock::nanoseconds(since, now).unwrap_or(0));
            if age < self.limits.least() {
                continue;
            }
            let class = LockClass::of_record(what);
            let limit = self.limits.of(class);
            if age < limit {
                continue;
            }
            let key = (ptr::from_ref(page).addr(), index, since);
            let before = self.told.remove(&key);
            let is_due = before.as_ref().is_none_or(|&(_, next)| age >= next);
            let waits_for_it = index.and_then(|_| waiting.get(&stats::class_of(what)));
            let long = Long {
                state: index.map_or(InFlightState::Waiting, |_| InFlightState::Holding),
                lock: class.name().to_owned(),
                mode: stats::activity_of(what).mode().unwrap_or(Mode::Write),
                location: Location::of_site(stats::site_of(site), class.declared_at()),
                thread: name_of(page),
                age,
                is_over: false,
                waiting: waits_for_it.cloned().unwrap_or_default(),
            };
            let next = before.map_or(age * 2, |(_, next)| if is_due { age * 2 } else { next });
            if is_due {
                reports.push(Report::Long(long.clone()));
            }
            told.insert(key, (long, next));
        }
        // What is not seen any more is over.
        let over = std::mem::replace(&mut self.told, told).into_values();
        reports.extend(over.map(|(long, _)| {
            Report::Long(Long {
                is_over: true,
                waiting: Vec::new(),
                ..long
            })
        }));
        reports
    }
}

fn name_of(page: &Page) -> Option<String> {
    page.owner.name().as_deref().map(str::to_owned)
}
