//! Which locks of a class are waited for: one row for each, by label or address, which add up to what the class
//! has.

use instrumented_lock::{
    CallSite, InFlight, InFlightState, InstanceSnapshot, LockSnapshot, Mutex, ReentrantMutex,
    RwLock, Snapshot, drop_in, instrumented, registry, std_sync,
};
use instrumented_lock_tests::{figures, figures_in};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

/// Until somebody waits for the lock named `name`.
fn until_waiting(name: &str) {
    let limit = Instant::now() + Duration::from_secs(20);
    let waits = |it: &InFlight| it.lock().ends_with(name) && it.state() == InFlightState::Waiting;
    while !registry::snapshot().in_flight().iter().any(waits) {
        assert!(Instant::now() < limit, "nobody waits for {name}");
        thread::yield_now();
    }
}

/// One thread waits for `lock`, of the class `name`, as long as another one holds it.
fn wait_for<T: Send>(lock: &Mutex<T>, name: &str, hold: Duration) {
    thread::scope(|scope| {
        let guard = lock.lock();
        scope.spawn(|| drop(lock.lock()));
        until_waiting(name);
        thread::sleep(hold);
        drop(guard);
    });
}

fn address<T>(of: &T) -> u64 {
    ptr::from_ref(of).addr() as u64
}

/// The rows add up to what the class has, to the nanosecond; what is blamed on lines to the rounding.
fn assert_adds_up(lock: &LockSnapshot) {
    let rows = lock.waited_for();
    let contended: u64 = lock.modes().map(|(_, mode)| mode.contended()).sum();
    let blocked: Duration = lock.modes().map(|(_, mode)| mode.blocked().sum()).sum();
    let blocked_max = lock
        .modes()
        .filter_map(|(_, mode)| mode.blocked().max())
        .max();
    let sum: u64 = rows.iter().map(InstanceSnapshot::contended).sum();
    assert_eq!(sum, contended, "{rows:?}");
    let sum: Duration = rows.iter().map(InstanceSnapshot::blocked).sum();
    assert_eq!(sum, blocked, "{rows:?}");
    let longest = rows.iter().map(InstanceSnapshot::blocked_max).max();
    assert_eq!(longest.unwrap_or_default(), blocked_max.unwrap_or_default());
    let of_lines: Duration = lock.call_sites().iter().map(CallSite::blame).sum();
    let sum: Duration = rows.iter().map(InstanceSnapshot::blame).sum();
    let rounding = Duration::from_nanos(12 * (contended + 4));
    assert!(
        sum.abs_diff(of_lines) <= rounding,
        "{sum:?} and {of_lines:?}"
    );
}

#[test]
fn the_hot_one_of_many_is_found() {
    #[instrumented(prefix = "many")]
    struct Cache {
        shards: [Mutex<u32>; 64],
    }

    let cache = Cache {
        shards: std::array::from_fn(|_| Mutex::new(0)),
    };
    for shard in &cache.shards {
        drop(shard.lock());
    }
    assert!(figures("many::Cache::shards").waited_for().is_empty());
    for _ in 0..5 {
        wait_for(&cache.shards[17], "Cache::shards", 4 * MS);
    }
    for other in [3, 4, 60] {
        wait_for(&cache.shards[other], "Cache::shards", Duration::ZERO);
    }
    let lock = figures("many::Cache::shards");
    assert_adds_up(&lock);
    let [hot, others @ ..] = lock.waited_for() else {
        panic!("there are rows");
    };
    assert_eq!(hot.address(), address(&cache.shards[17]));
    assert_eq!((hot.contended(), hot.label()), (5, None));
    assert!(hot.blocked() >= 20 * MS && hot.blocked_max() >= 4 * MS);
    assert!(hot.blame() >= 15 * MS, "{hot:?}");
    assert_eq!(others.len(), 3);
    for other in others {
        assert_eq!((other.contended(), other.is_gone()), (1, false));
    }
    assert_eq!(lock.instances(), 64);
}

#[test]
fn a_label_goes_with_the_lock_and_stays_when_it_is_gone() {
    #[instrumented(prefix = "labels")]
    struct Shard {
        rows: Mutex<u32>,
    }

    let shard = |n| {
        let shard = Shard {
            rows: Mutex::new(n),
        };
        shard.rows.set_label(format!("shard {n}"));
        shard
    };
    // They move into the vector, and with it.
    let mut shards: Vec<_> = (0..3).map(shard).collect();
    wait_for(&shards[1].rows, "Shard::rows", MS);
    shards.reserve(1000);
    wait_for(&shards[1].rows, "Shard::rows", MS);
    wait_for(&shards[2].rows, "Shard::rows", Duration::ZERO);
    drop(shards);
    let lock = figures("labels::Shard::rows");
    assert_adds_up(&lock);
    let rows: Vec<_> = lock
        .waited_for()
        .iter()
        .map(|it| (it.name(), it.contended(), it.is_gone()))
        .collect();
    let expected = [
        ("shard 1".to_owned(), 2, true),
        ("shard 2".to_owned(), 1, true),
    ];
    assert_eq!(rows, expected);
    // The next one of that label goes on where it has ended.
    let again = shard(1);
    wait_for(&again.rows, "Shard::rows", MS);
    let lock = figures("labels::Shard::rows");
    let first = &lock.waited_for()[0];
    assert_eq!(
        (first.label(), first.contended(), first.is_gone()),
        (Some("shard 1"), 3, false)
    );
}

#[test]
fn what_a_lock_was_waited_for_comes_with_its_new_label() {
    #[instrumented(prefix = "relabelled")]
    static LOCK: Mutex<u32> = Mutex::new(0);

    wait_for(&LOCK, "LOCK", MS);
    LOCK.set_label("first");
    wait_for(&LOCK, "LOCK", MS);
    let lock = figures("relabelled::LOCK");
    assert_adds_up(&lock);
    let [row] = lock.waited_for() else {
        panic!("{:?}", lock.waited_for());
    };
    assert_eq!((row.label(), row.contended()), (Some("first"), 2));
    LOCK.set_label("second");
    wait_for(&LOCK, "LOCK", MS);
    let lock = figures("relabelled::LOCK");
    assert_adds_up(&lock);
    assert_eq!(lock.waited_for().len(), 1);
    assert_eq!(lock.waited_for()[0].label(), Some("second"));
    assert_eq!(lock.waited_for()[0].contended(), 3);
}

#[test]
fn locks_of_one_label_are_one() {
    #[instrumented(prefix = "shared")]
    struct Table {
        lock: Mutex<u32>,
    }

    let tables = [(); 2].map(|()| Table {
        lock: Mutex::new(0),
    });
    for table in &tables {
        table.lock.set_label("all");
        wait_for(&table.lock, "Table::lock", Duration::ZERO);
    }
    let lock = figures("shared::Table::lock");
    assert_eq!(lock.waited_for().len(), 1);
    assert_eq!(lock.waited_for()[0].contended(), 2);
    assert_adds_up(&lock);
}

#[test]
fn a_lock_where_another_one_was_is_another_one() {
    #[instrumented(prefix = "place")]
    struct One {
        lock: Mutex<u32>,
    }

    let new = || One {
        lock: Mutex::new(0),
    };
    let mut place = Box::new(Some(new()));
    let mut addresses = Vec::new();
    for _ in 0..2 {
        let lock = &Option::as_ref(&place).unwrap().lock;
        addresses.push(address(lock));
        wait_for(lock, "One::lock", Duration::ZERO);
        *place = None;
        *place = Some(new());
    }
    assert_eq!(addresses[0], addresses[1]);
    let lock = figures("place::One::lock");
    assert_adds_up(&lock);
    let rows: Vec<_> = lock
        .waited_for()
        .iter()
        .map(|it| (it.address(), it.contended(), it.is_gone()))
        .collect();
    assert_eq!(rows, [(addresses[0], 1, true); 2]);
}

#[test]
fn the_few_that_matter_are_told_apart_and_the_others_are_a_row() {
    #[instrumented(prefix = "crowd")]
    struct Crowd {
        locks: Vec<Mutex<u32>>,
    }

    let crowd = Crowd {
        locks: (0..100).map(Mutex::new).collect(),
    };
    for lock in &crowd.locks {
        wait_for(lock, "Crowd::locks", Duration::ZERO);
    }
    let lock = figures("crowd::Crowd::locks");
    assert_adds_up(&lock);
    assert_eq!(lock.waited_for().len(), 65);
    let others = &lock.waited_for()[64];
    assert!(others.is_others() && others.contended() == 36, "{others:?}");
    assert_eq!(others.name(), "(others)");
    // One that becomes hot later comes in, whichever it is.
    let is_known = |at| lock.waited_for().iter().any(|it| it.address() == at);
    let mut unknown = crowd.locks.iter().filter(|it| !is_known(address(*it)));
    let hot = unknown.next().expect("36 of them");
    let is_first = || {
        wait_for(hot, "Crowd::locks", 5 * MS);
        let lock = figures("crowd::Crowd::locks");
        assert_adds_up(&lock);
        lock.waited_for()[0].address() == address(hot)
    };
    // One of the others may have been waited for longer, on a busy machine.
    assert!((0..200).any(|_| is_first()), "it never comes in");
    assert_eq!(lock.waited_for().len(), 65);
    // Whoever has a label is told apart, whatever it costs.
    crowd.locks[99].set_label("last");
    wait_for(&crowd.locks[99], "Crowd::locks", Duration::ZERO);
    let lock = figures("crowd::Crowd::locks");
    assert_adds_up(&lock);
    let label = |it: &&InstanceSnapshot| it.label() == Some("last");
    assert!(lock.waited_for().iter().find(label).is_some());
}

#[test]
fn who_gives_up_has_waited_for_somebody() {
    #[instrumented(prefix = "given_up")]
    static LOCK: RwLock<u32> = RwLock::new(0);

    thread::scope(|scope| {
        let guard = LOCK.read();
        let gives_up = scope.spawn(|| LOCK.try_write_for(3 * MS).is_none());
        assert!(gives_up.join().unwrap());
        drop(guard);
    });
    let lock = figures("given_up::LOCK");
    let [row] = lock.waited_for() else {
        panic!("{:?}", lock.waited_for());
    };
    assert_eq!((row.contended(), row.blocked()), (0, Duration::ZERO));
    assert!(row.blame() >= 2 * MS, "{row:?}");
    assert_adds_up(&lock);
}

#[test]
fn every_lock_can_have_a_label() {
    let reentrant = ReentrantMutex::<u32>::named("kinds", 0);
    reentrant.set_label("reentrant");
    let rwlock = RwLock::<u32>::named("kinds", 0);
    rwlock.set_label("rwlock");
    let of_std = std_sync::Mutex::<u32>::named("kinds", 0);
    of_std.set_label("std");
    let plain = drop_in::Mutex::named("kinds", 0);
    plain.set_label("plain");
    thread::scope(|scope| {
        let guards = (
            reentrant.lock(),
            rwlock.write(),
            of_std.lock(),
            plain.lock(),
        );
        scope.spawn(|| drop(reentrant.lock()));
        scope.spawn(|| drop(rwlock.read()));
        scope.spawn(|| drop(of_std.lock()));
        scope.spawn(|| drop(plain.lock()));
        let waits = |it: &&InFlight| it.lock() == "kinds" && it.state() == InFlightState::Waiting;
        while registry::snapshot()
            .in_flight()
            .iter()
            .filter(waits)
            .count()
            < 4
        {
            thread::yield_now();
        }
        drop(guards);
    });
    let lock = figures("kinds");
    assert_adds_up(&lock);
    let mut labels: Vec<_> = lock
        .waited_for()
        .iter()
        .map(InstanceSnapshot::name)
        .collect();
    labels.sort();
    assert_eq!(labels, ["plain", "reentrant", "rwlock", "std"]);
}

#[test]
fn an_interval_has_what_was_waited_in_it() {
    #[instrumented(prefix = "interval")]
    struct Pair {
        locks: [Mutex<u32>; 2],
    }

    let pair = Pair {
        locks: [Mutex::new(0), Mutex::new(0)],
    };
    pair.locks[0].set_label("early");
    wait_for(&pair.locks[0], "Pair::locks", MS);
    let before = registry::snapshot();
    wait_for(&pair.locks[1], "Pair::locks", MS);
    let after = registry::snapshot();
    let interval = after.since(&before);
    let rows = |snapshot: &Snapshot| {
        let lock = figures_in(snapshot, "interval::Pair::locks");
        let rows = lock
            .waited_for()
            .iter()
            .map(|it| (it.address(), it.contended()));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(rows(&interval), [(address(&pair.locks[1]), 1)]);
    assert_eq!(rows(&before.merge(&interval)), rows(&after));
    let json = serde_json::to_string(&after).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), after);
    assert_eq!(instrumented_lock::report::json(&after), json);
}

#[test]
fn rows_add_up_in_every_snapshot() {
    #[instrumented(prefix = "stress")]
    struct Stress {
        locks: Vec<Mutex<u64>>,
    }

    let stress = Stress {
        locks: (0..80).map(Mutex::new).collect(),
    };
    stress.locks[3].set_label("three");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for t in 0..6usize {
            let (stress, is_over) = (&stress, &is_over);
            scope.spawn(move || {
                let mut n = t;
                while !is_over.load(Ordering::Relaxed) {
                    // Most of it at one of them, which changes.
                    n = n.wrapping_mul(5).wrapping_add(7);
                    let lock = if n.is_multiple_of(4) {
                        n / 4
                    } else {
                        n / 100_000
                    };
                    let mut guard = stress.locks[lock % 80].lock();
                    *guard += 1;
                    if n.is_multiple_of(32) {
                        thread::yield_now();
                    }
                }
            });
        }
        let end = Instant::now() + Duration::from_millis(500);
        let mut last = 0;
        while Instant::now() < end {
            let lock = figures("stress::Stress::locks");
            assert_adds_up(&lock);
            let contended = lock.write().contended();
            assert!(contended >= last);
            last = contended;
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let lock = figures("stress::Stress::locks");
    assert_adds_up(&lock);
    assert!(!lock.waited_for().is_empty());
}
