//! `Mutex` and its guard.

use super::locks::lock_api::RawMutex as RawMutexTrait;
use super::locks::{FairMutex, Mutex, MutexGuard, RawMutex};
use crate::{MS, spawn_blocked, takes};
use std::mem;
use std::thread;
use std::time::Instant;

#[test]
fn increments_of_four_threads_are_all_there() {
    const EACH: u32 = 5_000;
    let plain = Mutex::new(0);
    let fair = FairMutex::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..EACH {
                    let mut n = plain.lock();
                    let before = *n;
                    *n = before + 1;
                    drop(n);
                    // A fair mutex costs a context switch where two threads meet.
                    if i % 50 == 0 {
                        *fair.lock() += 1;
                    }
                }
            });
        }
    });
    assert_eq!(plain.into_inner(), 4 * EACH);
    assert_eq!(fair.into_inner(), 4 * EACH / 50);
}

#[test]
fn a_thread_waits_until_the_holder_is_done() {
    let mutex = Mutex::new(1);
    thread::scope(|scope| {
        let mut guard = mutex.lock();
        let waiter = spawn_blocked(scope, || *mutex.lock());
        *guard = 2;
        drop(guard);
        assert_eq!(waiter.join().unwrap(), 2);
    });
}

#[test]
fn try_lock_takes_a_free_mutex_and_no_other() {
    let mutex = Mutex::new(1);
    assert!(!mutex.is_locked());
    let guard = mutex.try_lock().expect("free");
    assert!(mutex.is_locked());
    assert!(mutex.try_lock().is_none());
    drop(guard);
    assert!(!mutex.is_locked());
    assert!(mutex.try_lock_for(20 * MS).is_some());
    assert!(mutex.try_lock_until(Instant::now()).is_some());
}

#[test]
fn a_timed_lock_gives_up_when_the_time_is_up() {
    let mutex = Mutex::new(1);
    let _guard = mutex.lock();
    takes(20 * MS, || assert!(mutex.try_lock_for(20 * MS).is_none()));
    let time = Instant::now() + 20 * MS;
    assert!(mutex.try_lock_until(time).is_none());
    assert!(Instant::now() >= time);
    assert!(mutex.try_lock_until(Instant::now()).is_none());
}

#[test]
fn a_timed_lock_that_is_in_time_succeeds() {
    let mutex = Mutex::new(1);
    thread::scope(|scope| {
        let guard = mutex.lock();
        let waiter = spawn_blocked(scope, || mutex.try_lock_for(crate::LONG).is_some());
        drop(guard);
        assert!(waiter.join().unwrap());
    });
}

#[test]
fn unlocked_lets_others_in_meanwhile() {
    let mutex = Mutex::new(1);
    let mut guard = mutex.lock();
    let seen = MutexGuard::unlocked(&mut guard, || {
        *mutex.try_lock().expect("unlocked") += 1;
        "seen"
    });
    assert_eq!((seen, *guard), ("seen", 2));
    MutexGuard::unlocked_fair(&mut guard, || *mutex.try_lock().expect("unlocked") += 1);
    assert_eq!(*guard, 3);
    assert!(mutex.try_lock().is_none(), "locked again");
}

#[test]
fn a_leaked_guard_leaves_the_mutex_locked() {
    let mutex: &'static Mutex<u32> = Box::leak(Box::new(Mutex::new(1)));
    let value: &'static mut u32 = MutexGuard::leak(mutex.lock());
    *value += 1;
    assert!(mutex.is_locked() && mutex.try_lock().is_none());
}

#[test]
fn a_forgotten_guard_leaves_the_mutex_locked() {
    let mut mutex = Mutex::new(1);
    mem::forget(mutex.lock());
    assert!(mutex.is_locked());
    *mutex.get_mut() += 1;
    assert_eq!(mutex.into_inner(), 2);
}

#[test]
fn a_lock_through_the_raw_mutex_is_unlocked_by_force() {
    let mutex = Mutex::new(1);
    // SAFETY: what is locked here is unlocked below, once, with its own state.
    let raw: &RawMutex = unsafe { mutex.raw() };
    let state = raw.lock();
    assert!(raw.try_lock().is_none() && mutex.is_locked());
    // SAFETY: locked above.
    unsafe { mutex.force_unlock(state) };
    assert!(!mutex.is_locked());
    let state = raw.try_lock().expect("free");
    // SAFETY: locked above.
    unsafe { mutex.force_unlock_fair(state) };
    assert!(!mutex.is_locked());
    let state = raw.lock();
    // SAFETY: locked above, and there is no other guard.
    let guard = unsafe { mutex.make_guard_unchecked(state) };
    assert!(mutex.is_locked());
    assert_eq!(*guard, 1);
    drop(guard);
    assert!(!mutex.is_locked());
}

#[test]
fn a_forgotten_guard_is_unlocked_by_force() {
    let mutex = Mutex::new(1);
    mem::forget(mutex.lock());
    let state = <RawMutex as RawMutexTrait>::Guard::default();
    // SAFETY: its guard is forgotten.
    unsafe { mutex.force_unlock(state) };
    assert!(mutex.try_lock().is_some());
}

#[test]
fn the_guard_and_the_pointer_lead_to_the_same_value() {
    let mutex = Mutex::new(1);
    let guard = mutex.lock();
    assert!(MutexGuard::mutex(&guard).is_locked());
    assert_eq!(mutex.data_ptr().cast_const(), &raw const *guard);
}
