use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    tables: Mutex<Vec<RwLock<u8>>>,
}

#[instrumented]
static SESSIONS: Mutex<Vec<Mutex<u8>>> = Mutex::new(Vec::new());

fn main() {}
