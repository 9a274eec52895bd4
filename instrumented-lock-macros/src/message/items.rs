//! What is said of the item and its fields.

use super::words::list;
use crate::attr::{Place, StrayPlace};
use crate::types::LOCKS;

/// `what` is an item with its article.
pub(crate) fn wrong_item(what: &str) -> String {
    let advice = match what {
        "a const" => ": every use of a const is a new lock, write `static`",
        "a type alias" => ": mark the fields of this type with `#[lock]`",
        _ => "",
    };
    format!(
        "`#[instrumented]` goes on a struct, an enum, a static, an impl, a function or a module, not \
         on {what}{advice}"
    )
}

pub(crate) fn unreadable(error: &syn::Error) -> String {
    format!("`#[instrumented]` cannot read this item: {error}")
}

pub(crate) fn stray(place: StrayPlace) -> String {
    match place {
        StrayPlace::LockOnItem(Place::Static) => {
            "`#[lock]` goes on a field, write the options of a static in `#[instrumented(...)]`"
        }
        StrayPlace::LockOnItem(Place::Impl | Place::Function | Place::Module) => {
            "`#[lock]` goes on a statement or a field, write `#[instrumented(...)]` here"
        }
        StrayPlace::LockOnItem(_) => {
            "`#[lock]` goes on a field, write the options of the whole item in `#[instrumented(...)]`"
        }
        StrayPlace::LockOnVariant => "`#[lock]` goes on a field, write it inside the variant",
        StrayPlace::InstrumentedAgain => {
            "`#[instrumented]` is on this item twice, write all options in one"
        }
        StrayPlace::InstrumentedOnField => {
            "`#[instrumented]` goes on the item, write `#[lock]` on a field"
        }
    }
    .to_owned()
}

pub(crate) fn no_lock(place: Place) -> String {
    format!(
        "no lock in this {}: `#[instrumented]` looks for {} in the types, also inside `Vec`, \
         `Option`, `Box`, arrays, tuples and maps; mark a field whose lock has an alias with \
         `#[lock]`",
        place.noun(),
        list(&LOCKS, "or"),
    )
}

pub(crate) fn no_lock_but_borrowed(place: Place, field: &str) -> String {
    format!(
        "no lock in this {}: the one in `{field}` is borrowed, so annotate what owns it, or mark the \
         field with `#[lock]` to have a class of its own",
        place.noun(),
    )
}

pub(crate) fn no_lock_but_skipped(place: Place) -> String {
    format!(
        "no lock in this {}: all are marked `#[lock(skip)]`, remove one of these or \
         `#[instrumented]`",
        place.noun(),
    )
}

pub(crate) fn no_lock_in_static() -> String {
    format!(
        "no lock in this static: `#[instrumented]` needs {} in the type",
        list(&LOCKS, "or")
    )
}

pub(crate) fn marked_without_lock() -> String {
    format!(
        "no lock in this field: `#[lock]` needs {} or an alias of one in the type",
        list(&LOCKS, ","),
    )
}
