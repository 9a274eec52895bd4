//! `RwLock` and its guards.

use super::locks::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
use crate::{LONG, now, poll_once};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use tokio::time::timeout;

#[test]
fn readers_share_and_a_writer_does_not() {
    let lock = RwLock::new(100);
    let one = now(lock.read());
    let two = now(lock.read());
    assert_eq!(*one + *two, 200);
    let mut writer = pin!(lock.write());
    assert!(poll_once(writer.as_mut()).is_pending());
    // Who comes after a writer queues behind it.
    let mut reader = pin!(lock.read());
    assert!(poll_once(reader.as_mut()).is_pending());
    assert!(lock.try_read().is_err());
    drop(one);
    assert!(poll_once(writer.as_mut()).is_pending());
    drop(two);
    let Poll::Ready(mut write) = poll_once(writer.as_mut()) else {
        panic!("it was let go")
    };
    *write += 1;
    assert!(poll_once(reader.as_mut()).is_pending());
    drop(write);
    let Poll::Ready(read) = poll_once(reader.as_mut()) else {
        panic!("it was let go")
    };
    assert_eq!(*read, 101);
}

#[test]
fn a_limit_of_readers_is_kept() {
    static LIMITED: RwLock<u8> = RwLock::const_with_max_readers(0, 1);
    let lock = RwLock::with_max_readers(0, 2);
    let (_one, two) = (now(lock.read()), now(lock.read()));
    assert!(lock.try_read().is_err());
    let mut third = pin!(lock.read());
    assert!(poll_once(third.as_mut()).is_pending());
    drop(two);
    assert!(poll_once(third.as_mut()).is_ready());
    let _read = now(LIMITED.read());
    assert!(LIMITED.try_read().is_err());
}

#[test]
#[should_panic(expected = "0 readers")]
fn a_lock_for_nobody_is_refused() {
    let _lock = RwLock::with_max_readers(0, 0);
}

#[test]
fn a_writer_that_gives_up_lets_readers_in() {
    let lock = RwLock::new(0);
    let read = now(lock.read());
    {
        let mut writer = pin!(lock.write());
        assert!(poll_once(writer.as_mut()).is_pending());
        assert!(lock.try_read().is_err());
    }
    assert!(lock.try_read().is_ok());
    drop(read);
    assert!(lock.try_write().is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn increments_of_many_tasks_are_all_there() {
    let lock = Arc::new(RwLock::new(0));
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let lock = Arc::clone(&lock);
            tokio::spawn(async move {
                for _ in 0..100 {
                    let before = *lock.read().await;
                    let mut value = lock.write().await;
                    assert!(*value >= before);
                    *value += 1;
                }
            })
        })
        .collect();
    for task in tasks {
        timeout(LONG, task).await.unwrap().unwrap();
    }
    assert_eq!(*lock.read().await, 800);
}

#[test]
fn a_downgrade_lets_readers_in_and_no_writer() {
    let lock = Arc::new(RwLock::new((1, 2)));
    let mut write: RwLockWriteGuard<'_, _> = now(lock.write());
    write.0 = 5;
    let mut writer = pin!(lock.write());
    assert!(poll_once(writer.as_mut()).is_pending());
    let read: RwLockReadGuard<'_, (i32, i32)> = write.downgrade();
    assert_eq!(*read, (5, 2));
    assert!(poll_once(writer.as_mut()).is_pending());
    drop(read);
    let Poll::Ready(write) = poll_once(writer.as_mut()) else {
        panic!("it was let go")
    };
    let part: RwLockReadGuard<'_, i32> = RwLockWriteGuard::downgrade_map(write, |pair| &pair.1);
    assert_eq!(
        (*part, lock.try_read().is_ok(), lock.try_write().is_err()),
        (2, true, true)
    );
    drop(part);

    let write: OwnedRwLockWriteGuard<_> = now(Arc::clone(&lock).write_owned());
    assert!(Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&write), &lock));
    let read: OwnedRwLockReadGuard<_> = write.downgrade();
    assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&read), &lock));
    assert!(lock.try_read().is_ok() && lock.try_write().is_err());
    drop(read);
    let write = now(Arc::clone(&lock).write_owned());
    let write = OwnedRwLockWriteGuard::try_downgrade_map(write, |_| None::<&u8>).unwrap_err();
    let part = OwnedRwLockWriteGuard::downgrade_map(write, |pair| &pair.0);
    assert_eq!(*part, 5);
    drop(part);
    let write =
        RwLockWriteGuard::try_downgrade_map(now(lock.write()), |_| None::<&u8>).unwrap_err();
    assert!(RwLockWriteGuard::try_downgrade_map(write, |pair| Some(&pair.0)).is_ok());
    assert!(lock.try_write().is_ok());
}

#[test]
fn mapped_guards_hold_the_lock() {
    let lock = Arc::new(RwLock::new((1, (2, 3))));
    {
        let read = RwLockReadGuard::map(now(lock.read()), |all| &all.1);
        let read = RwLockReadGuard::map(read, |pair| &pair.1);
        let read = RwLockReadGuard::try_map(read, |_| None::<&u8>).unwrap_err();
        let read = RwLockReadGuard::try_map(read, |n| Some(n)).unwrap();
        assert_eq!((*read, lock.try_write().is_err()), (3, true));
    }
    {
        let read = OwnedRwLockReadGuard::map(now(Arc::clone(&lock).read_owned()), |all| &all.1);
        let read: OwnedRwLockReadGuard<_, i32> = OwnedRwLockReadGuard::map(read, |pair| &pair.0);
        let read = OwnedRwLockReadGuard::try_map(read, |_| None::<&u8>).unwrap_err();
        assert_eq!((*read, lock.try_write().is_err()), (2, true));
    }
    {
        let write: RwLockMappedWriteGuard<'_, _> =
            RwLockWriteGuard::map(now(lock.write()), |all| &mut all.1);
        let mut write = RwLockMappedWriteGuard::map(write, |pair| &mut pair.1);
        *write += 10;
        let write = RwLockMappedWriteGuard::try_map(write, |_| None::<&mut u8>).unwrap_err();
        assert!(lock.try_read().is_err());
        drop(write);
        let write = RwLockWriteGuard::try_map(now(lock.write()), |_| None::<&mut u8>).unwrap_err();
        drop(RwLockWriteGuard::into_mapped(write));
    }
    {
        let write: OwnedRwLockMappedWriteGuard<_, _> =
            OwnedRwLockWriteGuard::map(now(Arc::clone(&lock).write_owned()), |all| &mut all.1);
        assert!(Arc::ptr_eq(
            OwnedRwLockMappedWriteGuard::rwlock(&write),
            &lock
        ));
        let mut write = OwnedRwLockMappedWriteGuard::map(write, |pair| &mut pair.0);
        *write += 10;
        let write = OwnedRwLockMappedWriteGuard::try_map(write, |_| None::<&mut u8>).unwrap_err();
        assert!(lock.try_read().is_err());
        drop(write);
        let write = now(Arc::clone(&lock).write_owned());
        let write = OwnedRwLockWriteGuard::try_map(write, |_| None::<&mut u8>).unwrap_err();
        drop(OwnedRwLockWriteGuard::into_mapped(write));
    }
    assert_eq!(*now(lock.read()), (1, (12, 13)));
}

#[test]
fn threads_may_wait_where_there_is_no_task() {
    let lock = RwLock::new(0);
    let held = lock.blocking_read();
    thread::scope(|scope| {
        scope.spawn(|| *lock.blocking_write() += 1);
        drop(held);
    });
    assert_eq!(*lock.blocking_read(), 1);
}

#[test]
fn values_are_shown_made_and_taken() {
    static STATIC: RwLock<u32> = RwLock::const_new(5);
    assert_eq!(*now(STATIC.read()), 5);
    let mut lock = RwLock::new(1);
    assert_eq!(format!("{lock:?}"), "RwLock { data: 1 }");
    {
        let read = now(lock.read());
        assert_eq!(
            format!("{lock:?} {read:?} {read}"),
            "RwLock { data: 1 } 1 1"
        );
    }
    {
        let write = now(lock.write());
        assert_eq!(
            format!("{lock:?} {write:?} {write}"),
            "RwLock { data: <locked> } 1 1"
        );
    }
    *lock.get_mut() = 2;
    assert_eq!(lock.into_inner(), 2);
    assert_eq!(RwLock::<u8>::default().into_inner(), 0);
    assert_eq!(RwLock::from(3).into_inner(), 3);
    let lock = Arc::new(RwLock::new(0));
    let read = Arc::clone(&lock).try_read_owned().unwrap();
    assert!(Arc::clone(&lock).try_write_owned().is_err());
    drop(read);
    assert!(Arc::clone(&lock).try_write_owned().is_ok());
}
