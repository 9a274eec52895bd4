//! Guards that no pattern keeps.

use instrumented_lock::{Mutex, MutexGuard, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

struct Held<'a>(MutexGuard<'a, Vec<u8>>);

fn work() {}

#[instrumented]
#[allow(unused_must_use, path_statements)]
impl Store {
    fn matched(&self) {
        match self.log.lock() {
            _ => work(),
        }
    }

    fn matched_by_if_let(&self) {
        if let _ = self.index.write() {
            work();
        }
    }

    fn of_a_tuple(&self) {
        let (_, _index) = (self.log.lock(), self.index.read());
    }

    fn of_both(&self) {
        let (_, _) = (self.log.lock(), self.index.read());
    }

    fn of_an_array(&self) {
        let [_, _log] = [self.log.try_lock(), self.log.try_lock()];
    }

    fn of_the_rest(&self) {
        let (_index, ..) = (self.index.read(), self.log.lock());
    }

    fn tried(&self) {
        let _ = self.log.try_lock();
    }

    fn tried_by_a_statement(&self) {
        self.index.try_write();
    }

    fn tried_with_success(&self) {
        let Some(_) = self.log.try_lock() else {
            return;
        };
        work();
    }

    fn unwrapped(&self) {
        let _ = self.log.try_lock().unwrap();
    }

    fn in_some(&self) {
        let _ = Some(self.log.lock());
    }

    fn in_a_struct(&self) {
        let _ = Held(self.log.lock());
    }

    fn of_a_block(&self) {
        let _ = {
            let mut log = self.log.lock();
            log.push(1);
            log
        };
    }

    fn of_a_branch(&self, is_on: bool) {
        let _ = if is_on { Some(self.log.lock()) } else { None };
    }

    fn assigned(&self) {
        (_, _) = (self.log.lock(), 1);
    }

    fn mapped(&self) {
        MutexGuard::map(self.log.lock(), |log| &mut log[0]);
    }

    fn by_its_path(&self) {
        let _ = Mutex::lock(&self.log);
    }

    fn by_a_method(&self) {
        let _ = self.guard();
    }

    fn guard(&self) -> MutexGuard<'_, Vec<u8>> {
        self.log.lock()
    }
}

fn main() {}
