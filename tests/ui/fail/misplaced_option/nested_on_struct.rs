use instrumented_lock::{Mutex, instrumented};

#[instrumented(nested = "parents come first")]
struct Tree {
    nodes: Vec<Mutex<u8>>,
}

fn main() {}
