use instrumented_lock::{Mutex, instrumented};

#[instrumented("storage")]
struct Store {
    log: Mutex<u8>,
}

#[instrumented("config")]
static CONFIG: Mutex<u8> = Mutex::new(0);

fn main() {}
