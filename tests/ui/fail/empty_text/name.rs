use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    #[lock(name = "")]
    log: Mutex<u8>,
    #[lock(name = " ")]
    blank: Mutex<u8>,
}

fn main() {}
