//! A panic leaves no lock locked and none poisoned.

use super::locks::{
    Condvar, FairMutex, MappedMutexGuard, Mutex, MutexGuard, RecursiveRwLock, ReentrantMutex,
    ReentrantMutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Arc;
use std::thread;

/// Runs `f`, which panics with 7.
fn panics(f: impl FnOnce()) {
    let panic = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    assert_eq!(panic.downcast_ref::<i32>(), Some(&7));
}

fn seven<T>() -> T {
    panic_any(7)
}

#[test]
fn a_panic_under_a_guard_unlocks() {
    let mutex = Mutex::new(1);
    panics(|| {
        let mut guard = mutex.lock();
        *guard = 2;
        panic_any(7)
    });
    assert_eq!(
        *mutex.try_lock().expect("free"),
        2,
        "what was written is there"
    );

    let fair = FairMutex::new(1);
    panics(|| {
        let _guard = fair.lock();
        panic_any(7)
    });
    assert!(!fair.is_locked());

    let reentrant = ReentrantMutex::new(1);
    panics(|| {
        let _guards = (reentrant.lock(), reentrant.lock());
        panic_any(7)
    });
    assert!(!reentrant.is_locked() && !reentrant.is_owned_by_current_thread());
}

#[test]
fn a_panic_under_any_guard_of_an_rwlock_unlocks() {
    let rwlock = RwLock::new(1);
    panics(|| {
        let _guards = (rwlock.read(), rwlock.upgradable_read());
        panic_any(7)
    });
    assert!(!rwlock.is_locked());
    panics(|| {
        let _guard = rwlock.write();
        panic_any(7)
    });
    assert!(!rwlock.is_locked());
    let recursive = RecursiveRwLock::new(1);
    panics(|| {
        let _guards = (recursive.read(), recursive.read());
        panic_any(7)
    });
    assert!(recursive.try_write().is_some());
}

#[test]
fn a_panic_in_another_thread_unlocks_there() {
    let mutex = Arc::new(Mutex::new(1));
    let theirs = Arc::clone(&mutex);
    let thread = thread::spawn(move || {
        let _guard = theirs.lock_arc();
        // A panic that prints nothing.
        resume_unwind(Box::new(7))
    });
    let panic: Result<(), _> = thread.join();
    assert!(panic.is_err());
    assert_eq!(*mutex.try_lock().expect("free"), 1);
}

#[test]
fn a_panic_in_a_mapping_unlocks() {
    let mutex = Mutex::new((1, 2));
    panics(|| {
        drop(MutexGuard::map(mutex.try_lock().expect("free"), |_| {
            seven::<&mut i32>()
        }));
    });
    panics(|| {
        drop(MutexGuard::try_map(mutex.try_lock().expect("free"), |_| {
            seven::<Option<&mut i32>>()
        }));
    });
    panics(|| {
        let guard = MutexGuard::map(mutex.try_lock().expect("free"), |pair| &mut pair.1);
        drop(MappedMutexGuard::try_map_or_err(guard, |_| {
            seven::<Result<&mut i32, ()>>()
        }));
    });
    assert!(!mutex.is_locked());

    let rwlock = RwLock::new((1, 2));
    panics(|| {
        drop(RwLockReadGuard::map(
            rwlock.try_read().expect("free"),
            |_| seven::<&i32>(),
        ));
    });
    panics(|| {
        drop(RwLockWriteGuard::map(
            rwlock.try_write().expect("free"),
            |_| seven::<&mut i32>(),
        ));
    });
    assert!(!rwlock.is_locked());

    let reentrant = ReentrantMutex::new(1);
    let outer = reentrant.lock();
    panics(|| {
        drop(ReentrantMutexGuard::map(reentrant.lock(), |_| {
            seven::<&i32>()
        }));
    });
    assert!(reentrant.is_owned_by_current_thread());
    drop(outer);
    assert!(!reentrant.is_locked());
}

#[test]
fn a_panic_in_with_upgraded_leaves_the_upgradable_guard() {
    let rwlock = RwLock::new(1);
    let mut up = rwlock.upgradable_read();
    panics(|| {
        up.with_upgraded(|n| {
            *n = 2;
            panic_any(7)
        });
    });
    panics(|| {
        up.try_with_upgraded(|_| seven::<()>());
    });
    panics(|| {
        up.try_with_upgraded_for(crate::MS, |_| seven::<()>());
    });
    assert!(!rwlock.is_locked_exclusive() && rwlock.try_upgradable_read().is_none());
    assert_eq!(*up, 2);
    assert!(RwLockUpgradableReadGuard::try_upgrade(up).is_ok());
    let mut up = rwlock.try_upgradable_read().expect("free");
    panics(move || up.with_upgraded(|_| panic_any(7)));
    assert!(!rwlock.is_locked());
}

#[test]
fn a_panic_while_unlocked_locks_again_first() {
    let mutex = Mutex::new(1);
    let mut guard = mutex.lock();
    panics(|| {
        MutexGuard::unlocked(&mut guard, || {
            *mutex.try_lock().expect("unlocked") = 2;
            panic_any(7)
        });
    });
    assert_eq!((*guard, mutex.try_lock().is_none()), (2, true));
    drop(guard);
    let rwlock = RwLock::new(1);
    let mut guard = rwlock.write();
    panics(|| RwLockWriteGuard::unlocked_fair(&mut guard, || panic_any(7)));
    assert!(rwlock.is_locked_exclusive());
    drop(guard);
    assert!(!rwlock.is_locked());
}

#[test]
fn a_panic_in_the_condition_of_a_wait_leaves_the_guard() {
    let (mutex, condvar) = (Mutex::new(1), Condvar::new());
    let mut guard = mutex.lock();
    panics(|| condvar.wait_while(&mut guard, |_| panic_any(7)));
    let mut asked = 0;
    panics(|| {
        let again = |_: &mut i32| {
            asked += 1;
            if asked == 2 { panic_any(7) } else { true }
        };
        condvar.wait_while_for(&mut guard, again, crate::MS);
    });
    assert!(mutex.is_locked());
    drop(guard);
    assert!(mutex.try_lock().is_some());
}
