//! Who holds a lock while others wait for it.
//!
//! A lock that somebody waits for has a [`Watch`], which the first waiter gives it. Whoever holds the lock
//! meanwhile tells it by [one addition](super::blame): when an exclusive hold ends, and when a shared one
//! begins and ends. Whoever waits looks when the wait begins and when it ends, and what each line's holds
//! have grown by in between is what the line is blamed for. What is left of the wait is hand-over: then nobody had the lock. No event
//! waits for another one, and each costs the same however many wait.
//!
//! Only a lock's holder takes the watch from it again: once nobody has waited for a while, so that
//! locks which are waited for now and then do not get and lose it all the time.
//!
//! | who | may use the watch because |
//! |---|---|
//! | a waiter | it is counted in `state` |
//! | an exclusive holder | nobody else holds the lock, and only a holder takes the watch away |
//! | a shared holder, to tell that it begins or that an untold hold ends | it is counted in `state` for as long as that takes |
//! | a shared holder that has told that it began | it is counted in `running` of its line |
//!
//! A watch is never freed. Who comes too late to be counted finds [`RETIRED`], or another lock's word in
//! its place, and looks at its lock again.
//!
//! This file knows `super::{sync, blame, record}` and the modes only: `tests/models` compiles it against
//! loom's atomics.

use super::blame::{Packing, Words, held_alone};
use super::record::activity_of;
use super::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::mode::Activity;

/// Holding lines that a watch tells apart, besides all others of each activity.
const LINES: usize = 8;
const OTHERS: usize = 3;

/// The most records that a wait ends with: the hold, the wait, whom it is blamed on, the hand-over.
pub(crate) const MOST_RECORDS: usize = 2 + LINES + OTHERS + 1;

/// In `chosen`, what counts them; and how many there may be, with some room for those that come together.
const CHOSEN_BITS: u32 = 12;
const CHOSEN: u64 = (1 << CHOSEN_BITS) - 1;
const MOST_CHOSEN: u64 = 4000;

/// A bit of `state`: the watch belongs to no lock.
const RETIRED: u64 = 1 << 63;
/// In `state`, what counts one who uses the watch for a moment, and one who waits.
const PIN: u64 = 1 << 32;
const WAITER: u64 = 1;
const WAITERS: u64 = PIN - 1;

/// What is known of the holders of a lock that somebody waits for.
#[repr(align(128))]
pub(crate) struct Watch {
    /// The class of the lock, as its cell knows it.
    class: AtomicUsize,
    /// Who waits, who uses it for a moment, and whether it is [`RETIRED`].
    state: AtomicU64,
    /// When the last waiter left.
    left: AtomicU64,
    /// When the exclusive hold in progress began, if its record does not say so; else 0.
    alone_since: AtomicU64,
    /// The address of the lock.
    lock: AtomicUsize,
    /// Who has the lock, as far as that is known: a [`Holder`](super::Holder).
    holder: AtomicUsize,
    /// The waiters that were chosen to have their stacks looked at: how many in the lowest bits, and above them the
    /// sum of the times when they came, modulo 2^52.
    chosen: AtomicU64,
    lines: [Line; LINES + OTHERS],
}

/// The holds of one line.
struct Line {
    /// The line and what it holds the lock for: a [`holder_word`](super::record::holder_word). 0 where
    /// there is none yet.
    holder: AtomicUsize,
    /// Of exclusive holds what they have come to, in ticks; else see [`super::blame`].
    running: AtomicU64,
    early: AtomicU64,
}

impl Line {
    fn new() -> Self {
        Line {
            holder: AtomicUsize::new(0),
            running: AtomicU64::new(0),
            early: AtomicU64::new(0),
        }
    }

    fn words(&self) -> Words {
        // Acquire: who finds that a hold has ended finds what it did before, and so the lines of earlier
        // holders.
        Words {
            running: self.running.load(Ordering::Acquire),
            early: self.early.load(Ordering::Acquire),
        }
    }
}

fn is_alone(holder: usize) -> bool {
    activity_of(holder).is_exclusive()
}

/// Adds to a word: others may do so at the same time where the lock is shared.
fn add(word: &AtomicU64, n: u64, activity: Activity) {
    if activity == Activity::Read {
        // AcqRel: `retire` may have to see it.
        word.fetch_add(n, Ordering::AcqRel);
    } else {
        // Nobody else has the lock in this way: no locked instruction. Release: see `Line::words`.
        let sum = word.load(Ordering::Relaxed).wrapping_add(n);
        word.store(sum, Ordering::Release);
    }
}

/// What a waiter has found when it came.
pub(crate) struct Arrival {
    from: u64,
    /// Who held the lock exclusively, and what had passed of that.
    alone: Option<(usize, u64)>,
    words: [Words; LINES + OTHERS],
}

impl Watch {
    pub(crate) fn new() -> Self {
        Watch {
            class: AtomicUsize::new(0),
            state: AtomicU64::new(RETIRED),
            left: AtomicU64::new(0),
            alone_since: AtomicU64::new(0),
            lock: AtomicUsize::new(0),
            holder: AtomicUsize::new(0),
            chosen: AtomicU64::new(0),
            lines: std::array::from_fn(|_| Line::new()),
        }
    }

    /// Makes a retired watch ready for a lock of this class, which the caller waits for.
    pub(crate) fn prepare(&self, class: usize) {
        // Relaxed: nobody has it yet; the lock's word is stored after this.
        self.class.store(class, Ordering::Relaxed);
        self.alone_since.store(0, Ordering::Relaxed);
        self.chosen.store(0, Ordering::Relaxed);
        for line in &self.lines {
            line.holder.store(0, Ordering::Relaxed);
            line.running.store(0, Ordering::Relaxed);
            line.early.store(0, Ordering::Relaxed);
        }
        // Some may be counted in it for a moment who come too late for the last lock.
        self.state.fetch_sub(RETIRED - WAITER, Ordering::AcqRel);
    }

    /// The watch has not been given to a lock after all. For who has prepared it.
    pub(crate) fn unprepare(&self) {
        self.state.fetch_add(RETIRED - WAITER, Ordering::AcqRel);
    }

    /// The class it was prepared for. Who has not been counted finds out afterwards whether its lock still
    /// has this watch.
    pub(crate) fn class(&self) -> usize {
        self.class.load(Ordering::Acquire)
    }

    // Relaxed, all four: who looks for those that wait for each other looks twice.

    /// Where the lock is. For who is counted as a waiter.
    pub(crate) fn set_lock(&self, lock: usize) {
        self.lock.store(lock, Ordering::Relaxed);
    }

    pub(crate) fn lock(&self) -> usize {
        self.lock.load(Ordering::Relaxed)
    }

    /// Who has the lock. For a waiter who has found out, and for who has it alone.
    pub(crate) fn set_holder(&self, holder: u32) {
        self.holder.store(holder as usize, Ordering::Relaxed);
    }

    /// Who has the lock, or had it last, as far as that is known.
    pub(crate) fn holder_of_lock(&self) -> u32 {
        u32::try_from(self.holder.load(Ordering::Relaxed)).unwrap_or(0)
    }

    // Relaxed, all three: who looks a moment too late or too early makes an estimate of stacks a little worse.

    /// A waiter that is counted is one of the chosen. Returns false where there are too many of them.
    pub(crate) fn begin_chosen(&self, start: u64) -> bool {
        let may = self.chosen.load(Ordering::Relaxed) & CHOSEN < MOST_CHOSEN;
        if may {
            self.chosen
                .fetch_add(start << CHOSEN_BITS | 1, Ordering::Relaxed);
        }
        may
    }

    /// It does not wait any more.
    pub(crate) fn end_chosen(&self, start: u64) {
        self.chosen
            .fetch_sub(start << CHOSEN_BITS | 1, Ordering::Relaxed);
    }

    /// For how many ticks the chosen ones that wait at `at` have waited, all together, since `since` or since they
    /// came. Exact where all came before or all came after `since`; otherwise more than that, and at most what
    /// either comes to.
    pub(crate) fn chosen_have_waited(&self, at: u64, since: u64) -> u64 {
        let chosen = self.chosen.load(Ordering::Relaxed);
        let (n, sum) = (chosen & CHOSEN, chosen >> CHOSEN_BITS);
        let since_they_came = n.wrapping_mul(at).wrapping_sub(sum) & (u64::MAX >> CHOSEN_BITS);
        since_they_came.min(n.saturating_mul(at.saturating_sub(since)))
    }

    fn count(&self, one: u64) -> bool {
        // Acquire: pairs with the release in `retire`.
        let is_retired = self.state.fetch_add(one, Ordering::AcqRel) & RETIRED != 0;
        if is_retired {
            self.state.fetch_sub(one, Ordering::AcqRel);
        }
        !is_retired
    }

    /// Counts the caller as a waiter, unless the watch is retired.
    #[must_use]
    pub(crate) fn join(&self) -> bool {
        self.count(WAITER)
    }

    /// The caller waits no longer.
    pub(crate) fn leave(&self, at: u64) {
        self.left.store(at, Ordering::Relaxed);
        // Release: pairs with the acquire in `retire`.
        self.state.fetch_sub(WAITER, Ordering::AcqRel);
    }

    /// Counts the caller for a moment, unless the watch is retired.
    #[must_use]
    pub(crate) fn pin(&self) -> bool {
        self.count(PIN)
    }

    /// The moment is over.
    pub(crate) fn unpin(&self) {
        self.state.fetch_sub(PIN, Ordering::AcqRel);
    }

    /// Whether anybody waits besides the caller, which is counted.
    pub(crate) fn has_other_waiters(&self) -> bool {
        self.state.load(Ordering::Relaxed) & WAITERS > WAITER
    }

    /// Whether anybody waits. One who has just come may be missed.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.state.load(Ordering::Relaxed) & WAITERS != 0
    }

    /// An exclusive hold begins whose record does not say when.
    pub(crate) fn set_alone_since(&self, at: u64) {
        self.alone_since.store(at, Ordering::Relaxed);
    }

    /// When the exclusive hold in progress began, if its record does not say so.
    pub(crate) fn alone_since(&self) -> Option<u64> {
        let since = self.alone_since.load(Ordering::Relaxed);
        (since != 0).then_some(since)
    }

    /// An exclusive hold ends that has lasted so many ticks. Before the lock is let go.
    pub(crate) fn add_alone(&self, holder: usize, ticks: u64) {
        add(&self.line(holder).running, ticks, Activity::Write);
    }

    /// A shared hold of this line begins.
    pub(crate) fn begin_hold(&self, holder: usize, at: u64) {
        let activity = activity_of(holder);
        let begins = Packing::of(activity).begins(at);
        add(&self.line(holder).running, begins, activity);
    }

    /// A shared hold ends whose begin has been told.
    pub(crate) fn end_hold(&self, holder: usize, at: u64) {
        let activity = activity_of(holder);
        let ends = Packing::of(activity).ends(at);
        add(&self.line(holder).running, ends, activity);
    }

    /// A shared hold ends that had begun before anybody waited.
    pub(crate) fn end_untold_hold(&self, holder: usize, at: u64) {
        let activity = activity_of(holder);
        let ends = Packing::of(activity).ends_early(at);
        add(&self.line(holder).early, ends, activity);
    }

    /// Where the holds of a line are summed up.
    fn line(&self, holder: usize) -> &Line {
        for line in &self.lines[..LINES] {
            let mut found = line.holder.load(Ordering::Relaxed);
            if found == 0 {
                // Relaxed: the word says all there is to know of the line.
                let claim =
                    line.holder
                        .compare_exchange(0, holder, Ordering::Relaxed, Ordering::Relaxed);
                found = claim.map_or_else(|theirs| theirs, |_| holder);
            }
            if found == holder {
                return line;
            }
        }
        let of_others = match activity_of(holder) {
            Activity::Read => 0,
            Activity::Upgradable => 1,
            Activity::Write | Activity::Sleep => 2,
        };
        &self.lines[LINES + of_others]
    }

    /// The line at this place, and what it holds the lock for; `None` where there is none.
    fn holder(&self, place: usize) -> Option<usize> {
        match place.checked_sub(LINES) {
            None => Some(self.lines[place].holder.load(Ordering::Relaxed)).filter(|&it| it != 0),
            Some(0) => Some(super::record::holder_word(0, Activity::Read, 0)),
            Some(1) => Some(super::record::holder_word(0, Activity::Upgradable, 0)),
            Some(_) => Some(super::record::holder_word(0, Activity::Write, 0)),
        }
    }

    /// The places of lines that have held the lock. Those of all others are used only where all of the
    /// first ones are.
    fn used(&self) -> std::ops::Range<usize> {
        let is_free = |line: &Line| line.holder.load(Ordering::Acquire) == 0;
        let free = self.lines[..LINES].iter().position(is_free);
        0..free.unwrap_or(LINES + OTHERS)
    }

    /// A wait begins. For who is counted as a waiter, right after it has read the clock; `alone` says who
    /// holds the lock exclusively and what has passed of that.
    pub(crate) fn arrive(&self, from: u64, alone: Option<(usize, u64)>) -> Arrival {
        let mut arrival = Arrival {
            from,
            alone,
            words: [Words::default(); LINES + OTHERS],
        };
        for place in self.used() {
            arrival.words[place] = self.lines[place].words();
        }
        arrival
    }

    /// A wait ends: calls `blame` with the holder and the ticks for each line that had some of it.
    pub(crate) fn depart(&self, arrival: &Arrival, to: u64, mut blame: impl FnMut(usize, u64)) {
        for place in self.used() {
            let (before, after) = (arrival.words[place], self.lines[place].words());
            let Some(holder) = self.holder(place) else {
                continue;
            };
            let ticks = if is_alone(holder) {
                let elapsed = arrival.alone.filter(|(of, _)| *of == holder);
                let elapsed = elapsed.map_or(0, |(_, ticks)| ticks);
                held_alone(before.running, after.running, elapsed)
            } else {
                let packing = Packing::of(activity_of(holder));
                packing.held(before, arrival.from, after, to)
            };
            if ticks > 0 {
                blame(holder, ticks);
            }
        }
    }

    /// Whether nobody has used the watch for so many ticks.
    pub(crate) fn is_idle(&self, now: u64, ticks: u64) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        self.state.load(Ordering::Relaxed) == 0 && now.saturating_sub(left) >= ticks
    }

    /// Retires the watch, if nobody uses it. For who holds the lock, before it says in its word that it
    /// has no watch any more, and before it lets go of it: alone, or having [pinned](Self::pin) the
    /// watch, which it then is not any more.
    #[must_use]
    pub(crate) fn retire(&self, caller_is_alone: bool) -> bool {
        let own = if caller_is_alone { 0 } else { PIN };
        // Acquire: whoever was counted before has told all it had to.
        let retired =
            self.state
                .compare_exchange(own, RETIRED, Ordering::AcqRel, Ordering::Relaxed);
        if retired.is_err() {
            return false;
        }
        let is_held = (0..LINES + OTHERS).any(|place| {
            let running = self.lines[place].running.load(Ordering::Acquire);
            let holder = self.holder(place);
            holder
                .is_some_and(|it| !is_alone(it) && Packing::of(activity_of(it)).count(running) > 0)
        });
        if is_held {
            self.state.fetch_sub(RETIRED - own, Ordering::AcqRel);
        }
        !is_held
    }
}
