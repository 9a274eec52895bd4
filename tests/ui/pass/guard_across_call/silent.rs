use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
#[derive(Default)]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

#[instrumented(deny(guard_across_call))]
impl Store {
    fn append(&self, entry: u8) {
        let mut log = self.log.lock();
        log.push(entry);
        self.check(log.len());
        drop(log);
        self.index(entry);
    }

    fn scoped(&self, entry: u8) {
        self.log.lock().push(entry);
        self.index(entry);
    }

    fn later(&self) -> impl Fn() {
        let log = self.log.lock();
        let entry = log[0];
        move || self.index(entry)
    }

    fn check(&self, len: usize) {
        assert!(len > 0);
    }

    fn index(&self, entry: u8) {
        self.index.write().push(entry);
    }

    fn allowed(&self) {
        let log = self.log.lock();
        #[lock(allow(guard_across_call))]
        self.index(log[0]);
    }
}

#[instrumented]
impl Store {
    // Only where it is asked for.
    fn not_asked(&self) {
        let log = self.log.lock();
        self.found(log[0]);
    }

    fn found(&self, entry: u8) {
        self.index.write().push(entry);
    }
}

pub(crate) fn main() {
    let store = Store::default();
    store.append(1);
    store.scoped(2);
    store.allowed();
    store.not_asked();
    store.later()();
}
