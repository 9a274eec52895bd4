//! What `#[instrumented]` is on is emitted as it is: any function and any impl.
#![deny(warnings, clippy::all, missing_docs, unreachable_pub)]

use instrumented_lock::{Mutex, instrumented};

/// Documented.
#[instrumented]
#[derive(Debug, Default)]
pub struct Store<T: Default = u8> {
    log: Mutex<Vec<T>>,
}

#[instrumented(crate = instrumented_lock, deny(relock))]
impl<T: Default> Store<T> {
    const LEN: usize = 2;

    /// Documented.
    #[must_use]
    pub const fn len() -> usize {
        Self::LEN
    }

    /// Documented.
    pub fn push(&self, value: T) -> &Self {
        #![allow(clippy::unused_self)]
        #[allow(unused_mut)]
        let mut log = self.log.lock();
        #[lock(allow(relock, discarded_guard))]
        log.push(value);
        self
    }
}

#[instrumented]
impl<T: Default> Iterator for Store<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.log.get_mut().pop()
    }
}

trait Named {
    #[instrumented]
    fn name(&self) -> String {
        "name".to_owned()
    }
}

impl Named for u8 {
    #[instrumented]
    fn name(&self) -> String {
        format!("{self}")
    }
}

mod empty {
    #[instrumented_lock::instrumented]
    impl super::Store {}

    #[instrumented_lock::instrumented]
    pub(super) unsafe extern "C" fn function() {}
}

#[instrumented]
fn local_items<'a, const N: usize>(text: &'a str) -> impl Fn() -> &'a str {
    #[instrumented]
    struct Local {
        #[lock(name = "code.local")]
        lock: Mutex<usize>,
    }
    let local = Local {
        lock: Mutex::new(N),
    };
    #[lock(allow(discarded_guard))]
    #[allow(clippy::let_underscore_lock)]
    let _ = local.lock.lock();
    move || text
}

macro_rules! method {
    ($name:ident, $body:expr) => {
        #[instrumented]
        impl Store<u16> {
            fn $name(&self) -> usize {
                $body
            }
        }
    };
}

method!(of_a_macro, Self::len());

fn main() {
    let mut store = Store::<u16>::default();
    store.push(1).push(2);
    assert_eq!(store.next(), Some(2));
    assert_eq!(store.of_a_macro(), 2);
    assert_eq!(
        (1.name(), local_items::<0>("text")()),
        ("1".to_owned(), "text")
    );
    // SAFETY: it does nothing.
    unsafe { empty::function() }
}
