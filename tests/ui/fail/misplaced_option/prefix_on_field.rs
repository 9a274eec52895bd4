use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    #[lock(prefix = "storage")]
    log: Mutex<u8>,
    #[lock(crate = instrumented_lock)]
    other: Mutex<u8>,
}

fn main() {}
