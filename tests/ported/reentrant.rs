//! `ReentrantMutex` and its guards.

use super::locks::{MappedReentrantMutexGuard, ReentrantMutex, ReentrantMutexGuard};
use crate::{MS, spawn_blocked, takes};
use std::cell::{Cell, RefCell};
use std::mem;
use std::thread;
use std::time::Instant;

/// Whether another thread could lock it now.
fn is_free<T: Send>(mutex: &ReentrantMutex<T>) -> bool {
    thread::scope(|scope| scope.spawn(|| mutex.try_lock().is_some()).join().unwrap())
}

#[test]
fn increments_of_four_threads_are_all_there() {
    const EACH: u32 = 5_000;
    let mutex = ReentrantMutex::new(Cell::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let outer = mutex.lock();
                    let before = outer.get();
                    let inner = mutex.lock();
                    inner.set(before + 1);
                }
            });
        }
    });
    assert_eq!(mutex.into_inner().get(), 4 * EACH);
}

#[test]
fn the_holder_may_lock_again_and_others_wait_for_the_last_guard() {
    let mutex = ReentrantMutex::new(RefCell::new(0));
    assert!(!mutex.is_locked() && !mutex.is_owned_by_current_thread());
    let outer = mutex.lock();
    let inner = mutex.try_lock().expect("the holder's");
    let third = mutex.try_lock_for(MS).expect("the holder's");
    let fourth = mutex.try_lock_until(Instant::now()).expect("the holder's");
    *fourth.borrow_mut() += 1;
    assert!(mutex.is_locked() && mutex.is_owned_by_current_thread());
    drop((outer, third, fourth));
    assert!(!is_free(&mutex), "one guard is left");
    drop(inner);
    assert!(is_free(&mutex) && !mutex.is_owned_by_current_thread());
}

#[test]
fn another_thread_waits_and_does_not_own_it() {
    let mutex = ReentrantMutex::new(Cell::new(1));
    thread::scope(|scope| {
        let guard = mutex.lock();
        scope
            .spawn(|| {
                assert!(mutex.is_locked() && !mutex.is_owned_by_current_thread());
                takes(20 * MS, || assert!(mutex.try_lock_for(20 * MS).is_none()));
                let time = Instant::now() + 20 * MS;
                assert!(mutex.try_lock_until(time).is_none());
                assert!(Instant::now() >= time);
            })
            .join()
            .unwrap();
        let waiter = spawn_blocked(scope, || mutex.lock().get());
        guard.set(2);
        drop(guard);
        assert_eq!(waiter.join().unwrap(), 2);
    });
}

#[test]
fn unlocked_frees_the_outermost_level_only() {
    let mutex = ReentrantMutex::new(Cell::new(1));
    let mut outer = mutex.lock();
    ReentrantMutexGuard::unlocked(&mut outer, || assert!(is_free(&mutex)));
    ReentrantMutexGuard::unlocked_fair(&mut outer, || assert!(is_free(&mutex)));
    let mut inner = mutex.lock();
    ReentrantMutexGuard::unlocked(&mut inner, || assert!(!is_free(&mutex)));
    ReentrantMutexGuard::unlocked_fair(&mut inner, || assert!(!is_free(&mutex)));
    assert!(mutex.is_owned_by_current_thread());
}

#[test]
fn bump_lets_the_waiter_in_at_the_outermost_level_only() {
    let mutex = ReentrantMutex::new(Cell::new(1));
    thread::scope(|scope| {
        let mut outer = mutex.lock();
        let waiter = spawn_blocked(scope, || mutex.lock().set(2));
        let mut inner = mutex.lock();
        ReentrantMutexGuard::bump(&mut inner);
        assert_eq!((inner.get(), waiter.is_finished()), (1, false));
        ReentrantMutexGuard::unlock_fair(inner);
        assert_eq!(outer.get(), 1);
        ReentrantMutexGuard::bump(&mut outer);
        assert_eq!(outer.get(), 2);
    });
}

#[test]
fn mapped_guards_are_levels_too() {
    let mutex = ReentrantMutex::new((Cell::new(1), "two"));
    let number = ReentrantMutexGuard::map(mutex.lock(), |pair| &pair.0);
    let text = ReentrantMutexGuard::map(mutex.lock(), |pair| &pair.1);
    let text: MappedReentrantMutexGuard<'_, str> =
        MappedReentrantMutexGuard::map(text, |text| *text);
    number.set(2);
    assert_eq!(&*text, "two");
    drop(number);
    assert!(!is_free(&mutex));
    MappedReentrantMutexGuard::unlock_fair(text);
    assert!(is_free(&mutex));
}

#[test]
fn maps_that_fail_give_the_guard_back() {
    let mutex = ReentrantMutex::new(vec![1, 2]);
    let Err(guard) = ReentrantMutexGuard::try_map(mutex.lock(), |list| list.get(9)) else {
        panic!("there are two");
    };
    let Err((guard, 2)) =
        ReentrantMutexGuard::try_map_or_err(guard, |list| list.get(9).ok_or(list.len()))
    else {
        panic!("there are two");
    };
    let Ok(guard) = ReentrantMutexGuard::try_map(guard, |list| list.first()) else {
        panic!("there is one");
    };
    let Err(guard) = MappedReentrantMutexGuard::try_map(guard, |_| None::<&i32>) else {
        panic!("nothing comes of it");
    };
    let Err((guard, ())) = MappedReentrantMutexGuard::try_map_or_err(guard, |_| Err::<&i32, _>(()))
    else {
        panic!("nothing comes of it");
    };
    assert_eq!((*guard, mutex.is_locked()), (1, true));
    drop(guard);
    assert!(!mutex.is_locked());
}

#[test]
fn a_forgotten_guard_is_unlocked_by_force() {
    let mut mutex = ReentrantMutex::new(1);
    mem::forget(mutex.lock());
    mem::forget(mutex.lock());
    // SAFETY: two guards are forgotten, and this is the first of them.
    unsafe { mutex.force_unlock() };
    assert!(!is_free(&mutex), "one level is left");
    // SAFETY: the other one is forgotten.
    let guard = unsafe { mutex.make_guard_unchecked() };
    assert!(ReentrantMutexGuard::remutex(&guard).is_owned_by_current_thread());
    assert_eq!(mutex.data_ptr().cast_const(), &raw const *guard);
    drop(guard);
    assert!(is_free(&mutex));
    mem::forget(mutex.lock());
    // SAFETY: its guard is forgotten.
    unsafe { mutex.force_unlock_fair() };
    assert!(is_free(&mutex));
    *mutex.get_mut() += 1;
    assert_eq!(mutex.into_inner(), 2);
}
