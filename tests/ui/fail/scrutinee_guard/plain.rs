use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

fn work(_: u8) {}

#[instrumented]
impl Store {
    fn drain(&self) {
        while let Some(entry) = self.log.lock().pop() {
            work(entry);
        }
    }
}

fn main() {}
