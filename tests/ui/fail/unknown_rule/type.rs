use instrumented_lock::{Mutex, instrumented};

#[instrumented(allow(nested), deny(nested_lock))]
struct Store {
    #[lock(allow(relock))]
    log: Mutex<u8>,
    #[lock(allow())]
    nothing: Mutex<u8>,
    #[lock(allow = "nested_lock")]
    text: Mutex<u8>,
}

fn main() {}
