//! Places that make locks, as `#[instrumented]` on an `impl`, a function or a module declares them: "what
//! is made here becomes the field `shutdown` of `Flusher`". So a lock has the name of its field though its
//! type says nothing of it, as behind an `Arc`.
//!
//! A place is the very [`Location`] that the lock remembers, because the compiler has made both of the same
//! piece of source. It is looked for when the first lock of a place is first used, and never again.

use crate::class::{self, Declaration};
use std::panic::Location;

/// One place that makes locks, and where they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    at: &'static Location<'static>,
    module: &'static str,
    owner: &'static str,
    field: &'static str,
    otherwise: &'static str,
}

impl Place {
    /// The caller is the place. `owner` is the path of the type whose `field` it is, as written in `module`;
    /// empty where the lock is none of a type, and `Self` where the type is not in sight: then it is the only
    /// declared field which is called so in `module`. `otherwise`, if it is not empty, is the name where nobody
    /// has declared the field.
    #[track_caller]
    #[must_use]
    pub const fn new(
        module: &'static str,
        owner: &'static str,
        field: &'static str,
        otherwise: &'static str,
    ) -> Self {
        Place {
            at: Location::caller(),
            module,
            owner,
            field,
            otherwise,
        }
    }

    fn goes_where(&self) -> (&str, &str, &str, &str) {
        (self.module, self.owner, self.field, self.otherwise)
    }

    /// The name of the class, unless somebody has declared the field.
    pub(crate) fn name(&self) -> String {
        match (self.owner, self.otherwise) {
            ("", "") => format!("{}::{}", self.module, self.field),
            (_, "") => self.path(),
            (_, otherwise) => within(self.module, otherwise),
        }
    }

    fn path(&self) -> String {
        format!("{}::{}", within(self.module, self.owner), self.field)
    }

    /// What declares the field: the type is annotated too, here or in another module of the crate.
    pub(crate) fn declaration(&self) -> Option<&'static Declaration> {
        let Place {
            module,
            owner,
            field,
            ..
        } = *self;
        if owner.is_empty() {
            return None;
        }
        if let Some(variant) = owner.strip_prefix("Self") {
            let below_type = format!("{variant}::{field}");
            let is_such = |path: &str| {
                let below = path.strip_prefix(module)?.strip_prefix("::")?;
                let ty = below.strip_suffix(below_type.as_str())?;
                Some(!ty.is_empty() && !ty.contains("::"))
            };
            return only(|path| is_such(path) == Some(true));
        }
        let whole = self.path();
        // What is written may be imported, or reexported.
        let written = owner.trim_start_matches("crate::");
        let last = owner.rsplit("::").next().unwrap_or(owner);
        only(|path| path == whole)
            .or_else(|| only(|path| is_below(path, module, written, field)))
            .or_else(|| only(|path| is_below(path, module, last, field)))
    }
}

/// Whether the path is that of the field of a type of the same crate as the module.
fn is_below(path: &str, module: &str, owner: &str, field: &str) -> bool {
    let root = |path: &str| path.split("::").next().unwrap_or_default().len();
    let owner_and_rest = path
        .strip_suffix(field)
        .and_then(|path| path.strip_suffix("::"));
    let rest = owner_and_rest
        .and_then(|path| path.strip_suffix(owner))
        .and_then(|path| path.strip_suffix("::"));
    rest.is_some() && path[..root(path)] == module[..root(module)]
}

/// The declaration whose path is such, if there is one name for all that are.
fn only(is_such: impl Fn(&str) -> bool) -> Option<&'static Declaration> {
    let mut found = class::declarations().filter(|declaration| is_such(declaration.path()));
    let first = found.next()?;
    found.all(|other| other.name == first.name).then_some(first)
}

/// The path that `written` means in `module`.
fn within(module: &str, written: &str) -> String {
    let (mut module, mut written) = (module, written);
    if let Some(rest) = written.strip_prefix("crate::") {
        module = module.split("::").next().unwrap_or(module);
        written = rest;
    }
    if let Some(rest) = written.strip_prefix("self::") {
        written = rest;
    }
    while let Some(rest) = written.strip_prefix("super::") {
        module = module.rsplit_once("::").map_or(module, |(above, _)| above);
        written = rest;
    }
    format!("{module}::{written}")
}

/// What is declared of the place. Nothing where two are told apart by nobody: a macro that makes two fields
/// makes both in the line that calls it.
pub(crate) fn declared(at: &Location<'_>) -> Option<Place> {
    let places = inventory::iter::<Places>.into_iter();
    let mut found = places
        .flat_map(|places| places.0)
        .filter(|place| place.at == at);
    let first = *found.next()?;
    found
        .all(|other| other.goes_where() == first.goes_where())
        .then_some(first)
}

/// What an `impl`, a function or a module declares, as `inventory` collects it at link time.
#[derive(Debug)]
pub struct Places(pub &'static [Place]);

inventory::collect!(Places);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_a_module_a_path_is_what_the_compiler_takes_it_for() {
        assert_eq!(within("krate::a::b", "Type"), "krate::a::b::Type");
        assert_eq!(within("krate::a::b", "c::Type"), "krate::a::b::c::Type");
        assert_eq!(within("krate::a::b", "self::Type"), "krate::a::b::Type");
        assert_eq!(within("krate::a::b", "super::Type"), "krate::a::Type");
        assert_eq!(within("krate::a::b", "super::super::Type"), "krate::Type");
        assert_eq!(within("krate::a::b", "crate::c::Type"), "krate::c::Type");
        assert_eq!(within("krate", "crate::Type"), "krate::Type");
    }

    #[test]
    fn is_below_the_same_crate_and_type_only() {
        let field = |path| is_below(path, "krate::b", "Type", "field");
        assert!(field("krate::a::Type::field"));
        assert!(field("krate::Type::field"));
        assert!(!field("other::a::Type::field"));
        assert!(!field("krate::a::MyType::field"));
        assert!(!field("krate::a::Type::my_field"));
        assert!(!field("Type::field"));
        assert!(is_below("krate::a::Type::A::0", "krate::b", "Type::A", "0"));
    }
}
