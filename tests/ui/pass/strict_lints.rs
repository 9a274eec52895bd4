//! The expansion is silent under strict lints.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub, missing_debug_implementations)]
#![deny(
    private_interfaces,
    private_bounds,
    unnameable_types,
    unused,
    nonstandard_style
)]
#![deny(
    rust_2018_idioms,
    let_underscore,
    single_use_lifetimes,
    unused_lifetimes
)]
#![deny(
    unused_qualifications,
    elided_lifetimes_in_paths,
    missing_copy_implementations
)]

use instrumented_lock::{Mutex, ReentrantMutex, RwLock, instrumented};
use std::collections::HashMap;

/// Documented.
#[instrumented]
#[derive(Debug, Default)]
pub struct Store {
    /// Documented.
    pub index: RwLock<HashMap<String, Vec<(u64, Option<String>)>>>,
    pair: (Mutex<u8>, Mutex<u8>),
}

impl Store {
    /// Documented.
    pub fn pair(&self) -> u8 {
        *self.pair.0.lock() + *self.pair.1.lock()
    }
}

/// Documented.
#[instrumented(prefix = "strict")]
#[derive(Debug)]
pub enum State<T> {
    /// Documented.
    Running(Mutex<T>),
}

/// Documented.
#[instrumented]
pub static CONFIG: RwLock<u32> = RwLock::new(0);

/// What is asked and excused leaves nothing behind.
#[derive(Debug, Default)]
pub struct Device<T> {
    status: Register,
    tree: ReentrantMutex<T>,
}

/// Documented.
#[derive(Clone, Copy, Debug, Default)]
pub struct Register(u8);

impl Register {
    const fn read(self) -> u8 {
        self.0
    }
}

static PORT: Register = Register(1);

#[instrumented]
impl Device<u8> {
    /// Documented.
    pub fn twice(&self) -> u8 {
        let tree = self.tree.lock();
        *tree + *self.tree.lock() + self.status.read() + self.status.read()
    }
}

#[instrumented]
impl<T: Copy> Device<T> {
    /// Documented.
    pub fn both(&self) -> (T, T, u8) {
        let tree = self.tree.lock();
        let sum = self.status.read() + self.status.read() + PORT.read() + PORT.read();
        (*tree, *self.tree.lock(), sum)
    }
}

mod inner {
    use instrumented_lock::{Mutex, instrumented};

    #[derive(Debug, Default)]
    struct Private;

    #[instrumented]
    #[derive(Debug, Default)]
    pub(crate) struct Inner {
        private: Mutex<Private>,
    }

    impl Inner {
        pub(crate) fn touch(&self) {
            drop(self.private.lock());
        }
    }
}

fn main() {
    #[instrumented]
    #[derive(Default)]
    struct Local(Mutex<u8>);

    inner::Inner::default().touch();
    assert_eq!(Device::<u8>::default().twice(), 0);
    assert_eq!(Device::<u8>::default().both(), (0, 0, 2));
    assert_eq!(
        u32::from(Store::default().pair() + *Local::default().0.lock()),
        *CONFIG.read()
    );
    let State::Running(lock) = State::Running(Mutex::new(1));
    drop(lock.lock());
}
