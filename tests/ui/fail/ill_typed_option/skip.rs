use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    #[lock(skip = true)]
    log: Mutex<u8>,
    #[lock(skip(always))]
    other: Mutex<u8>,
}

fn main() {}
