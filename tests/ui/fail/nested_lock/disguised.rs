use instrumented_lock::{FairMutex, Mutex, instrumented};
use std::collections::HashMap;
use std::sync::Arc;

#[instrumented]
struct Store {
    own: Mutex<u8>,
    shared: Arc<instrumented_lock::RwLock<HashMap<String, Option<Box<FairMutex<u8>>>>>>,
}

fn main() {}
