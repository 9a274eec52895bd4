//! Which acquisition counts as what: read, write, upgradable, tried, timed out, converted.

#![allow(
    clippy::items_after_statements,
    reason = "a test takes its turn before anything else"
)]

use instrumented_lock::{
    LockSnapshot, Mode, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard, instrumented,
};
use instrumented_lock_tests::{figures, mock_clock};
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// The tests take turns: some move the clock of all threads, or look at all that is in flight.
static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

/// Acquisitions, releases, contended, try failures and time-outs of a mode.
fn counts(lock: &LockSnapshot, mode: Mode) -> [u64; 5] {
    let m = lock.mode(mode);
    assert_eq!(
        m.wait().count(),
        m.acquisitions(),
        "every acquisition has a wait"
    );
    assert_eq!(m.blocked().count(), m.contended());
    [
        m.acquisitions(),
        m.releases(),
        m.contended(),
        m.try_failures(),
        m.timeouts(),
    ]
}

/// Lets `waiter` run into a lock that the caller holds, and `release` it once the waiter is seen
/// to wait.
fn with_waiter(waiter: impl FnOnce() + Send, release: impl FnOnce()) {
    thread::scope(|scope| {
        let waiter = scope.spawn(waiter);
        thread::sleep(50 * MS);
        assert!(!waiter.is_finished(), "the waiter waits");
        release();
    });
}

#[test]
fn a_mutex_has_write_figures_only() {
    let _turn = TURN.lock();
    #[instrumented]
    static PLAIN: Mutex<u32> = Mutex::new(0);
    let clock = mock_clock();
    {
        let _guard = PLAIN.lock();
        clock.advance_here(3 * MS);
        assert!(PLAIN.try_lock().is_none());
        assert!(PLAIN.try_lock_for(MS).is_none());
        assert!(PLAIN.try_lock_until(Instant::now() + MS).is_none());
    }
    drop(PLAIN.try_lock().expect("free"));
    drop(PLAIN.try_lock_for(MS).expect("free"));
    let lock = figures("PLAIN");
    assert_eq!(counts(&lock, Mode::Write), [3, 3, 0, 1, 2]);
    assert_eq!(counts(&lock, Mode::Read), [0; 5]);
    assert_eq!(counts(&lock, Mode::Upgradable), [0; 5]);
    assert_eq!(lock.write().hold().sum(), 3 * MS);
    assert_eq!(lock.write().wait().max(), Some(Duration::ZERO));
}

#[test]
fn every_mode_of_a_rwlock_counts_apart() {
    let _turn = TURN.lock();
    #[instrumented]
    static MODES: RwLock<u32> = RwLock::new(0);
    let clock = mock_clock();
    {
        let _one = MODES.read();
        let _two = MODES.try_read().expect("shared");
        let _up = MODES.try_upgradable_read().expect("beside readers");
        clock.advance_here(MS);
        assert!(MODES.try_upgradable_read().is_none());
        assert!(MODES.try_upgradable_read_for(MS).is_none());
        assert!(MODES.try_write().is_none());
        assert!(MODES.try_write_for(MS).is_none());
    }
    {
        let _write = MODES.write();
        clock.advance_here(2 * MS);
        assert!(MODES.try_read().is_none());
        assert!(MODES.try_read_for(MS).is_none());
    }
    let lock = figures("MODES");
    assert_eq!(counts(&lock, Mode::Read), [2, 2, 0, 1, 1]);
    assert_eq!(counts(&lock, Mode::Write), [1, 1, 0, 1, 1]);
    assert_eq!(counts(&lock, Mode::Upgradable), [1, 1, 0, 1, 1]);
    let sums = lock
        .modes()
        .map(|(_, m)| m.hold().sum())
        .collect::<Vec<_>>();
    assert_eq!(sums, [2 * MS, MS, 2 * MS]);
}

#[test]
fn a_downgrade_ends_the_write_hold_and_starts_a_read_hold() {
    let _turn = TURN.lock();
    #[instrumented]
    static DOWN: RwLock<u32> = RwLock::new(0);
    let clock = mock_clock();
    let write = DOWN.write();
    clock.advance_here(5 * MS);
    let read = RwLockWriteGuard::downgrade(write);
    clock.advance_here(7 * MS);
    assert_eq!(counts(&figures("DOWN"), Mode::Read), [1, 0, 0, 0, 0]);
    drop(read);
    let lock = figures("DOWN");
    assert_eq!(
        (lock.write().hold().sum(), lock.read().hold().sum()),
        (5 * MS, 7 * MS)
    );

    let up = RwLockWriteGuard::downgrade_to_upgradable(DOWN.write());
    clock.advance_here(MS);
    drop(RwLockUpgradableReadGuard::downgrade(up));
    let lock = figures("DOWN");
    assert_eq!(counts(&lock, Mode::Upgradable), [1, 1, 0, 0, 0]);
    assert_eq!(
        (lock.upgradable().hold().sum(), lock.read().acquisitions()),
        (MS, 2)
    );
}

#[test]
fn an_immediate_upgrade_waits_for_nothing() {
    let _turn = TURN.lock();
    #[instrumented]
    static UP: RwLock<u32> = RwLock::new(0);
    let clock = mock_clock();
    let up = UP.upgradable_read();
    clock.advance_here(MS);
    let write = RwLockUpgradableReadGuard::upgrade(up);
    clock.advance_here(2 * MS);
    drop(write);
    let lock = figures("UP");
    assert_eq!(counts(&lock, Mode::Upgradable), [1, 1, 0, 0, 0]);
    assert_eq!(counts(&lock, Mode::Write), [1, 1, 0, 0, 0]);
    assert_eq!(
        (lock.upgradable().hold().sum(), lock.write().hold().sum()),
        (MS, 2 * MS)
    );
}

#[test]
fn an_upgrade_that_gives_up_leaves_the_upgradable_hold_running() {
    let _turn = TURN.lock();
    #[instrumented]
    static STUCK: RwLock<u32> = RwLock::new(0);
    let clock = mock_clock();
    let reader = STUCK.read();
    let up = STUCK.upgradable_read();
    clock.advance_here(MS);
    let Err(up) = RwLockUpgradableReadGuard::try_upgrade(up) else {
        panic!("a reader is there")
    };
    let Err(mut up) = RwLockUpgradableReadGuard::try_upgrade_for(up, MS) else {
        panic!("a reader is there");
    };
    assert!(up.try_with_upgraded(|_| ()).is_none());
    clock.advance_here(MS);
    drop((up, reader));
    let lock = figures("STUCK");
    assert_eq!(counts(&lock, Mode::Write), [0, 0, 0, 2, 1]);
    assert_eq!(counts(&lock, Mode::Upgradable), [1, 1, 0, 0, 0]);
    assert_eq!(lock.upgradable().hold().sum(), 2 * MS);
}

#[test]
fn an_upgrade_that_blocks_is_a_write_wait() {
    let _turn = TURN.lock();
    #[instrumented]
    static BLOCKED_UP: RwLock<u32> = RwLock::new(0);
    mock_clock();
    let reader = BLOCKED_UP.read();
    let upgrade = || {
        let up = BLOCKED_UP.upgradable_read();
        drop(RwLockUpgradableReadGuard::upgrade(up));
    };
    with_waiter(upgrade, || drop(reader));
    let lock = figures("BLOCKED_UP");
    assert_eq!(counts(&lock, Mode::Write), [1, 1, 1, 0, 0]);
    assert_eq!(counts(&lock, Mode::Upgradable), [1, 1, 0, 0, 0]);
}

#[test]
fn with_upgraded_gives_the_upgradable_hold_back() {
    let _turn = TURN.lock();
    #[instrumented]
    static WITH: RwLock<u32> = RwLock::new(0);
    mock_clock();
    let mut up = WITH.upgradable_read();
    assert_eq!(
        up.with_upgraded(|n| {
            *n += 1;
            *n
        }),
        1
    );
    drop(up);
    let lock = figures("WITH");
    assert_eq!(counts(&lock, Mode::Write), [1, 1, 0, 0, 0]);
    assert_eq!(counts(&lock, Mode::Upgradable), [2, 2, 0, 0, 0]);
}

#[test]
fn a_contended_acquisition_has_its_wait_in_both_distributions() {
    let _turn = TURN.lock();
    #[instrumented]
    static CONTENDED: Mutex<u32> = Mutex::new(0);
    let clock = mock_clock();
    let guard = CONTENDED.lock();
    with_waiter(
        || *CONTENDED.lock() += 1,
        || {
            clock.advance(30 * MS);
            drop(guard);
        },
    );
    let lock = figures("CONTENDED");
    assert_eq!(counts(&lock, Mode::Write), [2, 2, 1, 0, 0]);
    assert_eq!(lock.write().blocked().sum(), 30 * MS);
    assert_eq!(lock.write().wait().sum(), 30 * MS);
    assert_eq!(lock.write().wait().mean(), Some(15 * MS));
    assert_eq!(lock.write().wait().min(), Some(Duration::ZERO));
}

#[test]
fn mapped_guards_end_the_hold_they_were_made_from() {
    let _turn = TURN.lock();
    #[instrumented]
    struct Pair {
        mutex: Mutex<(u8, u8)>,
        rwlock: RwLock<(u8, u8)>,
    }
    let pair = Pair {
        mutex: Mutex::new((1, 2)),
        rwlock: RwLock::new((3, 4)),
    };
    let clock = mock_clock();
    let mapped = MutexGuard::map(pair.mutex.lock(), |pair| &mut pair.1);
    clock.advance_here(MS);
    assert_eq!(*mapped, 2);
    drop(mapped);
    let mapped = RwLockReadGuard::map(pair.rwlock.read(), |pair| &pair.0);
    clock.advance_here(2 * MS);
    assert_eq!(*mapped, 3);
    drop(mapped);
    drop(RwLockWriteGuard::map(pair.rwlock.write(), |pair| {
        &mut pair.1
    }));
    assert_eq!(figures("Pair::mutex").write().hold().sum(), MS);
    assert_eq!(figures("Pair::rwlock").read().hold().sum(), 2 * MS);
    assert_eq!(
        counts(&figures("Pair::rwlock"), Mode::Write),
        [1, 1, 0, 0, 0]
    );
}

#[test]
fn unlocked_and_bump_are_two_holds() {
    let _turn = TURN.lock();
    #[instrumented]
    static YIELDS: Mutex<u32> = Mutex::new(0);
    let clock = mock_clock();
    let mut guard = YIELDS.lock();
    clock.advance_here(MS);
    MutexGuard::unlocked(&mut guard, || clock.advance_here(100 * MS));
    clock.advance_here(MS);
    MutexGuard::bump(&mut guard);
    clock.advance_here(MS);
    MutexGuard::unlock_fair(guard);
    let lock = figures("YIELDS");
    assert_eq!(counts(&lock, Mode::Write), [3, 3, 0, 0, 0]);
    assert_eq!(
        (lock.write().hold().sum(), lock.write().hold().max()),
        (3 * MS, Some(MS))
    );
}

#[test]
fn arc_guards_count_like_the_others() {
    let _turn = TURN.lock();
    #[instrumented]
    struct Handles {
        #[lock]
        mutex: std::sync::Arc<Mutex<u8>>,
        #[lock]
        rwlock: std::sync::Arc<RwLock<u8>>,
    }
    let handles = Handles {
        mutex: std::sync::Arc::new(Mutex::new(1)),
        rwlock: std::sync::Arc::new(RwLock::new(2)),
    };
    mock_clock();
    let guard = handles.mutex.lock_arc();
    assert!(handles.mutex.try_lock_arc().is_none());
    drop(guard);
    let read = handles.rwlock.read_arc();
    assert!(handles.rwlock.try_write_arc_for(MS).is_none());
    drop(read);
    drop(handles.rwlock.write_arc());
    drop(handles.rwlock.upgradable_read_arc());
    assert_eq!(
        counts(&figures("Handles::mutex"), Mode::Write),
        [1, 1, 0, 1, 0]
    );
    let lock = figures("Handles::rwlock");
    assert_eq!(counts(&lock, Mode::Read), [1, 1, 0, 0, 0]);
    assert_eq!(counts(&lock, Mode::Write), [1, 1, 0, 0, 1]);
    assert_eq!(counts(&lock, Mode::Upgradable), [1, 1, 0, 0, 0]);
}

#[test]
fn a_panic_under_the_lock_releases_and_records() {
    let _turn = TURN.lock();
    #[instrumented]
    static PANICS: Mutex<u32> = Mutex::new(0);
    mock_clock();
    let panicked = std::panic::catch_unwind(|| {
        let _guard = PANICS.lock();
        panic!("under the lock");
    });
    assert!(panicked.is_err());
    assert!(PANICS.try_lock().is_some(), "no poisoning");
    assert_eq!(counts(&figures("PANICS"), Mode::Write), [2, 2, 0, 0, 0]);
}
