//! Our own items are hidden, the user's are still asked for.
#![deny(missing_docs)]

use instrumented_lock::{Mutex, instrumented};

#[instrumented]
pub struct Store {
    /// Documented.
    pub log: Mutex<u8>,
    pub undocumented: Mutex<u8>,
}

fn main() {}
