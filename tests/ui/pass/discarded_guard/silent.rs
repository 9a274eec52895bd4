use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
#[derive(Default)]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
    file: Option<std::fs::File>,
}

/// Has no guard.
struct RawLock;

impl RawLock {
    fn lock(&self) {}
}

struct Holder {
    raw: RawLock,
    inner: RawLock,
}

#[instrumented]
impl Holder {
    fn lock(&self) {
        self.raw.lock();
        self.inner.lock();
    }

    fn unlock(&self) {
        self.inner.unlock();
    }
}

impl RawLock {
    fn unlock(&self) {}
}

#[instrumented]
impl Store {
    fn kept(&self) {
        let _guard = self.log.lock();
        let _index = self.index.write();
    }

    fn meant(&self) {
        drop(self.log.lock());
        let _ = self.log.lock().len();
        self.log.lock().push(1);
        self.index.write().clear();
        self.log.is_locked();
    }

    fn allowed(&self) {
        #[lock(allow(discarded_guard))]
        let _ = self.log.lock();
    }

    fn returned(&self) -> instrumented_lock::MutexGuard<'_, Vec<u8>> {
        self.log.lock()
    }
}

pub(crate) fn main() {
    let store = Store::default();
    store.kept();
    store.meant();
    store.allowed();
    drop(store.returned());
    let _ = store.file.is_none();
    let holder = Holder {
        raw: RawLock,
        inner: RawLock,
    };
    holder.lock();
    holder.unlock();
}
