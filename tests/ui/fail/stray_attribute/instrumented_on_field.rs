use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    #[instrumented(name = "journal")]
    log: Mutex<u8>,
}

fn main() {}
