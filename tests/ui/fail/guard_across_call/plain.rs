use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

#[instrumented(deny(guard_across_call))]
impl Store {
    fn append(&self, entry: u8) {
        let mut log = self.log.lock();
        log.push(entry);
        self.index(entry);
    }

    fn index(&self, entry: u8) {
        self.index.write().push(entry);
    }
}

fn main() {}
