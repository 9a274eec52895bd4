//! Whatever a lock is converted to while others wait for it, they are told whom they waited for: blame and
//! hand-over are together what was blocked, to the nanosecond.
//!
//! The clock stands still but where the tests move it, so the figures are exact. At any moment one thread
//! holds the lock while others wait, since several readers at a time are each blamed in full.

use instrumented_lock::{
    Blame, CallSite, InFlightState, LockSnapshot, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard as Up, RwLockWriteGuard as Write, instrumented, registry,
};
use instrumented_lock_tests::{figures, mock_clock};
use std::sync::mpsc;
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
/// Longer than anything takes that is not stuck.
const LONG: Duration = Duration::from_secs(20);

/// The tests take turns: they move the clock of all threads.
static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

#[derive(Debug)]
enum Guard<'a> {
    Read(RwLockReadGuard<'a, u32>),
    Upgradable(Up<'a, u32>),
    Write(Write<'a, u32>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Read,
    Upgradable,
    Write,
}

const STATES: [State; 3] = [State::Read, State::Upgradable, State::Write];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Conversion {
    Downgrade,
    DowngradeToUpgradable,
    DowngradeUpgradable,
    Upgrade,
    TryUpgrade,
    TryUpgradeFor,
    TryUpgradeUntil,
    WithUpgraded,
    TryWithUpgraded,
    Bump,
}

const CONVERSIONS: [Conversion; 10] = [
    Conversion::Downgrade,
    Conversion::DowngradeToUpgradable,
    Conversion::DowngradeUpgradable,
    Conversion::Upgrade,
    Conversion::TryUpgrade,
    Conversion::TryUpgradeFor,
    Conversion::TryUpgradeUntil,
    Conversion::WithUpgraded,
    Conversion::TryWithUpgraded,
    Conversion::Bump,
];

impl Conversion {
    fn from(self) -> &'static [State] {
        match self {
            Conversion::Downgrade | Conversion::DowngradeToUpgradable => &[State::Write],
            Conversion::Bump => &[],
            _ => &[State::Upgradable],
        }
    }

    fn apply(self, guard: Guard<'_>) -> Guard<'_> {
        match (self, guard) {
            (Conversion::Downgrade, Guard::Write(guard)) => Guard::Read(Write::downgrade(guard)),
            (Conversion::DowngradeToUpgradable, Guard::Write(guard)) => {
                Guard::Upgradable(Write::downgrade_to_upgradable(guard))
            }
            (Conversion::DowngradeUpgradable, Guard::Upgradable(guard)) => {
                Guard::Read(Up::downgrade(guard))
            }
            (Conversion::Upgrade, Guard::Upgradable(guard)) => Guard::Write(Up::upgrade(guard)),
            (Conversion::TryUpgrade, Guard::Upgradable(guard)) => {
                Up::try_upgrade(guard).map_or_else(Guard::Upgradable, Guard::Write)
            }
            (Conversion::TryUpgradeFor, Guard::Upgradable(guard)) => {
                Up::try_upgrade_for(guard, LONG).map_or_else(Guard::Upgradable, Guard::Write)
            }
            (Conversion::TryUpgradeUntil, Guard::Upgradable(guard)) => {
                let until = Instant::now() + LONG;
                Up::try_upgrade_until(guard, until).map_or_else(Guard::Upgradable, Guard::Write)
            }
            (Conversion::WithUpgraded, Guard::Upgradable(mut guard)) => {
                Up::with_upgraded(&mut guard, |_| mock_clock().advance(3 * MS));
                Guard::Upgradable(guard)
            }
            (Conversion::TryWithUpgraded, Guard::Upgradable(mut guard)) => {
                Up::try_with_upgraded(&mut guard, |_| mock_clock().advance(3 * MS));
                Guard::Upgradable(guard)
            }
            (_, guard) => guard,
        }
    }
}

fn acquire(lock: &RwLock<u32>, state: State) -> Guard<'_> {
    match state {
        State::Read => Guard::Read(lock.read()),
        State::Upgradable => Guard::Upgradable(lock.upgradable_read()),
        State::Write => Guard::Write(lock.write()),
    }
}

/// The same, with a limit that is never reached.
fn acquire_for(lock: &RwLock<u32>, state: State) -> Guard<'_> {
    match state {
        State::Read => Guard::Read(lock.try_read_for(LONG).expect("in time")),
        State::Upgradable => {
            Guard::Upgradable(lock.try_upgradable_read_for(LONG).expect("in time"))
        }
        State::Write => Guard::Write(lock.try_write_for(LONG).expect("in time")),
    }
}

fn waiting(name: &str) -> usize {
    let snapshot = registry::snapshot();
    let is_it = |entry: &&instrumented_lock::InFlight| {
        entry.lock().ends_with(name) && entry.state() == InFlightState::Waiting
    };
    snapshot.in_flight().iter().filter(is_it).count()
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "{what}");
        thread::sleep(MS / 10);
    }
}

/// Starts a thread that acquires and lets go at once. Returns when it waits, or has done so.
fn comes<'scope>(
    scope: &'scope Scope<'scope, '_>,
    (name, lock): (&'static str, &'static RwLock<u32>),
    state: State,
    has_limit: bool,
) {
    let before = waiting(name);
    let (tell, told) = mpsc::channel();
    scope.spawn(move || {
        let acquire = if has_limit { acquire_for } else { acquire };
        drop(acquire(lock, state));
        let _ = tell.send(());
    });
    until("it neither waits nor has the lock", || {
        waiting(name) > before || told.try_recv().is_ok()
    });
}

/// Who may have the lock has it. A moment for those that have been woken.
fn settle(name: &str) {
    let (mut count, mut same) = (waiting(name), 0);
    while same < 5 {
        thread::sleep(MS / 5);
        let now = waiting(name);
        same = if now == count { same + 1 } else { 0 };
        count = now;
    }
}

fn check(lock: &LockSnapshot, what: &str) {
    let blame: Duration = lock.call_sites().iter().map(CallSite::blame).sum();
    let blocked: Duration = lock.modes().map(|(_, mode)| mode.blocked().sum()).sum();
    let hand_over = lock.hand_over();
    assert_eq!(
        blame + hand_over,
        blocked,
        "{what}: blame {blame:?}, hand-over {hand_over:?}"
    );
    let pairs: Duration = lock.blame().iter().map(Blame::total).sum();
    assert_eq!(pairs, blame, "{what}");
    assert_eq!(lock.clock_anomalies(), 0, "{what}");
}

#[test]
fn every_conversion_with_every_mode_that_waits_adds_up() {
    #[instrumented]
    static EACH: RwLock<u32> = RwLock::new(0);
    let _turn = TURN.lock();
    let clock = mock_clock();
    let lock = ("EACH", &*EACH);
    for conversion in CONVERSIONS {
        for &from in conversion.from() {
            for waits in STATES {
                for has_limit in [false, true] {
                    let case = format!("{conversion:?} while {waits:?} waits, limit {has_limit}");
                    thread::scope(|scope| {
                        let guard = acquire(lock.1, from);
                        clock.advance(20 * MS);
                        comes(scope, lock, waits, has_limit);
                        clock.advance(40 * MS);
                        let guard = conversion.apply(guard);
                        settle(lock.0);
                        // It also waits, or has the lock and lets go of it.
                        clock.advance(60 * MS);
                        comes(scope, lock, waits, has_limit);
                        clock.advance(80 * MS);
                        drop(guard);
                    });
                    check(&figures(lock.0), &case);
                }
            }
        }
    }
    let lock = figures(lock.0);
    assert!(
        lock.modes().all(|(_, mode)| mode.contended() > 5),
        "all modes waited"
    );
    assert_eq!(
        lock.hand_over(),
        Duration::ZERO,
        "nobody waited for a lock that was free"
    );
}

#[test]
fn an_upgrade_that_waits_for_a_reader_is_not_blamed_for_its_own_wait() {
    #[instrumented]
    static UPGRADED: RwLock<u32> = RwLock::new(0);
    let _turn = TURN.lock();
    let clock = mock_clock();
    let lock = ("UPGRADED", &*UPGRADED);
    for conversion in [
        Conversion::Upgrade,
        Conversion::TryUpgradeFor,
        Conversion::TryUpgradeUntil,
    ] {
        for waits in [
            None,
            Some(State::Read),
            Some(State::Upgradable),
            Some(State::Write),
        ] {
            let before = figures(lock.0);
            let line = line!() + 2;
            thread::scope(|scope| {
                let reader = lock.1.read();
                clock.advance(30 * MS);
                let (tell, told) = mpsc::channel();
                let upgrades = scope.spawn(move || {
                    let guard = Guard::Upgradable(lock.1.upgradable_read());
                    tell.send(()).unwrap();
                    let guard = conversion.apply(guard);
                    assert!(matches!(guard, Guard::Write(_)));
                    clock.advance(50 * MS);
                    drop(guard);
                });
                told.recv().unwrap();
                until("the upgrade waits", || {
                    waiting(lock.0) == 1 || upgrades.is_finished()
                });
                if let Some(state) = waits {
                    comes(scope, lock, state, false);
                }
                clock.advance(70 * MS);
                drop(reader);
                upgrades.join().unwrap();
            });
            let case = format!("{conversion:?} while {waits:?} waits");
            let after = figures(lock.0);
            check(&after, &case);
            let blamed = |lock: &LockSnapshot| {
                let mut sites = lock.call_sites().iter();
                let site = sites.find(|site| site.location().line() == line);
                site.map_or(Duration::ZERO, CallSite::blame)
            };
            let expected = if waits.is_some() {
                2 * 70 * MS
            } else {
                70 * MS
            };
            assert_eq!(blamed(&after), blamed(&before) + expected, "{conversion:?}");

            let (before, after) = (
                before.write().blocked().sum(),
                after.write().blocked().sum(),
            );
            // Its own wait, and that of a writer for the reader and for it.
            let writer = if waits == Some(State::Write) {
                120 * MS
            } else {
                Duration::ZERO
            };
            assert_eq!(after, before + 70 * MS + writer, "{case}");
        }
    }
}

#[test]
fn a_writer_that_is_downgraded_is_blamed_for_all_that_it_holds() {
    #[instrumented]
    static DOWNGRADED: RwLock<u32> = RwLock::new(0);
    let _turn = TURN.lock();
    let clock = mock_clock();
    let lock = ("DOWNGRADED", &*DOWNGRADED);
    thread::scope(|scope| {
        let write = lock.1.write();
        clock.advance(20 * MS);
        comes(scope, lock, State::Write, false);
        clock.advance(20 * MS);
        let read = Write::downgrade(write);
        clock.advance(100 * MS);
        drop(read);
    });
    let lock = figures(lock.0);
    let mut blamed: Vec<_> = lock.call_sites().iter().map(CallSite::blame).collect();
    blamed.sort_unstable();
    assert_eq!(blamed, [Duration::ZERO, 20 * MS, 100 * MS]);
    assert_eq!(lock.write().blocked().sum(), 120 * MS);
    assert_eq!(lock.hand_over(), Duration::ZERO);
}

/// A xorshift generator: the same cases every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % n
    }
}

#[test]
fn random_walks_through_conversions_add_up() {
    #[instrumented]
    static WALKED: RwLock<u32> = RwLock::new(0);
    let _turn = TURN.lock();
    let clock = mock_clock();
    let lock = ("WALKED", &*WALKED);
    for seed in 1..=40 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let mut walk = Vec::new();
        thread::scope(|scope| {
            let mut guard = acquire(lock.1, STATES[random.below(3)]);
            for _ in 0..8 {
                clock.advance(MS * u32::try_from(random.below(50)).unwrap());
                if random.below(3) == 0 {
                    let state = STATES[random.below(3)];
                    walk.push(format!("{state:?} comes"));
                    comes(scope, lock, state, random.below(2) == 0);
                } else {
                    let conversion = CONVERSIONS[random.below(CONVERSIONS.len())];
                    walk.push(format!("{conversion:?}"));
                    guard = match (conversion, guard) {
                        (Conversion::Bump, Guard::Read(mut guard)) => {
                            RwLockReadGuard::bump(&mut guard);
                            Guard::Read(guard)
                        }
                        (Conversion::Bump, Guard::Upgradable(mut guard)) => {
                            Up::bump(&mut guard);
                            Guard::Upgradable(guard)
                        }
                        (Conversion::Bump, Guard::Write(mut guard)) => {
                            Write::bump(&mut guard);
                            Guard::Write(guard)
                        }
                        (_, guard) => conversion.apply(guard),
                    };
                    settle(lock.0);
                }
            }
            clock.advance(7 * MS);
            drop(guard);
        });
        check(&figures(lock.0), &format!("seed {seed}: {walk:?}"));
    }
    assert!(
        figures(lock.0)
            .modes()
            .all(|(_, mode)| mode.contended() > 5)
    );
}
