//! What is said of `#[instrumented(...)]` and `#[lock(...)]` themselves.

use super::words::list;
use crate::attr::{Form, OPTIONS, Place};
use crate::rule;

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
        (
            "name" | "nested" | "prefix" | "rank" | "skip",
            Place::Impl | Place::Function | Place::Module | Place::Statement,
        ) => {
            format!("`{key}` goes on the lock, not on {}", place.with_article())
        }
        ("rank", _) => format!(
            "`rank` goes on one lock, not on a whole {}: write `#[lock(rank = 10)]` on the field",
            place.noun(),
        ),
        ("nested", _) => format!(
            "`nested` goes on one lock, not on a whole {}: write `#[lock(nested = \"...\")]` on the \
             field, with the reason why its locks may be nested",
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
        ("crate", Place::Statement) => {
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
    if key == "nested" {
        return format!(
            "`nested` takes the reason why its locks may be nested, write `{}`",
            example(key, place)
        );
    }
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
            let rule = rule::names_for(place.subject())[0];
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
