//! Other names for the same lock.

use instrumented_lock::{Mutex, MutexGuard, RwLock, RwLockReadGuard, instrumented};
use std::sync::{Arc, LazyLock, OnceLock};

#[instrumented]
struct Store {
    m: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
    #[lock]
    shared: Arc<Mutex<Vec<u8>>>,
    shards: Vec<Mutex<u8>>,
    inner: Inner,
    file: Mutex<Vec<u8>>,
}

#[instrumented]
struct Inner {
    m: Mutex<u8>,
}

#[instrumented]
struct Pair(Mutex<u8>, Mutex<u8>);

#[instrumented]
static TABLE: LazyLock<RwLock<Vec<u8>>> = LazyLock::new(|| RwLock::new(Vec::new()));
#[instrumented]
static ONCE: OnceLock<Mutex<u8>> = OnceLock::new();

#[instrumented]
impl Store {
    fn this(&self) {
        let this = self;
        let _guard = this.m.lock();
        self.m.lock().clear();
    }

    fn part(&self) {
        let inner = &self.inner;
        let _guard = inner.m.lock();
        *self.inner.m.lock() += 1;
    }

    fn destructured(&self) -> usize {
        let Store { m, .. } = self;
        let guard = m.lock();
        guard.len() + self.m.lock().len()
    }

    fn destructured_and_renamed(&self) -> usize {
        let Self {
            m: log,
            inner: Inner { m: inner },
            ..
        } = self;
        let guard = log.lock();
        let _inner = inner.lock();
        guard.len() + log.lock().len() + usize::from(*self.inner.m.lock())
    }

    fn in_a_tuple(&self) -> usize {
        let (m, index) = (&self.m, &self.index);
        let guard = m.lock();
        guard.len() + index.read().len() + self.m.lock().len()
    }

    fn by_its_path(&self) -> usize {
        let guard = Mutex::lock(&self.m);
        guard.len() + self.m.lock().len()
    }

    fn by_its_path_twice(&self) -> usize {
        RwLock::read(&self.index).len() + RwLock::write(&self.index).len()
    }

    fn handle(&self) {
        let shared = self.shared.clone();
        let _guard = shared.lock();
        self.shared.lock().clear();
    }

    fn an_element(&self, at: usize) -> u8 {
        let shard = &self.shards[at];
        let guard = shard.lock();
        *guard + *shard.lock()
    }

    fn called_a_file(&self) {
        let _guard = self.file.lock();
        self.file.lock().clear();
    }

    fn of_another(&self, other: &Self) {
        let _guard = other.m.lock();
        other.m.lock().clear();
    }

    fn log(&self) -> MutexGuard<'_, Vec<u8>> {
        self.m.lock()
    }

    fn entries(&self) -> RwLockReadGuard<'_, Vec<u8>> {
        let index = self.index.read();
        assert!(!index.is_empty());
        index
    }

    fn try_log(&self) -> Option<MutexGuard<'_, Vec<u8>>> {
        self.m.try_lock()
    }

    fn by_a_method(&self) -> usize {
        let log = self.log();
        log.len() + self.m.lock().len()
    }

    fn by_a_method_twice(&self) -> usize {
        self.log().len() + self.log().len()
    }

    fn by_a_method_that_reads(&self) {
        let entries = self.entries();
        self.index.write().push(entries[0]);
    }

    fn by_a_method_that_tries(&self) {
        if let Some(log) = self.try_log() {
            self.m.lock().push(log[0]);
        }
    }

    fn of_an_argument(&self, own: &Arc<Mutex<u8>>) {
        let again = Arc::clone(own);
        let _guard = own.lock();
        *again.lock() += 1;
    }
}

#[instrumented]
impl Pair {
    fn destructured(&self) {
        let Pair(one, two) = self;
        let _one = one.lock();
        let _two = two.lock();
        *self.0.lock() += 1;
    }
}

#[instrumented]
fn of_a_lazy_static() -> usize {
    let table = TABLE.read();
    table.len() + TABLE.write().len()
}

#[instrumented]
fn of_a_forced_static() -> usize {
    let table = LazyLock::force(&TABLE).read();
    table.len() + TABLE.write().len()
}

#[instrumented]
fn of_a_once_static() -> u8 {
    let once = ONCE.get_or_init(|| Mutex::new(0)).lock();
    *once + *ONCE.get().unwrap().lock()
}

#[instrumented]
fn of_a_local_static() -> u8 {
    static COUNT: LazyLock<Mutex<u8>> = LazyLock::new(|| Mutex::new(0));
    let count = COUNT.lock();
    *count + *COUNT.lock()
}

fn main() {}
