use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

fn work<T>(_: T) {}

#[instrumented]
impl Store {
    fn matched(&self) {
        match self.index.read().len() {
            0 => work(0),
            _ => {}
        }
    }

    fn negated(&self) {
        match !self.log.lock().is_empty() {
            true => work(1),
            false => {}
        }
    }

    fn looked_up(&self) -> Option<()> {
        if let Some(entry) = self.index.read().get(1).copied()
            && entry > 1
        {
            work(entry);
        }
        if let 1 = self.log.lock().first().cloned()? {
            work(1);
        }
        Some(())
    }

    fn taken(&self) {
        for entry in std::mem::take(&mut *self.log.lock()) {
            work(entry);
        }
        for entry in self.index.read().clone() {
            work(entry);
        }
    }

    #[instrumented(deny(scrutinee_guard))]
    fn strict(&self) {
        for entry in self.index.read().iter() {
            work(entry);
        }
    }
}

fn main() {}
