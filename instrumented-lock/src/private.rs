//! What generated code may name. Not public API.

pub use crate::__declare_class as declare_class;
pub use crate::__register_classes as register_classes;
pub use crate::class::{
    Class, Declaration, DeclaredClass, Instrumentable, LockClass, LockKind, Unclassed,
};
pub use inventory;

/// What is known of the lock in a field, for the checks that `#[instrumented]` on an `impl` leaves
/// to the compiler: a macro does not see the type that the `impl` is for.
#[derive(Clone, Copy, Debug)]
pub struct FieldFacts {
    kind: LockKind,
    rank: Option<u32>,
}

impl FieldFacts {
    /// The field is not annotated, or an ordinary lock without a rank.
    pub const UNKNOWN: Self = Self::new(LockKind::Unknown, None);

    /// What the annotation of the field says.
    pub const fn new(kind: LockKind, rank: Option<u32>) -> Self {
        FieldFacts { kind, rank }
    }

    /// Whether a thread may take the lock again while it holds it.
    pub const fn may_relock(self, for_reading_only: bool) -> bool {
        match self.kind {
            LockKind::ReentrantMutex => true,
            LockKind::RecursiveRwLock => for_reading_only,
            _ => false,
        }
    }

    /// Whether a thread that holds this lock may take `next`.
    pub const fn comes_before(self, next: Self) -> bool {
        match (self.rank, next.rank) {
            (Some(held), Some(taken)) => held < taken,
            _ => true,
        }
    }
}

/// Declares a lock class: its marker type and its `static`.
#[cfg(feature = "stats")]
#[doc(hidden)]
#[macro_export]
macro_rules! __declare_class {
    ($(#[$cfg:meta])* $vis:vis $marker:ident, $kind:ident, $name:expr, $rank:expr) => {
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
                $rank,
            );

            impl $crate::__private::Class for $marker {
                const DECLARED: ::core::option::Option<&'static $crate::__private::LockClass> =
                    ::core::option::Option::Some(&CLASS);
            }

            impl $crate::__private::DeclaredClass for $marker {}
        };
    };
}

/// Registers the classes of one item: together, because each registration takes time to compile.
#[cfg(feature = "stats")]
#[doc(hidden)]
#[macro_export]
macro_rules! __register_classes {
    ($($(#[$cfg:meta])* $marker:ident,)*) => {
        $crate::__private::inventory::submit! {
            $crate::__private::Declaration(&[
                $($(#[$cfg])* <$marker as $crate::__private::Class>::DECLARED,)*
            ])
        }
    };
}

/// With the feature `stats` off there is nothing to register.
#[cfg(not(feature = "stats"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __register_classes {
    ($($tokens:tt)*) => {};
}

/// With the feature `stats` off there is a marker type and nothing else.
#[cfg(not(feature = "stats"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __declare_class {
    ($(#[$cfg:meta])* $vis:vis $marker:ident, $kind:ident, $name:expr, $rank:expr) => {
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
