//! `Mutex` and its guards.

use super::locks::{MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard};
use crate::{LONG, now, poll_once};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use tokio::time::timeout;

#[test]
fn a_straight_execution_needs_no_runtime() {
    let l = Mutex::new(100);
    {
        let mut guard = now(l.lock());
        assert_eq!(*guard, 100);
        *guard = 99;
    }
    {
        let mut guard = now(l.lock());
        assert_eq!(*guard, 99);
        *guard = 98;
    }
    assert_eq!(*now(l.lock()), 98);
    assert_eq!(l.into_inner(), 98);
}

#[test]
fn who_waits_gets_it_in_turn() {
    let l = Mutex::new(0);
    let first = now(l.lock());
    let mut second = pin!(l.lock());
    let mut third = pin!(l.lock());
    assert!(poll_once(second.as_mut()).is_pending());
    assert!(poll_once(third.as_mut()).is_pending());
    drop(first);
    assert!(poll_once(third.as_mut()).is_pending(), "not its turn");
    let Poll::Ready(second) = poll_once(second.as_mut()) else {
        panic!("it was let go")
    };
    assert!(l.try_lock().is_err());
    drop(second);
    assert!(poll_once(third.as_mut()).is_ready());
}

#[test]
fn a_future_that_is_dropped_lets_others_have_it() {
    let l = Mutex::new(1);
    {
        let held = now(l.lock());
        {
            let mut gives_up = pin!(l.lock());
            assert!(poll_once(gives_up.as_mut()).is_pending());
            drop(held);
            // It would be its turn.
        }
        assert_eq!(*now(l.lock()), 1);
    }
    // One that was never polled waits for nothing.
    let unpolled = l.lock();
    assert!(l.try_lock().is_ok());
    drop(unpolled);
    assert!(l.try_lock().is_ok());
}

#[test]
fn an_attempt_fails_where_it_is_held() {
    let m: Mutex<usize> = Mutex::new(0);
    {
        let guard = m.try_lock();
        assert!(guard.is_ok());
        assert!(m.try_lock().is_err());
        assert_eq!(
            m.try_lock().unwrap_err().to_string(),
            "operation would block"
        );
    }
    assert!(m.try_lock().is_ok());
    let m = Arc::new(m);
    let guard = Arc::clone(&m).try_lock_owned().unwrap();
    assert!(Arc::clone(&m).try_lock_owned().is_err());
    drop(guard);
    assert!(m.try_lock().is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn increments_of_many_tasks_are_all_there() {
    const EACH: u32 = 200;
    let m = Arc::new(Mutex::new(0));
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let m = Arc::clone(&m);
            tokio::spawn(async move {
                for _ in 0..EACH {
                    let mut n = m.lock().await;
                    let before = *n;
                    tokio::task::yield_now().await;
                    *n = before + 1;
                }
            })
        })
        .collect();
    for task in tasks {
        timeout(LONG, task).await.unwrap().unwrap();
    }
    assert_eq!(*m.lock().await, 8 * EACH);
}

#[tokio::test]
async fn an_owned_guard_goes_into_another_task() {
    let m = Arc::new(Mutex::new(vec![1]));
    let mut guard: OwnedMutexGuard<Vec<i32>> = Arc::clone(&m).lock_owned().await;
    assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &m));
    tokio::spawn(async move { guard.push(2) }).await.unwrap();
    assert_eq!(*m.lock().await, [1, 2]);
}

#[test]
fn threads_may_wait_where_there_is_no_task() {
    let m = Arc::new(Mutex::new(0));
    let held = m.blocking_lock();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| *m.blocking_lock() += 1);
        assert!(!waiter.is_finished());
        drop(held);
    });
    *Arc::clone(&m).blocking_lock_owned() += 1;
    assert_eq!(*m.blocking_lock(), 2);
}

#[tokio::test]
#[should_panic(expected = "Cannot block the current thread from within a runtime")]
async fn a_task_must_not_block_its_thread() {
    let m = Mutex::new(0);
    let _guard = m.blocking_lock();
}

#[tokio::test]
async fn a_thread_for_blocking_may_wait() {
    let m = Arc::new(Mutex::new(0));
    let other = Arc::clone(&m);
    tokio::task::spawn_blocking(move || *other.blocking_lock() += 1)
        .await
        .unwrap();
    assert_eq!(*m.lock().await, 1);
}

#[test]
fn mapped_guards_hold_the_mutex() {
    let m = Arc::new(Mutex::new((1, (2, 3))));
    {
        let guard = now(m.lock());
        assert!(std::ptr::eq(MutexGuard::mutex(&guard), &raw const *m));
        let mapped: MappedMutexGuard<'_, (i32, i32)> = MutexGuard::map(guard, |all| &mut all.1);
        let mut mapped: MappedMutexGuard<'_, i32> =
            MappedMutexGuard::map(mapped, |pair| &mut pair.1);
        *mapped += 10;
        assert!(m.try_lock().is_err());
        assert_eq!(format!("{mapped:?} {mapped}"), "13 13");
        let mapped = MappedMutexGuard::try_map(mapped, |_| None::<&mut u8>).unwrap_err();
        drop(MappedMutexGuard::try_map(mapped, |n| Some(n)).unwrap());
    }
    {
        let guard = now(Arc::clone(&m).lock_owned());
        let mapped: OwnedMappedMutexGuard<_, (i32, i32)> =
            OwnedMutexGuard::map(guard, |all| &mut all.1);
        let mut mapped = OwnedMappedMutexGuard::map(mapped, |pair| &mut pair.0);
        *mapped += 10;
        assert!(m.try_lock().is_err());
        let mapped = OwnedMappedMutexGuard::try_map(mapped, |_| None::<&mut u8>).unwrap_err();
        drop(OwnedMappedMutexGuard::try_map(mapped, |n| Some(n)).unwrap());
    }
    let guard = MutexGuard::try_map(now(m.lock()), |_| None::<&mut u8>).unwrap_err();
    assert_eq!(*guard, (1, (12, 13)));
    drop(guard);
    let guard = now(Arc::clone(&m).lock_owned());
    let guard = OwnedMutexGuard::try_map(guard, |_| None::<&mut u8>).unwrap_err();
    assert!(OwnedMutexGuard::try_map(guard, |all| Some(&mut all.0)).is_ok());
}

#[test]
fn values_are_shown_made_and_taken() {
    static STATIC: Mutex<u32> = Mutex::const_new(5);
    assert_eq!(*now(STATIC.lock()), 5);
    let mut m = Mutex::new("data");
    assert_eq!(format!("{m:?}"), r#"Mutex { data: "data" }"#);
    {
        let guard = now(m.lock());
        assert_eq!(
            format!("{m:?} {guard:?} {guard}"),
            r#"Mutex { data: <locked> } "data" data"#
        );
    }
    *m.get_mut() = "other";
    assert_eq!(m.into_inner(), "other");
    assert_eq!(Mutex::<u8>::default().into_inner(), 0);
    assert_eq!(Mutex::from(3).into_inner(), 3);
    let boxed: Box<Mutex<[i32]>> = Box::new(Mutex::new([1, 2]));
    assert_eq!(now(boxed.lock()).len(), 2);
}

#[test]
fn a_panic_poisons_nothing() {
    let m = Mutex::new(0);
    let panicked = thread::scope(|scope| {
        scope
            .spawn(|| {
                let _guard = now(m.lock());
                panic!("with the mutex");
            })
            .join()
    });
    assert!(panicked.is_err());
    assert!(m.try_lock().is_ok());
}

#[test]
fn types_may_be_sent_and_shared_as_tokios() {
    fn is_send<T: Send>(_: &T) {}
    fn is_sync<T: Sync>(_: &T) {}
    let m = Arc::new(Mutex::new(std::cell::Cell::new(0)));
    is_send(&m);
    is_sync(&m);
    is_send(&m.lock());
    is_send(&Arc::clone(&m).lock_owned());
    is_send(&now(m.lock()));
    is_send(&now(Arc::clone(&m).lock_owned()));
    let m = Mutex::new(0);
    is_sync(&now(m.lock()));
    is_send(&MutexGuard::map(now(m.lock()), |n| n));
}
