use instrumented_lock::{FairMutex, RwLock, instrumented};
use std::sync::atomic::{AtomicPtr, AtomicUsize};

#[instrumented]
struct Store {
    first: FairMutex<AtomicUsize>,
    second: (u8, RwLock<AtomicPtr<u8>>),
}

fn main() {}
