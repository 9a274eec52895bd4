use instrumented_lock::{Mutex, instrumented};

#[instrumented]
#[lock(name = "store")]
struct Store {
    log: Mutex<u8>,
}

#[instrumented]
#[lock(name = "config")]
static CONFIG: Mutex<u8> = Mutex::new(0);

fn main() {}
