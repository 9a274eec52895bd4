use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    #[lock(nam = "journal")]
    log: Mutex<u8>,
}

fn main() {}
