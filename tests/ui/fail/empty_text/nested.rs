use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Tree {
    #[lock(nested = " ")]
    nodes: Vec<Mutex<u8>>,
}

fn main() {}
