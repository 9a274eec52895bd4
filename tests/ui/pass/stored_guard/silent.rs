use instrumented_lock::{Mutex, MutexGuard, RwLock, RwLockReadGuard, instrumented};
use std::marker::PhantomData;

#[derive(Default)]
struct DropGuard;

#[instrumented]
struct Transaction<'a> {
    log: Mutex<u8>,
    lock: &'a RwLock<u8>,
    // Not shared with other threads.
    not_send: PhantomData<MutexGuard<'a, ()>>,
    work: fn(MutexGuard<'_, u8>),
    visit: Box<dyn Fn(RwLockReadGuard<'_, u8>) -> u8>,
    drop: DropGuard,
    #[lock(allow(stored_guard))]
    meant: Option<MutexGuard<'a, u8>>,
}

pub(crate) fn main() {
    let lock = RwLock::<u8>::new(0);
    let transaction = Transaction {
        log: Mutex::new(0),
        lock: &lock,
        not_send: PhantomData,
        work: |guard| drop(guard),
        visit: Box::new(|guard| *guard),
        drop: DropGuard,
        meant: None,
    };
    (transaction.work)(transaction.log.lock());
    let _ = (transaction.visit)(transaction.lock.read());
    let _ = (
        &transaction.drop,
        transaction.not_send,
        transaction.meant.is_some(),
    );
}
