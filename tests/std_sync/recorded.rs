//! What is recorded of the locks.

use crate::panics;
use instrumented_lock::std_sync::{
    Condvar, Mutex, PoisonError, RwLock, RwLockWriteGuard, annotated,
};
use instrumented_lock::{InFlightState, LockKind, LockSnapshot, instrumented, registry};
use std::thread;
use std::time::Duration;

fn figures(name: &str) -> LockSnapshot {
    instrumented_lock_tests::figures(name)
}

#[instrumented(prefix = "std")]
struct Pool {
    connections: annotated::Mutex<Vec<u32>>,
    filled: annotated::Condvar,
    #[lock(name = "std settings")]
    settings: annotated::RwLock<u32>,
}

impl Pool {
    fn new() -> Self {
        Pool {
            connections: annotated::Mutex::new(vec![1]),
            filled: annotated::Condvar::new(),
            settings: annotated::RwLock::new(0),
        }
    }
}

/// With the import that infers no class: `Default` does.
#[instrumented(prefix = "std")]
#[derive(Default, Debug)]
struct Cache {
    entries: Mutex<Vec<u32>>,
    limits: RwLock<u32>,
}

fn with_any(lock: &Mutex<Vec<u32>>) -> usize {
    lock.lock().unwrap().len()
}

#[test]
fn annotated_locks_have_declared_classes() {
    let pool = Pool::new();
    pool.connections.lock().unwrap().push(2);
    assert_eq!(with_any(&pool.connections), 2);
    *pool.settings.write().unwrap() += 1;
    assert_eq!(*pool.settings.read().unwrap(), 1);
    pool.filled.notify_one();
    let connections = figures("std::Pool::connections");
    assert_eq!(connections.kind(), LockKind::Mutex);
    assert_eq!(connections.write().acquisitions(), 2);
    let settings = figures("std settings");
    assert_eq!(
        (
            settings.read().acquisitions(),
            settings.write().acquisitions()
        ),
        (1, 1)
    );
    assert_eq!(settings.kind(), LockKind::RwLock);
    assert_eq!(figures("std::Pool::filled").kind(), LockKind::Condvar);

    let cache = Cache::default();
    cache.entries.lock().unwrap().push(1);
    assert_eq!(*cache.limits.read().unwrap(), 0);
    assert_eq!(figures("std::Cache::entries").write().acquisitions(), 1);
    assert_eq!(figures("std::Cache::limits").read().acquisitions(), 1);
    // To look is not to use.
    assert!(format!("{cache:?}").contains("data: [1], poisoned: false"));
    assert_eq!(figures("std::Cache::entries").write().acquisitions(), 1);
    assert_eq!(figures("std::Cache::limits").read().acquisitions(), 1);
    assert_eq!(figures("std::Cache::limits").unmatched(), 0);
}

#[test]
fn lines_are_the_users() {
    let m = Mutex::named("std lines", 0);
    let line = line!() + 1;
    *m.lock().unwrap() += 1;
    drop(m.try_lock().unwrap());
    let sites = figures("std lines");
    let sites: Vec<_> = sites
        .call_sites()
        .iter()
        .map(|site| site.location().line())
        .collect();
    assert_eq!(sites.len(), 2);
    assert!(
        sites.contains(&line) && sites.contains(&(line + 1)),
        "{sites:?}"
    );
    assert!(file!().ends_with(figures("std lines").call_sites()[0].location().file()));
}

#[test]
fn an_unnamed_lock_is_named_by_its_line() {
    let m = Mutex::new(0);
    let line = line!() - 1;
    *m.lock().unwrap() += 1;
    let snapshot = registry::snapshot();
    let place = format!("std_sync/recorded.rs:{line}");
    let lock = snapshot
        .locks()
        .iter()
        .find(|lock| lock.name().contains(&place));
    assert_eq!(lock.map(|lock| lock.write().acquisitions()), Some(1));
}

#[test]
fn a_poisoned_lock_is_recorded_like_any_other() {
    let m = Mutex::named("std poisoned", 0);
    panics(|| {
        let _guard = m.lock().unwrap();
        panic!("with the mutex");
    });
    drop(m.lock().unwrap_or_else(PoisonError::into_inner));
    assert!(m.try_lock().is_err());
    let lock = figures("std poisoned");
    assert_eq!(lock.write().acquisitions(), 3);
    assert_eq!(lock.write().hold().count(), 3);
    assert_eq!(lock.write().try_failures(), 0);
    assert_eq!(lock.unmatched(), 0);
}

#[test]
fn a_wait_and_its_blame_are_recorded() {
    let m = Mutex::named("std waited for", 0);
    let guard = m.lock().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| *m.lock().unwrap() += 1);
        let waits = || {
            let snapshot = registry::snapshot();
            snapshot
                .in_flight()
                .iter()
                .any(|one| one.lock() == "std waited for" && one.state() == InFlightState::Waiting)
        };
        let start = std::time::Instant::now();
        while !waits() {
            assert!(start.elapsed() < crate::LONG, "nobody waits");
            thread::sleep(Duration::from_millis(1));
        }
        drop(guard);
    });
    let lock = figures("std waited for");
    assert_eq!(
        (lock.write().acquisitions(), lock.write().contended()),
        (2, 1)
    );
    assert_eq!(lock.blame().len(), 1);
    assert!(!lock.blame()[0].total().is_zero());
}

#[test]
fn a_downgrade_ends_one_hold_and_begins_another() {
    let lock = RwLock::named("std downgraded", 0);
    drop(RwLockWriteGuard::downgrade(lock.write().unwrap()));
    assert!(lock.try_write().is_ok());
    let lock = figures("std downgraded");
    assert_eq!(
        (lock.read().acquisitions(), lock.write().acquisitions()),
        (1, 2)
    );
    assert_eq!(
        (lock.read().hold().count(), lock.write().hold().count()),
        (1, 2)
    );
}

#[test]
fn a_sleep_is_in_neither_hold_nor_wait() {
    let (m, c) = (
        Mutex::named("std slept with", ()),
        Condvar::named("std slept in"),
    );
    let (_guard, result) = c
        .wait_timeout(m.lock().unwrap(), Duration::from_millis(1))
        .unwrap();
    assert!(result.timed_out());
    let (mutex, condvar) = (figures("std slept with"), figures("std slept in"));
    assert_eq!(mutex.write().acquisitions(), 2);
    assert_eq!((mutex.sleep().waits(), condvar.sleep().waits()), (1, 1));
    assert_eq!(
        (condvar.sleep().timeouts(), condvar.sleep().notified()),
        (1, 0)
    );
}

#[test]
fn the_mark_costs_a_mutex_nothing_and_a_reader_writer_lock_a_word() {
    assert_eq!(
        size_of::<Mutex<u64>>(),
        size_of::<instrumented_lock::drop_in::Mutex<u64>>()
    );
    assert_eq!(
        size_of::<RwLock<u64>>(),
        size_of::<instrumented_lock::drop_in::RwLock<u64>>() + size_of::<usize>()
    );
}
