//! `Mutex` and its guard.

use super::locks::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use crate::{OnDrop, in_time, panics};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

#[derive(Debug, PartialEq, Eq)]
struct NotCopy(i32);

fn poisoned<T: Send>(value: T) -> Mutex<T> {
    let mutex = Mutex::new(value);
    panics(|| {
        let _guard = mutex.lock().unwrap();
        panic!("with the mutex");
    });
    mutex
}

#[test]
fn smoke() {
    let m = Mutex::new(());
    drop(m.lock().unwrap());
    drop(m.lock().unwrap());
}

#[test]
fn a_static_needs_no_initialiser() {
    static M: Mutex<[u8; 3]> = Mutex::new([0; 3]);
    M.lock().unwrap()[1] = 7;
    assert_eq!(*M.lock().unwrap(), [0, 7, 0]);
}

#[test]
fn increments_of_many_threads_are_all_there() {
    const EACH: u32 = 1_000;
    const THREADS: u32 = 3;
    let m = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..2 * THREADS)
        .map(|_| {
            let m = Arc::clone(&m);
            thread::spawn(move || {
                for _ in 0..EACH {
                    *m.lock().unwrap() += 1;
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*m.lock().unwrap(), EACH * THREADS * 2);
}

#[test]
fn try_lock_succeeds_on_a_free_mutex_only() {
    let m = Mutex::new(1);
    *m.try_lock().unwrap() = 42;
    let guard = m.lock().unwrap();
    assert!(matches!(m.try_lock(), Err(TryLockError::WouldBlock)));
    drop(guard);
    assert_eq!(*m.try_lock().unwrap(), 42);
}

#[test]
fn into_inner_returns_the_value_and_drops_it_once() {
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let m = Mutex::new(Counts(Arc::clone(&drops)));
    assert_eq!(drops.load(Ordering::SeqCst), 0);
    {
        let _inner = m.into_inner().unwrap();
        assert_eq!(drops.load(Ordering::SeqCst), 0);
    }
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    assert_eq!(Mutex::new(NotCopy(10)).into_inner().unwrap(), NotCopy(10));
}

#[test]
fn into_inner_of_a_poisoned_mutex_is_an_error_with_the_value() {
    let m = poisoned(NotCopy(10));
    assert!(m.is_poisoned());
    match m.into_inner() {
        Err(error) => assert_eq!(error.into_inner(), NotCopy(10)),
        Ok(value) => panic!("a poisoned mutex is Ok: {value:?}"),
    }
}

#[test]
fn get_mut_reaches_the_value_without_a_guard() {
    let mut m = Mutex::new(NotCopy(10));
    *m.get_mut().unwrap() = NotCopy(20);
    assert_eq!(m.into_inner().unwrap(), NotCopy(20));
}

#[test]
fn get_mut_of_a_poisoned_mutex_is_an_error_with_the_value() {
    let mut m = poisoned(NotCopy(10));
    match m.get_mut() {
        Err(error) => assert_eq!(*error.into_inner(), NotCopy(10)),
        Ok(value) => panic!("a poisoned mutex is Ok: {value:?}"),
    }
}

#[test]
fn a_waiter_finds_what_was_changed_before_it_was_notified() {
    in_time(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let (tell, told) = mpsc::channel::<()>();
        thread::spawn(move || {
            told.recv().unwrap();
            let (lock, condvar) = &*other;
            *lock.lock().unwrap() = true;
            condvar.notify_one();
        });
        let (lock, condvar) = &*pair;
        let mut done = lock.lock().unwrap();
        tell.send(()).unwrap();
        assert!(!*done);
        while !*done {
            done = condvar.wait(done).unwrap();
        }
    });
}

#[test]
fn a_waiter_is_told_that_the_mutex_was_poisoned_meanwhile() {
    in_time(|| {
        let pair = Arc::new((Mutex::new(1), Condvar::new()));
        let other = Arc::clone(&pair);
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            told.recv().unwrap();
            let (lock, condvar) = &*other;
            let _guard = lock.lock().unwrap();
            condvar.notify_one();
            panic!("with the mutex");
        });
        let (lock, condvar) = &*pair;
        let mut guard = lock.lock().unwrap();
        tell.send(()).unwrap();
        while *guard == 1 {
            match condvar.wait(guard) {
                Ok(woken) => {
                    guard = woken;
                    assert_eq!(*guard, 1);
                }
                Err(error) => {
                    assert_eq!(**error.get_ref(), 1);
                    return;
                }
            }
        }
    });
}

#[test]
fn a_panic_with_the_guard_poisons() {
    let m = Arc::new(Mutex::new(1));
    assert!(!m.is_poisoned());
    let other = Arc::clone(&m);
    panics(move || {
        let lock = other.lock().unwrap();
        assert_eq!(*lock, 2, "as meant");
    });
    assert!(m.lock().is_err());
    assert!(m.is_poisoned());
    assert!(matches!(m.try_lock(), Err(TryLockError::Poisoned(_))));
    assert_eq!(*m.lock().unwrap_or_else(PoisonError::into_inner), 1);
    // To take it in spite of that does not heal it.
    assert!(m.is_poisoned());
    m.clear_poison();
    assert!(!m.is_poisoned());
    assert_eq!(*m.lock().unwrap(), 1);
}

#[test]
fn a_panic_without_the_guard_does_not_poison() {
    let m = Mutex::new(1);
    panics(|| {
        let guard = m.lock().unwrap();
        drop(guard);
        panic!("without the mutex");
    });
    assert!(!m.is_poisoned());
}

#[test]
fn a_guard_of_an_unwinding_thread_does_not_poison() {
    let m = Mutex::new(1);
    panics(|| {
        let _on_drop = OnDrop(|| *m.lock().unwrap() += 1);
        panic!("before the mutex");
    });
    assert!(!m.is_poisoned());
    assert_eq!(*m.lock().unwrap(), 2);
}

#[test]
fn only_the_mutex_that_was_held_is_poisoned_where_unwinding_takes_another() {
    let held = Mutex::new(1);
    let taken = Mutex::new(1);
    panics(|| {
        let _guard = held.lock().unwrap();
        let _on_drop = OnDrop(|| *taken.lock().unwrap() += 1);
        panic!("with one of both");
    });
    assert!(held.is_poisoned());
    assert!(!taken.is_poisoned());
}

#[test]
fn a_panic_that_is_caught_inside_poisons_what_it_unwound_through() {
    let outer = Mutex::new(1);
    let inner = Mutex::new(1);
    let guard = outer.lock().unwrap();
    let caught = std::panic::catch_unwind(|| {
        let _guard = inner.lock().unwrap();
        panic!("inside");
    });
    assert!(caught.is_err());
    drop(guard);
    assert!(inner.is_poisoned());
    assert!(!outer.is_poisoned());
}

#[test]
fn a_mutex_of_mutexes_is_nested() {
    let m = Arc::new(Mutex::new(1));
    let outer = Arc::new(Mutex::new(Arc::clone(&m)));
    let value = thread::spawn(move || {
        let lock = outer.lock().unwrap();
        let inner = lock.lock().unwrap();
        *inner
    });
    assert_eq!(value.join().unwrap(), 1);
}

#[test]
fn unsized_values_are_reached_too() {
    let mutex: &Mutex<[i32]> = &Mutex::new([1, 2, 3]);
    {
        let b = &mut *mutex.lock().unwrap();
        b[0] = 4;
        b[2] = 5;
    }
    assert_eq!(*mutex.lock().unwrap(), [4, 2, 5]);

    let boxed: Box<Mutex<dyn Fn(u32) -> u32 + Send>> = Box::new(Mutex::new(|x| x + 1));
    assert_eq!((boxed.lock().unwrap())(1), 2);
    let handle: Arc<Mutex<dyn std::fmt::Debug + Send>> = Arc::new(Mutex::new(7));
    assert_eq!(format!("{:?}", &*handle.lock().unwrap()), "7");
}

#[test]
fn debug_shows_the_value_and_the_mark() {
    let m = Mutex::new(vec![1]);
    assert_eq!(format!("{m:?}"), "Mutex { data: [1], poisoned: false, .. }");
    let guard = m.lock().unwrap();
    assert_eq!(
        format!("{m:?}"),
        r#"Mutex { data: "<locked>", poisoned: false, .. }"#
    );
    assert_eq!(format!("{guard:?}"), "[1]");
    drop(guard);
    assert_eq!(
        format!("{m:#?}"),
        "Mutex {\n    data: [\n        1,\n    ],\n    poisoned: false,\n    ..\n}"
    );
    let m = poisoned(7);
    assert_eq!(format!("{m:?}"), "Mutex { data: 7, poisoned: true, .. }");
    assert_eq!(
        format!("{:>3}|", m.lock().unwrap_or_else(PoisonError::into_inner)),
        "  7|"
    );
    assert!(m.is_poisoned());
}

#[test]
fn default_and_from_make_unlocked_mutexes() {
    assert_eq!(Mutex::<u8>::default().into_inner().unwrap(), 0);
    assert_eq!(Mutex::from("a").into_inner().unwrap(), "a");
}

#[test]
fn a_guard_may_be_named_by_its_type() {
    fn held(m: &Mutex<u32>) -> MutexGuard<'_, u32> {
        m.lock().unwrap()
    }
    let m = Mutex::new(0);
    *held(&m) = 3;
    assert_eq!(*held(&m), 3);
}

#[test]
fn a_forgotten_guard_keeps_the_mutex() {
    let m = Mutex::new(0);
    std::mem::forget(m.lock().unwrap());
    assert!(m.try_lock().is_err());
}
