//! `Semaphore` and its permits.

use super::locks::{
    AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError,
};
use crate::{LONG, now, poll_once};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use tokio::time::timeout;

#[test]
fn permits_are_had_and_given_back() {
    let sem = Semaphore::new(1);
    {
        let one: SemaphorePermit<'_> = sem.try_acquire().unwrap();
        assert_eq!(one.num_permits(), 1);
        assert_eq!(sem.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
        assert_eq!(sem.available_permits(), 0);
    }
    assert!(sem.try_acquire().is_ok());
}

#[test]
fn many_are_had_at_once_in_turn() {
    let sem = Semaphore::new(5);
    let four = now(sem.acquire_many(4)).unwrap();
    let mut three = pin!(sem.acquire_many(3));
    assert!(poll_once(three.as_mut()).is_pending());
    // What is left is kept for who came first.
    let mut one = pin!(sem.acquire());
    assert!(poll_once(one.as_mut()).is_pending());
    drop(four);
    let Poll::Ready(Ok(three)) = poll_once(three.as_mut()) else {
        panic!("there are enough")
    };
    assert_eq!(three.num_permits(), 3);
    assert!(poll_once(one.as_mut()).is_ready());
    assert_eq!(
        sem.try_acquire_many(3).unwrap_err(),
        TryAcquireError::NoPermits
    );
}

#[test]
fn a_future_that_is_dropped_gives_back_what_it_was_given() {
    let sem = Semaphore::new(1);
    {
        let mut two = pin!(sem.acquire_many(2));
        assert!(poll_once(two.as_mut()).is_pending());
        assert_eq!(sem.available_permits(), 0);
    }
    assert_eq!(sem.available_permits(), 1);
}

#[test]
fn permits_are_added_forgotten_merged_and_split() {
    let sem = Arc::new(Semaphore::new(1));
    sem.add_permits(4);
    assert_eq!(sem.available_permits(), 5);
    assert_eq!(sem.forget_permits(1), 1);
    let mut two = sem.try_acquire_many(2).unwrap();
    two.merge(sem.try_acquire().unwrap());
    assert_eq!(two.num_permits(), 3);
    let one = two.split(1).unwrap();
    assert!(two.split(3).is_none());
    assert_eq!(
        (
            one.num_permits(),
            two.num_permits(),
            sem.available_permits()
        ),
        (1, 2, 1)
    );
    drop(one);
    assert_eq!(sem.available_permits(), 2);
    two.forget();
    assert_eq!(sem.available_permits(), 2);

    let mut owned: OwnedSemaphorePermit = Arc::clone(&sem).try_acquire_owned().unwrap();
    owned.merge(Arc::clone(&sem).try_acquire_many_owned(1).unwrap());
    assert!(Arc::ptr_eq(owned.semaphore(), &sem));
    assert!(Arc::clone(&sem).try_acquire_owned().is_err());
    drop(owned.split(1));
    assert_eq!((sem.available_permits(), owned.num_permits()), (1, 1));
}

#[test]
#[should_panic(expected = "different semaphore")]
fn permits_of_two_semaphores_do_not_merge() {
    let (one, two) = (Semaphore::new(1), Semaphore::new(1));
    one.try_acquire().unwrap().merge(two.try_acquire().unwrap());
}

#[test]
fn a_closed_semaphore_gives_nothing() {
    let sem = Arc::new(Semaphore::new(1));
    let held = sem.try_acquire().unwrap();
    let mut waits = pin!(sem.acquire());
    assert!(poll_once(waits.as_mut()).is_pending());
    assert!(!sem.is_closed());
    sem.close();
    assert!(sem.is_closed());
    let closed: AcquireError = match poll_once(waits.as_mut()) {
        Poll::Ready(Err(closed)) => closed,
        other => panic!("{other:?}"),
    };
    assert_eq!(closed.to_string(), "semaphore closed");
    drop(held);
    assert_eq!(sem.try_acquire().unwrap_err(), TryAcquireError::Closed);
    assert!(now(Arc::clone(&sem).acquire_owned()).is_err());
    assert!(now(Arc::clone(&sem).acquire_many_owned(2)).is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_are_inside_than_there_are_permits() {
    static SEM: Semaphore = Semaphore::const_new(3);
    let inside = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let inside = Arc::clone(&inside);
            tokio::spawn(async move {
                for _ in 0..20 {
                    let _permit = SEM.acquire().await.unwrap();
                    let others = inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    assert!(others < 3);
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                }
            })
        })
        .collect();
    for task in tasks {
        timeout(LONG, task).await.unwrap().unwrap();
    }
    assert_eq!(SEM.available_permits(), 3);
}

#[test]
fn threads_may_wait_where_there_is_no_task() {
    let sem = Arc::new(Semaphore::new(1));
    let held = sem.blocking_acquire().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| sem.blocking_acquire_many(1).unwrap());
        drop(held);
    });
    assert_eq!(
        Arc::clone(&sem)
            .blocking_acquire_owned()
            .unwrap()
            .num_permits(),
        1
    );
    assert_eq!(
        Arc::clone(&sem)
            .blocking_acquire_many_owned(1)
            .unwrap()
            .num_permits(),
        1
    );
    const { assert!(Semaphore::MAX_PERMITS > 1 << 20) };
}
