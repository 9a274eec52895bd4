use instrumented_lock::{Mutex, MutexGuard, instrumented};

#[instrumented]
struct Transaction<'a> {
    log: Mutex<u8>,
    guard: MutexGuard<'a, u8>,
}

fn main() {}
