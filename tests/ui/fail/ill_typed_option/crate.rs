use instrumented_lock::{Mutex, instrumented};

#[instrumented(crate = "instrumented_lock")]
struct Store {
    log: Mutex<u8>,
}

fn main() {}
