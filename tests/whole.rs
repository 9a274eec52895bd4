//! The figures of a lock are seen whole, whatever its threads do meanwhile: what belongs together is of the same
//! moment.

use instrumented_lock::{
    CallSite, InFlightState, LockSnapshot, Mutex, RwLock, RwLockUpgradableReadGuard as Up,
    RwLockWriteGuard as Write, Snapshot, instrumented, registry,
};
use instrumented_lock_tests::figures_in;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What is true of every snapshot.
fn check(snapshot: &Snapshot, name: &str) -> LockSnapshot {
    let lock = figures_in(snapshot, name);
    for (mode, figures) in lock.modes() {
        let (hold, blocked, wait) = (figures.hold(), figures.blocked(), figures.wait());
        let rows = || lock.call_sites().iter().filter(|site| site.mode() == mode);
        let sum = |figure: fn(&CallSite) -> u64| rows().map(figure).sum::<u64>();
        let time = |figure: fn(&CallSite) -> Duration| rows().map(figure).sum::<Duration>();
        let longest = |figure: fn(&CallSite) -> Duration| rows().map(figure).max();
        assert!(figures.releases() <= figures.acquisitions(), "{mode}");
        assert!(figures.contended() <= figures.acquisitions(), "{mode}");
        assert!(figures.contended_bounces() <= figures.bounces(), "{mode}");
        assert!(figures.bounces() <= figures.acquisitions(), "{mode}");
        assert_eq!(
            sum(CallSite::acquisitions),
            figures.acquisitions(),
            "{mode}"
        );
        assert_eq!(sum(CallSite::releases), figures.releases(), "{mode}");
        assert_eq!(sum(CallSite::contended), figures.contended(), "{mode}");
        assert_eq!(time(CallSite::blocked_total), blocked.sum(), "{mode}");
        assert_eq!(time(CallSite::hold_total), hold.sum(), "{mode}");
        assert_eq!(
            longest(CallSite::hold_max).unwrap_or_default(),
            hold.max().unwrap_or_default()
        );
        assert_eq!(
            longest(CallSite::blocked_max).unwrap_or_default(),
            blocked.max().unwrap_or_default()
        );
        for site in rows() {
            assert!(site.releases() <= site.acquisitions(), "{site:?}");
            assert!(site.contended() <= site.acquisitions(), "{site:?}");
            assert!(
                site.contended() > 0 || site.blocked_total().is_zero(),
                "{site:?}"
            );
            assert!(site.blocked_max() <= site.blocked_total(), "{site:?}");
            assert!(site.hold_max() <= site.hold_total(), "{site:?}");
        }
        assert_eq!(hold.count(), figures.releases(), "{mode}");
        assert_eq!(wait.count(), figures.acquisitions(), "{mode}");
        assert_eq!(wait.sum(), blocked.sum(), "{mode}");
        for distribution in [hold, blocked, wait] {
            let in_buckets: u64 = distribution.buckets().map(|(_, n)| n).sum();
            assert_eq!(in_buckets, distribution.count(), "{mode}");
            assert!(distribution.min() <= distribution.mean());
            assert!(distribution.mean() <= distribution.max());
        }
        let listed = snapshot.in_flight().iter().filter(|entry| {
            entry.lock() == lock.name()
                && entry.mode() == mode
                && entry.state() == InFlightState::Holding
        });
        let in_flight = figures.acquisitions() - figures.releases();
        assert_eq!(listed.count() as u64, in_flight, "{mode}");
    }
    assert_eq!(snapshot.in_flight_unlisted(), 0);
    lock
}

/// Runs `work` on so many threads, with snapshots one after the other meanwhile.
fn while_running(threads: u64, name: &str, work: impl Fn(u64) + Sync) -> LockSnapshot {
    let (running, looks) = (AtomicBool::new(true), AtomicBool::new(false));
    let mut before = registry::snapshot();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|t| {
                scope.spawn({
                    let work = &work;
                    let looks = &looks;
                    move || {
                        // Not over before somebody looks.
                        while !looks.load(Ordering::Relaxed) {
                            thread::yield_now();
                        }
                        work(t);
                    }
                })
            })
            .collect();
        let snapshots = scope.spawn(|| {
            looks.store(true, Ordering::Relaxed);
            while running.load(Ordering::Relaxed) {
                let now = registry::snapshot();
                check(&now, name);
                // An interval adds up as well, but for what was in flight at its start.
                let interval = figures_in(&now.since(&before), name);
                for (mode, figures) in interval.modes() {
                    assert_eq!(figures.hold().count(), figures.releases(), "{mode}");
                    let rows = interval
                        .call_sites()
                        .iter()
                        .filter(|site| site.mode() == mode);
                    assert_eq!(
                        rows.map(CallSite::releases).sum::<u64>(),
                        figures.releases()
                    );
                }
                before = now;
            }
        });
        let failed = workers
            .into_iter()
            .map(|worker| worker.join().is_err())
            .fold(false, |a, b| a | b);
        running.store(false, Ordering::Relaxed);
        snapshots.join().unwrap();
        assert!(!failed);
    });
    let snapshot = registry::snapshot();
    let lock = check(&snapshot, name);
    assert!(
        lock.modes()
            .all(|(_, mode)| mode.acquisitions() == mode.releases())
    );
    lock
}

fn work(n: u64) {
    (0..n).for_each(|_| spin_loop());
}

#[test]
fn of_a_mutex_that_is_fought_for() {
    #[instrumented]
    static FOUGHT_FOR: Mutex<u64> = Mutex::new(0);
    let lock = while_running(4, "FOUGHT_FOR", |t| {
        for n in 0..4_000 {
            let mut value = match (n + t) % 3 {
                0 => FOUGHT_FOR.lock(),
                1 => FOUGHT_FOR
                    .try_lock_for(Duration::from_secs(20))
                    .expect("in time"),
                // At another line than the first.
                _ => *Box::new(FOUGHT_FOR.lock()),
            };
            *value += 1;
            work(n % 64);
            if n % 16 == 0 {
                thread::yield_now();
            }
        }
    });
    assert_eq!(lock.write().acquisitions(), 16_000);
    assert!(
        lock.write().contended() > 10,
        "{}",
        lock.write().contended()
    );
}

#[test]
fn of_a_lock_in_all_modes() {
    #[instrumented]
    static ALL_MODES: RwLock<u64> = RwLock::new(0);
    let lock = while_running(4, "ALL_MODES", |t| {
        for n in 0..3_000 {
            match (n + t) % 6 {
                0 => *ALL_MODES.write() += 1,
                1 => drop(Write::downgrade(ALL_MODES.write())),
                2 => *Up::upgrade(ALL_MODES.upgradable_read()) += 1,
                3 => drop((ALL_MODES.try_read(), ALL_MODES.try_write())),
                _ => work(*ALL_MODES.read() % 32),
            }
        }
    });
    assert!(lock.read().acquisitions() > 0 && lock.upgradable().acquisitions() > 0);
}
