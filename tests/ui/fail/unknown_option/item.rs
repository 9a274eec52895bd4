use instrumented_lock::{Mutex, instrumented};

#[instrumented(module = "storage")]
struct Store {
    log: Mutex<u8>,
}

fn main() {}
