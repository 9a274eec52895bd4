//! Nobody measures it behind a handle either.

use instrumented_lock::{RwLock, instrumented};
use std::sync::{Arc, Mutex};

#[instrumented]
#[derive(Debug, Default)]
struct Store {
    own: RwLock<u8>,
    shared: Arc<Mutex<u8>>,
}

fn main() {
    let store = Store::default();
    *store.shared.lock().unwrap() += *store.own.read();
}
