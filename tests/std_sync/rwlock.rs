//! `RwLock` and its guards.

use super::locks::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use crate::{OnDrop, in_time, panics};
use std::sync::mpsc;
use std::thread;

#[derive(Debug, PartialEq, Eq)]
struct NotCopy(i32);

fn poisoned<T: Send + Sync>(value: T) -> RwLock<T> {
    let lock = RwLock::new(value);
    panics(|| {
        let _guard = lock.write().unwrap();
        panic!("with the lock");
    });
    lock
}

#[test]
fn smoke() {
    let l = RwLock::new(());
    drop(l.read().unwrap());
    drop(l.write().unwrap());
    drop((l.read().unwrap(), l.read().unwrap()));
    drop(l.write().unwrap());
}

#[test]
fn readers_and_writers_in_turn() {
    const THREADS: u32 = 6;
    const EACH: u32 = 300;
    in_time(|| {
        let lock = Arc::new(RwLock::new(0_u64));
        let (tell, told) = mpsc::channel::<()>();
        for thread in 0..THREADS {
            let (tell, lock) = (tell.clone(), Arc::clone(&lock));
            thread::spawn(move || {
                for i in 0..EACH {
                    if (i + thread).is_multiple_of(4) {
                        *lock.write().unwrap() += 1;
                    } else {
                        let _read = *lock.read().unwrap();
                    }
                }
                drop(tell);
            });
        }
        drop(tell);
        assert!(told.recv().is_err());
        assert_eq!(*lock.read().unwrap(), u64::from(THREADS * EACH / 4));
    });
}

#[test]
fn a_panic_of_a_writer_poisons_for_all() {
    let lock = poisoned(1);
    assert!(lock.is_poisoned());
    assert!(lock.read().is_err());
    assert!(lock.write().is_err());
    assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(_))));
    assert!(matches!(lock.try_write(), Err(TryLockError::Poisoned(_))));
    assert_eq!(*lock.read().unwrap_or_else(PoisonError::into_inner), 1);
    lock.clear_poison();
    assert_eq!(*lock.write().unwrap(), 1);
}

#[test]
fn a_panic_of_a_reader_poisons_nothing() {
    let lock = RwLock::new(1);
    panics(|| {
        let _guard = lock.read().unwrap();
        panic!("as a reader");
    });
    assert!(!lock.is_poisoned());
    assert_eq!(*lock.read().unwrap(), 1);
    assert_eq!(*lock.write().unwrap(), 1);
}

#[test]
fn writers_and_readers_see_what_was_written() {
    in_time(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            for _ in 0..10 {
                let mut value = other.write().unwrap();
                let before = *value;
                *value = -1;
                thread::yield_now();
                *value = before + 1;
            }
            tell.send(()).unwrap();
        });
        let readers: Vec<_> = (0..5)
            .map(|_| {
                let lock = Arc::clone(&lock);
                thread::spawn(move || assert!(*lock.read().unwrap() >= 0))
            })
            .collect();
        for reader in readers {
            reader.join().unwrap();
        }
        told.recv().unwrap();
        assert_eq!(*lock.read().unwrap(), 10);
    });
}

#[test]
fn a_guard_of_an_unwinding_thread_does_not_poison() {
    let lock = RwLock::new(1);
    panics(|| {
        let _on_drop = OnDrop(|| *lock.write().unwrap() += 1);
        panic!("before the lock");
    });
    assert!(!lock.is_poisoned());
    assert_eq!(*lock.read().unwrap(), 2);
}

#[test]
fn unsized_values_are_reached_too() {
    let lock: &RwLock<[i32]> = &RwLock::new([1, 2, 3]);
    {
        let b = &mut *lock.write().unwrap();
        b[0] = 4;
        b[2] = 5;
    }
    assert_eq!(*lock.read().unwrap(), [4, 2, 5]);
    let handle: Arc<RwLock<dyn std::fmt::Display + Send + Sync>> = Arc::new(RwLock::new(7));
    assert_eq!(handle.read().unwrap().to_string(), "7");
}

#[test]
fn attempts_fail_while_others_exclude_them() {
    let lock = RwLock::new(0);
    let read = lock.read().unwrap();
    assert!(lock.try_read().is_ok());
    assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
    drop(read);
    let write = lock.try_write().unwrap();
    assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
    assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
    drop(write);
    assert!(lock.try_write().is_ok());
}

#[test]
fn into_inner_and_get_mut_reach_the_value() {
    let mut lock = RwLock::new(NotCopy(10));
    *lock.get_mut().unwrap() = NotCopy(20);
    assert_eq!(lock.into_inner().unwrap(), NotCopy(20));
}

#[test]
fn into_inner_and_get_mut_of_a_poisoned_lock_are_errors_with_the_value() {
    let mut lock = poisoned(NotCopy(10));
    match lock.get_mut() {
        Err(error) => assert_eq!(*error.into_inner(), NotCopy(10)),
        Ok(value) => panic!("a poisoned lock is Ok: {value:?}"),
    }
    match lock.into_inner() {
        Err(error) => assert_eq!(error.into_inner(), NotCopy(10)),
        Ok(value) => panic!("a poisoned lock is Ok: {value:?}"),
    }
}

/// Compiles if the lifetime of the value may be shorter than that of the guard's type says.
#[test]
fn a_read_guard_is_covariant() {
    #[expect(
        clippy::needless_pass_by_value,
        clippy::trivially_copy_pass_by_ref,
        reason = "the types are what is tried"
    )]
    fn same_lifetime<'a>(guard: RwLockReadGuard<'_, &'a i32>, with: &'a i32) -> i32 {
        let mut two = vec![*guard];
        two.push(with);
        two.into_iter().sum()
    }
    static LONG_LIVED: i32 = 5;
    let lock: RwLock<&'static i32> = RwLock::new(&LONG_LIVED);
    let short_lived = 6;
    assert_eq!(same_lifetime(lock.read().unwrap(), &short_lived), 11);
}

#[test]
fn a_downgrade_lets_readers_in_and_writers_wait() {
    let lock = RwLock::new(0);
    let mut write = lock.write().unwrap();
    *write = 1;
    let read = RwLockWriteGuard::downgrade(write);
    assert_eq!(*read, 1);
    assert_eq!(*lock.try_read().unwrap(), 1);
    assert!(lock.try_write().is_err());
    drop(read);
    assert!(lock.try_write().is_ok());
}

#[test]
fn nobody_writes_between_a_write_and_its_downgrade() {
    const ROUNDS: u32 = 200;
    in_time(|| {
        let lock = Arc::new(RwLock::new(0_u32));
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || {
            for _ in 0..ROUNDS {
                *other.write().unwrap() += 1;
            }
        });
        for _ in 0..ROUNDS {
            let mut write = lock.write().unwrap();
            *write += 1;
            let mine = *write;
            let read = RwLockWriteGuard::downgrade(write);
            thread::yield_now();
            assert_eq!(*read, mine);
        }
        writer.join().unwrap();
        assert_eq!(*lock.read().unwrap(), 2 * ROUNDS);
    });
}

#[test]
fn a_downgraded_guard_does_not_poison() {
    let lock = RwLock::new(0);
    panics(|| {
        let _read = RwLockWriteGuard::downgrade(lock.write().unwrap());
        panic!("as a reader");
    });
    assert!(!lock.is_poisoned());
}

#[test]
fn debug_shows_the_value_and_the_mark() {
    let lock = RwLock::new(vec![1]);
    assert_eq!(
        format!("{lock:?}"),
        "RwLock { data: [1], poisoned: false, .. }"
    );
    let read = lock.read().unwrap();
    assert_eq!(
        format!("{lock:?} {read:?}"),
        "RwLock { data: [1], poisoned: false, .. } [1]"
    );
    drop(read);
    let write = lock.write().unwrap();
    assert_eq!(
        format!("{lock:?} {write:?}"),
        "RwLock { data: <locked>, poisoned: false, .. } [1]"
    );
    drop(write);
    let lock = poisoned(7);
    assert_eq!(
        format!("{lock:?}"),
        "RwLock { data: 7, poisoned: true, .. }"
    );
}

#[test]
fn default_and_from_make_unlocked_locks() {
    assert_eq!(RwLock::<u8>::default().into_inner().unwrap(), 0);
    assert_eq!(RwLock::from("a").into_inner().unwrap(), "a");
}
