//! Upgrades and downgrades, and who may do what meanwhile.

use super::locks::{
    RecursiveRwLock, RecursiveRwLockUpgradableReadGuard, RecursiveRwLockWriteGuard, RwLock,
    RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use crate::{LONG, MS, spawn_blocked, takes};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

#[test]
fn of_two_upgradable_readers_one_waits() {
    let rwlock = RwLock::new(0);
    thread::scope(|scope| {
        let first = rwlock.upgradable_read();
        let second = spawn_blocked(scope, || {
            let second = rwlock.upgradable_read();
            *RwLockUpgradableReadGuard::upgrade(second) += 1;
        });
        *RwLockUpgradableReadGuard::upgrade(first) += 1;
        second.join().unwrap();
    });
    assert_eq!(rwlock.into_inner(), 2);
}

#[test]
fn upgrades_of_four_threads_are_all_there() {
    const EACH: u32 = 2_000;
    let rwlock = RwLock::new(0);
    let inside = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let read = rwlock.upgradable_read();
                    assert_eq!(
                        inside.fetch_add(1, Ordering::Relaxed),
                        0,
                        "only one at a time"
                    );
                    let before = *read;
                    let mut write = RwLockUpgradableReadGuard::upgrade(read);
                    assert_eq!(*write, before, "nobody wrote in between");
                    *write = before + 1;
                    inside.fetch_sub(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(rwlock.into_inner(), 4 * EACH);
}

#[test]
fn an_upgrade_waits_for_readers_and_keeps_new_ones_out() {
    let rwlock = RwLock::new(0);
    thread::scope(|scope| {
        let read = rwlock.read();
        let upgrade = spawn_blocked(scope, || {
            let up = rwlock.upgradable_read();
            *RwLockUpgradableReadGuard::upgrade(up) += 1;
        });
        assert!(rwlock.try_read().is_none());
        assert_eq!(*read, 0);
        drop(read);
        upgrade.join().unwrap();
        assert_eq!(*rwlock.read(), 1);
    });
}

#[test]
fn try_upgrade_takes_what_no_reader_is_in_and_else_gives_the_guard_back() {
    let rwlock = RwLock::new(0);
    let read = rwlock.read();
    let up = rwlock.upgradable_read();
    let Err(up) = RwLockUpgradableReadGuard::try_upgrade(up) else {
        panic!("a reader is in");
    };
    let Err(up) = takes(10 * MS, || {
        RwLockUpgradableReadGuard::try_upgrade_for(up, 10 * MS)
    }) else {
        panic!("a reader is in");
    };
    let time = Instant::now() + 10 * MS;
    let Err(up) = RwLockUpgradableReadGuard::try_upgrade_until(up, time) else {
        panic!("a reader is in");
    };
    assert!(Instant::now() >= time);
    assert!(
        rwlock.try_upgradable_read().is_none(),
        "still held upgradably"
    );
    drop(read);
    let write = RwLockUpgradableReadGuard::try_upgrade(up).expect("nobody is in");
    assert!(rwlock.is_locked_exclusive());
    drop(write);
    let up = rwlock.upgradable_read();
    assert!(RwLockUpgradableReadGuard::try_upgrade_for(up, MS).is_ok());
    let up = rwlock.upgradable_read();
    assert!(RwLockUpgradableReadGuard::try_upgrade_until(up, Instant::now()).is_ok());
}

#[test]
fn a_timed_upgrade_that_is_in_time_succeeds() {
    let rwlock = RwLock::new(0);
    thread::scope(|scope| {
        let read = rwlock.read();
        let upgrade = spawn_blocked(scope, || {
            let up = rwlock.upgradable_read();
            RwLockUpgradableReadGuard::try_upgrade_for(up, LONG).is_ok()
        });
        drop(read);
        assert!(upgrade.join().unwrap());
    });
}

#[test]
fn with_upgraded_writes_and_reads_on() {
    let rwlock = RwLock::new(0);
    let mut up = rwlock.upgradable_read();
    let seen = up.with_upgraded(|n| {
        assert!(rwlock.is_locked_exclusive());
        *n += 1;
        *n
    });
    assert_eq!(seen, 1);
    assert!(!rwlock.is_locked_exclusive() && rwlock.try_read().is_some());
    assert_eq!(up.try_with_upgraded(|n| *n + 1), Some(2));
    assert_eq!(up.try_with_upgraded_for(MS, |n| *n + 2), Some(3));
    assert_eq!(
        up.try_with_upgraded_until(Instant::now(), |n| *n + 3),
        Some(4)
    );
    let read = rwlock.read();
    assert_eq!(up.try_with_upgraded(|n| *n), None);
    takes(10 * MS, || {
        assert_eq!(up.try_with_upgraded_for(10 * MS, |n| *n), None);
    });
    let time = Instant::now() + 10 * MS;
    assert_eq!(up.try_with_upgraded_until(time, |n| *n), None);
    assert!(Instant::now() >= time);
    assert_eq!((*read, *up), (1, 1));
}

#[test]
fn a_downgrade_lets_waiting_readers_in_and_no_writer() {
    let rwlock = RwLock::new(0);
    thread::scope(|scope| {
        let mut write = rwlock.write();
        let reader = spawn_blocked(scope, || *rwlock.read());
        *write = 1;
        let read = RwLockWriteGuard::downgrade(write);
        assert_eq!(reader.join().unwrap(), 1);
        assert!(rwlock.try_write().is_none() && rwlock.try_upgradable_read().is_some());
        assert_eq!(*read, 1);
    });
}

#[test]
fn a_downgrade_to_upgradable_lets_readers_in_and_nobody_else() {
    let rwlock = RwLock::new(0);
    thread::scope(|scope| {
        let write = rwlock.write();
        let reader = spawn_blocked(scope, || *rwlock.read());
        let up = RwLockWriteGuard::downgrade_to_upgradable(write);
        assert_eq!(reader.join().unwrap(), 0);
        assert!(rwlock.try_write().is_none() && rwlock.try_upgradable_read().is_none());
        let read = RwLockUpgradableReadGuard::downgrade(up);
        assert!(rwlock.try_write().is_none() && rwlock.try_upgradable_read().is_some());
        drop(read);
        assert!(!rwlock.is_locked());
    });
}

#[test]
fn a_recursive_lock_converts_alike() {
    let rwlock = RecursiveRwLock::new(0);
    let up = RecursiveRwLockWriteGuard::downgrade_to_upgradable(rwlock.write());
    let Ok(write) = RecursiveRwLockUpgradableReadGuard::try_upgrade(up) else {
        panic!("nobody is in");
    };
    let mut up = RecursiveRwLockWriteGuard::downgrade_to_upgradable(write);
    up.with_upgraded(|n| *n += 1);
    let read = RecursiveRwLockUpgradableReadGuard::downgrade(up);
    assert!(rwlock.try_write().is_none());
    drop(read);
    drop(RecursiveRwLockWriteGuard::downgrade(rwlock.write()));
    assert_eq!((rwlock.is_locked(), rwlock.into_inner()), (false, 1));
}
