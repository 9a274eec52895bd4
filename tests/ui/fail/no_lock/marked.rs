use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    #[lock]
    count: Vec<u64>,
    log: Mutex<u8>,
}

fn main() {}
