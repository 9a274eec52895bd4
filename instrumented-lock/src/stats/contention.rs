//! Blame: whose holds others wait for.
//!
//! For every lock that somebody waits for there is an [`Episode`], from the first waiter's arrival
//! until the last one has left. It keeps W(t) = ∫ waiters dt, which only arrivals and departures
//! change the slope of. What W grows by between an acquisition and its release, others have waited
//! while that hold lasted; what it grows by between a release and the next acquisition is the
//! hand-over. Each event costs the same however long the queue is, and the parts add up to all that
//! was waited. An exclusive holder that did not wait tells both at its release: nobody else can have
//! had the lock meanwhile, and whoever has come since found it taken.
//!
//! Which locks are waited for stands in a table of its own, by the lock's address, that only changes
//! when somebody begins or ceases to wait: reading it is all that an acquisition and a release pay
//! while nobody does. In the lock itself it would share a line with the state that all threads
//! write. An event that finds another one of the same lock in progress waits for it some
//! nanoseconds, but not for long: a holder that cannot get in leaves its part to the next event.

use super::pairs::{LINES, Line, Share, Verdict, is_line};
use super::sites::Site;
use super::{NEVER, Row};
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Places for episodes. A lock has one by its address; where another lock that is waited for has it
/// already, the waits of the later one are blamed on nobody, and counted.
const EPISODES: usize = 1024;

/// How often a holder tries to get into an episode before it gives up: some hundred nanoseconds,
/// far more than any event takes whose thread is running.
const TRIES: usize = 200;

/// The address of the lock whose episode is open in a place; 0 where none is. Apart from the
/// episodes, which are written far more often.
static OWNERS: [AtomicUsize; EPISODES] = [const { AtomicUsize::new(0) }; EPISODES];

static TABLE: [Episode; EPISODES] = [const { Episode::new() }; EPISODES];

#[repr(align(128))]
struct Episode {
    busy: AtomicBool,
    state: UnsafeCell<State>,
}

// SAFETY: `state` is only touched by who has set `busy`.
unsafe impl Sync for Episode {}

/// Times are ticks, integrals waiters times ticks.
struct State {
    /// Tells the episodes apart that one entry serves in turn.
    generation: u64,
    /// When the first waiter came.
    opened: u64,
    /// Up to where the integrals are worked out.
    until: u64,
    /// What is not yet blamed on anybody began at this value of the sum of all integrals.
    mark: u64,
    /// The last event of an exclusive holder was its release: what comes now is hand-over, until
    /// the next acquisition. That of an exclusive holder who did not wait is told with its release.
    is_free: bool,
    /// When the last hold ended.
    freed: u64,
    /// How many of `waiters` are in use; the first, of all lines that have none, always is.
    used: usize,
    waiters: [Waiters; LINES + 1],
}

#[derive(Clone, Copy)]
struct Waiters {
    /// The line that waits; `None` for all others, and where there is none.
    line: Line,
    count: u32,
    /// How many there were when the last hold ended. Those that came later found the lock taken.
    older: u32,
    integral: u64,
    /// The integral when blame was last dealt out.
    mark: u64,
}

impl Episode {
    const fn new() -> Self {
        Episode {
            busy: AtomicBool::new(false),
            state: UnsafeCell::new(State::new()),
        }
    }

    /// Runs `event` alone. `None` after so many `tries`.
    fn enter<T>(&self, tries: usize, event: impl FnOnce(&mut State) -> T) -> Option<T> {
        let mut attempt = 0;
        // Acquire: pairs with the release below; the last event is complete. The load in front leaves
        // the cache line where it is as long as there is no use in taking it.
        while self.busy.load(Ordering::Relaxed) || self.busy.swap(true, Ordering::Acquire) {
            attempt += 1;
            if attempt == tries {
                return None;
            }
            if attempt < TRIES {
                spin_loop();
            } else {
                // Whoever is in there has been descheduled.
                std::thread::yield_now();
            }
        }
        // SAFETY: `busy` was clear, so nobody else is in here until it is cleared below.
        let result = event(unsafe { &mut *self.state.get() });
        self.busy.store(false, Ordering::Release);
        Some(result)
    }
}

impl State {
    const fn new() -> Self {
        State {
            generation: 0,
            opened: 0,
            until: 0,
            mark: 0,
            is_free: false,
            freed: 0,
            used: 1,
            waiters: [Waiters {
                line: None,
                count: 0,
                older: 0,
                integral: 0,
                mark: 0,
            }; LINES + 1],
        }
    }

    /// The first waiter comes.
    fn open(&mut self, start: u64) {
        *self = State {
            generation: self.generation + 1,
            opened: start,
            until: start,
            ..State::new()
        };
    }

    /// Works the integrals out up to `now`. Events of several threads come in almost any order; one
    /// that is late finds them worked out already.
    fn advance(&mut self, now: u64) {
        if let Some(ticks) = now.checked_sub(self.until) {
            for waiters in self.used() {
                waiters.integral = waiters
                    .integral
                    .wrapping_add(u64::from(waiters.count) * ticks);
            }
            self.until = now;
        }
    }

    fn total(&self) -> u64 {
        self.waiters[..self.used]
            .iter()
            .fold(0, |sum, waiters| sum.wrapping_add(waiters.integral))
    }

    fn is_over(&self) -> bool {
        self.waiters.iter().all(|waiters| waiters.count == 0)
    }

    fn used(&mut self) -> &mut [Waiters] {
        &mut self.waiters[..self.used]
    }

    /// Where waits of `line` belong.
    fn of(&mut self, line: Line) -> &mut Waiters {
        let mut lines = self.waiters[1..self.used].iter();
        let known = lines.position(|waiters| is_line(waiters.line, line));
        let place = match known {
            Some(i) => i + 1,
            None if line.is_some() && self.used <= LINES => {
                self.waiters[self.used].line = line;
                self.used += 1;
                self.used - 1
            }
            None => 0,
        };
        &mut self.waiters[place]
    }

    fn arrive(&mut self, line: Line, start: u64) {
        self.advance(start);
        let late = self.until - start;
        let waiters = self.of(line);
        waiters.count += 1;
        // It has been waiting since `start`, also where the others are further already.
        waiters.integral = waiters.integral.wrapping_add(late);
    }

    fn leave(&mut self, line: Line, end: u64) {
        self.advance(end);
        let late = self.until - end;
        let waiters = self.of(line);
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

    /// An exclusive hold has begun `ticks` after the last one ended, and nobody has told so yet. The
    /// hand-over that it has ended: one who gave up in so short a time counts to its end.
    fn hand_over(&mut self, ticks: u64) -> u64 {
        let mut all = 0;
        for waiters in self.used() {
            let since_mark = waiters.integral.wrapping_sub(waiters.mark).cast_signed();
            let most = u64::try_from(since_mark).unwrap_or(0);
            let waited = u64::from(waiters.older).saturating_mul(ticks).min(most);
            waiters.mark = waiters.mark.wrapping_add(waited);
            all += waited;
        }
        self.mark = self.mark.wrapping_add(all);
        all
    }

    /// A hold has ended.
    fn freed(&mut self, end: u64) {
        self.freed = end;
        for waiters in self.used() {
            waiters.older = waiters.count;
        }
    }

    fn here(&self) -> Mark {
        Mark {
            generation: self.generation,
            total: self.total(),
        }
    }

    /// What each line has waited since blame was last dealt out, which is now.
    fn deal(&mut self) -> [Share; LINES + 1] {
        let mut shares = [Share::NONE; LINES + 1];
        for (waiters, share) in self.used().iter_mut().zip(&mut shares) {
            let ticks = waiters.integral.wrapping_sub(waiters.mark);
            waiters.mark = waiters.integral;
            *share = Share {
                waiter: waiters.line,
                ticks: if ticks.cast_signed() < 0 { 0 } else { ticks },
                waits: u64::from(waiters.count),
            };
        }
        shares
    }
}

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

/// Those who wait for one lock, by the lock's address: it does not move while anybody uses it.
#[derive(Clone, Copy)]
pub(crate) struct Contention {
    lock: usize,
}

impl Contention {
    #[inline(always)]
    pub(crate) fn of<R>(lock: &R) -> Self {
        Contention {
            lock: ptr::from_ref(lock).addr(),
        }
    }

    /// Locks are at least 8 bytes apart; the high bits of the product depend on all of the address
    /// (Knuth, The Art of Computer Programming 3, 6.4: multiplicative hashing).
    #[inline(always)]
    fn place(self) -> usize {
        let hash = (self.lock as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 54) as usize % EPISODES
    }

    /// Whether anybody waits.
    #[inline(always)]
    pub(crate) fn is_any(self) -> bool {
        // Relaxed: a waiter that has just arrived may be missed, and its first nanoseconds with it.
        OWNERS[self.place()].load(Ordering::Relaxed) == self.lock
    }

    fn owner(self) -> &'static AtomicUsize {
        &OWNERS[self.place()]
    }

    /// Runs `event` in the episode of this lock, if one is open.
    fn with<T>(self, tries: usize, event: impl FnOnce(&mut State) -> T) -> Option<T> {
        let ours = |state: &mut State| self.is_any().then(|| event(state));
        TABLE[self.place()].enter(tries, ours)?
    }

    /// A wait begins. Returns whether it can be blamed on anybody; if not, it must not end here.
    #[must_use]
    pub(crate) fn arrive(self, site: &'static Site, start: u64) -> bool {
        let line = site.location();
        let event = |state: &mut State| {
            // Relaxed: only changed by who is in here.
            let owner = self.owner().load(Ordering::Relaxed);
            if owner == 0 {
                state.open(start);
                self.owner().store(self.lock, Ordering::Relaxed);
            }
            let is_ours = owner == 0 || owner == self.lock;
            if is_ours {
                state.arrive(line, start);
            }
            is_ours
        };
        TABLE[self.place()]
            .enter(usize::MAX, event)
            .unwrap_or(false)
    }

    /// A wait ends, with the lock taken. Returns the hand-over, in ticks, and for a reader where its
    /// hold begins.
    pub(crate) fn acquire(self, site: &'static Site, row: Row, at: u64) -> (u64, Mark) {
        let line = site.location();
        self.depart(|state| {
            let hand_over = state.acquired(row.is_exclusive(), at);
            state.leave(line, at);
            (hand_over, state.here())
        })
    }

    /// A wait ends without the lock.
    pub(crate) fn give_up(self, site: &'static Site, end: u64) {
        let line = site.location();
        self.depart(|state| state.leave(line, end));
    }

    fn depart<T: Default>(self, leave: impl FnOnce(&mut State) -> T) -> T {
        let left = self.with(usize::MAX, |state| {
            let left = leave(state);
            if state.is_over() {
                self.owner().store(0, Ordering::Relaxed);
            }
            left
        });
        left.unwrap_or_default()
    }

    /// The lock has been taken without waiting, past those that wait; an exclusive hold that is timed
    /// need not say so. Returns the hand-over, and for a reader where its hold begins.
    pub(crate) fn overtake(self, row: Row, at: u64) -> (u64, Mark) {
        let event = |state: &mut State| {
            let hand_over = state.acquired(row.is_exclusive(), at);
            (hand_over, state.here())
        };
        self.with(TRIES, event).unwrap_or_default()
    }

    /// A hold from `at` to `end` ends while somebody waits, and the lock is about to be unlocked;
    /// `mark` is where a reader's hold began, if that is known. `at` is [`NEVER`] for one that is not
    /// timed.
    pub(crate) fn release(self, row: Row, mark: Mark, at: u64, end: u64) -> Option<Verdict> {
        self.with(TRIES, |state| {
            state.advance(end);
            let mut hand_over = 0;
            let total = if row.is_exclusive() {
                if std::mem::replace(&mut state.is_free, true) && at != NEVER {
                    hand_over = state.hand_over(at.saturating_sub(state.freed));
                }
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
            state.freed(end);
            Verdict {
                hand_over,
                total,
                shares: state.deal(),
            }
        })
    }
}
