use instrumented_lock::{ArcMutexGuard, Mutex, RawMutex, RwLockReadGuard, instrumented};

#[instrumented]
struct Transaction<'a> {
    log: Mutex<u8>,
    read: RwLockReadGuard<'a, u8>,
    owned: Vec<ArcMutexGuard<RawMutex, u8>>,
}

fn main() {}
