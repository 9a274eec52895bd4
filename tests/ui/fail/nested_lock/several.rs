use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    first: Mutex<RwLock<u8>>,
    second: RwLock<(Mutex<u8>, Mutex<u8>)>,
}

fn main() {}
