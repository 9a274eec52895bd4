//! Annotated items go to other threads as before.

use instrumented_lock::{Mutex, instrumented};
use std::sync::Arc;

#[instrumented]
struct Store<T> {
    log: Mutex<Vec<T>>,
    shared: Arc<Mutex<T>>,
}

fn is_send_and_sync<T: Send + Sync>() {}

pub(crate) fn main() {
    is_send_and_sync::<Store<String>>();
    let store = Arc::new(Store {
        log: Mutex::new(vec![1]),
        shared: Arc::default(),
    });
    let other = Arc::clone(&store);
    let thread = std::thread::spawn(move || other.log.lock().push(2));
    thread.join().unwrap();
    assert_eq!(store.log.lock().len(), 2 + *store.shared.lock());
}
