use instrumented_lock::{Mutex, instrumented};

#[instrumented(prefix = "")]
struct Store {
    log: Mutex<u8>,
}

fn main() {}
