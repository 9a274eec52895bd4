use instrumented_lock::{Mutex, instrumented};
use std::sync::atomic::AtomicU64;

#[instrumented]
struct Store {
    count: Mutex<AtomicU64>,
}

#[instrumented]
static COUNT: Mutex<AtomicU64> = Mutex::new(AtomicU64::new(0));

fn main() {}
