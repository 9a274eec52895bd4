use instrumented_lock::{Mutex, instrumented};

#[instrumented]
struct Store {
    #[lock(rank = "first")]
    text: Mutex<u8>,
    #[lock(rank = -1)]
    negative: Mutex<u8>,
    #[lock(rank = 1.5)]
    fraction: Mutex<u8>,
    #[lock(rank = FIRST, allow(bad_rank))]
    constant: Mutex<u8>,
    #[lock(rank)]
    missing: Mutex<u8>,
    #[lock(rank = 4294967296)]
    large: Mutex<u8>,
}

#[instrumented(rank = "first")]
static CONFIG: Mutex<u8> = Mutex::new(0);

fn main() {}
