//! What generated code may name. Not public API.

pub use crate::__declare_class as declare_class;
pub use crate::class::{
    Class, Declaration, DeclaredClass, Instrumentable, LockClass, LockKind, Unclassed,
};
pub use inventory;

/// Declares a lock class: its marker type, its `static`, its registration.
#[cfg(feature = "stats")]
#[doc(hidden)]
#[macro_export]
macro_rules! __declare_class {
    ($(#[$cfg:meta])* $vis:vis $marker:ident, $kind:ident, $name:expr) => {
        $(#[$cfg])*
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #[non_exhaustive]
        $vis enum $marker {}

        $(#[$cfg])*
        const _: () = {
            static CLASS: $crate::__private::LockClass = $crate::__private::LockClass::declared(
                $name,
                $crate::__private::LockKind::$kind,
            );

            impl $crate::__private::Class for $marker {
                const DECLARED: ::core::option::Option<&'static $crate::__private::LockClass> =
                    ::core::option::Option::Some(&CLASS);
            }

            impl $crate::__private::DeclaredClass for $marker {}

            $crate::__private::inventory::submit! {
                $crate::__private::Declaration(&CLASS)
            }
        };
    };
}

/// With the feature `stats` off there is a marker type and nothing else.
#[cfg(not(feature = "stats"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __declare_class {
    ($(#[$cfg:meta])* $vis:vis $marker:ident, $kind:ident, $name:expr) => {
        $(#[$cfg])*
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        #[non_exhaustive]
        $vis enum $marker {}

        $(#[$cfg])*
        impl $crate::__private::Class for $marker {
            const DECLARED: ::core::option::Option<&'static $crate::__private::LockClass> =
                ::core::option::Option::None;
        }

        $(#[$cfg])*
        impl $crate::__private::DeclaredClass for $marker {}
    };
}
