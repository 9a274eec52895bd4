//! What is said of a lock: where it is, and how it is taken.

use proc_macro2::{Group, TokenStream, TokenTree};

/// How a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    /// Does not queue behind a waiting writer.
    RecursiveRead,
    Upgradable,
    Write,
}

impl Mode {
    /// Whether a thread that holds `self` deadlocks, or may, in taking `next`.
    pub(super) fn excludes(self, next: Mode) -> bool {
        !(next == Mode::RecursiveRead && self != Mode::Write)
    }
}

/// A lock, as the source writes it; or a value that has locks, as `self`.
#[derive(Clone)]
pub(super) struct Place {
    /// As shown: `self.index`, `self.shards[..]`.
    pub(super) text: String,
    /// Two places with the same key are the same lock. `None` where an index is computed.
    pub(super) key: Option<String>,
    /// The field of `self` that it is, or is an element of.
    pub(super) field: Option<String>,
    /// Made by `clone`: a handle to the same lock, if it is a lock; else it may be anything.
    pub(super) is_clone: bool,
    /// How the compiler is asked what is there; `None` where it cannot be.
    pub(super) asked: Option<Asked>,
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, &self.key, &self.field) == (&other.text, &other.key, &other.field)
    }
}

impl Place {
    /// Of type `Self`, and so no lock.
    pub(super) fn is_whole(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.is_whole)
    }
}

/// An expression for the place, that begins with a value of type `Self` or with a static.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) expr: TokenStream,
    /// The place is an element of what the expression is.
    pub(crate) is_element: bool,
    /// It is that value itself.
    pub(super) is_whole: bool,
    /// It begins with a static, which is known in the body only.
    pub(crate) is_static: bool,
}

impl Asked {
    /// `Self::CONFIG`, `T::CONFIG`: of a type that may mean nothing to an item in the body.
    pub(crate) fn names_a_type(&self) -> bool {
        let mut tokens = self.expr.clone().into_iter();
        let first = tokens.next().map(|token| token.to_string());
        let is_path = tokens.next().is_some_and(|token| token.to_string() == ":");
        is_path && first.is_some_and(|name| name.starts_with(char::is_uppercase))
    }

    /// As if the value that it begins with was called `name`.
    pub(crate) fn beginning_with(&self, name: &TokenTree) -> TokenStream {
        replace_first(self.expr.clone(), &mut Some(name.clone()))
    }
}

fn replace_first(tokens: TokenStream, name: &mut Option<TokenTree>) -> TokenStream {
    let replaced = |token| match token {
        TokenTree::Ident(_) if name.is_some() => name.take().into_iter().next(),
        TokenTree::Group(group) => {
            let inside = replace_first(group.stream(), name);
            Some(Group::new(group.delimiter(), inside).into())
        }
        token => Some(token),
    };
    tokens.into_iter().filter_map(replaced).collect()
}
