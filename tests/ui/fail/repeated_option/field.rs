use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    #[lock(name = "journal")]
    #[lock(name = "log")]
    log: Mutex<u8>,
}

fn main() {}
