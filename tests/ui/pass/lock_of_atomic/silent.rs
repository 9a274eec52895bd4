use instrumented_lock::{Mutex, RwLock, instrumented};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Not the standard library's.
#[derive(Default)]
struct AtomicFile;

#[instrumented]
#[derive(Default)]
struct Store {
    // Serializes something else.
    order: Mutex<()>,
    count: AtomicU64,
    many: RwLock<Vec<AtomicU64>>,
    shared: Mutex<Arc<AtomicU64>>,
    pair: Mutex<(AtomicU64, u8)>,
    file: Mutex<AtomicFile>,
    #[lock(allow(lock_of_atomic))]
    meant: RwLock<AtomicU64>,
}

pub(crate) fn main() {
    let store = Store::default();
    let _order = store.order.lock();
    store.count.fetch_add(1, Ordering::Relaxed);
    store
        .meant
        .read()
        .fetch_add(store.many.read().len() as u64, Ordering::Relaxed);
    let _ = (
        store.shared.lock().clone(),
        store.pair.lock().1,
        &*store.file.lock(),
    );
}
