use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    #[lock(skip, name = "journal")]
    log: Mutex<u8>,
    #[lock(nested = "parents come first", skip)]
    nodes: Vec<Mutex<u8>>,
    other: Mutex<u8>,
}

fn main() {}
