use instrumented_lock::{Mutex, instrumented};

mod tokio {
    pub mod sync {
        pub struct RwLock<T>(pub T);
    }
}

#[instrumented]
struct Store {
    own: Mutex<u8>,
    pair: (std::sync::Mutex<u8>, parking_lot::FairMutex<u8>),
    shared: std::sync::Arc<::std::sync::RwLock<u8>>,
    wake: std::sync::Condvar,
    table: tokio::sync::RwLock<u8>,
}

#[instrumented]
static CONFIG: parking_lot::ReentrantMutex<u8> = parking_lot::const_reentrant_mutex(0);

fn main() {}
