use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    count: u64,
    shared: std::sync::Arc<Mutex<u8>>,
}

#[instrumented]
struct Borrowed<'a>(&'a Mutex<u8>);

fn main() {}
