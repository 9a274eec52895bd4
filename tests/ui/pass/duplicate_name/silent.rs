use instrumented_lock::{Mutex, instrumented};

#[instrumented]
#[derive(Default)]
struct Store {
    #[lock(name = "duplicate.journal")]
    log: Mutex<u8>,
    #[lock(name = "duplicate.journal", allow(duplicate_name))]
    meant: Mutex<u8>,
    // Several locks of one field are numbered.
    #[lock(name = "duplicate.pair")]
    pair: (Mutex<u8>, Mutex<u8>),
    #[cfg(any(unix, not(unix)))]
    #[lock(name = "duplicate.either")]
    either: Mutex<u8>,
    #[cfg(any())]
    #[lock(name = "duplicate.either")]
    either: Mutex<u16>,
}

pub(crate) fn main() {
    let store = Store::default();
    *store.log.lock() += *store.meant.lock() + *store.pair.0.lock() + *store.pair.1.lock();
    *store.either.lock() += 1;
}
