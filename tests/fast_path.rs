//! The shortest path, which only the real clock takes: nothing is lost or counted twice on it, nor
//! where it meets the longer ones.

use instrumented_lock::{
    CallSite, HoldTiming, InFlightState, LockSnapshot, Mutex, MutexGuard, RwLock, clock,
    instrumented, registry,
};
use instrumented_lock_tests::{figures, figures_in};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The tests take turns: some change what all locks record.
static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

/// A guard that is made to end on another thread.
#[expect(dead_code, reason = "it is only dropped")]
struct Sent(MutexGuard<'static, u32>);

// SAFETY: parking_lot's raw mutex may be unlocked on any thread; guards are not `Send` for the sake
// of its deadlock detection, which is off here.
unsafe impl Send for Sent {}

/// What is true of every snapshot, whatever goes on.
fn check(lock: &LockSnapshot) {
    for (mode, figures) in lock.modes() {
        let hold = figures.hold();
        assert!(figures.acquisitions() >= figures.releases(), "{mode:?}");
        let in_buckets: u64 = hold.buckets().map(|(_, n)| n).sum();
        assert_eq!(in_buckets, hold.count(), "{mode:?}");
        let of_mode = || lock.call_sites().iter().filter(|site| site.mode() == mode);
        let by_site: Duration = of_mode().map(CallSite::hold_total).sum();
        assert_eq!(by_site, hold.sum(), "{mode:?}");
        let longest = of_mode().map(CallSite::hold_max).max();
        assert_eq!(longest.unwrap_or_default(), hold.max().unwrap_or_default());
        assert!(hold.min() <= hold.mean() && hold.mean() <= hold.max());
    }
}

#[test]
fn many_threads_lose_nothing_under_continuous_snapshots() {
    const THREADS: usize = 6;
    const EACH: u64 = 100_000;
    #[instrumented]
    struct Striped {
        locks: [RwLock<u64>; THREADS],
    }
    let _turn = TURN.lock();
    let striped = Striped {
        locks: [const { RwLock::new(0) }; THREADS],
    };
    let running = AtomicBool::new(true);
    let mut snapshots = 0;
    thread::scope(|scope| {
        let writers = striped.locks.each_ref().map(|lock| {
            scope.spawn(move || {
                for _ in 0..EACH {
                    *lock.write() += 1;
                    black_box(*lock.read());
                    // At another line, and of two it is in the second entry.
                    let _first = lock.read();
                    black_box(*lock.read());
                }
            })
        });
        scope.spawn(|| {
            for writer in writers {
                writer.join().unwrap();
            }
            running.store(false, Ordering::Relaxed);
        });
        let mut last = 0;
        while running.load(Ordering::Relaxed) {
            let lock = figures("Striped::locks");
            check(&lock);
            let count = lock.read().hold().count() + lock.write().hold().count();
            assert!(count >= last, "nothing is taken back");
            last = count;
            snapshots += 1;
        }
    });
    assert!(snapshots > 5, "taken while the threads ran: {snapshots}");
    let lock = figures("Striped::locks");
    check(&lock);
    let all = THREADS as u64 * EACH;
    let counts = lock
        .modes()
        .map(|(_, figures)| (figures.acquisitions(), figures.hold().count()));
    let counts: Vec<_> = counts.into_iter().collect();
    assert!(counts.contains(&(all, all)), "writes: {counts:?}");
    assert!(counts.contains(&(3 * all, 3 * all)), "reads: {counts:?}");
    let sites: Vec<_> = lock
        .call_sites()
        .iter()
        .map(CallSite::acquisitions)
        .collect();
    assert_eq!(sites, [all; 4]);
}

#[test]
fn a_thousand_threads_lose_nothing_under_continuous_snapshots() {
    const THREADS: usize = 1000;
    const EACH: u64 = 10_000;
    #[instrumented]
    struct Thousand {
        each: Vec<Mutex<u64>>,
    }
    let _turn = TURN.lock();
    let thousand = Thousand {
        each: (0..THREADS).map(|_| Mutex::new(0)).collect(),
    };
    let all_here = Barrier::new(THREADS);
    let running = AtomicBool::new(true);
    let mut snapshots = 0;
    thread::scope(|scope| {
        let workers: Vec<_> = thousand
            .each
            .iter()
            .map(|lock| {
                let all_here = &all_here;
                scope.spawn(move || {
                    all_here.wait();
                    (0..EACH).for_each(|_| *lock.lock() += 1);
                })
            })
            .collect();
        scope.spawn(|| {
            for worker in workers {
                worker.join().unwrap();
            }
            running.store(false, Ordering::Relaxed);
        });
        let mut last = (0, 0);
        while running.load(Ordering::Relaxed) {
            let snapshot = registry::snapshot();
            let lock = figures_in(&snapshot, "Thousand::each");
            check(&lock);
            let write = lock.write();
            assert_eq!(write.hold().count(), write.releases());
            let is_ours =
                |entry: &&instrumented_lock::InFlight| entry.lock().ends_with("Thousand::each");
            let held = snapshot.in_flight().iter().filter(is_ours).count() as u64;
            assert_eq!(write.acquisitions(), write.releases() + held);
            let by_line = lock.call_sites().iter().map(CallSite::acquisitions);
            assert_eq!(by_line.sum::<u64>(), write.acquisitions());
            let now = (write.acquisitions(), write.releases());
            assert!(now.0 >= last.0 && now.1 >= last.1, "{now:?} after {last:?}");
            last = now;
            snapshots += 1;
        }
    });
    assert!(snapshots > 5, "taken while the threads ran: {snapshots}");
    let lock = figures("Thousand::each");
    let all = THREADS as u64 * EACH;
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (all, all)
    );
    assert_eq!(lock.write().hold().count(), all);
}

#[test]
fn locks_held_together_are_listed_and_struck_out_in_any_order() {
    #[instrumented]
    struct Held {
        together: Vec<Mutex<u32>>,
    }
    let _turn = TURN.lock();
    let held = Held {
        together: (0..20).map(Mutex::new).collect(),
    };
    let listed = || {
        let snapshot = registry::snapshot();
        let is_ours =
            |entry: &&instrumented_lock::InFlight| entry.lock().ends_with("Held::together");
        snapshot.in_flight().iter().filter(is_ours).count()
    };
    for order in 0..3 {
        let mut guards: Vec<_> = held.together.iter().map(Mutex::lock).collect();
        assert_eq!(listed(), 20);
        match order {
            0 => drop(guards),
            1 => guards.into_iter().rev().for_each(drop),
            _ => {
                while !guards.is_empty() {
                    drop(guards.swap_remove(guards.len() / 2));
                }
            }
        }
        assert_eq!(listed(), 0);
    }
    let lock = figures("Held::together");
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (60, 60)
    );
}

#[test]
fn a_guard_that_ends_elsewhere_is_counted_once_and_struck_out() {
    #[instrumented]
    static MOVED: Mutex<u32> = Mutex::new(0);
    #[instrumented]
    static MOVED_TOO: Mutex<u32> = Mutex::new(0);
    let _turn = TURN.lock();
    let round = || {
        // The thread that takes the lock has ended when it is released, and another one may have
        // its slot.
        let (send, receive) = mpsc::channel();
        let taker = thread::spawn(move || send.send(Sent(MOVED.lock())).unwrap());
        taker.join().unwrap();
        let guard = receive.recv().unwrap();
        let releaser = thread::spawn(move || {
            *MOVED_TOO.lock() += 1;
            drop::<Sent>(guard);
        });
        releaser.join().unwrap();
    };
    (0..100).for_each(|_| round());
    let snapshot = registry::snapshot();
    for name in ["MOVED", "MOVED_TOO"] {
        let lock = figures_in(&snapshot, name);
        assert_eq!(
            (lock.write().acquisitions(), lock.write().releases()),
            (100, 100)
        );
        check(&lock);
    }
    assert!(
        snapshot
            .in_flight()
            .iter()
            .all(|entry| !entry.lock().contains("MOVED"))
    );
}

#[test]
fn without_call_sites_all_else_is_recorded() {
    #[instrumented]
    static PLAIN: Mutex<u32> = Mutex::new(0);
    let _turn = TURN.lock();
    registry::set_call_sites(false);
    for _ in 0..10 {
        *PLAIN.lock() += 1;
        *PLAIN.lock() += 1;
    }
    let guard = Sent(PLAIN.lock());
    let waiter = thread::spawn(|| *PLAIN.lock() += 1);
    while !registry::snapshot()
        .in_flight()
        .iter()
        .any(|entry| entry.state() == InFlightState::Waiting)
    {
        thread::yield_now();
    }
    thread::spawn(move || drop::<Sent>(guard)).join().unwrap();
    waiter.join().unwrap();
    registry::set_call_sites(true);
    *PLAIN.lock() += 1;

    let lock = figures("PLAIN");
    check(&lock);
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (23, 23)
    );
    assert_eq!(lock.write().contended(), 1);
    let mut rows: Vec<_> = lock
        .call_sites()
        .iter()
        .map(|site| {
            (
                site.location().to_string() == "(other)",
                site.acquisitions(),
            )
        })
        .collect();
    rows.sort_unstable();
    assert_eq!(rows, [(false, 1), (true, 22)]);
    let blame = lock
        .blame()
        .iter()
        .map(instrumented_lock::Blame::total)
        .sum::<Duration>();
    assert!(
        blame + lock.hand_over() > Duration::ZERO,
        "the wait is blamed on a line that is not told"
    );
}

#[test]
fn holds_that_are_only_counted_are_struck_out_whether_they_waited_or_not() {
    #[instrumented]
    static COUNTED: Mutex<u32> = Mutex::new(0);
    let _turn = TURN.lock();
    registry::set_hold_timing(HoldTiming::one_in(1 << 20).unwrap());
    let all = 4 * 20_000;
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20_000).for_each(|_| *COUNTED.lock() += 1));
        }
    });
    registry::set_hold_timing(HoldTiming::EXACT);
    let snapshot = registry::snapshot();
    let lock = figures_in(&snapshot, "COUNTED");
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (all, all)
    );
    assert!(
        snapshot
            .in_flight()
            .iter()
            .all(|entry| !entry.lock().ends_with("COUNTED"))
    );
}

#[test]
fn what_is_recorded_may_change_while_a_lock_is_held() {
    #[instrumented]
    static CHANGED: Mutex<u32> = Mutex::new(0);
    let _turn = TURN.lock();
    let changes: [(fn(bool), u64); 3] = [
        (|on| registry::set_call_sites(!on), 2),
        (clock::set_ordered, 2),
        // Neither what is taken while recording is off nor its end counts.
        (|on| registry::set_enabled(!on), 1),
    ];
    let mut all = 0;
    for (change, counted) in changes {
        let before = CHANGED.lock();
        change(true);
        drop(before);
        let after = CHANGED.lock();
        change(false);
        drop(after);
        all += counted;
        let lock = figures("CHANGED");
        assert_eq!(
            (lock.write().acquisitions(), lock.write().releases()),
            (all, all)
        );
        check(&lock);
    }
    assert_eq!(figures("CHANGED").unmatched(), 1);
}

/// A chain of divisions: none starts before the last one is done.
fn work(x: u64) -> u64 {
    (0..12).fold(x | 1, |x, _| black_box(u64::MAX / (x | 1)))
}

/// What one turn of `work` takes when it is waited for.
fn duration_of_work() -> Duration {
    let mut times: Vec<_> = (0..201)
        .map(|_| {
            let start = Instant::now();
            let x = (0..100).fold(7, |x, _| work(x));
            black_box(x);
            start.elapsed() / 100
        })
        .collect();
    times.sort_unstable();
    times[100]
}

#[test]
fn an_ordered_clock_sees_all_of_the_work() {
    #[instrumented]
    static WORKED: Mutex<u64> = Mutex::new(7);
    let _turn = TURN.lock();
    clock::set_ordered(true);
    for _ in 0..20_000 {
        let mut x = WORKED.lock();
        *x = work(*x);
    }
    clock::set_ordered(false);
    let median = figures("WORKED").write().hold().quantile(0.5).unwrap();
    let expected = duration_of_work();
    // Quantiles are good to 4.4 %, and the machine may slow down in between.
    assert!(
        median > expected * 8 / 10,
        "{median:?} of the {expected:?} that the work takes"
    );
}

#[test]
fn readers_that_do_not_take_turns_all_the_time_bounce_exactly() {
    #[instrumented]
    static TURNS: RwLock<u32> = RwLock::new(0);
    let _turn = TURN.lock();
    let read = || {
        black_box(*TURNS.read());
        // Longer than the readers of a herd are apart.
        thread::sleep(Duration::from_micros(200));
    };
    let (here, there) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..3 {
                here.wait();
                read();
                there.wait();
            }
        });
        for _ in 0..3 {
            (0..4).for_each(|_| read());
            here.wait();
            there.wait();
        }
    });
    // Of the other thread each, and each first one here but that of all.
    assert_eq!(figures("TURNS").read().bounces(), 3 + 2);
}

#[test]
fn slots_change_hands_without_loss() {
    #[instrumented]
    struct Busy {
        each: Vec<Mutex<u64>>,
    }
    const THREADS: usize = 100;
    let _turn = TURN.lock();
    let busy = Busy {
        each: (0..THREADS).map(|_| Mutex::new(0)).collect(),
    };
    let barrier = Barrier::new(THREADS);
    for _ in 0..3 {
        thread::scope(|scope| {
            for lock in &busy.each {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    for _ in 0..1000 {
                        *lock.lock() += 1;
                    }
                });
            }
        });
    }
    let lock = figures("Busy::each");
    check(&lock);
    let all = 3 * THREADS as u64 * 1000;
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (all, all)
    );
    assert_eq!(lock.instances(), THREADS as u64);
}
