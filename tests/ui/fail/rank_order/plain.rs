use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    #[lock(rank = 10)]
    index: RwLock<Vec<u8>>,
    #[lock(rank = 20)]
    log: Mutex<Vec<u8>>,
}

#[instrumented]
impl Store {
    fn wrong_way(&self) {
        let log = self.log.lock();
        self.index.write().push(log[0]);
    }
}

fn main() {}
