use instrumented_lock::{Mutex, instrumented};

#[instrumented(prefix(storage))]
struct Store {
    log: Mutex<u8>,
}

#[instrumented(prefix = storage)]
static CONFIG: Mutex<u8> = Mutex::new(0);

fn main() {}
