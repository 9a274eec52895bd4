//! Blame: whose holds others wait for.
//!
//! For every lock that somebody waits for there is an [`Episode`], from the first waiter's arrival
//! until the last one has left. It keeps W(t) = ∫ waiters dt, which only arrivals and departures
//! change the slope of. What W grows by between an acquisition and its release, others have waited
//! while that hold lasted; what it grows by between a release and the next acquisition is the
//! hand-over. Each event costs the same however long the queue is, and the parts add up to all that
//! was waited.
//!
//! A lock knows its episode by a number of two bytes; while nobody waits that is 0, and reading it is
//! all that an acquisition and a release pay. An event that finds another one of the same lock in
//! progress waits for it some nanoseconds, but not for long: a holder that cannot get in leaves its
//! part to the next event.

use super::Row;
use super::sites::Site;
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

type Line = Option<&'static Location<'static>>;

/// Locks that can be waited for at a time with blame; waits for more are blamed on nobody. One
/// thread waits for one lock at a time, so this many threads are covered whatever they do.
const EPISODES: usize = 512;

/// Waiting lines that an episode keeps apart, besides all others.
const LINES: usize = 4;

/// How often a holder tries to get into an episode before it gives up: some hundred nanoseconds,
/// far more than any event takes whose thread is running.
const TRIES: usize = 200;

/// One for each episode that is in use.
static TAKEN: [AtomicU64; EPISODES / 64] = [const { AtomicU64::new(0) }; EPISODES / 64];

static TABLE: [Episode; EPISODES] = [const { Episode::new() }; EPISODES];

#[repr(align(128))]
struct Episode {
    busy: AtomicBool,
    state: UnsafeCell<State>,
}

// SAFETY: `state` is only touched by who has set `busy`.
unsafe impl Sync for Episode {}

/// Times are ticks, integrals waiters times ticks.
#[derive(Clone, Copy)]
struct State {
    /// The [`Contention`] whose episode this is; null while it is free.
    owner: *const Contention,
    /// Tells the episodes apart that one entry serves in turn.
    generation: u64,
    /// When the first waiter came.
    opened: u64,
    /// Up to where the integrals are worked out.
    until: u64,
    /// What is not yet blamed on anybody began at this value of the sum of all integrals.
    mark: u64,
    /// The last event of an exclusive holder was its release: what comes now is hand-over.
    is_free: bool,
    waiters: [Waiters; LINES + 1],
}

#[derive(Clone, Copy)]
struct Waiters {
    /// The line that waits; `None` for all others, and where there is none.
    line: Line,
    count: u64,
    integral: u64,
    /// The integral when blame was last dealt out.
    mark: u64,
}

impl Episode {
    const fn new() -> Self {
        Episode {
            busy: AtomicBool::new(false),
            state: UnsafeCell::new(State {
                owner: ptr::null(),
                generation: 0,
                opened: 0,
                until: 0,
                mark: 0,
                is_free: false,
                waiters: [Waiters {
                    line: None,
                    count: 0,
                    integral: 0,
                    mark: 0,
                }; LINES + 1],
            }),
        }
    }

    /// Runs `event` alone. `None` after so many `tries`.
    fn enter<T>(&self, tries: usize, event: impl FnOnce(&mut State) -> T) -> Option<T> {
        let mut left = tries;
        // Acquire: pairs with the release below; the last event is complete.
        while self.busy.swap(true, Ordering::Acquire) {
            left = left.checked_sub(1)?;
            spin_loop();
        }
        // SAFETY: `busy` was clear, so nobody else is in here until it is cleared below.
        let result = event(unsafe { &mut *self.state.get() });
        self.busy.store(false, Ordering::Release);
        Some(result)
    }
}

impl State {
    /// Works the integrals out up to `now`. Events of several threads come in almost any order; one
    /// that is late finds them worked out already.
    fn advance(&mut self, now: u64) {
        if let Some(ticks) = now.checked_sub(self.until) {
            for waiters in &mut self.waiters {
                waiters.integral = waiters.integral.wrapping_add(waiters.count * ticks);
            }
            self.until = now;
        }
    }

    fn total(&self) -> u64 {
        self.waiters
            .iter()
            .fold(0, |sum, waiters| sum.wrapping_add(waiters.integral))
    }

    fn count(&self) -> u64 {
        self.waiters.iter().map(|waiters| waiters.count).sum()
    }

    /// Where waits of `line` belong.
    fn place(&self, line: Line) -> usize {
        let lines = &self.waiters[..LINES];
        let known = lines
            .iter()
            .position(|waiters| waiters.line == line && line.is_some());
        known
            .or_else(|| lines.iter().position(|waiters| waiters.line.is_none()))
            .unwrap_or(LINES)
    }

    fn arrive(&mut self, line: Line, start: u64) {
        self.advance(start);
        let place = self.place(line);
        let late = self.until - start;
        let waiters = &mut self.waiters[place];
        if place < LINES {
            waiters.line = line;
        }
        waiters.count += 1;
        // It has been waiting since `start`, also where the others are further already.
        waiters.integral = waiters.integral.wrapping_add(late);
    }

    fn leave(&mut self, line: Line, end: u64) {
        self.advance(end);
        let place = self.place(line);
        let late = self.until - end;
        let waiters = &mut self.waiters[place];
        waiters.count = waiters.count.saturating_sub(1);
        waiters.integral = waiters.integral.wrapping_sub(late);
    }

    /// What has been waited since blame was last dealt out. A late departure can make it less than
    /// nothing; then it is left to the next.
    fn since_mark(&mut self) -> u64 {
        let total = self.total();
        let grown = total.wrapping_sub(self.mark);
        if grown.cast_signed() <= 0 {
            return 0;
        }
        self.mark = total;
        grown
    }

    /// An acquisition: the hand-over that it ends, if it does.
    fn acquired(&mut self, exclusively: bool, at: u64) -> u64 {
        self.advance(at);
        let waited = self.since_mark();
        self.deal();
        let was_free = std::mem::replace(&mut self.is_free, false);
        if was_free || exclusively { waited } else { 0 }
    }

    fn here(&self) -> Mark {
        Mark {
            generation: self.generation,
            total: self.total(),
        }
    }

    /// What each line has waited since blame was last dealt out, which is now.
    fn deal(&mut self) -> [Share; LINES + 1] {
        self.waiters.each_mut().map(|waiters| {
            let ticks = waiters.integral.wrapping_sub(waiters.mark);
            waiters.mark = waiters.integral;
            let ticks = if ticks.cast_signed() < 0 { 0 } else { ticks };
            Share {
                waiter: waiters.line,
                ticks,
                waits: waiters.count,
            }
        })
    }
}

/// What one line has waited for a hold.
#[derive(Clone, Copy)]
struct Share {
    waiter: Line,
    ticks: u64,
    waits: u64,
}

/// What a hold that has ended is blamed for, worked out before the unlock and recorded after.
pub(crate) struct Verdict {
    total: u64,
    shares: [Share; LINES + 1],
}

/// Whether anybody waits for a lock: 0, or the number of its episode and one. Part of the lock.
pub(crate) struct Contention(AtomicU16);

/// Where a reader's hold began in its episode.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mark {
    generation: u64,
    total: u64,
}

impl Mark {
    /// Of no episode: they are numbered from 1.
    pub(crate) const NONE: Mark = Mark {
        generation: 0,
        total: 0,
    };
}

impl Contention {
    pub(crate) const fn new() -> Self {
        Contention(AtomicU16::new(0))
    }

    /// Whether anybody waits.
    #[inline(always)]
    pub(crate) fn is_any(&self) -> bool {
        // Relaxed: a waiter that has just arrived may be missed, and its first nanoseconds with it.
        self.0.load(Ordering::Relaxed) != 0
    }

    fn with<T>(&self, tries: usize, event: impl FnOnce(&mut State) -> T) -> Option<T> {
        let number = usize::from(self.0.load(Ordering::Acquire)).checked_sub(1)?;
        let ours = |state: &mut State| ptr::eq(state.owner, self).then(|| event(state));
        TABLE[number].enter(tries, ours)?
    }

    /// A wait begins.
    pub(crate) fn arrive(&self, site: &'static Site, start: u64) {
        let line = site.location();
        loop {
            if self
                .with(usize::MAX, |state| state.arrive(line, start))
                .is_some()
            {
                return;
            }
            if self.0.load(Ordering::Acquire) != 0 {
                // The last waiter is leaving; its episode ends.
                spin_loop();
                continue;
            }
            let Some(number) = take() else { return };
            let opened = TABLE[number].enter(usize::MAX, |state| {
                *state = State {
                    owner: self,
                    generation: state.generation + 1,
                    opened: start,
                    until: start,
                    mark: 0,
                    is_free: false,
                    waiters: [Waiters {
                        line: None,
                        count: 0,
                        integral: 0,
                        mark: 0,
                    }; LINES + 1],
                };
                let mine = u16::try_from(number + 1).unwrap_or(0);
                // Release: who finds the number finds the episode open.
                let opened = self
                    .0
                    .compare_exchange(0, mine, Ordering::Release, Ordering::Relaxed)
                    .is_ok();
                if opened {
                    state.arrive(line, start);
                } else {
                    state.owner = ptr::null();
                }
                opened
            });
            if opened == Some(true) {
                return;
            }
            give_back(number);
        }
    }

    /// A wait ends, with the lock taken. Returns the hand-over, in ticks, and for a reader where its
    /// hold begins.
    pub(crate) fn acquire(&self, site: &'static Site, row: Row, at: u64) -> (u64, Mark) {
        let line = site.location();
        self.depart(|state| {
            let hand_over = state.acquired(row.is_exclusive(), at);
            state.leave(line, at);
            (hand_over, state.here())
        })
    }

    /// A wait ends without the lock.
    pub(crate) fn give_up(&self, site: &'static Site, end: u64) {
        let line = site.location();
        self.depart(|state| state.leave(line, end));
    }

    fn depart<T: Default>(&self, leave: impl FnOnce(&mut State) -> T) -> T {
        let mut last = None;
        let left = self.with(usize::MAX, |state| {
            let left = leave(state);
            if state.count() == 0 {
                last = usize::from(self.0.load(Ordering::Relaxed)).checked_sub(1);
                // Release: who finds nobody waiting finds the episode closed.
                self.0.store(0, Ordering::Release);
                state.owner = ptr::null();
            }
            left
        });
        if let Some(number) = last {
            give_back(number);
        }
        left.unwrap_or_default()
    }

    /// The lock has been taken without waiting, past those that wait. Returns the hand-over, and
    /// for a reader where its hold begins.
    pub(crate) fn overtake(&self, row: Row, at: u64) -> (u64, Mark) {
        let event = |state: &mut State| {
            let hand_over = state.acquired(row.is_exclusive(), at);
            (hand_over, state.here())
        };
        self.with(TRIES, event).unwrap_or_default()
    }

    /// A hold from `at` to `end` ends while somebody waits, and the lock is about to be unlocked;
    /// `mark` is where a reader's hold began, if that is known.
    pub(crate) fn release(&self, row: Row, mark: Mark, at: u64, end: u64) -> Option<Verdict> {
        self.with(TRIES, |state| {
            state.advance(end);
            let total = if row.is_exclusive() {
                state.is_free = true;
                state.since_mark()
            } else {
                let start = if mark.generation == state.generation {
                    Some(mark.total)
                } else {
                    // Older than the first waiter: it has kept all of them waiting all the time.
                    (at < state.opened).then_some(0)
                };
                let waited = start.map_or(0, |start| state.total().wrapping_sub(start));
                // Up to here readers had the lock; what an acquisition then waits is hand-over.
                state.since_mark();
                if waited.cast_signed() < 0 { 0 } else { waited }
            };
            Verdict {
                total,
                shares: state.deal(),
            }
        })
    }
}

fn take() -> Option<usize> {
    TAKEN.iter().enumerate().find_map(|(i, word)| {
        // Relaxed: the entry's own `busy` orders what is in it.
        let taken = word.try_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            let free = taken.trailing_ones();
            (free < 64).then(|| taken | 1 << free)
        });
        taken
            .ok()
            .map(|before| i * 64 + before.trailing_ones() as usize)
    })
}

fn give_back(number: usize) {
    TAKEN[number / 64].fetch_and(!(1 << (number % 64)), Ordering::Relaxed);
}

/// Pairs that a class keeps; beyond that the smallest makes room.
const PAIRS: usize = 32;

/// A waiting line and a holding one.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) waiter: Line,
    pub(crate) holder: Line,
    pub(crate) waits: u64,
    /// Nanoseconds.
    pub(crate) total: u64,
}

impl Verdict {
    /// All that the hold is blamed for, in ticks.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Adds the parts to the pairs of a class.
    pub(crate) fn add_to(&self, pairs: &mut Vec<Pair>, holder: Line, to_ns: impl Fn(u64) -> u64) {
        for share in self.shares.iter().filter(|share| share.ticks > 0) {
            let (waiter, total) = (share.waiter, to_ns(share.ticks));
            let is_it = |pair: &&mut Pair| pair.waiter == waiter && pair.holder == holder;
            if let Some(pair) = pairs.iter_mut().find(is_it) {
                pair.waits += share.waits;
                pair.total = pair.total.saturating_add(total);
                continue;
            }
            if pairs.len() == PAIRS {
                let smallest = pairs.iter().enumerate().min_by_key(|(_, pair)| pair.total);
                let Some((i, _)) = smallest else { continue };
                pairs.swap_remove(i);
            }
            pairs.push(Pair {
                waiter,
                holder,
                waits: share.waits,
                total,
            });
        }
    }
}
