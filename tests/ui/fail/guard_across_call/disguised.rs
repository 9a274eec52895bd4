use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

#[instrumented]
impl Store {
    #[instrumented(deny(guard_across_call))]
    fn through_another(&self) -> usize {
        self.log.lock().len() + self.indirect()
    }

    #[instrumented(deny(guard_across_call))]
    fn marked(&self) {
        let _log = self.log.lock();
        self.elsewhere();
    }

    fn indirect(&self) -> usize {
        self.direct()
    }

    fn direct(&self) -> usize {
        self.index.read().len()
    }

    #[instrumented(locks)]
    fn elsewhere(&self) {
        lock_elsewhere();
    }
}

fn lock_elsewhere() {}

fn main() {}
