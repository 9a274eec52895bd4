//! What generated code may name. Not public API.

pub use crate::__answer as answer;
pub use crate::__declare_classes as declare_classes;
pub use crate::__declare_handles as declare_handles;
pub use crate::__declare_places as declare_places;
pub use crate::class::{
    Declaration, Declarations, DeclaredClass, Handles, Instrumentable, Unclassed,
};
pub use crate::lock_kind::LockKind;
pub use crate::place::{Place, Places};
pub use inventory;

#[path = "probe.rs"]
pub mod probe;

/// What is known of the lock in a field, for the checks that `#[instrumented]` on an `impl` leaves
/// to the compiler: a macro does not see the type that the `impl` is for.
#[derive(Clone, Copy, Debug)]
pub struct FieldFacts {
    rank: Option<u32>,
}

impl FieldFacts {
    /// The field is not annotated, or has no rank.
    pub const UNKNOWN: Self = Self::new(None);

    /// What the annotation of the field says.
    pub const fn new(rank: Option<u32>) -> Self {
        FieldFacts { rank }
    }

    /// Whether a thread that holds this lock may take `next`.
    pub const fn comes_before(self, next: Self) -> bool {
        match (self.rank, next.rank) {
            (Some(held), Some(taken)) => held < taken,
            _ => true,
        }
    }
}

/// Declares the lock classes of one item: their marker types and declarations, which it registers
/// together, because each registration takes time to compile.
#[cfg(feature = "stats")]
#[doc(hidden)]
#[macro_export]
macro_rules! __declare_classes {
    ($($(#[$cfg:meta])* $marker:ident = { $($declaration:tt)* })*) => {
        $crate::__markers! { $($(#[$cfg])* $marker)* }

        #[allow(non_upper_case_globals)]
        const _: () = {
            $(
                $(#[$cfg])*
                static $marker: $crate::__private::Declaration = $($declaration)*;
                $(#[$cfg])*
                impl $crate::__private::DeclaredClass for $marker {
                    const DECLARATION: &'static $crate::__private::Declaration = &$marker;
                }
            )*
            $crate::__private::inventory::submit! {
                $crate::__private::Declarations(&[$($(#[$cfg])* &$marker),*])
            }
        };
    };
}

/// With the feature `stats` off there are marker types and nothing else.
#[cfg(not(feature = "stats"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __declare_classes {
    ($($(#[$cfg:meta])* $marker:ident = { $($declaration:tt)* })*) => {
        $crate::__markers! { $($(#[$cfg])* $marker)* }
        $(
            $(#[$cfg])*
            impl $crate::__private::DeclaredClass for $marker {}
        )*
    };
}

/// Declares the classes of the locks behind handles of one item, whose types say nothing of them.
#[cfg(feature = "stats")]
#[doc(hidden)]
#[macro_export]
macro_rules! __declare_handles {
    ($($(#[$cfg:meta])* $name:ident = { $($declaration:tt)* })*) => {
        #[allow(non_upper_case_globals)]
        const _: () = {
            $(
                $(#[$cfg])*
                static $name: $crate::__private::Declaration = $($declaration)*;
            )*
            $crate::__private::inventory::submit! {
                $crate::__private::Handles(&[$($(#[$cfg])* &$name),*])
            }
        };
    };
}

/// With the feature `stats` off there is nothing to declare.
#[cfg(not(feature = "stats"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __declare_handles {
    ($($ignored:tt)*) => {};
}

/// Declares the places that make locks in one `impl`, function or module.
#[cfg(feature = "stats")]
#[doc(hidden)]
#[macro_export]
macro_rules! __declare_places {
    ($({ $($place:tt)* })*) => {
        const _: () = {
            static PLACES: &[$crate::__private::Place] = &[$($($place)*),*];
            $crate::__private::inventory::submit! {
                $crate::__private::Places(PLACES)
            }
        };
    };
}

/// With the feature `stats` off no lock asks for its place.
#[cfg(not(feature = "stats"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __declare_places {
    ($($ignored:tt)*) => {};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __markers {
    ($($(#[$cfg:meta])* $marker:ident)*) => {
        $(
            $(#[$cfg])*
            #[doc(hidden)]
            #[allow(non_camel_case_types)]
            #[non_exhaustive]
            pub enum $marker {}
        )*
    };
}

/// Compiles if `L` is a lock of ours.
pub const fn is_ours<L: ?Sized + Instrumentable<Unclassed>>() {}
