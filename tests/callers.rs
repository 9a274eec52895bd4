//! Every acquisition is recorded at a line of the user's: where `lock_api` locks again that of the hold
//! before, and where a method was given away as a function that of the declaration, which says so. No
//! report shows a file of the standard library, of `lock_api` or of this library.

#![allow(
    clippy::items_after_statements,
    reason = "a test takes its turn before anything else"
)]
#![allow(
    clippy::unnecessary_map_on_constructor,
    clippy::unnecessary_literal_unwrap,
    reason = "a method that is given away as a function is what this is about"
)]

use instrumented_lock::raw::Instrumented;
use instrumented_lock::{
    CallSite, Condvar, FairMutex, LockSnapshot, Mode, Mutex, MutexGuard, ReentrantMutex,
    ReentrantMutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
    budget, drop_in, instrumented, lock_api, registry, report,
};
use instrumented_lock_tests::{figures, mock_clock};
use std::collections::HashMap;
use std::thread;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// The tests take turns: each looks at all reports.
static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

/// Line, mode and acquisitions of every row, in the order of the lines.
fn lines(lock: &LockSnapshot) -> Vec<(u32, Mode, u64)> {
    let row = |site: &CallSite| (site.location().line(), site.mode(), site.acquisitions());
    let mut lines: Vec<_> = lock.call_sites().iter().map(row).collect();
    lines.sort_unstable();
    lines
}

/// Sees to it that no report has a line that is nobody's.
fn nobodys_lines_are_nowhere() {
    let snapshot = registry::snapshot();
    let wide = report::TableOptions {
        wide: true,
        ..Default::default()
    };
    for text in [
        report::table(&snapshot),
        report::table_with(&snapshot, wide),
        report::lock_stat(&snapshot),
        serde_json::to_string(&snapshot).unwrap(),
        format!("{snapshot:?}"),
    ] {
        for part in [
            "/rustc/",
            "rustlib",
            "lock_api-",
            "registry/src",
            "instrumented-lock/src",
        ] {
            let found = text.lines().find(|line| line.contains(part));
            assert_eq!(found, None, "{part}");
        }
        let is_own = |line: &&str| line.contains("facade.rs") || line.contains("function.rs");
        assert_eq!(text.lines().find(is_own), None);
    }
}

#[test]
fn a_method_that_is_given_away_as_a_function_is_said_to_be_called_through_a_pointer() {
    let _turn = TURN.lock();
    mock_clock();
    let declared = line!() + 3;
    #[instrumented]
    struct Given {
        mutex: Mutex<u32>,
        rwlock: RwLock<u32>,
        reentrant: ReentrantMutex<u32>,
        fair: FairMutex<u32>,
    }
    let given = Given {
        mutex: Mutex::new(1),
        rwlock: RwLock::new(2),
        reentrant: ReentrantMutex::new(3),
        fair: FairMutex::new(4),
    };
    // Closures would know the line: that they do not is what this is about.
    #[allow(clippy::redundant_closure_for_method_calls)]
    let used = budget::measure(|| {
        let mutexes = [&given.mutex; 3];
        let sum: u32 = mutexes
            .into_iter()
            .map(Mutex::lock)
            .map(|value| *value)
            .sum();
        assert_eq!(sum, 3);
        assert_eq!(
            Some(&given.mutex)
                .and_then(Mutex::try_lock)
                .map(|value| *value),
            Some(1)
        );
        let lock: fn(&Mutex<u32, _>) -> MutexGuard<'_, u32> = Mutex::lock;
        assert_eq!(*lock(&given.mutex), 1);
        let lock: &dyn for<'a> Fn(&'a lock_api::Mutex<_, u32>) -> MutexGuard<'a, u32> =
            &lock_api::Mutex::lock;
        assert_eq!(*lock(&given.mutex), 1);
        let try_lock: fn(&lock_api::Mutex<_, u32>) -> Option<MutexGuard<'_, u32>> =
            lock_api::Mutex::try_lock;
        assert!(try_lock(&given.mutex).is_some());
        let locks = [&given.rwlock; 2];
        assert_eq!(locks.into_iter().map(RwLock::read).count(), 2);
        drop(Some(&given.rwlock).map(RwLock::write));
        drop(
            Some(&given.rwlock)
                .map(RwLock::upgradable_read)
                .map(RwLockUpgradableReadGuard::upgrade),
        );
        drop(Some(&given.reentrant).map(ReentrantMutex::lock));
        drop(Some(&given.fair).map(FairMutex::lock));
    });
    for (name, below, rows) in [
        ("Given::mutex", 0, vec![(Mode::Write, 7)]),
        (
            "Given::rwlock",
            1,
            vec![(Mode::Write, 2), (Mode::Read, 2), (Mode::Upgradable, 1)],
        ),
        ("Given::reentrant", 2, vec![(Mode::Write, 1)]),
        ("Given::fair", 3, vec![(Mode::Write, 1)]),
    ] {
        let lock = figures(name);
        let expected: Vec<_> = rows
            .iter()
            .map(|&(mode, n)| (declared + below, mode, n))
            .collect();
        assert_eq!(lines(&lock), expected, "{name}");
        for site in lock.call_sites() {
            let location = site.location();
            assert_eq!(location.file(), file!());
            assert!(location.is_through_pointer() && !site.is_other());
            let text = format!(
                "{}:{}:9 (called through a function pointer)",
                file!(),
                declared + below
            );
            assert_eq!(location.to_string(), text);
        }
    }
    let in_budget = used.lines();
    assert_eq!(used.total(), 14, "{used}");
    assert!(
        in_budget
            .iter()
            .all(|line| line.location().is_through_pointer()),
        "{used}"
    );
    let table = report::table(&registry::snapshot());
    assert!(
        table.lines().all(|line| line.chars().count() <= 100),
        "{table}"
    );
    nobodys_lines_are_nowhere();
}

#[test]
fn a_row_of_calls_through_pointers_is_not_that_of_a_line() {
    let _turn = TURN.lock();
    #[instrumented]
    static BOTH: Mutex<u32> = Mutex::new(1);
    mock_clock();
    let direct = *BOTH.lock();
    let given = Some(&BOTH).map(Mutex::lock).map(|value| *value);
    assert_eq!(Some(direct), given);
    let lock = figures("BOTH");
    let mut rows: Vec<_> = lock.call_sites().iter().collect();
    rows.sort_by_key(|row| row.location().is_through_pointer());
    let [line, pointer] = rows[..] else {
        panic!("{rows:?}")
    };
    assert!(!line.location().is_through_pointer() && pointer.location().is_through_pointer());
    assert_eq!(line.location().line(), lock.declared_at().line() + 2);
    assert_eq!(pointer.location().line(), lock.declared_at().line());
    let snapshot = registry::snapshot();
    let json = serde_json::to_string(&snapshot).unwrap();
    assert_eq!(
        serde_json::from_str::<instrumented_lock::Snapshot>(&json).unwrap(),
        snapshot
    );
    assert!(json.contains("\"called_through_pointer\":true"));
    assert!(!json.contains("\"called_through_pointer\":false"));
}

#[test]
fn locks_that_are_created_through_a_pointer_are_of_an_unknown_line() {
    let _turn = TURN.lock();
    mock_clock();
    let created: Vec<drop_in::Mutex<u32>> = (0..3).map(drop_in::Mutex::new).collect();
    let default: drop_in::Mutex<u32> = None.unwrap_or_default();
    let mut map: HashMap<u32, drop_in::Mutex<u32>> = HashMap::new();
    let of_lock_api: lock_api::Mutex<Instrumented<parking_lot::RawMutex>, u32> =
        lock_api::Mutex::new(0);
    let first = line!() + 1;
    created.iter().map(|lock| *lock.lock() += 1).for_each(drop);
    *default.lock() += 1;
    *map.entry(1).or_default().lock() += 1;
    *of_lock_api.lock() += 1;
    let lock = figures("(Mutex created at an unknown line)");
    assert_eq!(lock.declared_at().to_string(), "(unknown)");
    let expected = [(0, 3), (1, 1), (2, 1), (3, 1)];
    assert_eq!(
        lines(&lock),
        expected.map(|(below, n)| (first + below, Mode::Write, n))
    );
    assert_eq!(
        created
            .into_iter()
            .map(drop_in::Mutex::into_inner)
            .sum::<u32>(),
        3 + 3
    );
    nobodys_lines_are_nowhere();
}

/// What a program may do while it has let go of a lock for a moment. Returns where it takes that very lock.
fn much_else(lock: &Mutex<u32>, others: &[&Mutex<u32>]) -> [u32; 2] {
    for _ in 0..200 {
        for other in others {
            *other.lock() += 1;
            drop(other.try_lock());
        }
    }
    let elsewhere = line!() + 1;
    let take = || *lock.lock() += 1;
    thread::scope(|scope| scope.spawn(take).join().unwrap());
    let here = line!() + 1;
    *lock.lock() += 1;
    registry::snapshot();
    [elsewhere, here]
}

#[test]
fn a_mutex_that_is_locked_again_stays_with_its_line_whatever_happens_in_between() {
    let _turn = TURN.lock();
    #[instrumented]
    struct Again {
        mutex: Mutex<u32>,
        others: [Mutex<u32>; 3],
        condvar: Condvar,
    }
    mock_clock();
    let again = Again {
        mutex: Mutex::new(0),
        others: [const { Mutex::new(0) }; 3],
        condvar: Condvar::new(),
    };
    let others = again.others.each_ref().map(|other| &**other);
    let mut else_at = [0; 2];
    let line = line!() + 2;
    let used = budget::measure(|| {
        let mut guard = again.mutex.lock();
        for _ in 0..3 {
            MutexGuard::unlocked(&mut guard, || much_else(&again.mutex, &others));
            else_at = MutexGuard::unlocked_fair(&mut guard, || much_else(&again.mutex, &others));
            MutexGuard::bump(&mut guard);
            assert!(again.condvar.wait_for(&mut guard, MS).timed_out());
        }
    });
    let expected = [
        (else_at[0], Mode::Write, 6),
        (else_at[1], Mode::Write, 6),
        (line, Mode::Write, 1 + 3 * 4),
    ];
    assert_eq!(lines(&figures("Again::mutex")), expected);
    let at_line = used.lines();
    let at_line = at_line.iter().filter(|of| of.location().line() == line);
    assert_eq!(
        at_line.map(budget::Line::acquisitions).sum::<u64>(),
        1 + 3 * 4,
        "{used}"
    );
    nobodys_lines_are_nowhere();
}

#[test]
fn unlocked_calls_nest_and_each_lock_keeps_its_line() {
    let _turn = TURN.lock();
    #[instrumented]
    struct Nested {
        same: [Mutex<u32>; 4],
    }
    mock_clock();
    let nested = Nested {
        same: [const { Mutex::new(0) }; 4],
    };
    let first = line!() + 1;
    let mut one = nested.same[0].lock();
    MutexGuard::unlocked(&mut one, || {
        let mut two = nested.same[1].lock();
        MutexGuard::unlocked(&mut two, || {
            let mut three = nested.same[0].lock();
            MutexGuard::unlocked(&mut three, || drop(nested.same[2].lock()));
            MutexGuard::unlocked(&mut three, || ());
            MutexGuard::unlock_fair(nested.same[3].lock());
        });
        MutexGuard::bump(&mut two);
    });
    drop(one);
    let expected = [(0, 2), (2, 3), (4, 3), (5, 1), (7, 1)];
    let expected = expected.map(|(below, n)| (first + below, Mode::Write, n));
    assert_eq!(lines(&figures("Nested::same")), expected);
}

#[test]
fn fair_unlocks_in_a_loop_do_not_make_a_line_forgotten() {
    let _turn = TURN.lock();
    #[instrumented]
    struct Fairly {
        outer: Mutex<u32>,
        inner: Vec<Mutex<u32>>,
    }
    mock_clock();
    let fairly = Fairly {
        outer: Mutex::new(0),
        inner: (0..100).map(|_| Mutex::new(0)).collect(),
    };
    let line = line!() + 1;
    let mut guard = fairly.outer.lock();
    MutexGuard::unlocked(&mut guard, || {
        for _ in 0..1000 {
            MutexGuard::unlock_fair(fairly.inner[0].lock());
        }
    });
    drop(guard);
    assert_eq!(lines(&figures("Fairly::outer")), [(line, Mode::Write, 2)]);
    // Nor does what was let go so go on to be noted for ever.
    for lock in &fairly.inner {
        MutexGuard::unlock_fair(lock.lock());
    }
    let mut guard = fairly.outer.lock();
    MutexGuard::unlocked(&mut guard, || ());
    drop(guard);
    let expected = [(line, Mode::Write, 2), (line + 12, Mode::Write, 2)];
    assert_eq!(lines(&figures("Fairly::outer")), expected);
}

#[test]
fn a_panic_while_it_is_unlocked_changes_nothing_about_its_line() {
    let _turn = TURN.lock();
    #[instrumented]
    static UNWOUND: Mutex<u32> = Mutex::new(0);
    #[instrumented]
    static MEANWHILE: Mutex<u32> = Mutex::new(0);
    mock_clock();
    let line = line!() + 1;
    let mut guard = UNWOUND.lock();
    for _ in 0..5 {
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            MutexGuard::unlocked(&mut guard, || {
                drop(MEANWHILE.lock());
                std::panic::resume_unwind(Box::new(()));
            });
        }));
        assert!(unwound.is_err());
    }
    drop(guard);
    assert_eq!(lines(&figures("UNWOUND")), [(line, Mode::Write, 6)]);
}

#[test]
fn every_mode_of_a_reader_writer_lock_is_locked_again_at_its_line() {
    let _turn = TURN.lock();
    #[instrumented]
    static MODES: RwLock<u32> = RwLock::new(0);
    #[instrumented]
    static OTHERS: RwLock<u32> = RwLock::new(0);
    mock_clock();
    let between = || {
        for _ in 0..100 {
            drop(OTHERS.read());
            drop(OTHERS.write());
            drop(OTHERS.upgradable_read());
        }
    };
    let first = line!() + 1;
    let mut read = MODES.read();
    RwLockReadGuard::unlocked(&mut read, between);
    RwLockReadGuard::unlocked_fair(&mut read, between);
    RwLockReadGuard::bump(&mut read);
    drop(read);
    let mut write = MODES.write();
    RwLockWriteGuard::unlocked(&mut write, between);
    RwLockWriteGuard::unlocked_fair(&mut write, between);
    RwLockWriteGuard::bump(&mut write);
    drop(write);
    let mut up = MODES.upgradable_read();
    RwLockUpgradableReadGuard::unlocked(&mut up, between);
    RwLockUpgradableReadGuard::unlocked_fair(&mut up, between);
    RwLockUpgradableReadGuard::bump(&mut up);
    let mut write = RwLockUpgradableReadGuard::upgrade(up);
    RwLockWriteGuard::unlocked(&mut write, between);
    drop(write);
    let expected = [
        (first, Mode::Read, 4),
        (first + 5, Mode::Write, 4),
        (first + 10, Mode::Upgradable, 4),
        (first + 14, Mode::Write, 2),
    ];
    assert_eq!(lines(&figures("MODES")), expected);
}

#[test]
fn a_reentrant_mutex_has_the_line_of_its_outermost_acquisition() {
    let _turn = TURN.lock();
    #[instrumented]
    #[derive(Debug)]
    struct Reentrant {
        mutex: ReentrantMutex<u32>,
        others: [ReentrantMutex<u32>; 3],
    }
    mock_clock();
    let reentrant = Reentrant {
        mutex: ReentrantMutex::new(0),
        others: [const { ReentrantMutex::new(0) }; 3],
    };
    let between = || {
        for _ in 0..100 {
            reentrant
                .others
                .iter()
                .for_each(|other| drop((other.lock(), other.lock())));
        }
        format!("{reentrant:?}")
    };
    let first = line!() + 1;
    let mut guard = reentrant.mutex.lock();
    let nested = reentrant.mutex.lock();
    drop(nested);
    ReentrantMutexGuard::unlocked(&mut guard, between);
    ReentrantMutexGuard::unlocked_fair(&mut guard, between);
    ReentrantMutexGuard::bump(&mut guard);
    drop(guard);
    drop(reentrant.mutex.try_lock());
    drop(reentrant.mutex.try_lock_for(MS));
    let expected = [(0, 4), (7, 1), (8, 1)];
    let lock = figures("Reentrant::mutex");
    assert_eq!(
        lines(&lock),
        expected.map(|(below, n)| (first + below, Mode::Write, n))
    );
    assert_eq!(lock.nested(), 1);
    nobodys_lines_are_nowhere();
}

#[test]
fn guards_that_own_their_lock_are_locked_again_at_their_line() {
    let _turn = TURN.lock();
    mock_clock();
    let (mutex, others) = (
        std::sync::Arc::new(drop_in::Mutex::new(0)),
        drop_in::Mutex::new(0),
    );
    let between = || (0..100).for_each(|n| *others.lock() += n);
    let line = line!() + 1;
    let mut guard = mutex.lock_arc();
    instrumented_lock::ArcMutexGuard::unlocked(&mut guard, between);
    instrumented_lock::ArcMutexGuard::bump(&mut guard);
    drop(instrumented_lock::ArcMutexGuard::into_arc(guard));
    let snapshot = registry::snapshot();
    let all: Vec<_> = snapshot.locks().iter().map(lines).collect();
    assert!(all.contains(&vec![(line, Mode::Write, 3)]), "{all:?}");
}
