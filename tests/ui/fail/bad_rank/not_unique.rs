use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    #[lock(rank = 10)]
    first: Mutex<u8>,
    #[lock(rank = 20)]
    other: Mutex<u8>,
    #[lock(name = "second", rank = 1_0)]
    second: RwLock<u8>,
    #[lock(rank = 0xA)]
    third: RwLock<u8>,
}

fn main() {}
