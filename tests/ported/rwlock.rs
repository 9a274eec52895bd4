//! `RwLock` and `RecursiveRwLock`: who gets in beside whom.

use super::locks::lock_api::{RawRwLock as _, RawRwLockUpgrade as _};
use super::locks::{
    RawRwLock, RecursiveRwLock, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard,
};
use crate::{LONG, MS, spawn_blocked, takes};
use std::mem;
use std::thread;
use std::time::Instant;

/// Whether the lock is to be had now for reading, for reading upgradably, and for writing.
fn free_for(rwlock: &RwLock<u32>) -> [bool; 3] {
    let read = rwlock.try_read().is_some();
    let upgradable = rwlock.try_upgradable_read().is_some();
    let write = rwlock.try_write().is_some();
    [read, upgradable, write]
}

#[test]
fn increments_of_four_threads_are_all_there() {
    const EACH: u32 = 5_000;
    let rwlock = RwLock::new(0);
    let recursive = RecursiveRwLock::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let before = *rwlock.read();
                    let mut n = rwlock.write();
                    assert!(*n >= before);
                    let before = *n;
                    *n = before + 1;
                    drop(n);
                    *recursive.write() += 1;
                }
            });
        }
    });
    assert_eq!(
        (rwlock.into_inner(), recursive.into_inner()),
        (4 * EACH, 4 * EACH)
    );
}

#[test]
fn every_state_admits_what_it_should() {
    let rwlock = RwLock::new(1);
    assert_eq!(free_for(&rwlock), [true, true, true]);
    let read = rwlock.read();
    assert_eq!(free_for(&rwlock), [true, true, false]);
    assert!(rwlock.is_locked() && !rwlock.is_locked_exclusive());
    let upgradable = rwlock.upgradable_read();
    assert_eq!(free_for(&rwlock), [true, false, false]);
    assert_eq!(*read + *upgradable, 2);
    drop(read);
    assert_eq!(free_for(&rwlock), [true, false, false]);
    assert!(rwlock.is_locked() && !rwlock.is_locked_exclusive());
    drop(upgradable);
    let write = rwlock.write();
    assert_eq!(free_for(&rwlock), [false, false, false]);
    assert!(rwlock.is_locked() && rwlock.is_locked_exclusive());
    drop(write);
    assert_eq!(free_for(&rwlock), [true, true, true]);
    assert!(!rwlock.is_locked() && !rwlock.is_locked_exclusive());
}

#[test]
fn timed_locks_give_up_when_the_time_is_up() {
    let rwlock = RwLock::new(1);
    let upgradable = rwlock.upgradable_read();
    takes(10 * MS, || assert!(rwlock.try_write_for(10 * MS).is_none()));
    takes(10 * MS, || {
        assert!(rwlock.try_upgradable_read_for(10 * MS).is_none());
    });
    assert!(rwlock.try_read_for(10 * MS).is_some());
    drop(upgradable);
    let write = rwlock.write();
    takes(10 * MS, || assert!(rwlock.try_read_for(10 * MS).is_none()));
    takes(10 * MS, || assert!(rwlock.try_write_for(10 * MS).is_none()));
    for attempt in 0..3 {
        let time = Instant::now() + 10 * MS;
        assert!(match attempt {
            0 => rwlock.try_read_until(time).is_none(),
            1 => rwlock.try_upgradable_read_until(time).is_none(),
            _ => rwlock.try_write_until(time).is_none(),
        });
        assert!(Instant::now() >= time);
    }
    drop(write);
    assert!(rwlock.try_read_until(Instant::now()).is_some());
    assert!(rwlock.try_write_until(Instant::now()).is_some());
    assert!(rwlock.try_write_for(MS).is_some());
    assert!(rwlock.try_upgradable_read_until(Instant::now()).is_some());
    assert!(rwlock.try_upgradable_read_for(MS).is_some());
}

#[test]
fn timed_locks_that_are_in_time_succeed() {
    let rwlock = RwLock::new(1);
    thread::scope(|scope| {
        let write = rwlock.write();
        let readers = [
            spawn_blocked(scope, || rwlock.try_read_for(LONG).is_some()),
            spawn_blocked(scope, || rwlock.try_upgradable_read_for(LONG).is_some()),
            spawn_blocked(scope, || rwlock.try_write_for(LONG).is_some()),
        ];
        drop(write);
        assert!(readers.into_iter().all(|reader| reader.join().unwrap()));
    });
}

#[test]
fn readers_and_writers_wait_for_a_writer() {
    let rwlock = RwLock::new(1);
    thread::scope(|scope| {
        let mut write = rwlock.write();
        let reader = spawn_blocked(scope, || *rwlock.read());
        let upgradable = spawn_blocked(scope, || *rwlock.upgradable_read());
        let writer = spawn_blocked(scope, || drop(rwlock.write()));
        *write = 2;
        drop(write);
        assert_eq!((reader.join().unwrap(), upgradable.join().unwrap()), (2, 2));
        writer.join().unwrap();
    });
}

#[test]
fn a_waiting_writer_keeps_new_readers_out() {
    let rwlock = RwLock::new(1);
    thread::scope(|scope| {
        let read = rwlock.read();
        let writer = spawn_blocked(scope, || *rwlock.write() += 1);
        assert!(rwlock.try_read().is_none());
        takes(10 * MS, || assert!(rwlock.try_read_for(10 * MS).is_none()));
        let reader = spawn_blocked(scope, || *rwlock.read());
        drop(read);
        writer.join().unwrap();
        assert_eq!(reader.join().unwrap(), 2);
    });
}

#[test]
fn a_recursive_lock_lets_a_reader_in_again_while_a_writer_waits() {
    let rwlock = RecursiveRwLock::new(1);
    thread::scope(|scope| {
        let outer = rwlock.read();
        let writer = spawn_blocked(scope, || *rwlock.write() += 1);
        let inner = rwlock.read();
        let third = rwlock.try_read().expect("recursive");
        let fourth = rwlock.try_read_for(LONG).expect("recursive");
        assert_eq!([*outer, *inner, *third, *fourth], [1; 4]);
        drop((outer, inner, third, fourth));
        writer.join().unwrap();
        assert_eq!(*rwlock.read(), 2);
    });
}

#[test]
fn unlocked_lets_others_in_meanwhile() {
    let rwlock = RwLock::new(1);
    let mut read = rwlock.read();
    RwLockReadGuard::unlocked(&mut read, || *rwlock.try_write().expect("unlocked") += 1);
    RwLockReadGuard::unlocked_fair(&mut read, || *rwlock.try_write().expect("unlocked") += 1);
    assert_eq!((*read, free_for(&rwlock)), (3, [true, true, false]));
    drop(read);
    let mut write = rwlock.write();
    RwLockWriteGuard::unlocked(&mut write, || *rwlock.try_write().expect("unlocked") += 1);
    RwLockWriteGuard::unlocked_fair(&mut write, || *rwlock.try_write().expect("unlocked") += 1);
    assert_eq!((*write, free_for(&rwlock)), (5, [false, false, false]));
    drop(write);
    let mut up = rwlock.upgradable_read();
    RwLockUpgradableReadGuard::unlocked(&mut up, || *rwlock.try_write().expect("unlocked") += 1);
    RwLockUpgradableReadGuard::unlocked_fair(&mut up, || {
        *rwlock.try_write().expect("unlocked") += 1;
    });
    assert_eq!((*up, free_for(&rwlock)), (7, [true, false, false]));
}

#[test]
fn a_forgotten_guard_leaves_the_lock_locked() {
    let mut rwlock = RwLock::new(1);
    mem::forget(rwlock.read());
    assert_eq!(free_for(&rwlock), [true, true, false]);
    mem::forget(rwlock.upgradable_read());
    assert_eq!(free_for(&rwlock), [true, false, false]);
    *rwlock.get_mut() += 1;
    assert_eq!(rwlock.into_inner(), 2);
}

#[test]
fn locks_through_the_raw_lock_are_unlocked_by_force() {
    let rwlock = RwLock::new(1);
    // SAFETY: what is locked here is unlocked below, once, with its own state.
    let raw: &RawRwLock = unsafe { rwlock.raw() };
    let (first, second) = (raw.lock_shared(), raw.lock_shared());
    assert_eq!(free_for(&rwlock), [true, true, false]);
    // SAFETY: locked above.
    unsafe { rwlock.force_unlock_read(first) };
    assert!(rwlock.is_locked());
    // SAFETY: locked above.
    unsafe { rwlock.force_unlock_read_fair(second) };
    assert!(!rwlock.is_locked());
    let state = raw.lock_exclusive();
    assert!(rwlock.is_locked_exclusive());
    // SAFETY: locked above.
    unsafe { rwlock.force_unlock_write(state) };
    let state = raw.lock_exclusive();
    // SAFETY: locked above.
    unsafe { rwlock.force_unlock_write_fair(state) };
    assert!(!rwlock.is_locked());
}

#[test]
fn guards_are_made_of_locks_through_the_raw_lock() {
    let rwlock = RwLock::new(1);
    // SAFETY: each state goes into the guard that unlocks it.
    let raw: &RawRwLock = unsafe { rwlock.raw() };
    let (shared, upgradable) = (raw.lock_shared(), raw.lock_upgradable());
    // SAFETY: locked above, and there is no other guard of this lock.
    let shared = unsafe { rwlock.make_read_guard_unchecked(shared) };
    // SAFETY: as above.
    let upgradable = unsafe { rwlock.make_upgradable_guard_unchecked(upgradable) };
    assert!(RwLockReadGuard::rwlock(&shared).is_locked());
    assert!(RwLockUpgradableReadGuard::rwlock(&upgradable).is_locked());
    assert_eq!(rwlock.data_ptr().cast_const(), &raw const *shared);
    drop((shared, upgradable));
    let exclusive = raw.lock_exclusive();
    // SAFETY: as above.
    let exclusive = unsafe { rwlock.make_write_guard_unchecked(exclusive) };
    assert!(RwLockWriteGuard::rwlock(&exclusive).is_locked_exclusive());
    drop(exclusive);
    assert!(!rwlock.is_locked());
}
