use instrumented_lock::{Mutex, instrumented};

#[instrumented(prefix = "a", prefix = "b")]
struct Store {
    log: Mutex<u8>,
}

fn main() {}
