//! What a [timeline](crate::timeline) takes from the logs while they are folded: waits and holds, each with
//! its stamps.
//!
//! Nothing is recorded for it: as long as somebody records, a fold copies what it adds up anyway. All memory is
//! there before the first event, so a fold neither allocates nor waits here. Waits and holds have a [`Room`]
//! each. As long as there is a free place an event takes the next one; after that it has to be worth more than
//! the [bar](Room::bar) and than what stands in the place that it draws. An event is worth what it lasted,
//! divided by a random number: so each is kept with a chance that is in proportion to how long it was, those
//! beyond the bar nearly for certain, and what is kept is spread evenly over the time.

use super::log::{Bits, Page, Record, below};
use super::owner::PAGE_RECORDS;
use super::record::{
    Kind, UNTIMED_START, activity_of, class_of, holder_word, kind_of, without_operation,
};
use super::tasks;
use crate::brief;
use crate::mode::Activity;
use parking_lot::Mutex;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

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
    // Relaxed: whoever folds later, which is what matters, has locked a page meanwhile that who began to
    // record had locked after it did; and who uses it loads it again.
    !TAKEN_BY.load(Ordering::Relaxed).is_null()
}

/// For who has a page locked.
fn current() -> Option<&'static Events> {
    // Acquire: pairs with the release in `begin`.
    let events = TAKEN_BY.load(Ordering::Acquire);
    // SAFETY: null, or made by `begin` and not freed before every page has been locked since it was taken from
    // here; the caller has one locked.
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

/// Places for events.
struct Room {
    places: Box<[Place]>,
    /// How many there were.
    seen: AtomicU64,
    /// How many of them were worth more than the bar at that moment.
    tried: AtomicU64,
    /// What an event has to be worth; 0 as long as there are free places. Twice as much whenever there has been
    /// one more try for each place. Relaxed, as both above: they are counts.
    bar: AtomicU64,
}

/// The first bar, in ticks: holds that are shorter than this are hardly told from none. Those that follow are
/// doubled.
const LOWEST_BAR: u64 = 32;

/// Room for one event; a line of the processor's cache.
#[repr(C, align(64))]
struct Place {
    /// [`FREE`], [`BUSY`] or [`FULL`].
    state: AtomicU32,
    thread: AtomicU32,
    task: AtomicU32,
    holders: AtomicU32,
    what: AtomicUsize,
    site: AtomicUsize,
    start: AtomicU64,
    end: AtomicU64,
    holder: AtomicUsize,
    worth: AtomicU64,
}

const FREE: u32 = 0;
const BUSY: u32 = 1;
const FULL: u32 = 2;

/// One thing that has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The words of its record.
    pub(crate) what: usize,
    pub(crate) site: usize,
    pub(crate) start: u64,
    /// 0 for what goes on.
    pub(crate) end: u64,
    /// The number of the thread; 0 for one that has ended before.
    pub(crate) thread: u32,
    /// The number of the task, if one began the hold: of interest for locks of tasks only. The low half.
    pub(crate) task: u32,
    /// Of a wait, the word of the holder that it is blamed on most; 0 for none.
    pub(crate) holder: usize,
    /// Of a wait, [a bit](bit_of) for each holder that it is blamed on; of a hold, its own.
    pub(crate) holders: u32,
}

/// All that has been taken.
pub(crate) struct AllTaken {
    pub(crate) holds: Vec<Taken>,
    pub(crate) waits: Vec<Taken>,
    /// How many there were; of holds without those that were not timed.
    pub(crate) holds_seen: u64,
    pub(crate) waits_seen: u64,
    pub(crate) untimed: u64,
    /// Holds of as many ticks were kept, all but those that chance had no place for; 0 where all were.
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
        AllTaken {
            holds_seen: events.holds.seen.load(Ordering::Relaxed),
            waits_seen: events.waits.seen.load(Ordering::Relaxed),
            untimed: events.untimed.load(Ordering::Relaxed),
            bar: events.holds.bar.load(Ordering::Relaxed),
            holds: events.holds.kept(),
            waits: events.waits.kept(),
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

/// Takes those of the records that have `ended`, none of which is consumed. For who has the page locked.
#[cold]
#[inline(never)]
pub(super) fn take(page: &Page, ended: u64) {
    let Some(events) = current() else {
        return;
    };
    let bars = [&events.holds, &events.waits].map(|room| room.bar.load(Ordering::Relaxed));
    let (mut holds, mut waits) = (0, 0);
    let (mut holds_seen, mut waits_seen, mut untimed) = (0, 0, 0);
    for index in Bits(ended) {
        let record = page.record(index);
        let what = record.what();
        let kind = kind_of(what);
        if !matches!(kind, Kind::Hold | Kind::Waited | Kind::TimedOut) {
            continue;
        }
        let (start, end) = (record.start(), record.end().unwrap_or(0));
        if start == UNTIMED_START {
            untimed += u64::from(is_hold(what));
        } else if end < events.since {
        } else if is_hold(what) {
            holds_seen += 1;
            let is_kept = bars[0] == 0 || worth_of_hold(page, index, ended) >= bars[0];
            holds |= u64::from(is_kept) << index;
        } else {
            waits_seen += 1;
            let is_kept = bars[1] == 0 || worth(page, record) >= bars[1];
            waits |= u64::from(is_kept) << index;
        }
    }
    if untimed > 0 {
        events.untimed.fetch_add(untimed, Ordering::Relaxed);
    }
    events.holds.take(holds_seen, holds, |index| {
        let record = page.record(index);
        let (worth, holder) = (worth_of_hold(page, index, ended), holder_of_hold(record));
        let task = task_of(page, index);
        (worth, taken(page, index, task, (0, bit_of(holder))))
    });
    events.waits.take(waits_seen, waits, |index| {
        let task = match index.checked_sub(1) {
            // The hold that it led to is in the record before.
            Some(hold) if kind_of(page.record(index).what()) == Kind::Waited => task_of(page, hold),
            _ => 0,
        };
        let worth = worth(page, page.record(index));
        (
            worth,
            taken(page, index, task, blamed_on(page, index, ended)),
        )
    });
}

/// Whether it is a hold of a lock; a thread that sleeps in a condition variable is shown as a wait.
fn is_hold(what: usize) -> bool {
    kind_of(what) == Kind::Hold && activity_of(what) != Activity::Sleep
}

fn taken(page: &Page, index: u32, task: u32, (holder, holders): (usize, u32)) -> Taken {
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
        task,
        holder,
        holders,
    }
}

/// What goes on in this record, which is published and has no end.
pub(crate) fn in_flight(page: &Page, index: u32) -> Taken {
    let holder = holder_of_hold(page.record(index));
    Taken {
        end: 0,
        ..taken(page, index, task_of(page, index), (0, bit_of(holder)))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "tasks are numbered from 1")]
fn task_of(page: &Page, index: u32) -> u32 {
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

/// What the event in this record is worth: how many ticks it lasted, divided by a random number between 0 and 1.
fn worth(page: &Page, record: &Record) -> u64 {
    /// A random number has so many bits.
    const BITS: u32 = 16;
    let ticks = record.end().unwrap_or(0).saturating_sub(record.start());
    // What lasts longer is worth enough; and one more, so that what lasted no tick has a chance.
    let ticks = ticks.min(1 << (63 - BITS)) + 1;
    let random = scrambled(record.start() ^ u64::from(page.owner.thread()) << 48) >> (64 - BITS);
    (ticks << BITS) / (random + 1)
}

/// Of a hold. One that was waited for is worth as much as can be, if that is known: where the wait is still in
/// the page, in the record behind it.
fn worth_of_hold(page: &Page, index: u32, ended: u64) -> u64 {
    let record = page.record(index);
    let next = index + 1;
    if (next as usize) < PAGE_RECORDS && ended >> next & 1 == 1 {
        let wait = page.record(next);
        if kind_of(wait.what()) == Kind::Waited && wait.end() == Some(record.start()) {
            return u64::MAX;
        }
    }
    worth(page, record)
}

/// The bits of a number mixed up; the upper ones best. Multiplied by the odd number next to 2^64 / φ, once its own
/// upper bits have been brought down.
fn scrambled(n: u64) -> u64 {
    (n ^ n >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Room {
    fn new(places: usize) -> Self {
        Room {
            places: (0..places).map(|_| Place::new()).collect(),
            seen: AtomicU64::new(0),
            tried: AtomicU64::new(0),
            bar: AtomicU64::new(0),
        }
    }

    /// Takes those events whose bits are set, of so many that have been seen.
    fn take(&self, seen: u64, events: u64, event: impl Fn(u32) -> (u64, Taken)) {
        if seen == 0 {
            return;
        }
        self.seen.fetch_add(seen, Ordering::Relaxed);
        let tries = u64::from(events.count_ones());
        if tries == 0 {
            return;
        }
        let first = self.tried.fetch_add(tries, Ordering::Relaxed);
        let places = self.places.len() as u64;
        if first / places < (first + tries) / places {
            let bar = self.bar.load(Ordering::Relaxed);
            let next = bar.saturating_mul(2).max(LOWEST_BAR);
            self.bar.store(next, Ordering::Relaxed);
        }
        for (index, nth) in Bits(events).zip(first..) {
            let (worth, event) = event(index);
            self.put(nth, worth, &event);
        }
    }

    /// Puts the event, which is the `nth` that is tried, into its place.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "less than there are places"
    )]
    fn put(&self, nth: u64, worth: u64, event: &Taken) {
        let places = self.places.len() as u64;
        if nth < places {
            // Nobody else writes it before it is full.
            self.places[nth as usize].fill(worth, event);
            return;
        }
        // Multiples of φ, which fall evenly between 0 and 1: no place is drawn again before nearly all were.
        let drawn = u128::from(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let place = &self.places[((drawn * u128::from(places)) >> 64) as usize];
        let is_mine = place.state.compare_exchange(
            FULL,
            BUSY,
            // Acquire: pairs with the release in `fill`.
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        // Who has it is writing, and one of the two events would be gone anyway.
        if is_mine.is_err() {
            return;
        }
        if place.worth.load(Ordering::Relaxed) < worth {
            place.fill(worth, event);
        } else {
            place.state.store(FULL, Ordering::Release);
        }
    }

    /// What is kept. By who is alone with it.
    fn kept(&self) -> Vec<Taken> {
        let bar = self.bar.load(Ordering::Relaxed);
        let full = self.places.iter().filter(|place| {
            place.state.load(Ordering::Acquire) == FULL
                // What is left from the time when less was asked for would be shown too often.
                && place.worth.load(Ordering::Relaxed) >= bar
        });
        full.map(Place::taken).collect()
    }
}

// All but `state` are written by one at a time, and read by who comes after: Relaxed.
impl Place {
    fn new() -> Self {
        Place {
            state: AtomicU32::new(FREE),
            thread: AtomicU32::new(0),
            task: AtomicU32::new(0),
            holders: AtomicU32::new(0),
            what: AtomicUsize::new(0),
            site: AtomicUsize::new(0),
            start: AtomicU64::new(0),
            end: AtomicU64::new(0),
            holder: AtomicUsize::new(0),
            worth: AtomicU64::new(0),
        }
    }

    fn fill(&self, worth: u64, event: &Taken) {
        self.thread.store(event.thread, Ordering::Relaxed);
        self.task.store(event.task, Ordering::Relaxed);
        self.holders.store(event.holders, Ordering::Relaxed);
        self.what.store(event.what, Ordering::Relaxed);
        self.site.store(event.site, Ordering::Relaxed);
        self.start.store(event.start, Ordering::Relaxed);
        self.end.store(event.end, Ordering::Relaxed);
        self.holder.store(event.holder, Ordering::Relaxed);
        self.worth.store(worth, Ordering::Relaxed);
        // Release: who finds it full finds what is in it.
        self.state.store(FULL, Ordering::Release);
    }

    fn taken(&self) -> Taken {
        Taken {
            what: self.what.load(Ordering::Relaxed),
            site: self.site.load(Ordering::Relaxed),
            start: self.start.load(Ordering::Relaxed),
            end: self.end.load(Ordering::Relaxed),
            thread: self.thread.load(Ordering::Relaxed),
            task: self.task.load(Ordering::Relaxed),
            holder: self.holder.load(Ordering::Relaxed),
            holders: self.holders.load(Ordering::Relaxed),
        }
    }
}
