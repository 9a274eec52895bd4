use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

#[instrumented]
impl Store {
    fn two(&self) -> usize {
        let (log, index) = (self.log.lock().len(), self.index.read().len());
        let first = self.log.lock();
        let second = self.index.write();
        first.len() + self.log.lock().len() + second.len() + self.index.read().len() + log + index
    }

    fn another(&self) -> bool {
        *self.index.read() == *self.index.read()
    }
}

fn main() {}
