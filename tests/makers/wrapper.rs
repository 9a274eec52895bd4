//! A wrapper that makes all locks of a program at one line, and takes them at another.

use instrumented_lock::drop_in::{Mutex, MutexGuard};

pub(crate) struct Wrapped(Mutex<u32>);

impl Wrapped {
    pub(crate) fn new() -> Self {
        Wrapped(Mutex::new(0))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, u32> {
        self.0.lock()
    }
}
