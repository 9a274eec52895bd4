use instrumented_lock::{Mutex, instrumented};

#[instrumented(prefix = "storage")]
#[instrumented]
struct Store {
    log: Mutex<u8>,
}

fn main() {}
