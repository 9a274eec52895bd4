//! Operations: what the program was doing when it waited for locks and held them; and what a measurement has
//! waited for and held.

use instrumented_lock::{
    Condvar, Mutex, Operation, OperationLock, OperationSnapshot, RecursiveRwLock, RwLock,
    RwLockUpgradableReadGuard, Snapshot, budget, instrumented, operation, registry,
};
use instrumented_lock_tests::mock_clock;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex as Serial, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

const NS: Duration = Duration::from_nanos(1);

/// Tests take turns: who moves the clock moves it for all.
static TURN: Serial<()> = Serial::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn of(snapshot: &Snapshot, name: &str, lock: &str) -> OperationLock {
    let found = snapshot.operation(name).and_then(|it| it.lock(lock));
    found
        .unwrap_or_else(|| panic!("{name} has not used {lock}"))
        .clone()
}

/// Waits until somebody waits for this lock.
fn until_waiting(lock: &str) {
    loop {
        let snapshot = registry::snapshot();
        if snapshot
            .lock(lock)
            .unwrap()
            .modes()
            .any(|(_, mode)| mode.waiting().count() > 0)
        {
            return;
        }
        thread::yield_now();
    }
}

#[test]
fn an_acquisition_belongs_to_the_innermost_operation_in_which_it_was_made() {
    #[instrumented(prefix = "innermost")]
    #[derive(Default)]
    struct Store {
        a: Mutex<u32>,
        b: RwLock<u32>,
    }
    let (_turn, clock) = (turn(), mock_clock());
    let store = Store::default();
    drop(store.a.lock());
    let outlives = {
        let _outer = operation("innermost: outer");
        let first = store.b.read();
        clock.advance_here(5 * NS);
        {
            let _inner = operation("innermost: inner");
            let guard = store.a.lock();
            clock.advance_here(7 * NS);
            drop(guard);
        }
        drop(first);
        store.a.lock()
    };
    clock.advance_here(100 * NS);
    drop(outlives);
    drop(store.a.lock());

    let snapshot = registry::snapshot();
    let outer = snapshot.operation("innermost: outer").unwrap();
    let inner = snapshot.operation("innermost: inner").unwrap();
    assert_eq!((outer.opened(), inner.opened()), (1, 1));
    let a = of(&snapshot, "innermost: inner", "innermost::Store::a");
    assert_eq!(
        (a.acquisitions(), a.held(), a.held_max()),
        (1, 7 * NS, 7 * NS)
    );
    assert!(inner.lock("innermost::Store::b").is_none());
    let b = outer.lock("innermost::Store::b").unwrap();
    assert_eq!((b.acquisitions(), b.held()), (1, 12 * NS));
    let a = outer.lock("innermost::Store::a").unwrap();
    assert_eq!((a.acquisitions(), a.held()), (1, 100 * NS));
    assert_eq!(outer.held(), 112 * NS);
    // Those outside of any are the lock's only.
    assert_eq!(
        snapshot
            .lock("innermost::Store::a")
            .unwrap()
            .write()
            .acquisitions(),
        4
    );
}

#[test]
fn conversions_and_sleeps_belong_to_the_operation_they_happen_in() {
    #[instrumented(prefix = "converted")]
    #[derive(Default)]
    struct Store {
        map: RwLock<u32>,
        queue: Mutex<u32>,
        more: Condvar,
    }
    let (_turn, clock) = (turn(), mock_clock());
    let store = Store::default();
    let before = operation("converted: reads");
    let upgradable = store.map.upgradable_read();
    clock.advance_here(3 * NS);
    drop(before);
    let writes = operation("converted: writes");
    let write = RwLockUpgradableReadGuard::upgrade(upgradable);
    clock.advance_here(4 * NS);
    drop(write);
    let mut queue = store.queue.lock();
    clock.advance_here(10 * NS);
    assert!(
        store
            .more
            .wait_for(&mut queue, Duration::from_millis(1))
            .timed_out()
    );
    clock.advance_here(20 * NS);
    drop(queue);
    drop(writes);
    let snapshot = registry::snapshot();
    assert_eq!(
        of(&snapshot, "converted: reads", "converted::Store::map").held(),
        3 * NS
    );
    assert_eq!(
        of(&snapshot, "converted: writes", "converted::Store::map").held(),
        4 * NS
    );
    let queue = of(&snapshot, "converted: writes", "converted::Store::queue");
    assert_eq!((queue.acquisitions(), queue.held()), (2, 30 * NS));
    assert!(
        snapshot
            .operation("converted: writes")
            .unwrap()
            .lock("converted::Store::more")
            .is_none()
    );
}

#[test]
fn who_waits_and_who_is_blamed_are_told_by_operation() {
    #[instrumented(prefix = "told")]
    #[derive(Default)]
    struct Store {
        index: Mutex<u32>,
    }
    let (_turn, clock) = (turn(), mock_clock());
    let store = Store::default();
    drop(store.index.lock());
    for (ns, holder) in [(50, "told: scan"), (8, "told: put"), (30, "told: scan")] {
        let holds = operation(holder);
        let guard = store.index.lock();
        drop(holds);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _operation = operation("told: get");
                drop(store.index.lock());
            });
            until_waiting("told::Store::index");
            clock.advance(ns * NS);
            drop(guard);
        });
    }
    // One that is in none itself.
    let holds = operation("told: put");
    let guard = store.index.lock();
    thread::scope(|scope| {
        scope.spawn(|| drop(store.index.lock()));
        until_waiting("told::Store::index");
        clock.advance(1000 * NS);
        drop(guard);
    });
    drop(holds);

    let snapshot = registry::snapshot();
    let get = of(&snapshot, "told: get", "told::Store::index");
    assert_eq!(
        (get.contended(), get.waited(), get.waited_max()),
        (3, 88 * NS, 50 * NS)
    );
    assert_eq!(
        (get.acquisitions(), get.blame(), get.gave_up()),
        (3, Duration::ZERO, 0)
    );
    let scan = of(&snapshot, "told: scan", "told::Store::index");
    assert_eq!(
        (scan.blame(), scan.waited(), scan.acquisitions()),
        (80 * NS, Duration::ZERO, 2)
    );
    assert_eq!(
        of(&snapshot, "told: put", "told::Store::index").blame(),
        1008 * NS
    );
    let lock = snapshot.lock("told::Store::index").unwrap();
    let blame: Duration = lock
        .call_sites()
        .iter()
        .map(instrumented_lock::CallSite::blame)
        .sum();
    assert_eq!(blame, 1088 * NS);
}

#[test]
fn readers_are_blamed_by_operation_and_waits_that_give_up_count() {
    #[instrumented(prefix = "readers")]
    #[derive(Default)]
    struct Store {
        map: RwLock<u32>,
    }
    let (_turn, clock) = (turn(), mock_clock());
    let store = Store::default();
    let scan = operation("readers: scan");
    let guard = store.map.read();
    drop(scan);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _operation = operation("readers: put");
            assert!(
                store
                    .map
                    .try_write_for(Duration::from_millis(300))
                    .is_none()
            );
        });
        until_waiting("readers::Store::map");
        clock.advance(70 * NS);
    });
    thread::scope(|scope| {
        scope.spawn(|| {
            let _operation = operation("readers: put");
            drop(store.map.write());
        });
        until_waiting("readers::Store::map");
        clock.advance(25 * NS);
        drop(guard);
    });
    let snapshot = registry::snapshot();
    let put = of(&snapshot, "readers: put", "readers::Store::map");
    assert_eq!(
        (put.contended(), put.gave_up(), put.waited()),
        (1, 1, 95 * NS)
    );
    assert_eq!(put.waited_max(), 70 * NS);
    // Of shared holds blame is told to the 16 ns.
    let scan = of(&snapshot, "readers: scan", "readers::Store::map");
    let lines: Duration = snapshot
        .lock("readers::Store::map")
        .unwrap()
        .call_sites()
        .iter()
        .map(instrumented_lock::CallSite::blame)
        .sum();
    assert_eq!(scan.blame(), lines);
    assert!(scan.blame() >= 64 * NS, "{:?}", scan.blame());
}

/// What a test does, step by step.
#[derive(Clone, Debug)]
enum Step {
    Open(usize),
    Close,
    Lock(usize),
    Unlock(usize),
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..6usize).prop_map(Step::Open),
        2 => Just(Step::Close),
        6 => (0..3usize).prop_map(Step::Lock),
        6 => (0..50usize).prop_map(Step::Unlock),
        1 => Just(Step::Snapshot),
    ]
}

const NAMES: [&str; 6] = [
    "steps 0", "steps 1", "steps 2", "steps 3", "steps 4", "steps 5",
];

/// By operation and lock: acquisitions, and nanoseconds held.
type Had = HashMap<(usize, usize), (u64, u64)>;

fn had(snapshot: &Snapshot) -> (HashMap<usize, u64>, Had) {
    let (mut opened, mut had) = (HashMap::new(), Had::new());
    for (number, name) in NAMES.iter().enumerate() {
        let Some(operation) = snapshot.operation(name) else {
            continue;
        };
        opened.insert(number, operation.opened());
        for lock in operation.locks() {
            let which = lock
                .lock()
                .strip_prefix("steps::Steps::l")
                .unwrap()
                .parse()
                .unwrap();
            let held = u64::try_from(lock.held().as_nanos()).unwrap();
            had.insert((number, which), (lock.acquisitions(), held));
        }
    }
    (opened, had)
}

fn less<K: Copy + Eq + std::hash::Hash>(
    after: &HashMap<K, (u64, u64)>,
    before: &HashMap<K, (u64, u64)>,
) -> HashMap<K, (u64, u64)> {
    let without = |(key, (n, ns)): (&K, &(u64, u64))| {
        let (m, ms) = before.get(key).copied().unwrap_or_default();
        (*key, (n - m, ns - ms))
    };
    after
        .iter()
        .map(without)
        .filter(|(_, had)| *had != (0, 0))
        .collect()
}

#[instrumented(prefix = "steps")]
#[derive(Default)]
struct Steps {
    l0: RecursiveRwLock<u32>,
    l1: RecursiveRwLock<u32>,
    l2: RecursiveRwLock<u32>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// Guards live through scopes, windows and pages, in any order.
    #[test]
    fn all_of_any_sequence_is_where_it_belongs(steps in prop::collection::vec(step(), 1..400)) {
        let (_turn, clock) = (turn(), mock_clock());
        let store = Steps::default();
        let locks: [&RecursiveRwLock<u32>; 3] = [&store.l0, &store.l1, &store.l2];
        let (opened_before, before) = had(&registry::snapshot());
        thread::scope(|scope| {
            let ran = scope.spawn(|| {
                let mut expected = Had::new();
                let mut opened = HashMap::<usize, u64>::new();
                let mut open = Vec::new();
                let mut held = Vec::new();
                let mut end = |(guard, which, begun, operation): (_, usize, u64, Option<usize>), at: u64| {
                    drop(guard);
                    if let Some(operation) = operation {
                        let had = expected.entry((operation, which)).or_default();
                        *had = (had.0 + 1, had.1 + at - begun);
                    }
                };
                let mut now = 0u64;
                for (i, step) in steps.into_iter().enumerate() {
                    let by = i as u64 % 7;
                    clock.advance_here(Duration::from_nanos(by));
                    now += by;
                    match step {
                        Step::Open(name) => {
                            open.push((operation(NAMES[name]), name));
                            *opened.entry(name).or_default() += 1;
                        }
                        Step::Close => drop(open.pop()),
                        Step::Lock(which) => {
                            let operation = open.last().map(|(_, name)| *name);
                            held.push((locks[which].read(), which, now, operation));
                        }
                        Step::Unlock(which) if !held.is_empty() => {
                            end(held.swap_remove(which % held.len()), now);
                        }
                        Step::Unlock(_) => {}
                        Step::Snapshot => drop(registry::snapshot()),
                    }
                }
                for hold in held {
 end(hold, now);
 }
                while open.pop().is_some() {}
                (opened, expected)
            });
            let (opened, expected) = ran.join().unwrap();
            let (opened_after, after) = had(&registry::snapshot());
            prop_assert_eq!(less(&after, &before), expected);
            let opened_since: HashMap<usize, u64> = opened_after
                .into_iter()
                .map(|(name, n)| (name, n - opened_before.get(&name).copied().unwrap_or(0)))
                .filter(|(_, n)| *n > 0)
                .collect();
            prop_assert_eq!(opened_since, opened);
            Ok(())
        })?;
    }

    /// What is measured is what the model says, however measurements and operations nest.
    #[test]
    fn a_measurement_has_what_began_in_it(
        inside in prop::collection::vec((0..3usize, 0..9u32, any::<bool>()), 0..200),
        outside in prop::collection::vec((0..3usize, 0..9u32), 0..70),
    ) {
        let (_turn, clock) = (turn(), mock_clock());
        let store = Steps::default();
        let locks: [&RecursiveRwLock<u32>; 3] = [&store.l0, &store.l1, &store.l2];
        let names = ["steps::Steps::l0", "steps::Steps::l1", "steps::Steps::l2"];
        let before = store.l0.read();
        let mut held = Vec::new();
        let run = |held: &mut Vec<_>| {
            let mut expected = [(0u64, Duration::ZERO); 3];
            let mut open: Vec<usize> = Vec::new();
            for &(which, ns, stays) in &inside {
                let _scope = stays.then(|| operation(NAMES[which]));
                let guard = locks[which].read();
                clock.advance_here(ns * NS);
                for &which in &open {
 expected[which].1 += ns * NS;
 }
                expected[which].0 += 1;
                expected[which].1 += ns * NS;
                if stays && held.len() < 40 {
                    held.push(guard);
                    open.push(which);
                }
            }
            (expected, open)
        };
        let used = budget::measure(|| {
            for &(which, ns) in &outside {
                let _guard = locks[which].read();
                clock.advance_here(ns * NS);
            }
            let inner = budget::times(|| run(&mut held));
            let (expected, open) = inner.value();
            for (name, (n, ns)) in names.iter().zip(expected) {
                let found = inner.locks().iter().find(|times| times.lock() == *name);
                let found = found.map_or((0, Duration::ZERO), |it| (it.acquisitions(), it.held()));
                assert_eq!(found, (*n, *ns));
            }
            clock.advance_here(3 * NS);
            let mut expected = *expected;
            for &which in open {
 expected[which].1 += 3 * NS;
 }
            for &(which, ns) in &outside {
                expected[which].0 += 1;
                expected[which].1 += ns * NS;
            }
            expected
        });
        for (name, (n, ns)) in names.iter().zip(used.value()) {
            prop_assert_eq!((used.acquisitions(name), used.held(name)), (*n, *ns));
            prop_assert_eq!(used.waited(name), Duration::ZERO);
        }
        // Nothing of it is left to the next one.
        let again = budget::times(|| {
            held.clear();
            drop(before);
        });
        prop_assert!(again.locks().is_empty(), "{}", again);
    }
}

#[test]
fn a_measurement_has_what_was_waited_in_it_and_by_other_threads_that_take_part() {
    #[instrumented(prefix = "served")]
    #[derive(Default)]
    struct Store {
        index: Mutex<u32>,
        other: Mutex<u32>,
    }
    let (_turn, clock) = (turn(), mock_clock());
    let store = Store::default();
    let wait_for = |ns: u32, waits: &(dyn Fn() + Sync)| {
        let guard = store.index.lock();
        thread::scope(|scope| {
            scope.spawn(waits);
            until_waiting("served::Store::index");
            clock.advance(ns * NS);
            drop(guard);
        });
    };
    let times = Serial::new(None);
    wait_for(900, &|| {
        *times.lock().unwrap() = Some(budget::times(|| {
            drop(store.other.lock());
            drop(store.index.lock());
        }));
    });
    let times = times.into_inner().unwrap().unwrap();
    assert_eq!((times.waited(), times.held()), (900 * NS, Duration::ZERO));
    let index = &times.locks()[0];
    assert_eq!(
        (index.lock(), index.contended(), index.waited_max()),
        ("served::Store::index", 1, 900 * NS)
    );
    assert_eq!(times.locks()[1].acquisitions(), 1);
    assert!(
        times
            .to_string()
            .starts_with("served::Store::index: waited 900 ns, held"),
        "{times}"
    );

    let used = budget::measure(|| {
        let handle = budget::handle();
        wait_for(40, &|| handle.run(|| drop(store.index.lock())));
        wait_for(1, &|| drop(store.index.lock()));
    });
    // Its own two holds, and the wait of the other thread.
    assert_eq!(
        (
            used.waited("served::Store::index"),
            used.acquisitions("served::Store::index")
        ),
        (40 * NS, 3)
    );
    assert_eq!(used.held("served::Store::index"), 41 * NS);
    assert_eq!(used.times()[0].acquisitions(), 3);
}

#[test]
fn threads_that_end_leave_what_they_have_had() {
    #[instrumented(prefix = "ending")]
    #[derive(Default)]
    struct Store {
        all: RwLock<u32>,
    }
    let (_turn, clock) = (turn(), mock_clock());
    let store = Store::default();
    for n in 0..100u32 {
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for i in 0..n {
                        let _operation = operation(if i % 2 == 0 {
                            "ending: even"
                        } else {
                            "ending: odd"
                        });
                        let guard = store.all.read();
                        clock.advance_here(NS);
                        drop(guard);
                    }
                    // What comes after belongs to none, also on a page that another thread has had.
                    drop(store.all.read());
                });
            }
        });
    }
    let snapshot = registry::snapshot();
    let even = snapshot.operation("ending: even").unwrap();
    let odd = snapshot.operation("ending: odd").unwrap();
    assert_eq!((even.opened(), odd.opened()), (5000, 4900));
    let had = |name| {
        let lock = of(&snapshot, name, "ending::Store::all");
        (lock.acquisitions(), lock.held())
    };
    assert_eq!(had("ending: even"), (5000, 5000 * NS));
    assert_eq!(had("ending: odd"), (4900, 4900 * NS));
    assert_eq!(
        snapshot
            .lock("ending::Store::all")
            .unwrap()
            .read()
            .acquisitions(),
        10_100
    );
}

#[test]
fn intervals_and_sums_of_snapshots_have_operations_too() {
    #[instrumented(prefix = "interval")]
    #[derive(Default)]
    struct Store {
        all: Mutex<u32>,
    }
    let (_turn, clock) = (turn(), mock_clock());
    let store = Store::default();
    let hold = |ns: u32| {
        let _operation = operation("interval: put");
        let guard = store.all.lock();
        clock.advance_here(ns * NS);
        drop(guard);
    };
    hold(5);
    let first = registry::snapshot();
    hold(3);
    let second = registry::snapshot();
    let interval = second.since(&first);
    let put = of(&interval, "interval: put", "interval::Store::all");
    assert_eq!(
        (put.acquisitions(), put.held(), put.held_max()),
        (1, 3 * NS, 3 * NS)
    );
    assert_eq!(interval.operation("interval: put").unwrap().opened(), 1);
    for sum in [interval.merge(&first), first.then(&interval)] {
        assert_eq!(
            of(&sum, "interval: put", "interval::Store::all").held(),
            8 * NS
        );
        assert_eq!(sum.operation("interval: put").unwrap().opened(), 2);
    }
    let nothing = second.since(&second);
    assert!(nothing.operation("interval: put").is_none());
    // The two ways to write JSON say the same, and it can be read back.
    let json = serde_json::to_string(&second).unwrap();
    assert_eq!(json, instrumented_lock::report::json(&second));
    assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), second);
    let table = second.to_string();
    assert!(table.contains("\noperations "), "{table}");
    assert!(
        table.lines().all(|line| line.chars().count() <= 100),
        "{table}"
    );
}

#[test]
fn operations_beyond_the_last_number_share_one_and_are_counted() {
    // In a process of its own: it uses up all names.
    let child = "BEYOND_THE_LAST";
    if std::env::var_os(child).is_none() {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "operations_beyond_the_last_number_share_one_and_are_counted",
                "--exact",
            ])
            .env(child, "1")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
        return;
    }
    let lock = Mutex::named("beyond", 0u32);
    for n in 0..300 {
        let operation = Operation::named(&format!("beyond {n}"));
        let _scope = operation.open();
        drop(lock.lock());
        assert_eq!(operation.name() == "(other)", n >= 127, "{n}");
    }
    let snapshot = registry::snapshot();
    assert_eq!(snapshot.operations().len(), 128);
    let other = snapshot.operation("(other)").unwrap();
    assert_eq!(
        (other.opened(), other.locks()[0].acquisitions()),
        (173, 173)
    );
    let all: u64 = snapshot
        .operations()
        .iter()
        .map(|it| it.locks()[0].acquisitions())
        .sum();
    assert_eq!(all, 300);
}

#[test]
fn pairs_beyond_the_room_there_is_are_other_locks_of_their_operation() {
    let child = "BEYOND_THE_ROOM";
    if std::env::var_os(child).is_none() {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "pairs_beyond_the_room_there_is_are_other_locks_of_their_operation",
                "--exact",
            ])
            .env(child, "1")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
        return;
    }
    let locks: Vec<_> = (0..300)
        .map(|n| Mutex::named(&format!("lock {n}"), 0u32))
        .collect();
    for n in 0..10 {
        let operation = Operation::named(&format!("operation {n}"));
        let _scope = operation.open();
        for lock in &locks {
            drop(lock.lock());
        }
    }
    let snapshot = registry::snapshot();
    let rows: Vec<_> = snapshot
        .operations()
        .iter()
        .flat_map(OperationSnapshot::locks)
        .collect();
    let named = rows.iter().filter(|row| row.lock() != "(other)").count();
    assert!((2048..2060).contains(&named), "{named}");
    assert_eq!(rows.iter().map(|row| row.acquisitions()).sum::<u64>(), 3000);
}

#[test]
fn nothing_is_lost_of_operations_in_which_is_measured_while_somebody_looks() {
    #[instrumented(prefix = "looked_at")]
    #[derive(Default)]
    struct Store {
        all: RwLock<u32>,
    }
    let (_turn, _clock) = (turn(), mock_clock());
    let store = Store::default();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                drop(registry::snapshot());
            }
        });
        let workers = [(); 2].map(|()| {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    let used = budget::measure(|| {
                        let _operation = operation("looked at");
                        drop(store.all.read());
                    });
                    drop(used);
                }
            })
        });
        for worker in workers {
            worker.join().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let snapshot = registry::snapshot();
    let lock = of(&snapshot, "looked at", "looked_at::Store::all");
    assert_eq!(lock.acquisitions(), 40_000);
}
