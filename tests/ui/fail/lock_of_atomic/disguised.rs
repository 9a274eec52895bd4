use instrumented_lock::{Mutex, instrumented};
use std::sync::Arc;

#[instrumented]
struct Store {
    own: Mutex<u8>,
    shards: Arc<Vec<instrumented_lock::RwLock<std::sync::atomic::AtomicBool>>>,
}

fn main() {}
