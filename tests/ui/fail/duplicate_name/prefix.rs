use instrumented_lock::{Mutex, instrumented};

#[instrumented(prefix = "storage")]
struct Store {
    #[lock(name = "storage::Store::other")]
    log: Mutex<u8>,
    other: Mutex<u8>,
}

fn main() {}
