//! Waits that last: what a snapshot says of them while they do, and an interval of those that it cuts.

#![allow(
    clippy::items_after_statements,
    reason = "a test takes its turn before anything else"
)]

use instrumented_lock::{
    Condvar, HoldTiming, InFlightState, LockSnapshot, ModeSnapshot, Mutex, RwLock,
    RwLockUpgradableReadGuard, Snapshot, instrumented, registry,
};
use instrumented_lock_tests::{figures_in, mock_clock};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const LIMIT: Duration = Duration::from_secs(20);

/// The tests take turns: they move the clock of all threads.
static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

/// The first snapshot that `is_it`.
fn snapshot_when(is_it: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let start = Instant::now();
    loop {
        let snapshot = registry::snapshot();
        if is_it(&snapshot) {
            return snapshot;
        }
        assert!(start.elapsed() < LIMIT, "{snapshot}");
        thread::sleep(MS);
    }
}

/// The first snapshot in which so many wait for the lock in that mode.
fn when_waiting(lock: &str, mode: fn(&LockSnapshot) -> &ModeSnapshot, n: u64) -> Snapshot {
    snapshot_when(|snapshot| mode(&figures_in(snapshot, lock)).waiting().count() == n)
}

fn ended<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap()
}

#[test]
fn waited_grows_while_somebody_waits() {
    let _turn = TURN.lock();
    #[instrumented]
    static HELD: Mutex<()> = Mutex::new(());
    let clock = mock_clock();
    let write = |snapshot: &Snapshot| figures_in(snapshot, "HELD").write().clone();
    let guard = HELD.lock();
    clock.advance(10 * MS);
    thread::scope(|scope| {
        let waiters = [(); 3].map(|()| scope.spawn(|| drop(HELD.lock())));
        let first = when_waiting("HELD", |lock| lock.write(), 3);
        let at_first = write(&first);
        assert_eq!(at_first.waited(), Duration::ZERO);
        assert_eq!(at_first.holding().longest(), 10 * MS);

        clock.advance(100 * MS);
        let second = registry::snapshot();
        let at_second = write(&second);
        assert_eq!(at_second.waited(), 300 * MS);
        assert_eq!(
            (at_second.waiting().total(), at_second.waiting().longest()),
            (300 * MS, 100 * MS)
        );
        assert_eq!(
            (at_second.holding().count(), at_second.holding().total()),
            (1, 110 * MS)
        );
        assert_eq!(at_second.blocked().count(), 0);

        clock.advance(MS);
        let third = registry::snapshot();
        let interval = write(&third.since(&second));
        assert_eq!(interval.waited(), 3 * MS, "what was waited within it");
        assert_eq!(interval.waited_before(), 300 * MS);
        assert_eq!(interval.waiting().count(), 3);
        assert_eq!(third.since(&second).elapsed(), MS);

        drop(guard);
        waiters.into_iter().for_each(ended);
        let last = registry::snapshot();
        let interval = write(&last.since(&third));
        assert_eq!(
            interval.blocked().sum(),
            303 * MS,
            "whole waits, that end in it"
        );
        assert_eq!(
            (interval.waited(), interval.waited_before()),
            (Duration::ZERO, 303 * MS)
        );
        assert_eq!(
            (interval.waiting().count(), interval.holding().count()),
            (0, 0)
        );
        assert_eq!(write(&last).waited(), 303 * MS);
    });
}

#[test]
fn a_wait_that_gives_up_stays_waited() {
    let _turn = TURN.lock();
    #[instrumented]
    static GIVEN_UP: RwLock<()> = RwLock::new(());
    let clock = mock_clock();
    let read = |snapshot: &Snapshot| figures_in(snapshot, "GIVEN_UP").read().clone();
    let guard = GIVEN_UP.write();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| GIVEN_UP.try_read_for(200 * MS).is_none());
        let first = when_waiting("GIVEN_UP", |lock| lock.read(), 1);
        clock.advance(7 * MS);
        let second = registry::snapshot();
        assert_eq!(read(&second.since(&first)).waited(), 7 * MS);
        assert!(ended(waiter));
        clock.advance(MS);
        let third = registry::snapshot();
        assert_eq!(
            (read(&third).timeouts(), read(&third).waited()),
            (1, 7 * MS)
        );
        assert_eq!(read(&third).blocked().count(), 0);
        assert_eq!(read(&third.since(&second)).waited(), Duration::ZERO);
        assert_eq!(read(&third.since(&second)).waited_before(), 7 * MS);
    });
    drop(guard);
}

#[test]
fn every_mode_says_who_waits_and_who_holds() {
    let _turn = TURN.lock();
    #[instrumented]
    static MODES: RwLock<()> = RwLock::new(());
    let clock = mock_clock();
    let readers = [MODES.read(), MODES.read()];
    let upgradable = MODES.upgradable_read();
    clock.advance(5 * MS);
    thread::scope(|scope| {
        let second = scope.spawn(|| drop(MODES.upgradable_read()));
        when_waiting("MODES", |lock| lock.upgradable(), 1);
        clock.advance(MS);
        let lock = figures_in(&registry::snapshot(), "MODES");
        let holding = lock.modes().map(|(_, mode)| mode.holding().count());
        assert_eq!(
            holding.collect::<Vec<_>>(),
            [2, 1, 0],
            "read, upgradable, write"
        );
        assert_eq!(lock.read().holding().total(), 12 * MS);
        assert_eq!(lock.upgradable().waiting().longest(), MS);

        let upgrade = scope.spawn(|| {
            drop(RwLockUpgradableReadGuard::upgrade(MODES.upgradable_read()));
        });
        when_waiting("MODES", |lock| lock.upgradable(), 2);
        // Either of the two may have it next.
        drop(upgradable);
        when_waiting("MODES", |lock| lock.write(), 1);
        clock.advance(3 * MS);
        let lock = figures_in(&registry::snapshot(), "MODES");
        assert_eq!(lock.write().waiting().total(), 3 * MS);
        drop(readers);
        ended(second);
        ended(upgrade);
    });
    let snapshot = registry::snapshot();
    let lock = figures_in(&snapshot, "MODES");
    assert!(
        lock.modes()
            .all(|(_, mode)| mode.waiting().count() + mode.holding().count() == 0)
    );
    assert_eq!(snapshot.in_flight_unlisted(), 0);
}

#[test]
fn who_sleeps_is_counted_too() {
    let _turn = TURN.lock();
    #[instrumented]
    struct Bed {
        state: Mutex<bool>,
        woken: Condvar,
    }
    let bed = Bed {
        state: Mutex::new(false),
        woken: Condvar::new(),
    };
    let clock = mock_clock();
    let state = |snapshot: &Snapshot| figures_in(snapshot, "Bed::state");
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let mut state = bed.state.lock();
            bed.woken.wait_while(&mut state, |woken| !*woken);
        });
        snapshot_when(|snapshot| state(snapshot).sleep().asleep().count() == 1);
        clock.advance(50 * MS);
        let snapshot = registry::snapshot();
        let asleep = *state(&snapshot).sleep().asleep();
        assert_eq!((asleep.total(), asleep.longest()), (50 * MS, 50 * MS));
        assert_eq!(
            state(&snapshot).write().holding().count(),
            0,
            "it has let go of the mutex"
        );
        *bed.state.lock() = true;
        bed.woken.notify_one();
        ended(sleeper);
    });
    assert_eq!(state(&registry::snapshot()).sleep().asleep().count(), 0);
}

#[test]
fn an_age_that_is_not_known_is_a_dash() {
    let _turn = TURN.lock();
    #[instrumented]
    static COUNTED: Mutex<()> = Mutex::new(());
    mock_clock();
    let class = registry::classes()
        .into_iter()
        .find(|class| class.name().ends_with("COUNTED"))
        .unwrap();
    class.set_hold_timing(Some(HoldTiming::one_in(1 << 20).unwrap()));
    let guard = COUNTED.lock();
    let snapshot = registry::snapshot();
    let lock = figures_in(&snapshot, "COUNTED");
    let holding = lock.write().holding();
    assert_eq!(
        (holding.count(), holding.timed(), holding.total()),
        (1, 0, Duration::ZERO)
    );
    let entry = snapshot
        .in_flight()
        .iter()
        .find(|entry| entry.lock().ends_with("COUNTED"));
    let entry = entry.unwrap();
    assert_eq!(
        (entry.state(), entry.is_timed()),
        (InFlightState::Holding, false)
    );
    let json = serde_json::to_value(entry).unwrap();
    assert!(json["age_ns"].is_null(), "{json}");
    let text = snapshot.to_string();
    assert!(text.contains("holding - by"), "{text}");
    drop(guard);
}

/// With the real clock, and waits that begin and end all the time: whatever an interval cuts, it has no
/// more waiting than its threads have had time for, and nothing that was waited is lost.
#[test]
fn an_interval_has_no_more_waiting_than_its_threads_had_time_for() {
    const THREADS: u32 = 4;
    // A process of its own has the real clock.
    if std::env::var_os("WAITING_WITH_THE_REAL_CLOCK").is_none() {
        let me = std::env::current_exe().unwrap();
        let name = "an_interval_has_no_more_waiting_than_its_threads_had_time_for";
        let child = std::process::Command::new(me)
            .args([name, "--exact", "--nocapture"])
            .env("WAITING_WITH_THE_REAL_CLOCK", "1")
            .output()
            .unwrap();
        assert!(
            child.status.success(),
            "{}",
            String::from_utf8_lossy(&child.stderr)
        );
        return;
    }
    #[instrumented]
    static BUSY: Mutex<u64> = Mutex::new(0);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers = [(); THREADS as usize].map(|()| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let mut guard = BUSY.lock();
                    *guard += 1;
                    if guard.is_multiple_of(64) {
                        thread::sleep(MS);
                    }
                }
            })
        });
        let first = registry::snapshot();
        let mut before = first.clone();
        let mut in_intervals = Duration::ZERO;
        for round in 0..200 {
            if round % 4 != 0 {
                thread::sleep(MS);
            }
            let now = registry::snapshot();
            let interval = now.since(&before);
            let waited = figures_in(&interval, "BUSY").write().waited();
            assert!(
                waited <= THREADS * interval.elapsed(),
                "{waited:?} in {:?}",
                interval.elapsed()
            );
            in_intervals += waited;
            before = now;
        }
        let all = figures_in(&before.since(&first), "BUSY").write().waited();
        assert!(in_intervals >= all, "{in_intervals:?} of {all:?}");
        assert!(
            in_intervals < all + 200 * Duration::from_micros(500),
            "{in_intervals:?} of {all:?}"
        );
        assert!(all > 50 * MS, "{all:?}");
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().for_each(ended);
    });
}
