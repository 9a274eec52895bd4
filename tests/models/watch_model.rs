//! The watches of `stats/watch.rs`, under every interleaving that loom finds.
//!
//! The file is compiled here against loom's atomics, with what it uses of the library. Stamps are those
//! of a clock that moves on whenever it is read.

mod sync {
    pub(super) use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
}

mod record {
    use crate::mode::Activity;

    pub(crate) fn holder_word(line: usize, activity: Activity, _: u8) -> usize {
        line | activity as usize | 4
    }

    pub(crate) fn activity_of(what: usize) -> Activity {
        Activity::from_bits(what)
    }
}

#[path = "../../instrumented-lock/src/stats/blame.rs"]
mod blame;
#[path = "../../instrumented-lock/src/stats/watch.rs"]
mod watch;

use crate::mode::Activity;
use crate::model;
use loom::sync::{Arc, Mutex};
use loom::thread;
use record::holder_word;
// Not loom's: what the models check with must not order anything.
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use watch::{Arrival, Watch};

/// A lock that has a watch.
struct Lock {
    raw: Mutex<()>,
    watch: Watch,
    clock: AtomicU64,
    /// Who holds it and since when, in the halves of a word; 0 once the hold has ended.
    held: loom::sync::atomic::AtomicU64,
    /// Every hold that there was: line, begin, end.
    holds: std::sync::Mutex<Vec<(usize, u64, u64)>>,
}

const FIRST: usize = 16;
const SECOND: usize = 32;
const THIRD: usize = 48;

impl Lock {
    /// With a watch that somebody waits for.
    fn new() -> Arc<Self> {
        let lock = Lock {
            raw: Mutex::new(()),
            watch: Watch::new(),
            clock: AtomicU64::new(1600),
            held: loom::sync::atomic::AtomicU64::new(0),
            holds: std::sync::Mutex::default(),
        };
        lock.watch.prepare(0);
        Arc::new(lock)
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(16, Ordering::Relaxed)
    }

    fn note(&self, line: usize, begin: u64, end: u64) {
        self.holds.lock().unwrap().push((line, begin, end));
    }

    /// For how long this line held the lock in this time.
    fn overlap(&self, line: usize, from: u64, to: u64) -> u64 {
        let holds = self.holds.lock().unwrap();
        let overlap = |(_, begin, end): &(_, u64, u64)| {
            let (begin, end): (u64, u64) = (*begin, *end);
            end.min(to).saturating_sub(begin.max(from))
        };
        holds
            .iter()
            .filter(|hold| hold.0 == line)
            .map(overlap)
            .sum()
    }

    /// A hold begins.
    fn begin(&self, line: usize, begin: u64) {
        let held = (line as u64) << 32 | begin;
        self.held.store(held, loom::sync::atomic::Ordering::Release);
    }

    /// It ends, before the lock is let go.
    fn end(&self, line: usize, begin: u64) {
        let end = self.now();
        let holder = holder_word(line, Activity::Write, 0);
        self.watch.add_alone(holder, end - begin);
        self.held.store(0, loom::sync::atomic::Ordering::Release);
        self.note(line, begin, end);
    }

    /// As the library waits for a lock and then holds it. For who is counted.
    fn wait_and_hold(&self, (arrival, from): (Arrival, u64), line: usize) -> Wait {
        let guard = self.raw.lock().unwrap();
        let to = self.now();
        let mut wait = Wait::new(from, to);
        wait.depart(&self.watch, &arrival);
        self.watch.leave(to);
        self.begin(line, to);
        self.end(line, to);
        drop(guard);
        wait
    }

    fn arrive(&self) -> (Arrival, u64) {
        let from = self.now();
        let held = self.held.load(loom::sync::atomic::Ordering::Acquire);
        let alone = (held != 0).then(|| {
            let holder = holder_word((held >> 32) as usize, Activity::Write, 0);
            (holder, from.saturating_sub(held & u64::from(u32::MAX)))
        });
        (self.watch.arrive(from, alone), from)
    }
}

/// A wait, and what the lines were blamed for.
struct Wait {
    from: u64,
    to: u64,
    blame: Vec<(usize, u64)>,
}

impl Wait {
    fn new(from: u64, to: u64) -> Self {
        Wait {
            from,
            to,
            blame: Vec::new(),
        }
    }

    fn depart(&mut self, watch: &Watch, arrival: &Arrival) {
        watch.depart(arrival, self.to, |holder, ticks| {
            self.blame.push((holder & !7, ticks));
        });
    }

    fn of(&self, line: usize) -> u64 {
        let of_line = self.blame.iter().filter(|(of, _)| *of == line);
        of_line.map(|(_, ticks)| ticks).sum()
    }

    /// What is left is hand-over.
    fn all(&self) -> u64 {
        self.blame.iter().map(|(_, ticks)| ticks).sum()
    }
}

/// One waits from the beginning, another comes while there are holds.
#[test]
fn a_wait_is_what_each_line_held_and_hand_over() {
    model(None, || {
        let lock = Lock::new();
        let guard = lock.raw.lock().unwrap();
        let begin = lock.now();
        lock.begin(FIRST, begin);
        let arrival = lock.arrive();
        let first = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || lock.wait_and_hold(arrival, SECOND))
        };
        let second = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || {
                assert!(lock.watch.join());
                let arrival = lock.arrive();
                lock.wait_and_hold(arrival, THIRD)
            })
        };
        lock.end(FIRST, begin);
        drop(guard);
        let (first, second) = (first.join().unwrap(), second.join().unwrap());
        for line in [FIRST, SECOND, THIRD] {
            let overlap = lock.overlap(line, first.from, first.to);
            assert_eq!(first.of(line), overlap, "line {line}");
        }
        assert!(
            second.all() <= second.to - second.from,
            "{:?} {:?} {}..{}",
            second.blame,
            lock.holds.lock().unwrap(),
            second.from,
            second.to
        );
    });
}

/// Readers tell of their holds at the same time, at one line or at two.
#[test]
fn what_readers_hold_at_once_adds_up() {
    for lines in [[FIRST, FIRST], [FIRST, SECOND]] {
        model(None, move || {
            let lock = Lock::new();
            let (arrival, from) = lock.arrive();
            let readers = lines.map(|line| {
                let lock = Arc::clone(&lock);
                thread::spawn(move || {
                    let holder = holder_word(line, Activity::Read, 0);
                    let begin = lock.now();
                    assert!(lock.watch.pin());
                    assert!(lock.watch.is_waited_for());
                    lock.watch.begin_hold(holder, begin);
                    lock.watch.unpin();
                    let end = lock.now();
                    lock.watch.end_hold(holder, end);
                    lock.note(line, begin, end);
                })
            });
            for reader in readers {
                reader.join().unwrap();
            }
            let mut wait = Wait::new(from, lock.now());
            wait.depart(&lock.watch, &arrival);
            for line in [FIRST, SECOND] {
                let overlap = lock.overlap(line, wait.from, wait.to);
                assert_eq!(wait.of(line), overlap, "line {line}");
            }
        });
    }
}

/// A watch, and which lock has it, as a number.
struct Given {
    watch: Watch,
    to: loom::sync::atomic::AtomicUsize,
    /// Somebody uses it, or has told that a hold began.
    is_used: AtomicBool,
    is_retired: AtomicBool,
}

impl Given {
    fn new() -> Arc<Self> {
        let given = Given {
            watch: Watch::new(),
            to: loom::sync::atomic::AtomicUsize::new(1),
            is_used: AtomicBool::new(false),
            is_retired: AtomicBool::new(false),
        };
        given.watch.prepare(0);
        given.watch.leave(1600);
        Arc::new(given)
    }

    fn has(&self, lock: usize) -> bool {
        self.to.load(loom::sync::atomic::Ordering::Acquire) == lock
    }

    fn give(&self, lock: usize) {
        self.to.store(lock, loom::sync::atomic::Ordering::Release);
    }

    fn set_used(&self, is_used: bool) {
        self.is_used.store(is_used, Ordering::Relaxed);
        assert!(!self.is_retired.load(Ordering::Relaxed), "used and retired");
    }

    /// A holder of the first lock takes its watch away, and it is given to a second one.
    fn retire(&self, is_alone: bool) {
        if !is_alone && !self.watch.pin() {
            return;
        }
        if !self.watch.retire(is_alone) {
            if !is_alone {
                self.watch.unpin();
            }
            return;
        }
        assert!(!self.is_used.load(Ordering::Relaxed), "used and retired");
        self.is_retired.store(true, Ordering::Relaxed);
        assert!(!self.watch.join() && !self.watch.pin(), "too late");
        self.give(0);
        self.watch.prepare(0);
        self.is_retired.store(false, Ordering::Relaxed);
        self.give(2);
        self.expect_nothing(1600);
        self.watch.leave(1600);
    }

    /// Nothing is held that this watch is told of.
    fn expect_nothing(&self, at: u64) {
        let arrival = self.watch.arrive(at, None);
        self.watch
            .depart(&arrival, at + 160, |_, ticks| panic!("{ticks} of nothing"));
    }
}

#[test]
fn a_watch_is_not_retired_while_somebody_waits() {
    model(None, || {
        let given = Given::new();
        let waiter = {
            let given = Arc::clone(&given);
            thread::spawn(move || {
                if !given.watch.join() {
                    return;
                }
                if given.has(1) {
                    given.set_used(true);
                    given.expect_nothing(1600);
                    given.set_used(false);
                }
                given.watch.leave(1616);
            })
        };
        given.retire(true);
        waiter.join().unwrap();
    });
}

#[test]
fn a_watch_is_not_retired_while_a_hold_is_told() {
    model(None, || {
        let given = Given::new();
        let reader = {
            let given = Arc::clone(&given);
            thread::spawn(move || {
                if !given.watch.pin() {
                    return;
                }
                if !given.has(1) {
                    return given.watch.unpin();
                }
                let holder = holder_word(FIRST, Activity::Read, 0);
                given.set_used(true);
                given.watch.begin_hold(holder, 1600);
                given.watch.unpin();
                given.set_used(false);
                given.watch.end_hold(holder, 1616);
            })
        };
        given.retire(false);
        reader.join().unwrap();
    });
}

/// Who comes too late for the first lock finds the watch prepared for the second.
#[test]
fn a_watch_is_given_on_without_what_was_told_before() {
    model(None, || {
        let given = Given::new();
        let holder = holder_word(FIRST, Activity::Write, 0);
        given.watch.add_alone(holder, 16);
        let waiter = {
            let given = Arc::clone(&given);
            thread::spawn(move || {
                if given.has(2) && given.watch.join() {
                    given.expect_nothing(1700);
                    given.watch.leave(1800);
                }
            })
        };
        given.retire(true);
        waiter.join().unwrap();
    });
}
