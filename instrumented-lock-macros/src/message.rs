//! The text of every diagnostic: lower case, no full stop; names the attribute and says what to
//! write instead, or lists what is allowed.

mod bodies;
mod rules;

pub(crate) use bodies::*;
pub(crate) use rules::*;

use crate::ast::StrayPlace;
use crate::attr::{Form, OPTIONS, Place};
use crate::rule::Subject;
use crate::types::LOCKS;

impl Place {
    /// What the rules look at that can be allowed here.
    pub(crate) fn subject(self) -> Subject {
        match self {
            Place::Struct | Place::Enum | Place::Static | Place::Field => Subject::Types,
            Place::Impl | Place::Function | Place::Statement => Subject::Bodies,
        }
    }

    fn attribute(self) -> &'static str {
        match self {
            Place::Field | Place::Statement => "lock",
            _ => "instrumented",
        }
    }

    fn with_article(self) -> &'static str {
        match self {
            Place::Enum => "an enum",
            Place::Impl => "an impl",
            Place::Struct => "a struct",
            Place::Static => "a static",
            Place::Field => "a field",
            Place::Function => "a function",
            Place::Statement => "a statement",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Place::Struct => "struct",
            Place::Enum => "enum",
            Place::Static => "static",
            Place::Field => "field",
            Place::Impl => "impl",
            Place::Function => "function",
            Place::Statement => "statement",
        }
    }
}

/// `what` is an item with its article.
pub(crate) fn wrong_item(what: &str) -> String {
    let advice = match what {
        "a const" => ": every use of a const is a new lock, write `static`",
        "a type alias" => ": mark the fields of this type with `#[lock]`",
        "a module" => ": put it on the items in there",
        _ => "",
    };
    format!(
        "`#[instrumented]` goes on a struct, an enum, a static, an impl or a function, not on \
         {what}{advice}"
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
        StrayPlace::LockOnItem(Place::Impl | Place::Function) => {
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

pub(crate) fn malformed_option(place: Place, found: &str) -> String {
    let attribute = place.attribute();
    let allowed = allowed(place);
    // A string is meant as a name.
    if found.starts_with('"') && matches!(place, Place::Static | Place::Field) {
        format!("`#[{attribute}]` takes options, write `#[{attribute}(name = {found})]`")
    } else {
        format!(
            "expected an option of `#[{attribute}]` on {}: {allowed}",
            place.with_article()
        )
    }
}

pub(crate) fn unknown_option(key: &str, place: Place) -> String {
    let (attribute, noun, allowed) = (place.attribute(), place.with_article(), allowed(place));
    format!("unknown option `{key}` of `#[{attribute}]`, allowed on {noun}: {allowed}")
}

pub(crate) fn misplaced_option(key: &str, place: Place) -> String {
    match (key, place) {
        ("name" | "prefix" | "rank" | "skip", Place::Impl | Place::Function | Place::Statement) => {
            format!("`{key}` goes on the lock, not on {}", place.with_article())
        }
        ("rank", _) => format!(
            "`rank` goes on one lock, not on a whole {}: write `#[lock(rank = 10)]` on the field",
            place.noun(),
        ),
        ("locks", _) => "`locks` goes on a method, write `#[instrumented(locks)]` there".to_owned(),
        ("deny", Place::Statement) => {
            "`deny` goes on the impl or the function, write `#[instrumented(deny(...))]` there"
                .to_owned()
        }
        ("deny", _) => {
            "`deny` goes on an impl or a function: what looks at types is on anyway".to_owned()
        }
        ("crate", Place::Function | Place::Statement) => {
            "`crate` is of no use here: no path to the library is written".to_owned()
        }
        ("name", _) => format!(
            "`name` goes on one lock, not on a whole {}: write `#[lock(name = \"...\")]` on the \
             field, or `prefix = \"...\"` here to replace the module path",
            place.noun(),
        ),
        ("skip", Place::Static) => {
            "`skip` goes on a field, remove `#[instrumented]` to leave a static as it is".to_owned()
        }
        ("skip", _) => "`skip` goes on a field, write `#[lock(skip)]` there".to_owned(),
        _ => format!(
            "`{key}` goes on the whole item, write `{}` there",
            example(key, Place::Struct)
        ),
    }
}

pub(crate) fn repeated_option(key: &str, place: Place) -> String {
    format!(
        "`{key}` is given twice in `#[{}]`, remove one",
        place.attribute()
    )
}

pub(crate) fn ill_typed_option(key: &str, form: Form, place: Place) -> String {
    let takes = match form {
        Form::Text => "a string literal",
        Form::Path => "a path",
        Form::Integer => "an integer",
        Form::Rules => "rules in parentheses",
        Form::Flag => "no value",
    };
    format!("`{key}` takes {takes}, write `{}`", example(key, place))
}

pub(crate) fn empty_text(key: &str, place: Place) -> String {
    let attribute = place.attribute();
    format!("`{key}` of `#[{attribute}]` is empty, write a text or remove the option")
}

pub(crate) fn of_no_use_beside_skip(key: &str) -> String {
    format!("`{key}` is of no use beside `skip` in `#[lock]`, remove one")
}

pub(crate) fn name_and_prefix() -> String {
    "`prefix` is of no use beside `name`, which replaces the whole path, remove one from \
     `#[instrumented]`"
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

pub(crate) fn no_lock_but_shared(place: Place, field: &str) -> String {
    format!(
        "no lock in this {}: the one in `{field}` is behind a shared handle, mark the field with \
         `#[lock]` to have `#[instrumented]` measure it",
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

/// An option as it should be written.
fn example(key: &str, place: Place) -> String {
    let attribute = place.attribute();
    match OPTIONS
        .iter()
        .find(|option| option.key == key)
        .map(|option| option.form)
    {
        Some(Form::Text) => format!("#[{attribute}({key} = \"...\")]"),
        Some(Form::Path) => format!("#[{attribute}({key} = path::to::instrumented_lock)]"),
        Some(Form::Integer) => format!("#[{attribute}({key} = 10)]"),
        Some(Form::Rules) => {
            let rule = rules_for(place.subject())[0];
            format!("#[{attribute}({key}({rule}))]")
        }
        Some(Form::Flag) | None => format!("#[{attribute}({key})]"),
    }
}

fn allowed(place: Place) -> String {
    let allowed = OPTIONS
        .iter()
        .filter(|option| option.places.contains(&place));
    list(&allowed.map(|option| option.key).collect::<Vec<_>>(), "and")
}

/// `` `a`, `b` and `c` ``
fn list(words: &[&str], conjunction: &str) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() && conjunction != "," => {
            format!("{} {conjunction} {last}", rest.join(", "))
        }
        _ => quoted.join(", "),
    }
}
