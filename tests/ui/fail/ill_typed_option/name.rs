use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    #[lock(name = 3)]
    number: Mutex<u8>,
    #[lock(name)]
    missing: Mutex<u8>,
    #[lock(name = )]
    nothing: Mutex<u8>,
    #[lock(name("journal"))]
    list: Mutex<u8>,
    #[lock(name = NAME)]
    constant: Mutex<u8>,
    #[lock(name = "a" "b")]
    twice: Mutex<u8>,
}

fn main() {}
