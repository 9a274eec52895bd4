//! Modules that are annotated as a whole, and types of other modules.

use super::taken;
use instrumented_lock::drop_in::{Mutex, RwLock};
use instrumented_lock::instrumented;
use std::sync::Arc;

#[instrumented]
mod whole {
    use super::*;

    pub struct Store {
        pub own: Mutex<u8>,
        pub shared: Arc<RwLock<u8>>,
    }

    impl Store {
        pub const SPARE: Mutex<u8> = Mutex::new(0);

        pub fn new() -> Self {
            let shared = Arc::new(RwLock::new(0));
            Store {
                own: Mutex::new(0),
                shared,
            }
        }
    }

    pub fn count() -> u8 {
        let count = Mutex::new(1);
        *count.lock()
    }

    pub static GLOBAL: Mutex<u8> = Mutex::new(0);
    pub static LAZY: std::sync::LazyLock<Arc<Mutex<u8>>> =
        std::sync::LazyLock::new(|| Arc::new(Mutex::new(0)));

    thread_local! {
        pub static MINE: Mutex<u8> = const { Mutex::new(0) };
    }

    pub trait Makes {
        fn make() -> Arc<Mutex<u8>> {
            let made = Arc::new(Mutex::new(0));
            made.clone()
        }
    }

    impl Makes for Store {}

    pub mod inner {
        use super::*;

        pub struct Inner(pub Arc<Mutex<u8>>);

        impl Inner {
            pub fn new() -> Self {
                Inner(Arc::new(Mutex::new(0)))
            }

            /// Annotated twice, and declared once.
            #[instrumented]
            pub fn again() -> Self {
                Self(Arc::new(Mutex::new(0)))
            }
        }

        #[instrumented]
        pub fn annotated() {
            let here = Mutex::new(0);
            drop(here.lock());
        }
    }
}

#[test]
fn everything_in_an_annotated_module_has_a_name() {
    use whole::{Makes as _, Store, inner};
    let store = Store::new();
    drop((store.own.lock(), store.shared.read()));
    assert_eq!(whole::count(), 1);
    drop((whole::GLOBAL.lock(), whole::LAZY.lock()));
    whole::MINE.with(|mine| drop(mine.lock()));
    let spare = Store::SPARE;
    drop(spare.lock());
    drop(Store::make().lock());
    drop(inner::Inner::new().0.lock());
    drop(inner::Inner::again().0.lock());
    inner::annotated();
    for (name, times) in [
        ("Store::own", 1),
        ("Store::shared", 1),
        ("Store::SPARE", 1),
        ("count::count", 1),
        ("GLOBAL", 1),
        ("LAZY", 1),
        ("MINE", 1),
        ("Makes::make::made", 1),
        ("inner::Inner::0", 2),
        ("inner::annotated::here", 1),
    ] {
        taken(&format!("modules::whole::{name}"), times);
    }
}

mod types {
    use super::*;

    #[instrumented]
    pub struct Declared {
        pub shared: Arc<Mutex<u8>>,
    }

    pub struct Bare {
        pub shared: Arc<Mutex<u8>>,
    }

    pub mod deep {
        use super::*;

        #[instrumented]
        pub struct Deep {
            pub shared: Arc<Mutex<u8>>,
        }
    }
}

mod makers {
    use super::types::Declared;
    use super::*;

    #[instrumented]
    pub fn imported() -> Declared {
        Declared {
            shared: Arc::new(Mutex::new(0)),
        }
    }

    #[instrumented]
    pub fn by_path() -> (super::types::Bare, crate::modules::types::deep::Deep) {
        let bare = super::types::Bare {
            shared: Arc::new(Mutex::new(0)),
        };
        let deep = crate::modules::types::deep::Deep {
            shared: Arc::new(Mutex::new(0)),
        };
        (bare, deep)
    }
}

#[test]
fn a_type_of_another_module_has_its_own_name() {
    drop(makers::imported().shared.lock());
    taken("modules::types::Declared::shared", 1);
    let (bare, deep) = makers::by_path();
    drop((bare.shared.lock(), deep.shared.lock()));
    taken("modules::types::Bare::shared", 1);
    taken("modules::types::deep::Deep::shared", 1);
}
