//! Guards that come out of an expression.

use instrumented_lock::{Mutex, MutexGuard, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    other: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

struct Held<'a> {
    log: MutexGuard<'a, Vec<u8>>,
}

#[instrumented]
impl Store {
    fn of_a_match(&self) {
        let log = match self.log.try_lock() {
            Some(log) => log,
            None => return,
        };
        self.log.lock().push(log[0]);
    }

    fn of_a_match_that_waits(&self) {
        let mut log = match self.log.try_lock() {
            Some(log) => log,
            None => self.log.lock(),
        };
        log.push(1);
        self.log.lock().clear();
    }

    fn of_an_if(&self, is_on: bool) {
        let mut log = if is_on {
            self.log.lock()
        } else {
            panic!("off");
        };
        log.push(1);
        self.log.lock().clear();
    }

    fn of_an_if_let(&self) {
        let mut log = if let Some(log) = self.log.try_lock() {
            log
        } else {
            self.log.lock()
        };
        log.push(1);
        self.log.lock().clear();
    }

    fn of_a_block(&self) -> usize {
        let log = {
            let mut log = self.log.lock();
            log.push(1);
            log
        };
        log.len() + self.log.lock().len()
    }

    fn of_a_loop(&self) -> usize {
        let log = loop {
            if let Some(log) = self.log.try_lock() {
                break log;
            }
            std::thread::yield_now();
        };
        log.len() + self.log.lock().len()
    }

    fn of_a_labelled_block(&self, is_on: bool) -> usize {
        let log = 'taken: {
            if is_on {
                break 'taken self.log.lock();
            }
            return 0;
        };
        log.len() + self.log.lock().len()
    }

    fn of_a_tuple(&self) -> usize {
        let (log, _other) = (self.log.lock(), self.other.lock());
        log.len() + self.log.lock().len()
    }

    fn in_one_tuple(&self) {
        let (_one, _two) = (self.log.lock(), self.log.lock());
    }

    fn in_one_call(&self) {
        drop((self.log.lock(), 1));
        both(self.log.lock(), self.log.lock());
    }

    fn in_a_tuple_variable(&self) {
        let pair = (self.log.lock(), 1);
        self.log.lock().push(pair.1);
    }

    fn of_an_array(&self) -> usize {
        let [log, other] = [self.log.lock(), self.other.lock()];
        log.len() + self.other.lock().len() + other.len()
    }

    fn in_some(&self) -> usize {
        let log = Some(self.log.lock());
        self.log.lock().len() + usize::from(log.is_some())
    }

    fn taken_out_of_some(&self) {
        let Some(mut log) = Some(self.log.lock()) else {
            return;
        };
        log.push(1);
        self.log.lock().clear();
    }

    fn by_ref(&self) -> usize {
        let ref log = self.log.lock();
        log.len() + self.log.lock().len()
    }

    fn in_a_struct(&self) {
        let mut held = Held {
            log: self.log.lock(),
        };
        held.log.push(1);
        self.log.lock().clear();
    }

    fn in_a_box(&self) {
        let mut log = Box::new(self.log.lock());
        log.push(1);
        self.log.lock().clear();
    }

    fn in_a_vec(&self) {
        let mut guards = Vec::new();
        guards.push(self.log.lock());
        self.log.lock().clear();
    }

    fn in_a_vec_of_the_macro(&self) {
        let guards = vec![self.log.lock(), self.other.lock()];
        self.other.lock().push(guards[0][0]);
    }

    fn collected_by_a_loop(&self) {
        let mut guards = Vec::new();
        for _ in 0..2 {
            guards.push(self.log.lock());
        }
    }

    fn kept_for_the_next_turn(&self) {
        let mut last = None;
        for _ in 0..2 {
            let log = self.log.lock();
            last = Some(log);
            if self.other.lock().is_empty() {
                continue;
            }
        }
        drop(last);
    }

    fn assigned_for_the_next_turn(&self) {
        let mut guard;
        for at in 0..2 {
            guard = self.index.write();
            guard.push(at);
        }
    }

    fn of_a_result(&self) -> Result<usize, ()> {
        let log = self.log.try_lock().ok_or(())?;
        Ok(log.len() + self.log.lock().len())
    }

    fn waited_for_otherwise(&self) -> usize {
        let log = self.log.try_lock().unwrap_or_else(|| self.log.lock());
        log.len() + self.log.lock().len()
    }

    fn in_parts(&self) -> usize {
        let log;
        log = self.log.lock();
        log.len() + self.log.lock().len()
    }

    fn declared_in_one_branch(&self, is_on: bool) -> usize {
        let log = self.log.lock();
        if is_on {
            return log.len() + self.log.lock().len();
        }
        0
    }
}

fn both(_: MutexGuard<'_, Vec<u8>>, _: MutexGuard<'_, Vec<u8>>) {}

fn main() {}
