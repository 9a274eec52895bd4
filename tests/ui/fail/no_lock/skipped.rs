use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    count: u64,
    #[lock(skip)]
    log: Mutex<u8>,
}

fn main() {}
