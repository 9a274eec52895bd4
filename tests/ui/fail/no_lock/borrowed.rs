use instrumented_lock::{Mutex, instrumented};
use std::sync::Weak;

#[instrumented]
struct Borrowed<'a>(&'a Mutex<u8>);

#[instrumented]
struct Observer {
    count: u64,
    lock: Weak<Mutex<u8>>,
}

fn main() {}
