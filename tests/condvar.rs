//! Condition variables: sleep is sleep, waits are waits, and nothing is lost or invented.

use instrumented_lock::{Condvar, LockKind, Mutex, MutexGuard, drop_in, instrumented, registry};
use instrumented_lock_tests::{figures, figures_in};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// Waits until `n` waits have begun on the condition variable `name`.
fn until_asleep(name: &str, n: u64) {
    while figures(name).sleep().waits() < n {
        thread::sleep(MS);
    }
    thread::sleep(20 * MS);
}

#[test]
fn a_convoy_after_notify_all_shows_as_contended_reacquisitions() {
    #[instrumented]
    #[derive(Default)]
    struct Convoy {
        open: Mutex<bool>,
        opened: Condvar,
    }
    let convoy = Convoy::default();
    let asleep = thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut open = convoy.open.lock();
                convoy.opened.wait_while(&mut open, |open| !*open);
                thread::sleep(10 * MS);
            });
        }
        until_asleep("Convoy::opened", 8);
        thread::sleep(100 * MS);
        let asleep = registry::snapshot();
        *convoy.open.lock() = true;
        assert_eq!(convoy.opened.notify_all(), 8);
        asleep
    });
    let total = figures("Convoy::open");
    assert_eq!(total.write().acquisitions(), 8 + 1 + 8);
    assert_eq!(total.write().releases(), total.write().acquisitions());

    let lock = figures_in(&registry::snapshot().since(&asleep), "Convoy::open");
    let write = lock.write();
    assert_eq!(write.contended(), 7);
    let (blocked, sum) = (write.blocked(), write.blocked().sum());
    // 10 + 20 + … + 70 ms; a thread that is slow to wake has slept longer and waits less.
    assert!(sum >= 200 * MS && sum < 600 * MS, "{sum:?}");
    assert!(blocked.max().unwrap() >= 50 * MS);
    assert!(
        write.hold().sum() >= 80 * MS && write.hold().sum() < 200 * MS,
        "no sleep in hold"
    );

    for sleep in [total.sleep(), figures("Convoy::opened").sleep()] {
        assert_eq!(
            (sleep.waits(), sleep.notified(), sleep.timeouts()),
            (8, 8, 0)
        );
        assert!(
            sleep.time().min().unwrap() >= 100 * MS,
            "asleep until notified"
        );
        assert!(sleep.time().max().unwrap() < 2000 * MS);
    }
}

#[test]
fn a_waker_that_keeps_the_lock_makes_every_reacquisition_wait() {
    #[instrumented]
    #[derive(Default)]
    struct Kept {
        go: Mutex<bool>,
        changed: Condvar,
    }
    let kept = Kept::default();
    let asleep = thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut go = kept.go.lock();
                kept.changed.wait_while(&mut go, |go| !*go);
            });
        }
        until_asleep("Kept::changed", 3);
        let asleep = registry::snapshot();
        let mut go = kept.go.lock();
        *go = true;
        kept.changed.notify_all();
        thread::sleep(50 * MS);
        asleep
    });
    let lock = figures_in(&registry::snapshot().since(&asleep), "Kept::go");
    assert_eq!(lock.write().contended(), 3);
    assert!(lock.write().blocked().min().unwrap() >= 30 * MS);
}

#[test]
fn a_wait_that_times_out_is_told_from_one_that_is_notified() {
    #[instrumented]
    #[derive(Default)]
    struct Timed {
        lock: Mutex<u32>,
        never: Condvar,
    }
    let timed = Timed::default();
    let mut guard = timed.lock.lock();
    let start = Instant::now();
    assert!(timed.never.wait_for(&mut guard, 20 * MS).timed_out());
    assert!(
        timed
            .never
            .wait_until(&mut guard, Instant::now() + 20 * MS)
            .timed_out()
    );
    assert!(
        timed
            .never
            .wait_while_for(&mut guard, |_| true, 20 * MS)
            .timed_out()
    );
    assert!(
        !timed
            .never
            .wait_while_for(&mut guard, |_| false, 20 * MS)
            .timed_out()
    );
    assert!(
        !timed
            .never
            .wait_while_until(&mut guard, |_| false, Instant::now())
            .timed_out()
    );
    assert!(
        !timed
            .never
            .wait_while_for(&mut guard, |_| false, Duration::MAX)
            .timed_out()
    );
    assert!(start.elapsed() >= 60 * MS);
    drop(guard);
    let lock = figures("Timed::lock");
    assert_eq!(
        (
            lock.sleep().waits(),
            lock.sleep().timeouts(),
            lock.sleep().notified()
        ),
        (3, 3, 0)
    );
    assert!(lock.sleep().time().sum() >= 60 * MS);
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (4, 4)
    );
    assert_eq!(lock.write().contended(), 0, "nobody else wanted the mutex");
    assert!(lock.write().hold().sum() < 20 * MS, "asleep is not held");
    assert_eq!(figures("Timed::never").kind(), LockKind::Condvar);
    assert_eq!(figures("Timed::never").sleep(), lock.sleep());
}

#[test]
fn a_sleeper_is_in_flight_nowhere_but_asleep() {
    #[instrumented]
    #[derive(Default)]
    struct Asleep {
        lock: Mutex<bool>,
        woken: Condvar,
    }
    let asleep = Asleep::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut woken = asleep.lock.lock();
            asleep.woken.wait_while(&mut woken, |woken| !*woken);
        });
        until_asleep("Asleep::woken", 1);
        let lock = figures("Asleep::lock");
        assert_eq!(
            lock.write().acquisitions(),
            lock.write().releases(),
            "nobody holds it"
        );
        assert_eq!((lock.sleep().waits(), lock.sleep().time().count()), (1, 0));
        *asleep.lock.lock() = true;
        assert!(asleep.woken.notify_one());
    });
    assert_eq!(figures("Asleep::woken").sleep().notified(), 1);
    assert_eq!(asleep.woken.notify_all(), 0);
    assert!(!asleep.woken.notify_one());
}

/// Every element that is pushed is popped once, by threads that sleep in between.
#[test]
fn no_notification_is_lost() {
    const EACH: usize = 20_000;
    const PAIRS: usize = 4;
    let queue = drop_in::Mutex::new(VecDeque::new());
    let filled = drop_in::Condvar::new();
    let popped = AtomicUsize::new(0);
    thread::scope(|scope| {
        for t in 0..PAIRS {
            let (queue, filled, popped) = (&queue, &filled, &popped);
            scope.spawn(move || {
                for i in 0..EACH {
                    let mut guard = queue.lock();
                    guard.push_back(i);
                    // With the mutex held and without: both must reach a sleeper.
                    if (i + t).is_multiple_of(2) {
                        drop(guard);
                    }
                    filled.notify_one();
                }
            });
            scope.spawn(move || {
                for _ in 0..EACH {
                    let mut guard: MutexGuard<'_, VecDeque<usize>> = queue.lock();
                    while guard.pop_front().is_none() {
                        filled.wait(&mut guard);
                    }
                    popped.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(popped.load(Ordering::Relaxed), EACH * PAIRS);
    assert!(queue.lock().is_empty());
}
