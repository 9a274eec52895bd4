use instrumented_lock::{Mutex, instrumented};

#[instrumented(rank = 10)]
struct Store {
    #[lock(skip, rank = 10)]
    skipped: Mutex<u8>,
    log: Mutex<u8>,
}

#[instrumented(rank = 10)]
impl Store {}

fn main() {}
