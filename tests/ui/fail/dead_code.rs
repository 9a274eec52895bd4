#![deny(dead_code)]

use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    log: Mutex<u8>,
    unused: Mutex<u8>,
}

#[instrumented]
struct Never {
    log: Mutex<u8>,
}

#[instrumented]
static UNUSED: Mutex<u8> = Mutex::new(0);

fn main() {
    let store = Store {
        log: Mutex::new(0),
        unused: Mutex::new(0),
    };
    drop(store.log.lock());
}
