use instrumented_lock::{Mutex, RwLock, instrumented};
use std::collections::HashMap;

#[instrumented]
struct Store {
    log: RwLock<u8>,
    sessions: Vec<std::cell::RefCell<HashMap<u32, Option<Mutex<u8>>>>>,
}

fn main() {}
