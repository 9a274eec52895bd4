use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

#[instrumented]
#[allow(unused_must_use)]
impl Store {
    fn wait(&self) {
        let _ = self.log.lock();
        self.index.write();
    }
}

fn main() {}
