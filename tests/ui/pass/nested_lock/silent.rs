use instrumented_lock::{Condvar, Mutex, RwLock, instrumented};
use std::collections::HashMap;
use std::sync::Arc;

type Make = fn(&Mutex<u8>) -> Mutex<u8>;

#[instrumented]
#[derive(Default)]
struct Store {
    // A handle is cloned, and the outer lock is free again.
    sessions: RwLock<HashMap<u32, Arc<Mutex<String>>>>,
    beside: (Mutex<Vec<u8>>, RwLock<u8>),
    containers: Vec<Option<Box<Mutex<u8>>>>,
    make: Mutex<Option<Make>>,
    wake: Mutex<Vec<Arc<Condvar>>>,
    #[lock(allow(nested_lock))]
    meant: Mutex<Vec<Mutex<u8>>>,
}

pub(crate) fn main() {
    let store = Store::default();
    let session = store.sessions.write().entry(1).or_default().clone();
    session.lock().push('a');
    store.meant.lock().push(Mutex::new(1));
    let _ = (store.containers.len(), store.make.lock().is_some());
    store.beside.0.lock().push(store.wake.lock().len() as u8);
}
