use instrumented_lock::{Mutex, instrumented};

#[instrumented(colour = "red")]
#[derive(Default)]
pub struct Store {
    #[lock(name = "journal")]
    log: Mutex<u8>,
}

mod inner {
    pub fn use_it() -> super::Store {
        super::Store::default()
    }
}

fn main() {
    *inner::use_it().log.lock() += 1;
}
