//! Random schedules: whatever threads do with locks, and however it ends, the statistics add up.
//!
//! A schedule is a list of steps for each of up to three threads. A step acquires a lock in some
//! way, does things with its guard, may run the steps after it meanwhile, and ends the guard in some
//! way, a panic included. As a thread runs, it counts what the statistics should show. How often it
//! has to wait is up to chance; everything else is exact.
//!
//! No schedule can deadlock. The locks have an order, that of [`LOCKS`]. A thread blocks only for a
//! lock above all that it holds, or in an operation on the guard of that lock before it acquires
//! more; everything else is tried.

#[path = "schedules/thread.rs"]
mod thread;

use instrumented_lock::{
    Condvar, Distribution, FairMutex, Mode, ModeSnapshot, Mutex, RecursiveRwLock, ReentrantMutex,
    RwLock, Snapshot, instrumented, registry,
};
use instrumented_lock_tests::figures_in;
use proptest::bool::weighted;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;
use std::sync::Barrier;
use thread::Thread;

/// The properties take turns: each looks at the difference of two snapshots.
static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

#[instrumented]
#[derive(Default)]
struct Locks {
    plain: Mutex<u64>,
    fair: FairMutex<u64>,
    reentrant: ReentrantMutex<u64>,
    shared: RwLock<u64>,
    recursive: RecursiveRwLock<u64>,
    changed: Condvar,
    /// Guards of these two are forgotten; they are only tried.
    leaking: Mutex<u64>,
    leaking_shared: RwLock<u64>,
}

const LOCKS: [&str; 5] = ["plain", "fair", "reentrant", "shared", "recursive"];
const OTHERS: [&str; 3] = ["changed", "leaking", "leaking_shared"];

impl Locks {
    fn are_free(&self) -> bool {
        !self.plain.is_locked()
            && self.plain.try_lock().is_some()
            && self.fair.try_lock().is_some()
            && !self.reentrant.is_owned_by_current_thread()
            && self.reentrant.try_lock().is_some()
            && self.shared.try_write().is_some()
            && self.recursive.try_write().is_some()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Use(Use),
    /// Tries for a guard, and forgets it.
    Leak {
        shared: bool,
    },
}

#[derive(Clone, Debug)]
struct Use {
    /// Of [`LOCKS`].
    lock: usize,
    /// How a reader-writer lock is acquired.
    mode: Mode,
    how: How,
    acts: Vec<Act>,
    /// Whether the steps after this one run before its end.
    nests: bool,
    end: End,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Block,
    Try,
    Timed,
}

/// What is done with a guard. What it cannot do is left out.
#[derive(Clone, Copy, Debug)]
enum Act {
    Pause,
    Bump,
    Unlocked,
    UnlockedFair,
    UnlockedPanics,
    Wait,
    ConditionPanics,
    Notify,
    Upgrade,
    TryUpgrade,
    TimedUpgrade,
    WithUpgraded,
    WithUpgradedPanics,
    TryWithUpgraded,
    Downgrade,
    DowngradeToUpgradable,
}

/// How a guard ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Drop,
    UnlockFair,
    Map,
    MapThenUnlockFair,
    TryMapFails,
    MapPanics,
    Panic,
}

const ENDS: &[End] = &[
    End::Drop,
    End::UnlockFair,
    End::Map,
    End::MapThenUnlockFair,
    End::TryMapFails,
    End::MapPanics,
    End::Panic,
];

/// What a mutex can, and what a reader-writer lock can; what wants to be met by others more often.
const ACTS: [&[Act]; 2] = [
    &[
        Act::Pause,
        Act::Pause,
        Act::Bump,
        Act::Unlocked,
        Act::UnlockedFair,
        Act::UnlockedPanics,
        Act::Wait,
        Act::Wait,
        Act::Notify,
        Act::Notify,
        Act::Notify,
        Act::ConditionPanics,
    ],
    &[
        Act::Pause,
        Act::Pause,
        Act::Bump,
        Act::Unlocked,
        Act::UnlockedFair,
        Act::UnlockedPanics,
        Act::Upgrade,
        Act::TryUpgrade,
        Act::TimedUpgrade,
        Act::WithUpgraded,
        Act::WithUpgradedPanics,
        Act::TryWithUpgraded,
        Act::Downgrade,
        Act::DowngradeToUpgradable,
    ],
];

fn step(ends: &'static [End]) -> impl Strategy<Value = Step> {
    let mutex = (0..3_usize, vec(select(ACTS[0]), 0..6));
    let rwlock = (3..LOCKS.len(), vec(select(ACTS[1]), 0..6));
    let uses = (
        prop_oneof![mutex, rwlock],
        select(&[Mode::Read, Mode::Upgradable, Mode::Write]),
        select(&[How::Block, How::Block, How::Try, How::Timed]),
        weighted(0.25),
        select(ends),
    );
    let uses = uses.prop_map(|((lock, acts), mode, how, nests, end)| {
        Step::Use(Use {
            lock,
            mode,
            how,
            acts,
            nests,
            end,
        })
    });
    let leaks = any::<bool>().prop_map(|shared| Step::Leak { shared });
    prop_oneof![20 => uses, 1 => leaks]
}

/// What the statistics show, or should show.
type Tally = BTreeMap<(&'static str, Figure), u64>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Figure {
    Acquired(Mode),
    InFlight(Mode),
    TryFailed(Mode),
    TimedOut(Mode),
    Nested,
    Asleep,
    AsleepTooLong,
}

/// The figures of `snapshot`, without those that are zero.
fn measured(snapshot: &Snapshot) -> Tally {
    let mut tally = Tally::new();
    for name in LOCKS.into_iter().chain(OTHERS) {
        let lock = figures_in(snapshot, &format!("Locks::{name}"));
        for (mode, m) in lock.modes() {
            assert_consistent(m);
            let in_flight = m.acquisitions() - m.releases();
            tally.insert((name, Figure::Acquired(mode)), m.acquisitions());
            tally.insert((name, Figure::InFlight(mode)), in_flight);
            tally.insert((name, Figure::TryFailed(mode)), m.try_failures());
            tally.insert((name, Figure::TimedOut(mode)), m.timeouts());
        }
        let sleep = lock.sleep();
        tally.insert((name, Figure::Nested), lock.nested());
        tally.insert((name, Figure::Asleep), sleep.waits());
        tally.insert((name, Figure::AsleepTooLong), sleep.timeouts());
        assert_eq!(sleep.waits(), sleep.time().count(), "nobody sleeps now");
        assert_eq!((lock.unmatched(), lock.clock_anomalies()), (0, 0));
    }
    tally.retain(|_, n| *n > 0);
    tally
}

fn assert_consistent(mode: &ModeSnapshot) {
    assert_eq!(mode.wait().count(), mode.acquisitions());
    assert_eq!(mode.blocked().count(), mode.contended());
    assert_eq!(mode.wait().sum(), mode.blocked().sum());
    for distribution in [mode.hold(), mode.wait(), mode.blocked()] {
        let in_buckets: u64 = Distribution::buckets(distribution).map(|(_, n)| n).sum();
        assert_eq!(in_buckets, distribution.count());
    }
}

/// Runs `schedule`, a thread for each list of steps, and compares.
fn check(schedule: &[Vec<Step>]) {
    let _turn = TURN.lock();
    let locks = Locks::default();
    let before = registry::snapshot();
    let start = Barrier::new(schedule.len());
    let mut expected = Tally::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = schedule
            .iter()
            .map(|steps| {
                scope.spawn(|| {
                    let mut thread = Thread::new(&locks);
                    start.wait();
                    thread.run(steps);
                    thread.tally
                })
            })
            .collect();
        for thread in threads {
            for (figure, n) in thread.join().expect("the thread catches what is planned") {
                *expected.entry(figure).or_default() += n;
            }
        }
    });
    if cfg!(feature = "stats") {
        assert_eq!(measured(&registry::snapshot().since(&before)), expected);
    }
    assert!(locks.are_free());
}

/// What fails is shrunk a little: other runs of the same threads need not fail.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 128,
        max_shrink_iters: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn statistics_of_any_schedule_add_up(
        schedule in vec(vec(step(ENDS), 0..32), 1..=3),
    ) {
        check(&schedule);
    }

    #[test]
    fn panics_leave_every_lock_free(
        steps in vec(step(&[End::Panic, End::MapPanics]), 1..6),
    ) {
        check(&[steps]);
    }
}
