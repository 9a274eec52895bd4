//! Guards that something keeps, or that are dropped on purpose.

use instrumented_lock::{Mutex, MutexGuard, RwLock, instrumented};

#[instrumented]
#[derive(Default)]
pub(crate) struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

struct Held<'a>(MutexGuard<'a, Vec<u8>>);

fn keep<T>(_: T) {}

fn work() {}

#[instrumented]
impl Store {
    fn kept(&self) {
        let (_log, _) = (self.log.lock(), 1);
        work();
    }

    fn kept_in_a_struct(&self) -> usize {
        let held = Held(self.log.lock());
        held.0.len()
    }

    fn kept_in_a_tuple(&self) {
        let pair = (self.log.lock(), self.index.read());
        let (log, _) = &pair;
        keep(log.len());
        let _ = pair;
        work();
    }

    fn a_place(&self) {
        let log = self.log.lock();
        let _ = log;
        let _ = log.len();
        work();
    }

    fn tried(&self) -> bool {
        if let Some(_) = self.index.try_write() {
            return true;
        }
        self.log.try_lock().is_some()
    }

    fn dropped(&self) {
        drop(self.log.lock());
        keep(self.index.write());
        drop((self.log.lock(), 1));
        let log = self.log.lock();
        keep(log);
    }

    fn matched(&self) {
        match self.log.lock() {
            log if log.is_empty() => work(),
            _ => keep(1),
        }
        match self.log.try_lock() {
            Some(_) => work(),
            None => keep(2),
        }
    }

    fn given(&self) -> Option<MutexGuard<'_, Vec<u8>>> {
        if self.tried() {
            return Some(self.log.lock());
        }
        self.log.try_lock()
    }

    fn forgotten(&self) {
        std::mem::forget(self.index.read());
    }

    fn values(&self) {
        let _ = self.log.lock().pop();
        let _ = self.log.lock().first().copied();
        let _ = *self.log.lock() == [1];
        let _ = Some(self.index.read().len());
        let _ = (self.log.lock().len(), 1);
        // The guard lives as long as a variable would.
        let _ = &mut *self.log.lock();
    }
}

pub(crate) fn main() {
    let store = Store::default();
    store.kept();
    store.kept_in_a_struct();
    store.kept_in_a_tuple();
    store.a_place();
    store.dropped();
    store.matched();
    drop(store.given());
    store.values();
    store.forgotten();
}
