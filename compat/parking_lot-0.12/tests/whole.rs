//! What 0.12 has, used as code for 0.12 uses it; and what is recorded of it.

#![allow(missing_docs, reason = "tests")]

use instrumented_lock::{LockKind, registry};
use parking_lot::lock_api::{RawMutex as _, RawRwLock as _};
use parking_lot::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(20);

/// Acts while a writer waits for the lock, of which the caller has forgotten one guard of a read.
fn while_a_writer_waits(lock: &Arc<RwLock<u32>>, act: impl FnOnce()) {
    let other = Arc::clone(lock);
    let writer = thread::spawn(move || *other.write() += 1);
    let start = Instant::now();
    // From then on a reader has to queue behind it.
    while lock.try_read().is_some() {
        assert!(start.elapsed() < LONG, "no writer waits");
        thread::sleep(Duration::from_millis(1));
    }
    act();
    // SAFETY: the caller has forgotten the guard of a read.
    unsafe { lock.force_unlock_read() };
    writer.join().unwrap();
}

#[test]
fn who_reads_already_reads_again_before_a_writer_that_waits() {
    let lock = Arc::new(RwLock::new(7));
    std::mem::forget(lock.read());
    while_a_writer_waits(&lock, || {
        assert!(lock.try_read().is_none(), "who comes new queues");
        assert!(lock.try_read_for(Duration::from_millis(1)).is_none());
        assert_eq!(*lock.read_recursive(), 7);
        assert_eq!(*lock.try_read_recursive().unwrap(), 7);
        assert_eq!(*lock.try_read_recursive_for(Duration::ZERO).unwrap(), 7);
        assert_eq!(*lock.try_read_recursive_until(Instant::now()).unwrap(), 7);
    });
    assert_eq!(*lock.read(), 8);
    let write = lock.write();
    assert!(lock.try_read_recursive().is_none());
    assert!(
        lock.try_read_recursive_for(Duration::from_millis(1))
            .is_none()
    );
    assert!(lock.try_read_recursive_until(Instant::now()).is_none());
    drop(write);
}

#[cfg(feature = "arc_lock")]
#[test]
fn guards_that_own_a_handle_read_again_too() {
    let lock = Arc::new(RwLock::new(7));
    std::mem::forget(lock.read());
    while_a_writer_waits(&lock, || {
        assert!(lock.try_read_arc().is_none());
        assert_eq!(*lock.read_arc_recursive(), 7);
        assert_eq!(*lock.try_read_recursive_arc().unwrap(), 7);
        assert_eq!(*lock.try_read_arc_recursive_for(Duration::ZERO).unwrap(), 7);
        assert_eq!(
            *lock.try_read_arc_recursive_until(Instant::now()).unwrap(),
            7
        );
    });
    let guard: ArcRwLockWriteGuard<RawRwLock, u32> = lock.write_arc();
    let guard: ArcRwLockReadGuard<RawRwLock, u32> = ArcRwLockWriteGuard::downgrade(guard);
    drop(guard);
    let guard: ArcRwLockUpgradableReadGuard<RawRwLock, u32> = lock.upgradable_read_arc();
    assert_eq!(*guard, 8);
    let mutex = Arc::new(Mutex::new(1));
    let guard: ArcMutexGuard<RawMutex, u32> = mutex.lock_arc();
    assert_eq!(*guard, 1);
    let mutex = Arc::new(ReentrantMutex::new(1));
    let guard: ArcReentrantMutexGuard<RawMutex, RawThreadId, u32> = mutex.lock_arc();
    assert_eq!(*guard, 1);
}

#[test]
fn what_is_forgotten_is_unlocked_by_force_without_arguments() {
    let lock = RwLock::new(1);
    std::mem::forget(lock.write());
    assert!(lock.is_locked_exclusive());
    // SAFETY: the guard has been forgotten.
    unsafe { lock.force_unlock_write() };
    std::mem::forget(lock.write());
    // SAFETY: the guard has been forgotten.
    unsafe { lock.force_unlock_write_fair() };
    std::mem::forget(lock.read());
    // SAFETY: the guard has been forgotten.
    unsafe { lock.force_unlock_read_fair() };
    assert!(!lock.is_locked());
    std::mem::forget(lock.write());
    // SAFETY: the guard has been forgotten.
    let guard = unsafe { lock.make_write_guard_unchecked() };
    drop(RwLockWriteGuard::downgrade_to_upgradable(guard));
    assert!(lock.try_write().is_some());
}

static MUTEX: Mutex<u32> = const_mutex(1);
static FAIR: FairMutex<u32> = const_fair_mutex(2);
static RWLOCK: RwLock<u32> = const_rwlock(3);
static REENTRANT: ReentrantMutex<u32> = const_reentrant_mutex(4);
static OF_RAW: Mutex<u32> = Mutex::const_new(RawMutex::INIT, 5);
static OF_RAW_RWLOCK: RwLock<u32> = RwLock::const_new(RawRwLock::INIT, 6);

#[test]
fn constructors_are_const() {
    let sum = *MUTEX.lock() + *FAIR.lock() + *RWLOCK.read() + *REENTRANT.lock();
    assert_eq!(sum + *OF_RAW.lock() + *OF_RAW_RWLOCK.read(), 21);
}

#[test]
fn guards_have_the_names_of_parking_lot() {
    fn upgrade(guard: RwLockUpgradableReadGuard<'_, u32>) -> RwLockWriteGuard<'_, u32> {
        RwLockUpgradableReadGuard::upgrade(guard)
    }
    let lock = RwLock::new((1, 2));
    let read: MappedRwLockReadGuard<'_, u32> = RwLockReadGuard::map(lock.read(), |pair| &pair.1);
    assert_eq!(*read, 2);
    drop(read);
    let write: MappedRwLockWriteGuard<'_, u32> =
        RwLockWriteGuard::map(lock.write(), |pair| &mut pair.0);
    drop(write);
    let lock = RwLock::new(5);
    let write: RwLockWriteGuard<'_, u32> = upgrade(lock.upgradable_read());
    let _read: RwLockReadGuard<'_, u32> = RwLockWriteGuard::downgrade(write);
    let mutex = Mutex::new((1, 2));
    let _mapped: MappedMutexGuard<'_, u32> = MutexGuard::map(mutex.lock(), |pair| &mut pair.1);
    let fair = FairMutex::new((1, 2));
    let _mapped: MappedFairMutexGuard<'_, u32> =
        FairMutexGuard::map(fair.lock(), |pair| &mut pair.1);
    let paths: [fn(&RwLock<u32>) -> bool; 2] = [RwLock::is_locked, RwLock::is_locked_exclusive];
    assert!(paths[0](&lock) && !paths[1](&lock));
}

#[test]
fn condition_variables_and_once_work() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| ());
    assert!(ONCE.state().done());
    assert_eq!(OnceState::Done, ONCE.state());
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&pair);
    let waiter = thread::spawn(move || {
        let mut done = other.0.lock();
        while !*done {
            let woken: WaitTimeoutResult = other.1.wait_for(&mut done, LONG);
            assert!(!woken.timed_out());
        }
    });
    *pair.0.lock() = true;
    pair.1.notify_all();
    waiter.join().unwrap();
}

/// A crate that knows the raw locks by `lock_api` 0.4.
mod of_lock_api_04 {
    use lock_api_04::{RawMutex as _, RawRwLock as _};

    pub static MUTEX: lock_api_04::Mutex<parking_lot::RawMutex, u32> = lock_api_04::Mutex::new(1);
    pub static RWLOCK: lock_api_04::RwLock<parking_lot::RawRwLock, u32> =
        lock_api_04::RwLock::new(2);

    pub fn by_hand(raw: &parking_lot::RawMutex) -> bool {
        raw.lock();
        let failed = !raw.try_lock();
        // SAFETY: it has just been locked.
        unsafe { raw.unlock() };
        failed
    }

    pub fn is_free(raw: &parking_lot::RawRwLock) -> bool {
        raw.lock_shared();
        // SAFETY: it has just been locked.
        unsafe { raw.unlock_shared() };
        !raw.is_locked()
    }
}

#[test]
fn raw_locks_have_the_traits_of_lock_api_04_too() {
    *of_lock_api_04::MUTEX.lock() += 1;
    *of_lock_api_04::RWLOCK.write() += 1;
    assert_eq!(*of_lock_api_04::RWLOCK.read_recursive(), 3);
    assert!(of_lock_api_04::MUTEX.try_lock().is_some());
    assert!(of_lock_api_04::MUTEX.try_lock_for(LONG).is_some());
    let (mutex, rwlock) = (RawMutex::INIT, RawRwLock::INIT);
    assert!(of_lock_api_04::by_hand(&mutex));
    assert!(of_lock_api_04::is_free(&rwlock));
}

#[test]
fn all_is_recorded_under_the_line_that_made_it() {
    let mutex = Mutex::new(0);
    let mutex_line = line!() - 1;
    let lock: RwLock<u32> = RwLock::default();
    let lock_line = line!() - 1;
    *mutex.lock() += 1;
    *lock.write() += 1;
    drop((lock.read(), lock.read_recursive()));
    assert_eq!(format!("{lock:?}"), "RwLock { data: 1 }");
    let snapshot = registry::snapshot();
    let at = |line: u32| {
        let name = format!("whole.rs:{line}:");
        let lock = snapshot
            .locks()
            .iter()
            .find(|lock| lock.name().contains(&name));
        lock.unwrap_or_else(|| panic!("no {name}"))
    };
    assert_eq!(
        (at(mutex_line).kind(), at(lock_line).kind()),
        (LockKind::Mutex, LockKind::RwLock)
    );
    assert_eq!(at(mutex_line).write().acquisitions(), 1);
    assert_eq!(at(lock_line).write().acquisitions(), 1);
    assert_eq!(at(lock_line).read().acquisitions(), 2);
    let lines: Vec<_> = at(lock_line)
        .call_sites()
        .iter()
        .map(|site| site.location().line())
        .collect();
    assert!(
        lines
            .iter()
            .all(|line| *line > lock_line && *line < lock_line + 5),
        "{lines:?}"
    );
}

#[test]
fn locks_have_the_values_traits() {
    assert_eq!(RwLock::from(3).into_inner(), 3);
    let mut lock = RwLock::new(1);
    *lock.get_mut() = 2;
    let unsized_lock: Arc<RwLock<dyn std::fmt::Debug + Send + Sync>> = Arc::new(lock);
    assert_eq!(format!("{:?}", &*unsized_lock.read()), "2");
    let (tell, told) = mpsc::channel();
    tell.send(RwLock::new(4)).unwrap();
    assert_eq!(*told.recv().unwrap().read(), 4);
}

#[cfg(feature = "serde")]
#[test]
fn locks_are_written_and_read_as_their_values() {
    let lock: RwLock<u32> = serde_json::from_str("7").unwrap();
    assert_eq!(serde_json::to_string(&lock).unwrap(), "7");
}

#[cfg(feature = "deadlock_detection")]
#[test]
fn deadlocks_of_both_kinds_of_locks_are_found() {
    fn waits_for_itself(take: impl Fn() + Send + 'static) {
        thread::spawn(take);
        let start = Instant::now();
        loop {
            let circles = deadlock::check_deadlock();
            if let [circle] = &circles[..] {
                assert_eq!(circle.len(), 1);
                assert_ne!(circle[0].thread_id(), thread::current().id());
                assert!(!circle[0].backtrace().frames().is_empty());
                return;
            }
            assert!(start.elapsed() < LONG, "none is found");
            thread::sleep(Duration::from_millis(10));
        }
    }
    let mutex = Mutex::new(());
    waits_for_itself(move || {
        let _one = mutex.lock();
        let _two = mutex.lock();
    });
    let lock = RwLock::new(());
    waits_for_itself(move || {
        let _one = lock.write();
        let _two = lock.write();
    });
}

/// Readers, readers again, writers, upgraders and those who give up, on one lock: nobody is let in beside a
/// writer, nobody waits for ever, and a writer comes before readers that never pause.
#[test]
fn whoever_asks_for_a_reader_writer_lock_has_it_as_it_asked() {
    const ROUNDS: u32 = 2_000;
    let lock = &RwLock::new((0_u32, 0_u32));
    let is_over = &AtomicBool::new(false);
    let write = |pair: &mut (u32, u32)| {
        pair.0 += 1;
        std::hint::black_box(&pair);
        pair.1 += 1;
    };
    let (over, ended) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let outer = lock.read();
                    let inner = lock.read_recursive();
                    assert_eq!(outer.0, inner.1);
                    let third = lock.try_read_recursive();
                    assert_eq!(third.map(|pair| pair.0), Some(outer.1));
                }
            });
        }
        let mut changes = Vec::new();
        for kind in 0..4 {
            let over = over.clone();
            changes.push(scope.spawn(move || {
                let mut written = 0;
                for _ in 0..ROUNDS {
                    let guard = match kind {
                        0 => Some(lock.write()),
                        1 => lock.try_write_for(Duration::from_micros(50)),
                        2 => Some(RwLockUpgradableReadGuard::upgrade(lock.upgradable_read())),
                        _ => lock
                            .try_upgradable_read_for(Duration::from_micros(50))
                            .and_then(|read| {
                                let limit = Duration::from_micros(50);
                                RwLockUpgradableReadGuard::try_upgrade_for(read, limit).ok()
                            }),
                    };
                    if let Some(mut guard) = guard {
                        write(&mut guard);
                        written += 1;
                    }
                }
                over.send(()).unwrap();
                written
            }));
        }
        for _ in 0..4 {
            let waited = ended.recv_timeout(LONG);
            assert!(
                waited.is_ok() || std::process::abort(),
                "somebody waits for ever"
            );
        }
        is_over.store(true, Ordering::Relaxed);
        let written: u32 = changes
            .into_iter()
            .map(|change| change.join().unwrap())
            .sum();
        assert_eq!(*lock.read(), (written, written));
    });
    assert!(!lock.is_locked());
}
