//! Guards that own a handle to their lock.

use super::locks::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard, FairMutex, Mutex, RawFairMutex, RawMutex, RawRwLock, RecursiveRwLock,
    ReentrantMutex, RwLock,
};
use crate::{MS, takes};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

#[test]
fn a_mutex_guard_outlives_the_last_handle_of_the_others() {
    let mutex = Arc::new(Mutex::new(vec![1]));
    let weak = Arc::downgrade(&mutex);
    let mut guard: ArcMutexGuard<RawMutex, Vec<i32>> = mutex.lock_arc();
    drop(mutex);
    guard.push(2);
    assert_eq!((guard.len(), weak.strong_count()), (2, 1));
    drop(guard);
    assert_eq!(weak.strong_count(), 0);
}

#[test]
fn arc_guards_lock_the_mutex_like_others() {
    let mutex = Arc::new(Mutex::new(1));
    let guard = mutex.try_lock_arc().expect("free");
    assert!(ArcMutexGuard::mutex(&guard).is_locked());
    assert!(mutex.try_lock_arc().is_none() && mutex.try_lock().is_none());
    takes(10 * MS, || {
        assert!(mutex.try_lock_arc_for(10 * MS).is_none());
    });
    assert!(mutex.try_lock_arc_until(Instant::now()).is_none());
    assert!(!ArcMutexGuard::into_arc(guard).is_locked());
    let guard = mutex.try_lock_arc_for(MS).expect("free");
    assert!(!ArcMutexGuard::into_arc_fair(guard).is_locked());
    let mut guard = mutex.try_lock_arc_until(Instant::now()).expect("free");
    ArcMutexGuard::unlocked(&mut guard, || *mutex.try_lock().expect("unlocked") += 1);
    ArcMutexGuard::unlocked_fair(&mut guard, || *mutex.try_lock().expect("unlocked") += 1);
    ArcMutexGuard::bump(&mut guard);
    assert_eq!((*guard, mutex.is_locked()), (3, true));
    ArcMutexGuard::unlock_fair(guard);
    assert!(!mutex.is_locked());
}

#[test]
fn arc_guards_lock_the_fair_mutex_like_others() {
    let mutex = Arc::new(FairMutex::new(1));
    let guard: ArcMutexGuard<RawFairMutex, i32> = mutex.lock_arc();
    assert!(mutex.try_lock_arc().is_none() && mutex.try_lock_arc_for(MS).is_none());
    drop(guard);
    assert!(mutex.try_lock_arc_until(Instant::now()).is_some());
}

#[test]
fn arc_guards_are_levels_of_the_reentrant_mutex() {
    let mutex = Arc::new(ReentrantMutex::new(Cell::new(1)));
    let mut outer = mutex.lock_arc();
    let inner = mutex.try_lock_arc().expect("the holder's");
    let third = mutex.try_lock_arc_for(MS).expect("the holder's");
    let fourth = mutex
        .try_lock_arc_until(Instant::now())
        .expect("the holder's");
    fourth.set(2);
    assert!(ArcReentrantMutexGuard::remutex(&outer).is_owned_by_current_thread());
    assert!(ArcReentrantMutexGuard::into_arc(inner).is_locked());
    assert!(ArcReentrantMutexGuard::into_arc_fair(third).is_locked());
    ArcReentrantMutexGuard::unlock_fair(fourth);
    ArcReentrantMutexGuard::unlocked(&mut outer, || assert!(!mutex.is_locked()));
    ArcReentrantMutexGuard::unlocked_fair(&mut outer, || assert!(!mutex.is_locked()));
    ArcReentrantMutexGuard::bump(&mut outer);
    assert_eq!((outer.get(), mutex.is_locked()), (2, true));
    drop(outer);
    assert!(!mutex.is_locked());
}

#[test]
fn arc_guards_share_and_exclude_like_others() {
    let rwlock = Arc::new(RwLock::new(1));
    let read: ArcRwLockReadGuard<RawRwLock, i32> = rwlock.read_arc();
    let also = rwlock.try_read_arc().expect("shared");
    let up = rwlock.try_upgradable_read_arc().expect("beside readers");
    assert!(rwlock.try_upgradable_read_arc().is_none() && rwlock.try_write_arc().is_none());
    takes(10 * MS, || {
        assert!(rwlock.try_write_arc_for(10 * MS).is_none());
    });
    assert!(rwlock.try_write_arc_until(Instant::now()).is_none());
    assert!(rwlock.try_upgradable_read_arc_for(MS).is_none());
    assert!(
        rwlock
            .try_upgradable_read_arc_until(Instant::now())
            .is_none()
    );
    drop((read, also, up));
    let write: ArcRwLockWriteGuard<RawRwLock, i32> = rwlock.write_arc();
    assert!(rwlock.try_read_arc().is_none() && rwlock.try_read_arc_for(MS).is_none());
    assert!(rwlock.try_read_arc_until(Instant::now()).is_none());
    assert!(ArcRwLockWriteGuard::rwlock(&write).is_locked_exclusive());
    drop(write);
    assert!(rwlock.try_read_arc_for(MS).is_some());
    assert!(rwlock.try_read_arc_until(Instant::now()).is_some());
    assert!(rwlock.try_write_arc().is_some() && rwlock.try_write_arc_for(MS).is_some());
    assert!(rwlock.try_write_arc_until(Instant::now()).is_some());
    assert!(rwlock.try_upgradable_read_arc_for(MS).is_some());
    assert!(
        rwlock
            .try_upgradable_read_arc_until(Instant::now())
            .is_some()
    );
    assert!(!rwlock.is_locked());
}

#[test]
fn arc_guards_are_upgraded_and_downgraded() {
    let rwlock = Arc::new(RwLock::new(1));
    let read = rwlock.read_arc();
    let up: ArcRwLockUpgradableReadGuard<RawRwLock, i32> = rwlock.upgradable_read_arc();
    let Err(up) = ArcRwLockUpgradableReadGuard::try_upgrade(up) else {
        panic!("a reader is in");
    };
    let Err(up) = ArcRwLockUpgradableReadGuard::try_upgrade_for(up, MS) else {
        panic!("a reader is in");
    };
    let Err(mut up) = ArcRwLockUpgradableReadGuard::try_upgrade_until(up, Instant::now()) else {
        panic!("a reader is in");
    };
    assert_eq!(up.try_with_upgraded(|n| *n), None);
    assert_eq!(up.try_with_upgraded_for(MS, |n| *n), None);
    assert_eq!(up.try_with_upgraded_until(Instant::now(), |n| *n), None);
    drop(read);
    up.with_upgraded(|n| *n += 1);
    let write = ArcRwLockUpgradableReadGuard::upgrade(up);
    assert!(rwlock.is_locked_exclusive());
    let up = ArcRwLockWriteGuard::downgrade_to_upgradable(write);
    assert!(
        ArcRwLockUpgradableReadGuard::rwlock(&up)
            .try_read()
            .is_some()
    );
    let read = ArcRwLockUpgradableReadGuard::downgrade(up);
    assert!(rwlock.try_upgradable_read().is_some());
    drop(read);
    let read = ArcRwLockWriteGuard::downgrade(rwlock.write_arc());
    assert!(rwlock.try_read().is_some() && rwlock.try_write().is_none());
    assert_eq!(*read, 2);
}

#[test]
fn arc_guards_give_the_lock_up_and_the_handle_back() {
    let rwlock = Arc::new(RwLock::new(1));
    let mut read = rwlock.read_arc();
    ArcRwLockReadGuard::unlocked(&mut read, || assert!(!rwlock.is_locked()));
    ArcRwLockReadGuard::unlocked_fair(&mut read, || assert!(!rwlock.is_locked()));
    ArcRwLockReadGuard::bump(&mut read);
    assert!(ArcRwLockReadGuard::rwlock(&read).is_locked());
    assert!(!ArcRwLockReadGuard::into_arc(read).is_locked());
    assert!(!ArcRwLockReadGuard::into_arc_fair(rwlock.read_arc()).is_locked());
    ArcRwLockReadGuard::unlock_fair(rwlock.read_arc());

    let mut write = rwlock.write_arc();
    ArcRwLockWriteGuard::unlocked(&mut write, || assert!(!rwlock.is_locked()));
    ArcRwLockWriteGuard::unlocked_fair(&mut write, || assert!(!rwlock.is_locked()));
    ArcRwLockWriteGuard::bump(&mut write);
    assert!(rwlock.is_locked_exclusive());
    assert!(!ArcRwLockWriteGuard::into_arc(write).is_locked());
    assert!(!ArcRwLockWriteGuard::into_arc_fair(rwlock.write_arc()).is_locked());
    ArcRwLockWriteGuard::unlock_fair(rwlock.write_arc());

    let mut up = rwlock.upgradable_read_arc();
    ArcRwLockUpgradableReadGuard::unlocked(&mut up, || assert!(!rwlock.is_locked()));
    ArcRwLockUpgradableReadGuard::unlocked_fair(&mut up, || assert!(!rwlock.is_locked()));
    ArcRwLockUpgradableReadGuard::bump(&mut up);
    assert!(rwlock.is_locked());
    assert!(!ArcRwLockUpgradableReadGuard::into_arc(up).is_locked());
    let up = rwlock.upgradable_read_arc();
    assert!(!ArcRwLockUpgradableReadGuard::into_arc_fair(up).is_locked());
    ArcRwLockUpgradableReadGuard::unlock_fair(rwlock.upgradable_read_arc());
    assert!(!rwlock.is_locked());
}

#[test]
fn a_recursive_lock_hands_out_arc_guards_too() {
    let rwlock = Arc::new(RecursiveRwLock::new(1));
    let (read, up) = (rwlock.read_arc(), rwlock.upgradable_read_arc());
    assert!(rwlock.try_read_arc().is_some() && rwlock.try_write_arc().is_none());
    drop((read, up));
    *rwlock.write_arc() += 1;
    assert_eq!(*rwlock.read(), 2);
}
