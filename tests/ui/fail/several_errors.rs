use instrumented_lock::{Mutex, instrumented};

#[instrumented(name = "store", colour = 3)]
struct Store {
    #[lock(skip = true)]
    log: Mutex<u8>,
    #[lock(name = "a")]
    first: Mutex<u8>,
    #[lock(name = "a", rank)]
    second: Mutex<u8>,
}

fn main() {
    let store = Store {
        log: Mutex::new(0),
        first: Mutex::new(0),
        second: Mutex::new(0),
    };
    *store.log.lock() += *store.first.lock() + *store.second.lock();
}
