use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

#[instrumented(allow(relok), deny(nested_lock))]
impl Store {
    #[instrumented(allow)]
    fn method(&self) {
        #[lock(allow(discarded))]
        let _ = self.log.lock();
        #[lock(deny(relock))]
        self.index.write().clear();
        #[lock(skip)]
        drop(self.log.lock());
    }
}

fn main() {}
