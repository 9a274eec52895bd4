//! Which line acquires, what is in flight, and who had the lock before.

#![allow(
    clippy::items_after_statements,
    reason = "a test takes its turn before anything else"
)]

use instrumented_lock::{
    CallSite, Condvar, InFlight, InFlightState, Mode, Mutex, MutexGuard, RwLock,
    RwLockUpgradableReadGuard, RwLockWriteGuard, instrumented, registry,
};
use instrumented_lock_tests::{figures, figures_in, mock_clock};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const NS: Duration = Duration::from_nanos(1);
const MS: Duration = Duration::from_millis(1);

/// The tests take turns: some move the clock of all threads, or look at all that is in flight.
static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

/// Line, mode and acquisitions of every row of `lock`, in the order of the lines.
fn lines(lock: &str) -> Vec<(u32, Mode, u64)> {
    let lock = figures(lock);
    let row = |site: &CallSite| (site.location().line(), site.mode(), site.acquisitions());
    let mut lines: Vec<_> = lock.call_sites().iter().map(row).collect();
    lines.sort_unstable();
    for site in lock.call_sites() {
        assert_eq!(site.location().file(), file!());
    }
    lines
}

fn in_flight(lock: &str) -> Vec<InFlight> {
    let snapshot = registry::snapshot();
    let is_it = |entry: &&InFlight| entry.lock().ends_with(lock);
    snapshot.in_flight().iter().filter(is_it).cloned().collect()
}

#[test]
fn every_acquiring_line_has_its_row() {
    let _turn = TURN.lock();
    #[instrumented]
    static ROWS: RwLock<u32> = RwLock::new(0);
    let clock = mock_clock();
    let first = line!();
    for i in 0..3 {
        let _guard = ROWS.read();
        clock.advance_here((i + 1) * 10 * NS);
    }
    drop(ROWS.try_write());
    let up = ROWS.upgradable_read();
    let write = RwLockUpgradableReadGuard::upgrade(up);
    clock.advance_here(7 * NS);
    drop(RwLockWriteGuard::downgrade(write));
    assert!(ROWS.try_read_for(MS).is_some());
    let expected = [
        (first + 2, Mode::Read, 3),
        (first + 5, Mode::Write, 1),
        (first + 6, Mode::Upgradable, 1),
        (first + 7, Mode::Write, 1),
        (first + 9, Mode::Read, 1),
        (first + 10, Mode::Read, 1),
    ];
    assert_eq!(lines("ROWS"), expected);
    let lock = figures("ROWS");
    let reads = &lock.call_sites()[0];
    assert_eq!(
        (reads.location().line(), reads.is_other()),
        (first + 2, false)
    );
    assert_eq!(
        (reads.hold_total(), reads.hold_max(), reads.releases()),
        (60 * NS, 30 * NS, 3)
    );
    assert_eq!(
        (reads.contended(), reads.blocked_total()),
        (0, Duration::ZERO)
    );
}

#[test]
fn a_lock_that_is_taken_again_stays_with_the_line_that_took_it() {
    let _turn = TURN.lock();
    #[instrumented]
    struct Again {
        mutex: Mutex<u32>,
        condvar: Condvar,
    }
    mock_clock();
    let again = Again {
        mutex: Mutex::new(0),
        condvar: Condvar::new(),
    };
    let line = line!() + 1;
    let mut guard = again.mutex.lock();
    MutexGuard::unlocked(&mut guard, || ());
    MutexGuard::bump(&mut guard);
    assert!(again.condvar.wait_for(&mut guard, MS).timed_out());
    drop(guard);
    assert_eq!(lines("Again::mutex"), [(line, Mode::Write, 4)]);
}

#[test]
fn of_many_lines_the_expensive_ones_stay_and_nothing_is_lost() {
    let _turn = TURN.lock();
    #[instrumented]
    static MANY: Mutex<u32> = Mutex::new(0);
    let clock = mock_clock();
    let hold = |ns: u32, guard: MutexGuard<'_, u32>| {
        clock.advance_here(ns * NS);
        drop(guard);
    };
    let expensive = line!() + 1;
    hold(1_000_000, MANY.lock());
    hold(1, MANY.lock());
    hold(2, MANY.lock());
    hold(3, MANY.lock());
    hold(4, MANY.lock());
    hold(5, MANY.lock());
    hold(6, MANY.lock());
    hold(7, MANY.lock());
    hold(8, MANY.lock());
    hold(9, MANY.lock());
    hold(10, MANY.lock());
    hold(11, MANY.lock());
    hold(12, MANY.lock());
    hold(13, MANY.lock());
    hold(14, MANY.lock());
    hold(15, MANY.lock());
    hold(16, MANY.lock());
    hold(17, MANY.lock());
    hold(18, MANY.lock());
    hold(19, MANY.lock());
    hold(20, MANY.lock());
    hold(21, MANY.lock());
    hold(22, MANY.lock());
    hold(23, MANY.lock());
    hold(24, MANY.lock());
    hold(25, MANY.lock());
    hold(500, MANY.lock());

    let lock = figures("MANY");
    let sites = lock.call_sites();
    assert_eq!(sites[0].location().line(), expensive);
    assert_eq!(sites[0].hold_total(), 1_000_000 * NS);
    assert!(sites.len() <= 11, "{}", sites.len());
    let others = sites
        .iter()
        .find(|site| site.is_other())
        .expect("too many lines for all");
    assert_eq!(others.location().to_string(), "(other)");
    let sum = sites.iter().map(CallSite::acquisitions).sum::<u64>();
    let total: Duration = sites.iter().map(CallSite::hold_total).sum();
    assert_eq!((sum, total), (27, lock.write().hold().sum()));
}

#[test]
fn an_interval_has_its_own_rows() {
    let _turn = TURN.lock();
    #[instrumented]
    static INTERVAL_ROWS: Mutex<u32> = Mutex::new(0);
    let clock = mock_clock();
    let acquire = |n: u32| {
        for _ in 0..n {
            let _guard = INTERVAL_ROWS.lock();
            clock.advance_here(10 * NS);
        }
    };
    acquire(5);
    drop(INTERVAL_ROWS.lock());
    let earlier = registry::snapshot();
    acquire(2);
    let interval = registry::snapshot().since(&earlier);
    let lock = figures_in(&interval, "INTERVAL_ROWS");
    let [row] = lock.call_sites() else {
        panic!("{:?}", lock.call_sites())
    };
    assert_eq!(
        (row.acquisitions(), row.releases(), row.hold_total()),
        (2, 2, 20 * NS)
    );
    assert_eq!(row.hold_max(), 10 * NS);
}

#[test]
fn rows_add_up_to_the_totals_while_everything_runs() {
    let _turn = TURN.lock();
    const THREADS: u64 = 4;
    const EACH: u64 = 20_000;
    #[instrumented]
    static STRESS: RwLock<u64> = RwLock::new(0);
    mock_clock();
    let done = AtomicU64::new(0);
    // What may be missing in one figure and there in another: what was begun or done while the
    // snapshot was taken.
    let check = |threads: u64| {
        let before = done.load(Ordering::SeqCst);
        let lock = figures("STRESS");
        let slack = threads + done.load(Ordering::SeqCst) - before;
        for (mode, m) in lock.modes() {
            let sites = || lock.call_sites().iter().filter(|site| site.mode() == mode);
            let near = |rows: u64, total: u64| assert!(rows.abs_diff(total) <= slack, "{mode:?}");
            near(sites().map(CallSite::acquisitions).sum(), m.acquisitions());
            near(sites().map(CallSite::releases).sum(), m.releases());
            near(sites().map(CallSite::contended).sum(), m.contended());
            near(m.acquisitions(), m.releases());
            if threads == 0 {
                assert_eq!(
                    sites().map(CallSite::blocked_total).sum::<Duration>(),
                    m.blocked().sum()
                );
                assert_eq!(
                    sites().map(CallSite::hold_total).sum::<Duration>(),
                    m.hold().sum()
                );
                assert_eq!(m.acquisitions(), m.releases());
            }
        }
        lock
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|t| {
                let done = &done;
                scope.spawn(move || {
                    for i in 0..EACH {
                        match (i + t) % 8 {
                            0 => *STRESS.write() += 1,
                            1 => drop(STRESS.upgradable_read()),
                            2 | 3 => drop(STRESS.try_read()),
                            _ => drop(STRESS.read()),
                        }
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            check(THREADS);
        }
    });
    let lock = check(0);
    assert_eq!(lock.write().acquisitions(), THREADS * EACH / 8);
    assert!(lock.bounces() > 0 && lock.bounces() < THREADS * EACH);
}

#[test]
fn a_snapshot_names_the_lines_while_everything_hangs() {
    let _turn = TURN.lock();
    #[instrumented]
    static HUNG: RwLock<u32> = RwLock::new(0);
    let clock = mock_clock();
    let (let_go, wait_for_it) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel::<u32>();
    let holder = thread::Builder::new().name("holder".to_owned());
    let holder = holder.spawn(move || {
        let line = line!() + 1;
        let _guard = HUNG.write();
        tell.send(line).unwrap();
        wait_for_it.recv().unwrap();
    });
    let held_at = told.recv().unwrap();
    let waiter = thread::Builder::new().name("waiter".to_owned());
    let waited_at = line!() + 1;
    let waiter = waiter.spawn(|| drop(HUNG.read()));
    while in_flight("HUNG").len() < 2 {
        thread::sleep(MS);
    }
    clock.advance(70 * MS);
    let listed = in_flight("HUNG");
    let states: Vec<_> = listed
        .iter()
        .map(|f| (f.thread(), f.state(), f.mode(), f.location().line()))
        .collect();
    assert!(states.contains(&(Some("holder"), InFlightState::Holding, Mode::Write, held_at)));
    assert!(states.contains(&(
        Some("waiter"),
        InFlightState::Waiting,
        Mode::Read,
        waited_at
    )));
    assert!(listed.iter().all(|f| f.age() >= 70 * MS), "{listed:?}");

    let_go.send(()).unwrap();
    holder.unwrap().join().unwrap();
    waiter.unwrap().join().unwrap();
    assert_eq!(in_flight("HUNG"), []);
}

#[test]
fn a_forgotten_guard_is_listed_with_growing_age() {
    let _turn = TURN.lock();
    #[instrumented]
    static LEAKED: Mutex<u32> = Mutex::new(0);
    let clock = mock_clock();
    let line = line!() + 1;
    thread::spawn(|| std::mem::forget(LEAKED.lock()))
        .join()
        .unwrap();
    // The next thread gets the slot; the guard is not its own.
    thread::Builder::new()
        .name("next".to_owned())
        .spawn(|| figures("LEAKED"))
        .unwrap()
        .join()
        .unwrap();
    let age = || {
        let listed = in_flight("LEAKED");
        let [leaked] = &listed[..] else {
            panic!("{listed:?}")
        };
        assert_eq!((leaked.location().line(), leaked.thread()), (line, None));
        assert_eq!(leaked.state(), InFlightState::Holding);
        leaked.age()
    };
    let before = age();
    clock.advance(5 * MS);
    assert!(age() >= before + 5 * MS);
}

#[test]
fn guards_that_end_out_of_order_leave_nothing_listed() {
    let _turn = TURN.lock();
    #[instrumented]
    struct Nest {
        locks: [Mutex<u32>; 20],
    }
    mock_clock();
    let nest = Nest {
        locks: std::array::from_fn(|_| Mutex::new(0)),
    };
    let mut guards: Vec<_> = nest.locks.iter().map(|lock| lock.lock()).collect();
    let listed = in_flight("Nest::locks").len();
    assert_eq!(listed, 20, "a thread is listed with all it holds");
    assert_eq!(registry::snapshot().in_flight_unlisted(), 0);
    drop(guards.remove(0));
    drop(guards.remove(9));
    assert_eq!(in_flight("Nest::locks").len(), listed - 2);
    drop(guards);
    assert_eq!(in_flight("Nest::locks"), []);
    let guard = nest.locks[0].lock();
    assert_eq!(
        in_flight("Nest::locks").len(),
        1,
        "the table is in order again"
    );
    drop(guard);
}

#[test]
fn bounces_are_acquisitions_by_another_thread() {
    let _turn = TURN.lock();
    #[instrumented]
    static BOUNCED: Mutex<u32> = Mutex::new(0);
    mock_clock();
    for _ in 0..3 {
        drop(BOUNCED.lock());
    }
    assert_eq!(figures("BOUNCED").bounces(), 0);
    for _ in 0..2 {
        thread::spawn(|| (drop(BOUNCED.lock()), drop(BOUNCED.lock())))
            .join()
            .unwrap();
    }
    drop(BOUNCED.lock());
    let lock = figures("BOUNCED");
    assert_eq!((lock.bounces(), lock.write().contended_bounces()), (3, 0));
}
