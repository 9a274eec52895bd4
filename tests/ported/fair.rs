//! Fair unlocking: the lock goes to the thread that has waited longest, and is free for nobody in
//! between.

use super::locks::{
    FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard, MappedRwLockReadGuard,
    MappedRwLockWriteGuard, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard,
};
use crate::spawn_blocked;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Scope};

const QUEUE: usize = 6;

/// Starts threads that wait one behind the other for a lock that is held. `turn` gets the number of
/// the thread and whether it is the last.
fn queue<'scope>(scope: &'scope Scope<'scope, '_>, turn: &'scope (impl Fn(usize, bool) + Sync)) {
    for i in 0..QUEUE {
        spawn_blocked(scope, move || turn(i, i == QUEUE - 1));
    }
}

/// After it is given up, a lock that others queue for is not to be had. The last of them holds it
/// until all have looked.
macro_rules! assert_passed_along {
    ($lock:expr, $acquire:ident, $try_acquire:ident, $give_up:expr) => {{
        let lock = $lock;
        let found_free = AtomicUsize::new(0);
        let all_have_looked = Barrier::new(QUEUE);
        let turn = |i, is_last| {
            let mut order = lock.$acquire();
            order.push(i);
            if is_last {
                all_have_looked.wait();
                return;
            }
            $give_up(order);
            if lock.$try_acquire().is_some() {
                found_free.fetch_add(1, Ordering::Relaxed);
            }
            all_have_looked.wait();
        };
        thread::scope(|scope| {
            let held = lock.$acquire();
            queue(scope, &turn);
            $give_up(held);
        });
        assert_eq!(found_free.into_inner(), 0, "free, while others wait");
        assert_eq!(lock.into_inner(), [0, 1, 2, 3, 4, 5]);
    }};
}

#[test]
fn unlock_fair_passes_the_mutex_along_the_queue() {
    assert_passed_along!(
        Mutex::new(Vec::new()),
        lock,
        try_lock,
        MutexGuard::unlock_fair
    );
    assert_passed_along!(Mutex::new(Vec::new()), lock, try_lock, |guard| {
        MappedMutexGuard::unlock_fair(MutexGuard::map(guard, |order: &mut Vec<usize>| order));
    });
}

#[test]
fn a_fair_mutex_is_always_passed_along() {
    assert_passed_along!(FairMutex::new(Vec::new()), lock, try_lock, drop);
    assert_passed_along!(FairMutex::new(Vec::new()), lock, try_lock, |guard| {
        drop(FairMutexGuard::map(guard, |order: &mut Vec<usize>| order));
    });
    assert_passed_along!(
        FairMutex::new(Vec::new()),
        lock,
        try_lock,
        FairMutexGuard::unlock_fair
    );
    assert_passed_along!(FairMutex::new(Vec::new()), lock, try_lock, |guard| {
        let guard = FairMutexGuard::map(guard, |order: &mut Vec<usize>| order);
        MappedFairMutexGuard::unlock_fair(guard);
    });
}

#[test]
fn unlock_fair_passes_the_rwlock_along_the_queue() {
    assert_passed_along!(
        RwLock::new(Vec::new()),
        write,
        try_write,
        RwLockWriteGuard::unlock_fair
    );
    assert_passed_along!(RwLock::new(Vec::new()), write, try_write, |guard| {
        let guard = RwLockWriteGuard::map(guard, |order: &mut Vec<usize>| order);
        MappedRwLockWriteGuard::unlock_fair(guard);
    });
}

#[test]
fn bump_lets_the_waiter_in_first() {
    let mutex = Mutex::new(0);
    let fair = FairMutex::new(0);
    let rwlock = RwLock::new(0);
    thread::scope(|scope| {
        let mut guard = mutex.lock();
        spawn_blocked(scope, || *mutex.lock() += 1);
        MutexGuard::bump(&mut guard);
        assert_eq!(*guard, 1);
        MutexGuard::bump(&mut guard);
        assert_eq!(*guard, 1, "nobody waits");

        let mut guard = fair.lock();
        spawn_blocked(scope, || *fair.lock() += 1);
        FairMutexGuard::bump(&mut guard);
        assert_eq!(*guard, 1);

        let mut guard = rwlock.write();
        spawn_blocked(scope, || *rwlock.write() += 1);
        RwLockWriteGuard::bump(&mut guard);
        assert_eq!(*guard, 1);
        drop(guard);

        let mut guard = rwlock.read();
        spawn_blocked(scope, || *rwlock.write() += 1);
        RwLockReadGuard::bump(&mut guard);
        assert_eq!(*guard, 2);
        drop(guard);

        let mut guard = rwlock.upgradable_read();
        spawn_blocked(scope, || *rwlock.write() += 1);
        RwLockUpgradableReadGuard::bump(&mut guard);
        assert_eq!(*guard, 3);
    });
}

#[test]
fn unlocked_fair_lets_the_waiter_in_first() {
    let mutex = Mutex::new(0);
    let rwlock = RwLock::new(0);
    let is_in = Barrier::new(2);
    thread::scope(|scope| {
        let mut guard = mutex.lock();
        spawn_blocked(scope, || {
            let mut n = mutex.lock();
            is_in.wait();
            *n += 1;
        });
        MutexGuard::unlocked_fair(&mut guard, || {
            let is_free = mutex.try_lock().is_some();
            is_in.wait();
            assert!(!is_free, "handed over");
        });
        assert_eq!(*guard, 1);

        let mut guard = rwlock.write();
        spawn_blocked(scope, || {
            let mut n = rwlock.write();
            is_in.wait();
            *n += 1;
        });
        RwLockWriteGuard::unlocked_fair(&mut guard, || {
            let is_free = rwlock.try_read().is_some();
            is_in.wait();
            assert!(!is_free, "handed over");
        });
        assert_eq!(*guard, 1);
    });
}

#[test]
fn the_last_reader_that_unlocks_fairly_makes_way_for_a_writer() {
    let rwlock = RwLock::new(0);
    thread::scope(|scope| {
        let (first, second) = (rwlock.read(), rwlock.read());
        let third = rwlock.upgradable_read();
        let writer = spawn_blocked(scope, || *rwlock.write() += 1);
        RwLockReadGuard::unlock_fair(first);
        MappedRwLockReadGuard::unlock_fair(RwLockReadGuard::map(second, |n| n));
        assert!(!writer.is_finished(), "one reader is there");
        RwLockUpgradableReadGuard::unlock_fair(third);
        writer.join().unwrap();
    });
    assert_eq!(rwlock.into_inner(), 1);
}
