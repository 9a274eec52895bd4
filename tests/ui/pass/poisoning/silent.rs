//! Locks that return a `Result`, and locks of a `Result` or an `Option`: what is read one way is correct the
//! other way.

use instrumented_lock::instrumented;
use instrumented_lock::std_sync::annotated as sync;
use std::sync::PoisonError;

#[instrumented]
#[derive(Default)]
struct Store {
    log: sync::Mutex<Vec<u8>>,
    index: sync::RwLock<Vec<u8>>,
    last: instrumented_lock::Mutex<Option<u8>>,
    state: instrumented_lock::RwLock<Option<u8>>,
}

#[instrumented]
impl Store {
    fn one_after_the_other(&self) {
        let log = self.log.lock().unwrap();
        drop(log);
        self.log.lock().unwrap().push(1);
        let len = self.log.lock().unwrap().len();
        self.log.lock().unwrap().truncate(len);
        drop(self.log.lock().unwrap());
        drop(self.log.lock());
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(2);
    }

    fn unwrapped_in_another_statement(&self) {
        let result = self.log.lock();
        drop(result.unwrap());
        self.log.lock().unwrap().push(1);
    }

    /// What is in the lock is an `Option`, and a copy of what is in that.
    fn values(&self) -> u8 {
        let last = self.last.lock().unwrap();
        *self.last.lock() = Some(last + 1);
        let state = self.state.read().expect("there is one");
        *self.state.write() = Some(state + 1);
        let Some(one) = *self.state.read() else {
            return 0;
        };
        *self.state.write() = None;
        one
    }

    fn tried(&self) -> Option<u8> {
        let last = (*self.last.lock())?;
        *self.last.lock() = Some(last);
        let state = self.state.read().as_ref().copied()?;
        *self.state.write() = None;
        Some(state)
    }

    async fn values_across_await(&self) -> u8 {
        let last = self.last.lock().unwrap();
        std::future::ready(()).await;
        let len = self.index.read().unwrap().len();
        std::future::ready(()).await;
        last + u8::try_from(len).unwrap()
    }

    fn discarded_values(&self) {
        let _ = self.last.lock().unwrap();
        let _last = self.log.lock().unwrap();
    }

    fn conditions(&self) {
        if let Ok(mut log) = self.log.lock() {
            log.push(1);
        }
        if self.log.lock().unwrap().is_empty() {
            self.log.lock().unwrap().push(1);
        }
        let first = self.index.read().unwrap().first().copied();
        if let Some(first) = first {
            self.index.write().unwrap().push(first);
        }
    }

    fn guard(&self) -> sync::MutexGuard<'_, Vec<u8>> {
        self.log.lock().unwrap()
    }

    fn through_a_method(&self) {
        self.guard().push(1);
        let log = self.guard();
        drop(log);
        self.log.lock().unwrap().push(1);
    }
}

pub(crate) fn main() {
    let store = Store::default();
    *store.last.lock() = Some(1);
    *store.state.write() = Some(1);
    store.one_after_the_other();
    store.unwrapped_in_another_statement();
    assert_eq!(store.values(), 2);
    *store.state.write() = Some(1);
    assert_eq!(store.tried(), Some(1));
    store.discarded_values();
    store.conditions();
    store.through_a_method();
    drop(store.values_across_await());
}
