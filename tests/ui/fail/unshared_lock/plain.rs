use instrumented_lock::{Mutex, RwLock, instrumented};
use std::rc::Rc;

#[instrumented]
struct Store {
    log: RwLock<u8>,
    shared: Rc<Mutex<u8>>,
}

fn main() {}
