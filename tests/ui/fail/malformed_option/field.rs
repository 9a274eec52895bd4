use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    #[lock("journal")]
    text: Mutex<u8>,
    #[lock = "journal"]
    value: Mutex<u8>,
    #[lock(skip, , )]
    comma: Mutex<u8>,
    #[lock(7)]
    number: Mutex<u8>,
}

fn main() {}
