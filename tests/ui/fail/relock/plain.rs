use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

#[instrumented]
impl Store {
    fn twice(&self) -> usize {
        let log = self.log.lock();
        log.len() + self.log.lock().len()
    }
}

fn main() {}
