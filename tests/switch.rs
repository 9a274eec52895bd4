//! What is recorded can be changed while the program runs, for all classes and for one. The tests
//! take turns, since the settings are the whole process's.

use instrumented_lock::{
    HoldTiming, InFlightState, Mode, Mutex, RwLock, RwLockUpgradableReadGuard as Up,
    RwLockWriteGuard, instrumented, registry,
};
use instrumented_lock_tests::{figures, mock_clock};
use std::thread;
use std::time::Duration;

static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

#[test]
fn a_hold_is_recorded_whole_or_counted_as_unmatched() {
    #[instrumented]
    static SWITCHED: Mutex<u32> = Mutex::new(0);
    let _turn = TURN.lock();
    mock_clock();
    let late = instrumented_lock::drop_in::Mutex::new(0);

    assert!(registry::is_enabled());
    let begun_on = SWITCHED.lock();
    registry::set_enabled(false);
    assert!(!registry::snapshot().is_enabled());
    drop(begun_on);
    let lock = figures("SWITCHED");
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (1, 1),
        "begun, so finished"
    );

    drop(SWITCHED.lock());
    assert!(SWITCHED.try_lock().is_some());
    *late.lock() += 1;
    let begun_off = SWITCHED.lock();
    registry::set_enabled(true);
    drop(begun_off);
    let lock = figures("SWITCHED");
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (1, 1),
        "off is off"
    );
    assert_eq!(lock.unmatched(), 1);

    *late.lock() += 1;
    let snapshot = registry::snapshot();
    let late = snapshot
        .locks()
        .iter()
        .find(|lock| lock.name().contains("switch.rs"))
        .unwrap();
    assert_eq!(
        late.write().acquisitions(),
        1,
        "a class that enrols while off starts when on"
    );
    drop(SWITCHED.lock());
    assert_eq!(figures("SWITCHED").write().acquisitions(), 2);
}

#[test]
fn one_class_can_be_off_while_the_others_are_on() {
    #[instrumented]
    struct Two {
        quiet: Mutex<u32>,
        loud: Mutex<u32>,
    }
    let _turn = TURN.lock();
    mock_clock();
    let two = Two {
        quiet: Mutex::new(0),
        loud: Mutex::new(0),
    };
    let class = |name: &str| {
        registry::classes()
            .into_iter()
            .find(|class| class.name().ends_with(name))
            .unwrap()
    };
    let acquire_both = || {
        *two.quiet.lock() += 1;
        *two.loud.lock() += 1;
    };
    let counts = || ["Two::quiet", "Two::loud"].map(|name| figures(name).write().acquisitions());
    class("Two::quiet").set_enabled(false);
    acquire_both();
    assert_eq!(counts(), [0, 1]);
    registry::set_enabled(false);
    acquire_both();
    registry::set_enabled(true);
    acquire_both();
    assert_eq!(counts(), [0, 2], "what a class says for itself stays");
    class("Two::quiet").set_enabled(true);
    acquire_both();
    assert_eq!(counts(), [1, 3]);
}

/// Holds of 100 ns and 300 ns in turn, a pattern that a fixed step would alias with.
#[test]
fn sampled_holds_stand_for_all_and_counts_stay_exact() {
    const N: u64 = 200_000;
    #[instrumented]
    static SAMPLED: RwLock<()> = RwLock::new(());
    let _turn = TURN.lock();
    let clock = mock_clock();
    registry::set_hold_timing(HoldTiming::one_in(16).unwrap());
    for i in 0..N {
        let guard = SAMPLED.read();
        clock.advance_here(Duration::from_nanos(if i % 2 == 0 { 100 } else { 300 }));
        drop(guard);
    }
    registry::set_hold_timing(HoldTiming::EXACT);
    let lock = figures("SAMPLED");
    let (read, hold) = (lock.read(), lock.read().hold());
    assert_eq!((read.acquisitions(), read.releases()), (N, N));
    assert_eq!(read.wait().count(), N);
    assert_eq!(hold.count() % 16, 0, "every sample stands for 16");
    assert_eq!(hold.buckets().map(|(_, n)| n).sum::<u64>(), hold.count());
    // 12,500 samples expected, deviation 108; the bounds are six deviations wide.
    let near = |value: f64, expected: f64, within: f64| (value - expected).abs() < within;
    assert!(
        near(hold.count() as f64 / 16.0, 12_500.0, 650.0),
        "{}",
        hold.count()
    );
    assert!(
        near(hold.mean().unwrap().as_nanos() as f64, 200.0, 6.0),
        "{:?}",
        hold.mean()
    );
    assert!(
        near(hold.std_dev_ns().unwrap(), 100.0, 2.0),
        "{:?}",
        hold.std_dev_ns()
    );
    assert_eq!(
        (
            hold.min().unwrap().as_nanos(),
            hold.max().unwrap().as_nanos()
        ),
        (100, 300)
    );
    assert!(near(
        hold.quantile(0.25).unwrap().as_nanos() as f64,
        100.0,
        4.5
    ));
}

#[test]
fn exact_and_sampled_holds_of_one_class_add_up() {
    #[instrumented]
    static MIXED: RwLock<()> = RwLock::new(());
    let _turn = TURN.lock();
    let clock = mock_clock();
    let class = registry::classes()
        .into_iter()
        .find(|class| class.name().ends_with("MIXED"));
    let class = class.unwrap();
    for timing in [
        None,
        Some(HoldTiming::one_in(2).unwrap()),
        Some(HoldTiming::EXACT),
    ] {
        class.set_hold_timing(timing);
        for _ in 0..1000 {
            let guard = MIXED.upgradable_read();
            clock.advance_here(Duration::from_nanos(50));
            drop(instrumented_lock::RwLockUpgradableReadGuard::upgrade(guard));
        }
        let begun_before_the_change = MIXED.read();
        class.set_hold_timing(Some(HoldTiming::one_in(1 << 20).unwrap()));
        drop(begun_before_the_change);
    }
    class.set_hold_timing(None);
    let lock = figures("MIXED");
    for (mode, n) in [
        (Mode::Upgradable, 3000),
        (Mode::Write, 3000),
        (Mode::Read, 3),
    ] {
        let figures = lock.mode(mode);
        assert_eq!(
            (figures.acquisitions(), figures.releases()),
            (n, n),
            "{mode:?}"
        );
    }
    let hold = lock.upgradable().hold();
    assert!((2700..3300).contains(&hold.count()), "{}", hold.count());
    assert_eq!(hold.mean(), Some(Duration::from_nanos(50)));
    assert_eq!(hold.std_dev(), Some(Duration::ZERO));
}

#[test]
fn without_call_sites_no_conversion_has_a_line() {
    #[instrumented]
    struct Converted {
        lock: RwLock<u32>,
        own: RwLock<u32>,
    }
    let _turn = TURN.lock();
    mock_clock();
    let converted = Converted {
        lock: RwLock::new(0),
        own: RwLock::new(0),
    };
    let all =
        |lock: &RwLock<u32>| {
            let long = Duration::from_millis(1);
            drop(RwLockWriteGuard::downgrade(lock.write()));
            drop(RwLockWriteGuard::downgrade_to_upgradable(lock.write()));
            drop(Up::downgrade(lock.upgradable_read()));
            drop(Up::upgrade(lock.upgradable_read()));
            drop(Up::try_upgrade(lock.upgradable_read()).ok());
            drop(Up::try_upgrade_for(lock.upgradable_read(), long).ok());
            Up::with_upgraded(&mut lock.upgradable_read(), |value| *value += 1);
            // One that has to wait, and one that gives up.
            let reader = lock.read();
            assert!(Up::try_upgrade_for(lock.upgradable_read(), long).is_err());
            assert!(Up::try_upgrade(lock.upgradable_read()).is_err());
            thread::scope(|scope| {
                let waits = scope.spawn(|| drop(Up::upgrade(lock.upgradable_read())));
                while !registry::snapshot().in_flight().iter().any(|entry| {
                    entry.state() == InFlightState::Waiting && entry.mode() == Mode::Write
                }) {
                    assert!(!waits.is_finished());
                    thread::yield_now();
                }
                drop(reader);
            });
        };
    let is_other = |name: &str| {
        let lock = figures(name);
        let write = lock.write();
        assert!(write.acquisitions() >= 7 && write.contended() >= 1);
        let others = lock
            .call_sites()
            .iter()
            .filter(|site| site.is_other())
            .count();
        (others == lock.call_sites().len(), others)
    };
    registry::set_call_sites(false);
    all(&converted.lock);
    registry::set_call_sites(true);
    assert_eq!(
        is_other("Converted::lock"),
        (true, 3),
        "a row for each mode"
    );
    assert!(
        figures("Converted::lock")
            .blame()
            .iter()
            .all(|pair| pair.waiter().line() == 0)
    );
    let own = registry::classes();
    let own = own
        .iter()
        .find(|class| class.name().ends_with("Converted::own"))
        .unwrap();
    own.set_call_sites(Some(false));
    all(&converted.own);
    assert_eq!(is_other("Converted::own"), (true, 3));
    own.set_call_sites(None);
    all(&converted.own);
    assert!(!is_other("Converted::own").0);
}
