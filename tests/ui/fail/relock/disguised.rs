use instrumented_lock::{Mutex, MutexGuard, RwLock, RwLockWriteGuard, instrumented};
use std::sync::Arc;

#[instrumented]
struct Store {
    log: Arc<Mutex<Vec<u8>>>,
    index: RwLock<Vec<u8>>,
    shards: [Mutex<u8>; 2],
}

#[instrumented]
static CONFIG: RwLock<u8> = RwLock::new(0);

fn sum(a: usize, b: usize) -> usize {
    a + b
}

#[instrumented]
impl Store {
    fn in_one_statement(&self) -> usize {
        sum(self.log.lock().len(), self.log.lock().len())
    }

    fn read_again(&self) -> bool {
        let index = self.index.read();
        index.is_empty() || self.index.read().is_empty()
    }

    fn through_an_alias(&self) {
        let log = Arc::clone(&self.log);
        let _guard = log.lock();
        if let Some(guard) = self.log.try_lock() {
            drop(guard);
        }
        self.log.lock().clear();
    }

    fn shadowed(&self) {
        let guard = self.log.lock();
        let guard = guard.len();
        self.log.lock().truncate(guard);
    }

    fn mapped(&self) {
        let first = MutexGuard::map(self.log.lock(), |log| &mut log[0]);
        self.log.lock().push(*first);
    }

    fn downgraded(&self) {
        let index = self.index.write();
        let index = RwLockWriteGuard::downgrade(index);
        self.index.write().push(index[0]);
    }

    fn borrowed_from_a_temporary(&self) {
        let log = &mut *self.log.lock();
        self.log.lock().append(log);
    }

    fn scrutinized(&self) {
        if let Some(last) = self.log.lock().last() {
            self.log.lock().push(*last);
        }
    }

    fn same_element(&self) -> u8 {
        let first = self.shards[0].lock();
        *first + *self.shards[0].lock()
    }

    fn in_a_loop(&self) {
        let log = self.log.lock();
        for _ in 0..2 {
            if log.is_empty() {
                continue;
            }
            self.log.lock().clear();
        }
    }

    fn only_one_branch_drops(&self, early: bool) {
        let log = self.log.lock();
        if early {
            drop(log);
            return;
        }
        self.log.lock().clear();
    }

    fn later(&self) -> impl Fn() -> usize {
        || {
            let guard = self.log.lock();
            guard.len() + self.log.lock().len()
        }
    }
}

#[instrumented]
fn of_a_static() -> u8 {
    let config = CONFIG.write();
    *config + *CONFIG.read()
}

#[instrumented]
fn of_a_local(shared: &Mutex<u8>) {
    let own = Mutex::<u8>::new(0);
    let mut guard = own.lock();
    *guard += *shared.lock();
    guard = own.lock();
    *guard += 1;
}

#[instrumented]
impl<T> Generic<T> {
    fn twice(&self) {
        println!("{} {}", self.0.lock().len(), self.0.lock().len());
    }
}

struct Generic<T>(Mutex<Vec<T>>);

impl Store {
    #[instrumented]
    async fn method(&self) {
        let _log = self.log.lock();
        self.log.lock().clear();
    }
}

fn main() {}
