//! Everything that `parking_lot` 0.13 offers is in `instrumented_lock::drop_in`, under its name.
//!
//! `parity/parking_lot-0.13.txt` lists what `parking_lot` offers; `parity/regenerate` writes it from
//! the sources. `parity/items.rs` uses each item once, and is compiled here for both crates: against
//! `parking_lot`, so that each use is right, and against `drop_in`. The tests compare the names and
//! the automatic traits.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// What `drop_in` does not have, or has otherwise, and why.
const EXCEPTIONS: &[(&[&str], &str)] = &[(
    &[
        "impl RawCondvar for RawCondvar",
        "impl RawCondvarTimed for RawCondvar",
    ],
    "the condition variable sleeps at a gate of its own, not in the queue of a mutex",
)];

/// Features of `parking_lot` that this build lacks: their items are not compiled.
const FEATURES_OFF: &[(&str, &str)] = &[
    (
        "owning_ref",
        "passed through; the guards are lock_api's own types, which have the trait",
    ),
    (
        "deadlock_detection",
        "passed through; the module is parking_lot's own",
    ),
];

/// Compiles types and the traits they implement, and lists the names of both.
macro_rules! types {
    (
        const $LIST:ident;
        $([$kind:ident] $Name:ident = $ty:ty: $($([$from:ident])? $Trait:ident $(<$arg:tt>)?),*;)*
    ) => {
        const $LIST: &[&str] = &[$(
            concat!(stringify!($kind), " ", stringify!($Name)),
            $(concat!("impl ", stringify!($Trait), " for ", stringify!($Name)),)*
        )*];
        $(const _: () = {
            const fn is<T>() where $(T: $($from::)? $Trait $(<$arg>)?,)* {}
            is::<$ty>();
        };)*
    };
}

/// Compiles methods and lists their names. They are never run.
macro_rules! methods {
    (
        const $LIST:ident;
        $($Type:ident {
            $([$($kind:tt)+] $name:ident($($arg:tt)*) $(-> $out:ty)? $body:block)*
        })*
    ) => {
        const $LIST: &[&str] = &[$($(
            concat!(stringify!($($kind)+), " ", stringify!($Type), "::", stringify!($name)),
        )*)*];
        $($(const _: () = {
            #[allow(dead_code, unsafe_op_in_unsafe_fn, reason = "compiled, not run")]
            $($kind)+ $name($($arg)*) $(-> $out)? $body
        };)*)*
    };
}

/// For each type its name and which of [`AUTO_TRAITS`] it has.
macro_rules! auto_traits {
    ($($ty:ty),* $(,)?) => {
        vec![$((
            stringify!($ty),
            [
                Ask::<$ty>::SEND,
                Ask::<$ty>::SYNC,
                Ask::<$ty>::UNPIN,
                Ask::<$ty>::UNWIND_SAFE,
                Ask::<$ty>::REF_UNWIND_SAFE,
            ],
        )),*]
    };
}

const AUTO_TRAITS: [&str; 5] = ["Send", "Sync", "Unpin", "UnwindSafe", "RefUnwindSafe"];

/// An inherent constant, where its bound holds, goes before the constant of [`Otherwise`].
struct Ask<T: ?Sized>(PhantomData<T>);

impl<T: ?Sized + Send> Ask<T> {
    const SEND: bool = true;
}
impl<T: ?Sized + Sync> Ask<T> {
    const SYNC: bool = true;
}
impl<T: ?Sized + Unpin> Ask<T> {
    const UNPIN: bool = true;
}
impl<T: ?Sized + UnwindSafe> Ask<T> {
    const UNWIND_SAFE: bool = true;
}
impl<T: ?Sized + RefUnwindSafe> Ask<T> {
    const REF_UNWIND_SAFE: bool = true;
}

trait Otherwise {
    const SEND: bool = false;
    const SYNC: bool = false;
    const UNPIN: bool = false;
    const UNWIND_SAFE: bool = false;
    const REF_UNWIND_SAFE: bool = false;
}
impl<T: ?Sized> Otherwise for Ask<T> {}

#[path = "parity"]
mod original {
    use parking_lot as locks;
    pub(crate) mod items;
}

#[path = "parity"]
mod ours {
    use instrumented_lock::drop_in as locks;
    #[allow(clippy::duplicate_mod, reason = "the same uses, of the other crate")]
    pub(crate) mod items;
}

/// The list, without the items of features that are off.
fn listed() -> BTreeSet<&'static str> {
    include_str!("parity/parking_lot-0.13.txt")
        .lines()
        .filter_map(|line| match line.split_once("  # ") {
            Some((_, feature)) if FEATURES_OFF.iter().any(|(off, _)| *off == feature) => None,
            Some((item, _)) => Some(item),
            None => Some(line),
        })
        .collect()
}

#[test]
fn every_item_of_parking_lot_has_a_counterpart() {
    let listed = listed();
    let excepted: BTreeSet<_> = EXCEPTIONS
        .iter()
        .flat_map(|(items, _)| items.iter().copied())
        .collect();
    let mut compiled = BTreeSet::new();
    for name in ours::items::names() {
        assert!(compiled.insert(name), "`{name}` stands twice in items.rs");
    }
    assert!(original::items::names().all(|name| compiled.contains(name)));
    let both: Vec<_> = compiled.intersection(&excepted).collect();
    assert!(both.is_empty(), "excepted, and yet there: {both:#?}");
    let accounted: BTreeSet<_> = compiled.union(&excepted).copied().collect();
    let missing: Vec<_> = listed.difference(&accounted).collect();
    let unknown: Vec<_> = accounted.difference(&listed).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "parking_lot has, and items.rs lacks: {missing:#?}\nnot parking_lot's: {unknown:#?}",
    );
}

#[test]
fn automatic_traits_are_the_same() {
    let (theirs, ours) = (original::items::auto_traits(), ours::items::auto_traits());
    assert_eq!(theirs.len(), ours.len());
    let mut differ = Vec::new();
    for ((ty, theirs), (_, ours)) in theirs.into_iter().zip(ours) {
        for (name, (theirs, ours)) in AUTO_TRAITS.into_iter().zip(theirs.into_iter().zip(ours)) {
            if theirs != ours {
                differ.push(format!(
                    "{ty}: {name} is {theirs} in parking_lot, {ours} here"
                ));
            }
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
}
