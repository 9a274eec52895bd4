use instrumented_lock::{Mutex, instrumented};

#[instrumented(name = "store")]
struct Store {
    log: Mutex<u8>,
}

fn main() {}
