//! Threads that wait for each other: [`find`] names them, with what each has and waits for.
//!
//! A thread waits for a lock, somebody has that and waits for another one, and so on until somebody waits for
//! what the first one has: none of them ever goes on. Here that is found among all locks of this library, in
//! whatever modes, also where nobody prepared for it; [`watch`](crate::watch) looks on its own.
//!
//! ```
//! use instrumented_lock::deadlock;
//!
//! for deadlock in deadlock::find() {
//!     eprintln!("{deadlock}");
//! }
//! ```
//!
//! # What is seen
//!
//! Every wait in progress, and who has the lock: exclusive holders always. Of readers all are seen while the
//! [order](crate::order) of locks is followed; otherwise the last one that is known. A wait with a time limit
//! counts as one without. Where a guard was sent to another thread, the thread that acquired the lock is taken
//! for the one that has it. A future or task is no thread: what it holds belongs to the thread that acquired.
//!
//! # Cost
//!
//! Nothing until somebody asks; then some microseconds for each thread that waits, and, only if threads are
//! found that wait for each other, a second look a little later: they are reported if nothing has changed.

use crate::brief::Inside;
use crate::class::LockClass;
use crate::clock;
use crate::mode::{Activity, Mode};
use crate::snapshot::Location;
use crate::stats::{self, HeldLocks, Holder, Page, Record, Watch};
use std::collections::HashSet;
use std::fmt;
use std::ptr;
use std::thread;
use std::time::Duration;

/// How long it is from the first look to the second.
const A_LITTLE_LATER: Duration = Duration::from_millis(10);

/// Threads that wait for each other for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    threads: Vec<StuckThread>,
}

/// A thread of a [`Deadlock`]: what it waits for, and who has that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckThread {
    thread: Option<String>,
    lock: String,
    mode: Mode,
    location: Location,
    waiting: Duration,
    holder: Option<String>,
    has_ended: bool,
    held: Mode,
    held_at: Location,
    held_for: Option<Duration>,
}

impl Deadlock {
    /// The threads: each waits for what the next one has, the last for what the first has. One thread alone
    /// waits for itself, or for a thread that [has ended](StuckThread::holder_has_ended).
    pub fn threads(&self) -> &[StuckThread] {
        &self.threads
    }

    /// Whether both are of the same threads at the same lines, whichever comes first.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let keys = |of: &Self| {
            let key = |it: &StuckThread| (it.thread.clone(), it.lock.clone(), it.location.clone());
            of.threads.iter().map(key).collect::<HashSet<_>>()
        };
        keys(self) == keys(other)
    }
}

impl StuckThread {
    /// Its name, if it has one.
    pub fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    /// The lock that it waits for.
    pub fn lock(&self) -> &str {
        &self.lock
    }

    /// How it wants to have it.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The line that waits.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// For how long it has waited.
    pub fn waiting(&self) -> Duration {
        self.waiting
    }

    /// The name of the thread that has the lock, if it has one.
    pub fn holder(&self) -> Option<&str> {
        self.holder.as_deref()
    }

    /// Whether that thread has ended and forgotten its guard: nobody will ever let go of the lock.
    pub fn holder_has_ended(&self) -> bool {
        self.has_ended
    }

    /// How that thread has the lock.
    pub fn held(&self) -> Mode {
        self.held
    }

    /// The line that had acquired it.
    pub fn held_at(&self) -> &Location {
        &self.held_at
    }

    /// For how long it has been held; `None` where that hold is not timed.
    pub fn held_for(&self) -> Option<Duration> {
        self.held_for
    }
}

/// One sentence, then two lines for each thread.
impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.threads[..] {
            [one] if one.has_ended => {
                f.write_str("a thread waits for a lock that a thread has which has ended:")?;
            }
            [_] => f.write_str("a thread waits for itself:")?,
            more => write!(f, "{} threads wait for each other:", more.len())?,
        }
        let name = |name: &Option<String>| match name {
            Some(name) => format!("\"{name}\""),
            None => "a thread without a name".to_owned(),
        };
        for stuck in &self.threads {
            let (lock, mode, location) = (&stuck.lock, stuck.mode, &stuck.location);
            write!(f, "\n  {} waits for {lock}", name(&stuck.thread))?;
            write!(f, " ({mode}, {location}) for {:.1?}", stuck.waiting)?;
            let holder = if stuck.has_ended {
                "a thread that has ended".to_owned()
            } else {
                name(&stuck.holder)
            };
            write!(
                f,
                "\n    held by {holder} ({}, {})",
                stuck.held, stuck.held_at
            )?;
            if let Some(held_for) = stuck.held_for {
                write!(f, " for {held_for:.1?}")?;
            }
        }
        Ok(())
    }
}

/// The deadlocks that there are now. Each thread is in one at most.
pub fn find() -> Vec<Deadlock> {
    let first = look();
    if first.is_empty() {
        return Vec::new();
    }
    thread::sleep(A_LITTLE_LATER);
    let second = look();
    let is_unchanged = |circle: &&Vec<Stuck>| first.iter().any(|before| is_same(before, circle));
    second
        .iter()
        .filter(is_unchanged)
        .map(|circle| told(circle))
        .collect()
}

/// A thread that waits, and who has what it waits for.
#[derive(Clone)]
struct Stuck {
    page: &'static Page,
    what: usize,
    site: usize,
    since: u64,
    holder: &'static Record,
}

impl Stuck {
    fn thread(&self) -> u32 {
        self.page.owner.thread()
    }

    /// The thread that has what this one waits for; `None` where that has ended.
    fn waits_for(&self) -> Option<u32> {
        let (page, index) = Page::place_of(self.holder);
        (!page.owner.has_ended(index)).then(|| page.owner.thread())
    }
}

/// Whether the same threads wait for the same, without anything having changed in between. They may be seen
/// from another one of them.
fn is_same(one: &[Stuck], other: &[Stuck]) -> bool {
    let key = |stuck: &Stuck| {
        let holder = ptr::from_ref(stuck.holder).addr();
        (stuck.thread(), stuck.since, holder, stuck.holder.start())
    };
    let keys = |of: &[Stuck]| of.iter().map(key).collect::<HashSet<_>>();
    keys(one) == keys(other)
}

/// The circles of waiting threads at this moment.
fn look() -> Vec<Vec<Stuck>> {
    let _inside = Inside::enter();
    let waits = waits();
    let mut is_told = vec![false; waits.len()];
    let mut circles = Vec::new();
    for first in 0..waits.len() {
        if is_told[first] {
            continue;
        }
        if waits[first].waits_for().is_none() {
            is_told[first] = true;
            circles.push(vec![waits[first].clone()]);
        } else if let Some(circle) = circle(&waits, first) {
            for &at in &circle {
                is_told[at] = true;
            }
            circles.push(circle.iter().map(|&at| waits[at].clone()).collect());
        }
    }
    circles
}

/// The shortest way from a wait round to itself.
fn circle(waits: &[Stuck], first: usize) -> Option<Vec<usize>> {
    let goal = waits[first].thread();
    let mut from = vec![None; waits.len()];
    let mut queue = vec![first];
    let mut done = 0;
    while let Some(&at) = queue.get(done) {
        done += 1;
        let next = waits[at].waits_for();
        if next == Some(goal) {
            let mut circle = vec![at];
            while let Some(before) = from[circle[circle.len() - 1]] {
                circle.push(before);
            }
            circle.reverse();
            return Some(circle);
        }
        for (other, stuck) in waits.iter().enumerate() {
            if Some(stuck.thread()) == next && !queue.contains(&other) {
                from[other] = Some(at);
                queue.push(other);
            }
        }
    }
    None
}

/// Every thread that waits, once for each that has what it waits for.
fn waits() -> Vec<Stuck> {
    let (pages, held) = stats::pages_and_held();
    let mut waits = Vec::new();
    for page in pages {
        let (Some(waiting), _) = page.in_flight() else {
            continue;
        };
        // SAFETY: `wait` has announced it with the address of a watch, and watches are never freed.
        let watch = unsafe { ptr::with_exposed_provenance::<Watch>(waiting.watch).as_ref() };
        let Some(watch) = watch else { continue };
        let is_of_lock = |record: &Record| {
            record.end().is_none()
                && stats::class_of(record.what()) == stats::class_of(waiting.what)
                && stats::activity_of(record.what()) != Activity::Sleep
        };
        for holder in holders(watch, &held)
            .into_iter()
            .filter(|it| is_of_lock(it))
        {
            waits.push(Stuck {
                page,
                what: waiting.what,
                site: waiting.site,
                since: waiting.since,
                holder,
            });
        }
    }
    waits
}

/// The holds of the lock that this is the watch of.
fn holders(watch: &Watch, held: &[&'static HeldLocks]) -> Vec<&'static Record> {
    let noted = held.iter().flat_map(|held| held.iter());
    let of_lock = noted.filter(|(lock, _)| *lock == watch.lock());
    let mut holders: Vec<_> = of_lock.map(|(_, record)| record).collect();
    if holders.is_empty() {
        holders.extend(Holder::from_bits(watch.holder_of_lock()).record());
    }
    holders
}

fn told(circle: &[Stuck]) -> Deadlock {
    let now = clock::now();
    let since = |start| {
        let is_timed = start != stats::UNTIMED_START;
        let ns = is_timed.then(|| clock::nanoseconds(start, now).unwrap_or(0));
        ns.map(Duration::from_nanos)
    };
    let threads = circle.iter().map(|stuck| {
        let class = LockClass::of_record(stuck.what);
        let (page, index) = Page::place_of(stuck.holder);
        let has_ended = page.owner.has_ended(index);
        let name = |of: &Page| of.owner.name().as_deref().map(str::to_owned);
        let place = |site| Location::of_site(stats::site_of(site), class.declared_at());
        let mode = |what| stats::activity_of(what).mode().unwrap_or(Mode::Write);
        StuckThread {
            thread: name(stuck.page),
            lock: class.name().to_owned(),
            mode: mode(stuck.what),
            location: place(stuck.site),
            waiting: since(stuck.since).unwrap_or_default(),
            holder: name(page).filter(|_| !has_ended),
            has_ended,
            held: mode(stuck.holder.what()),
            held_at: place(stuck.holder.site()),
            held_for: since(stuck.holder.start()),
        }
    });
    Deadlock {
        threads: threads.collect(),
    }
}
