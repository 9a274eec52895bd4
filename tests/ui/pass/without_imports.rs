//! Nothing needs to be in scope, and anything may be.

#![allow(clippy::default_trait_access, unreachable_pub, unused_imports)]

use instrumented_lock::instrumented as _;

mod no_prelude {
    #[::instrumented_lock::instrumented]
    pub struct Store {
        pub log: ::instrumented_lock::Mutex<u8>,
    }
}

mod hostile {
    #![allow(dead_code, non_camel_case_types, unused_macros, unused_imports)]

    pub struct Option;
    pub struct Some;
    pub struct None;
    pub mod core {}
    pub mod std {}
    pub mod instrumented_lock {}
    macro_rules! concat {
        () => {};
    }
    macro_rules! module_path {
        () => {};
    }

    #[::instrumented_lock::instrumented]
    pub struct Store {
        pub log: ::instrumented_lock::Mutex<u8>,
    }

    #[::instrumented_lock::instrumented]
    pub static STORE: ::instrumented_lock::Mutex<u8> = ::instrumented_lock::Mutex::new(0);
}

fn main() {
    let store = hostile::Store {
        log: Default::default(),
    };
    let other = no_prelude::Store {
        log: Default::default(),
    };
    *store.log.lock() += *other.log.lock() + *hostile::STORE.lock();
}
