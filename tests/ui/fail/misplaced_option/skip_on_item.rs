use instrumented_lock::{Mutex, instrumented};

#[instrumented(skip)]
struct Store {
    log: Mutex<u8>,
}

#[instrumented(skip)]
static CONFIG: Mutex<u8> = Mutex::new(0);

fn main() {}
