//! What a [timeline](crate::timeline) takes from the logs while they are folded: waits and holds, each with
//! its stamps. Nothing is recorded for it: as long as somebody records, a fold copies what it adds up anyway, as far
//! as there is [room](Room).

use super::apportion::{Ended, Holds};
use super::kept::{Choice, Room, scrambled};
use super::log::{Bits, Page, Record, below};
use super::record::{
    Kind, UNTIMED_START, activity_of, class_of, holder_word, kind_of, without_operation,
};
use super::tasks;
use crate::brief;
use crate::clock::Scale;
use crate::mode::Activity;
use parking_lot::Mutex;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

pub(crate) use super::kept::Taken;

/// Holds that are kept, and waits: 8 MiB and 4 MiB. As a trace some 40 MB, which a viewer opens within some
/// seconds.
const HOLDS: usize = 1 << 17;
const WAITS: usize = 1 << 16;

/// Names of threads that end meanwhile; further ones have a number only.
const NAMES: usize = 4096;

/// Who records; null where nobody does. It is changed by who begins or ends to record, in a child of `fork` also
/// by that, and what it leads to is freed when no fold can have it any more: see [`Taking::turn_off`].
static TAKEN_BY: AtomicPtr<Events> = AtomicPtr::new(ptr::null_mut());

/// Whether events are taken.
#[inline(always)]
pub(super) fn are_taken() -> bool {
    // Relaxed: who then uses it loads it again. It is seen soon that somebody records, and by whoever locks a page
    // after `turn_off` that nobody does.
    !TAKEN_BY.load(Ordering::Relaxed).is_null()
}

/// For who has a page locked.
fn current() -> Option<&'static Events> {
    // Acquire: pairs with the release in `begin`.
    let events = TAKEN_BY.load(Ordering::Acquire);
    // SAFETY: null, or made by `begin`, and freed only when every page has been locked since nobody finds it here
    // any more; the caller has one locked.
    unsafe { events.as_ref() }
}

/// All that is taken.
struct Events {
    /// What has ended before this stamp is of no interest.
    since: u64,
    holds: Room,
    waits: Room,
    /// Holds that were not timed.
    untimed: AtomicU64,
    /// The names of threads that have ended, with their numbers. Never more than there is room for.
    names: Mutex<Vec<(u32, Arc<str>)>>,
}

/// All that has been taken.
pub(crate) struct AllTaken {
    pub(crate) holds: Vec<Taken>,
    pub(crate) waits: Vec<Taken>,
    /// How many there were; of holds without those that were not timed.
    pub(crate) holds_seen: u64,
    pub(crate) waits_seen: u64,
    pub(crate) untimed: u64,
    /// Nearly all holds of as many nanoseconds were kept; 0 where all were.
    pub(crate) bar: u64,
    /// The names of threads that have ended.
    pub(crate) names: Vec<(u32, Arc<str>)>,
}

/// Whoever has it is the one that records.
#[derive(Debug)]
pub(crate) struct Taking {
    events: *mut Events,
}

// SAFETY: what it points to is shared with every thread that folds anyway.
unsafe impl Send for Taking {}
// SAFETY: as above; nothing is done with a reference to it.
unsafe impl Sync for Taking {}

/// Begins to take what ends from now on, and returns the stamp too that `now` gives for that. `None` where somebody
/// records already. Allocates all that is needed, and writes to it, so that no fold has to wait for memory.
pub(crate) fn begin(now: impl FnOnce() -> u64) -> Option<(Taking, u64)> {
    if are_taken() {
        return None;
    }
    let mut events = Box::new(Events {
        since: 0,
        holds: Room::new(HOLDS),
        waits: Room::new(WAITS),
        untimed: AtomicU64::new(0),
        names: Mutex::new(Vec::with_capacity(NAMES)),
    });
    let since = now();
    events.since = since;
    let events = Box::into_raw(events);
    // Release: who finds it finds it whole.
    let begun = TAKEN_BY.compare_exchange(
        ptr::null_mut(),
        events,
        Ordering::Release,
        Ordering::Relaxed,
    );
    if begun.is_err() {
        // SAFETY: nobody else has it.
        drop(unsafe { Box::from_raw(events) });
        return None;
    }
    Some((Taking { events }, since))
}

impl Taking {
    /// Whether it goes on: in a child of `fork` it does not.
    pub(crate) fn is_on(&self) -> bool {
        ptr::eq(TAKEN_BY.load(Ordering::Relaxed), self.events)
    }

    /// No fold that begins from now on takes anything. Who has one of the pages locked may still.
    pub(crate) fn turn_off(&self) {
        // Those that are not on have been turned off already. SeqCst: before any page is locked again.
        let _ = TAKEN_BY.compare_exchange(
            self.events,
            ptr::null_mut(),
            Ordering::SeqCst,
            Ordering::Relaxed,
        );
    }

    /// What has been taken.
    ///
    /// # Safety
    ///
    /// It has been [turned off](Self::turn_off), and every page has been locked and let go since.
    pub(crate) unsafe fn end(self) -> AllTaken {
        // SAFETY: `begin` made it of a box, and nobody has it any more, as the caller says.
        let events = *unsafe { Box::from_raw(self.events) };
        let (holds_seen, bar, holds) = events.holds.kept();
        let (waits_seen, _, waits) = events.waits.kept();
        AllTaken {
            holds,
            waits,
            holds_seen,
            waits_seen,
            untimed: events.untimed.load(Ordering::Relaxed),
            bar,
            names: events.names.into_inner(),
        }
    }
}

/// In a child of `fork` nobody records. What was taken by then stays where it is.
pub(super) fn forget() {
    TAKEN_BY.store(ptr::null_mut(), Ordering::Relaxed);
}

/// The thread of this page, which the caller has locked, is about to end: its name is kept.
#[cold]
pub(super) fn note_name(page: &Page) {
    let Some(events) = current() else {
        return;
    };
    let Some(name) = page.owner.name() else {
        return;
    };
    let mut names = brief::lock(&events.names);
    // Without room it would be moved.
    if names.len() < names.capacity() {
        names.push((page.owner.thread(), name));
        return;
    }
    drop(names);
    // The name of a thread is the page's too, so nothing is freed here.
    drop(name);
}

/// Takes what has ended of the page. For who has it locked; nothing of it is consumed.
#[cold]
#[inline(never)]
pub(super) fn take<I: Iterator<Item = Holds> + Clone>(
    page: &Page,
    ended: &Ended<'_, I>,
    scale: Scale,
) {
    let Some(events) = current() else {
        return;
    };
    let first = page.record(ended.all.trailing_zeros()).start();
    let mut taking = Passing::new(events, scrambled(first));
    for holds in ended.holds.clone() {
        taking.add_all(page, &holds, |index| ended.durations[index as usize].into());
    }
    let ns = |index: u32| {
        if ended.others >> index & 1 == 0 {
            return ended.durations[index as usize].into();
        }
        let record = page.record(index);
        let end = record.end().unwrap_or(0);
        scale.nanoseconds(end.saturating_sub(record.start()))
    };
    for index in Bits(ended.others) {
        taking.add_one(page, index, ended.all, ns);
    }
    taking.take(page, ended.all, ns);
}

/// The events of a page, while it is found out which of them pass. Masks have a bit for each record.
struct Passing {
    events: &'static Events,
    of_holds: Choice,
    of_waits: Choice,
    holds: u64,
    waits: u64,
    /// Holds that were waited for: those count as long as the wait, which is in the record behind.
    waited_for: u64,
    holds_seen: u64,
    waits_seen: u64,
    untimed: u64,
}

impl Passing {
    fn new(events: &'static Events, random: u64) -> Self {
        Passing {
            events,
            of_holds: Choice::new(&events.holds, random),
            of_waits: Choice::new(&events.waits, random),
            holds: 0,
            waits: 0,
            waited_for: 0,
            holds_seen: 0,
            waits_seen: 0,
            untimed: 0,
        }
    }

    /// Adds holds that differ in their stamps only.
    fn add_all(&mut self, page: &Page, holds: &Holds, ns: impl Fn(u32) -> u64) {
        if kind_of(holds.what) != Kind::Hold {
            return;
        }
        if !is_hold(holds.what) {
            Bits(holds.timed).for_each(|index| self.add_wait(index, ns(index)));
            return;
        }
        self.untimed += u64::from(holds.untimed.count_ones());
        if self.of_holds.bar == 0 {
            let is_new = |index: &u32| page.record(*index).end() >= Some(self.events.since);
            let new = Bits(holds.timed).filter(is_new);
            let new = new.fold(0, |new, index| new | 1 << index);
            self.holds |= new;
            self.holds_seen += u64::from(new.count_ones());
            return;
        }
        self.holds_seen += u64::from(holds.timed.count_ones());
        for index in Bits(holds.timed) {
            self.holds |= u64::from(self.of_holds.passes(ns(index))) << index;
        }
    }

    fn add_wait(&mut self, index: u32, ns: u64) {
        self.waits_seen += 1;
        self.waits |= u64::from(self.of_waits.passes(ns)) << index;
    }

    /// Adds a record of any kind.
    fn add_one(&mut self, page: &Page, index: u32, ended: u64, ns: impl Fn(u32) -> u64) {
        let record = page.record(index);
        let (what, kind) = (record.what(), kind_of(record.what()));
        if record.start() == UNTIMED_START {
            self.untimed += u64::from(is_hold(what));
            return;
        }
        let end = record.end().unwrap_or(0);
        if end < self.events.since {
            return;
        }
        match kind {
            Kind::Hold if is_hold(what) => {
                self.holds_seen += 1;
                self.holds |= u64::from(self.of_holds.passes(ns(index))) << index;
            }
            Kind::Hold | Kind::TimedOut => self.add_wait(index, ns(index)),
            Kind::Waited => {
                self.add_wait(index, ns(index));
                // The hold that it led to is in the record before, if that has ended. It has another chance: so few
                // waits are there without their holds.
                let hold = ended & below(index) & !below(index.saturating_sub(1));
                let begins_there = |hold: &u32| page.record(*hold).start() == end;
                for hold in Bits(hold).filter(begins_there) {
                    self.waited_for |= 1 << hold;
                    self.holds |= u64::from(self.of_holds.passes(ns(index))) << hold;
                }
            }
            _ => {}
        }
    }

    /// Takes what passes.
    fn take(&self, page: &Page, ended: u64, ns: impl Fn(u32) -> u64) {
        let events = self.events;
        if self.untimed > 0 {
            events.untimed.fetch_add(self.untimed, Ordering::Relaxed);
        }
        let home = page.owner.home();
        events.holds.take(
            (home, self.of_holds.bar),
            self.holds_seen,
            self.holds,
            |index| {
                let is_waited_for = self.waited_for >> index & 1 == 1;
                let waited = if is_waited_for { ns(index + 1) } else { 0 };
                let ns = ns(index).max(waited);
                let holder = bit_of(holder_of_hold(page.record(index)));
                (ns, taken(page, index, (0, holder)))
            },
        );
        events.waits.take(
            (home, self.of_waits.bar),
            self.waits_seen,
            self.waits,
            |index| {
                let blamed_on = blamed_on(page, index, ended);
                (ns(index), taken(page, index, blamed_on))
            },
        );
    }
}

/// Whether it is a hold of a lock; a thread that sleeps in a condition variable is shown as a wait.
fn is_hold(what: usize) -> bool {
    kind_of(what) == Kind::Hold && activity_of(what) != Activity::Sleep
}

fn taken(page: &Page, index: u32, (holder, holders): (usize, u32)) -> Taken {
    let record = page.record(index);
    Taken {
        what: record.what(),
        site: record.site(),
        start: record.start(),
        end: record.end().unwrap_or(0),
        // What a thread has left behind may end when the page has another owner.
        thread: if page.owner.has_ended(index) {
            0
        } else {
            page.owner.thread()
        },
        task: task_of(page, index),
        holder,
        holders,
    }
}

/// What goes on in this record, which is published and has no end.
pub(crate) fn in_flight(page: &Page, index: u32) -> Taken {
    let holder = holder_of_hold(page.record(index));
    Taken {
        end: 0,
        ..taken(page, index, (0, bit_of(holder)))
    }
}

/// The task whose hold or wait this record is, if it is one of a lock for tasks.
#[expect(clippy::cast_possible_truncation, reason = "tasks are numbered from 1")]
pub(crate) fn task_of(page: &Page, index: u32) -> u32 {
    tasks::get(page, index).map_or(0, |task| task as u32)
}

fn holder_of_hold(record: &Record) -> usize {
    holder_word(record.site(), activity_of(record.what()), 0)
}

/// Which bit of [`Taken::holders`] stands for a holder, by its word. Several may have the same one.
fn bit_of(holder: usize) -> u32 {
    1 << (scrambled(without_operation(holder) as u64) >> 59)
}

/// Whom the wait in this record is blamed on: whom most, and a bit for each. They are in the records behind
/// it.
fn blamed_on(page: &Page, index: u32, ended: u64) -> (usize, u32) {
    let wait = page.record(index);
    let (mut most, mut holder, mut holders) = (0, 0, 0);
    for index in Bits(ended & !below(index + 1)) {
        let record = page.record(index);
        let is_its = kind_of(record.what()) == Kind::Blame
            && class_of(record.what()) == class_of(wait.what())
            && record.site() == wait.site();
        if !is_its {
            break;
        }
        let word = usize::try_from(record.start()).unwrap_or(0);
        let ticks = record.end().unwrap_or(0);
        if word != 0 {
            holders |= bit_of(word);
            if ticks >= most {
                (most, holder) = (ticks, word);
            }
        }
    }
    (holder, holders)
}
