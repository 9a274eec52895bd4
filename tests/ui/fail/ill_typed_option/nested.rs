use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Tree {
    #[lock(nested)]
    without_a_reason: Vec<Mutex<u8>>,
    #[lock(nested = true)]
    flag: Vec<Mutex<u8>>,
    #[lock(nested("parents come first"))]
    list: Vec<Mutex<u8>>,
}

fn main() {}
