use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
#[derive(Default)]
struct Store {
    #[lock(rank = 10)]
    index: RwLock<Vec<u8>>,
    #[lock(rank = 20)]
    log: Mutex<Vec<u8>>,
    unranked: Mutex<u8>,
    #[lock(skip)]
    skipped: Mutex<u8>,
}

#[instrumented]
impl Store {
    fn right_way(&self) {
        let index = self.index.read();
        self.log.lock().push(index[0]);
    }

    fn one_after_the_other(&self) {
        let log = self.log.lock();
        drop(log);
        self.index.write().clear();
    }

    fn without_waiting(&self) {
        let _log = self.log.lock();
        if let Some(mut index) = self.index.try_write() {
            index.clear();
        }
    }

    fn without_ranks(&self) {
        let mut unranked = self.unranked.lock();
        *unranked += *self.skipped.lock();
        self.log.lock().push(*unranked);
        let log = self.log.lock();
        *self.skipped.lock() += log[0];
    }

    fn allowed(&self) {
        let _log = self.log.lock();
        #[lock(allow(rank_order))]
        self.index.write().clear();
    }

    #[instrumented(allow(rank_order))]
    fn allowed_method(&self) {
        let _log = self.log.lock();
        self.index.write().clear();
    }
}

/// Not annotated.
struct Plain {
    index: RwLock<u8>,
    log: Mutex<u8>,
}

#[instrumented]
impl Plain {
    fn any_way(&self) -> u8 {
        let log = self.log.lock();
        *log + *self.index.read()
    }
}

/// Constants of generic types come too late for the check.
#[instrumented]
struct Generic<T> {
    #[lock(rank = 2)]
    first: Mutex<T>,
    #[lock(rank = 1)]
    second: Mutex<T>,
}

#[instrumented]
impl<T: Copy> Generic<T> {
    fn unseen(&self) -> (T, T) {
        let first = self.first.lock();
        (*first, *self.second.lock())
    }
}

pub(crate) fn main() {
    let store = Store::default();
    store.index.write().push(1);
    store.right_way();
    store.one_after_the_other();
    store.without_waiting();
    store.allowed();
    store.allowed_method();
    let plain = Plain {
        index: RwLock::new(0),
        log: Mutex::new(0),
    };
    plain.any_way();
    let generic = Generic {
        first: Mutex::new(0),
        second: Mutex::new(0),
    };
    generic.unseen();
    let _ = Store::without_ranks;
}
