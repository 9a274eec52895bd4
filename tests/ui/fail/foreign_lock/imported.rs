use instrumented_lock::instrumented;

use std::sync::Mutex;

#[instrumented]
struct Store {
    log: Mutex<u8>,
}

#[instrumented]
static CONFIG: Mutex<u8> = Mutex::new(0);

fn main() {}
