use instrumented_lock::{Mutex, RwLock, instrumented};
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock, Mutex as StdMutex};

/// A path that ends in a lock's name, to our lock.
mod sync {
    pub(crate) use instrumented_lock::{Mutex, RwLock};
}

#[instrumented]
#[derive(Default)]
struct Store {
    own: instrumented_lock::Mutex<u8>,
    path: sync::RwLock<u8>,
    shared: Arc<sync::Mutex<u8>>,
    #[lock(allow(foreign_lock))]
    allowed: std::sync::Mutex<u8>,
    #[lock(allow(foreign_lock))]
    imported: StdMutex<u8>,
    #[lock(skip)]
    skipped: std::sync::RwLock<u8>,
    marker: PhantomData<std::sync::Mutex<u8>>,
    make: Option<fn() -> std::sync::Mutex<u8>>,
    once: std::sync::OnceLock<Mutex<u8>>,
}

#[instrumented(allow(foreign_lock))]
#[derive(Default)]
struct Mixed {
    own: Mutex<u8>,
    foreign: std::sync::Mutex<u8>,
}

#[instrumented(allow(foreign_lock))]
static FOREIGN: std::sync::Mutex<u8> = std::sync::Mutex::new(0);

#[instrumented]
static LAZY: LazyLock<RwLock<u8>> = LazyLock::new(|| RwLock::new(0));

pub(crate) fn main() {
    let (store, mixed) = (Store::default(), Mixed::default());
    *store.own.lock() += *store.path.read() + *store.shared.lock();
    *store.allowed.lock().unwrap() += *store.imported.lock().unwrap();
    *store.skipped.write().unwrap() += *mixed.own.lock() + *mixed.foreign.lock().unwrap();
    let _ = (store.marker, store.make, store.once.get());
    *FOREIGN.lock().unwrap() += *LAZY.read();
}
