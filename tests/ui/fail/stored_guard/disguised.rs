use instrumented_lock::{Mutex, instrumented};

#[instrumented]
enum Transaction<'a> {
    Idle(Mutex<u8>),
    Open(Option<Box<instrumented_lock::RwLockUpgradableReadGuard<'a, u8>>>),
}

fn main() {}
