use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    #[cfg(all())]
    #[lock(name = "journal")]
    log: Mutex<u8>,
    #[lock(name = "journal")]
    other: Mutex<u8>,
}

fn main() {}
