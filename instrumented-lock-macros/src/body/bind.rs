//! Patterns, and what the names in them stand for.

use super::chain;
use super::lock;
use super::place::Place;
use super::state::State;
use super::value::Value;
use super::walker::Walker;
use syn::visit::{self, Visit};
use syn::{Expr, Pat, PatIdent, Path, Type};

/// Where a pattern stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// What it does not bind is dropped at once: a mistake, if it is a guard with a higher number.
    Let(u32),
    /// The same, with an `else`: the pattern may be a variant's.
    LetElse(u32),
    /// What it does not bind lives as long as the blocks.
    Match,
}

impl Walker<'_> {
    pub(super) fn bind(&mut self, pat: &Pat, value: Value, origin: Origin) {
        match (chain::bare_pattern(pat), value) {
            (_, Value::Other) => self.bind_other(pat),
            (Pat::Ident(name), value)
                if name.by_ref.is_none()
                    && name.subpat.is_none()
                    && chain::is_variable(&name.ident) =>
            {
                // A variable is one lock, whichever it is.
                let value = match value {
                    Value::Lock(place) if place.key.is_none() => {
                        let key = format!("{}#{}", name.ident, self.id());
                        Value::Lock(Place {
                            key: Some(key),
                            ..place
                        })
                    }
                    value => value,
                };
                self.state.bind(name.ident.to_string(), value);
            }
            (Pat::Wild(_), value) => match origin {
                Origin::Let(mark) | Origin::LetElse(mark) => self.discarded(&value, mark),
                Origin::Match => {}
            },
            (Pat::Reference(inner), value @ Value::Lock(_)) => self.bind(&inner.pat, value, origin),
            (Pat::Tuple(tuple), Value::Parts(parts)) => {
                self.bind_parts(&tuple.elems, parts, origin);
            }
            (Pat::Slice(slice), Value::Parts(parts)) => {
                self.bind_parts(&slice.elems, parts, origin);
            }
            (Pat::TupleStruct(tuple), Value::Lock(place))
                if self.is_struct(&tuple.path, &place, origin) =>
            {
                for (index, pat) in tuple.elems.iter().enumerate() {
                    if matches!(pat, Pat::Rest(_)) {
                        break;
                    }
                    let member = syn::Member::Unnamed(index.into());
                    let field = place.clone().field(&index.to_string(), &member);
                    self.bind(pat, Value::Lock(field), origin);
                }
                // Of those behind `..` the position is not known.
                for pat in tuple
                    .elems
                    .iter()
                    .skip_while(|pat| !matches!(pat, Pat::Rest(_)))
                {
                    self.bind_other(pat);
                }
            }
            (Pat::Struct(pattern), Value::Lock(place))
                if self.is_struct(&pattern.path, &place, origin) =>
            {
                for field in &pattern.fields {
                    let name = match &field.member {
                        syn::Member::Named(name) => syn::ext::IdentExt::unraw(name).to_string(),
                        syn::Member::Unnamed(index) => index.index.to_string(),
                    };
                    let inner = place.clone().field(&name, &field.member);
                    match &*field.pat {
                        // `ref` makes no difference: it is a reference either way.
                        Pat::Ident(variable) if variable.subpat.is_none() => {
                            let value = Value::Lock(inner);
                            self.state.bind(variable.ident.to_string(), value);
                        }
                        pat => self.bind(pat, Value::Lock(inner), origin),
                    }
                }
            }
            (Pat::TupleStruct(tuple), value)
                if is_success(&tuple.path) && tuple.elems.len() == 1 =>
            {
                // std's locks return a `Result`, which is taken for the guard.
                let inner = self.unwrapped(&value).unwrap_or(value);
                self.bind(&tuple.elems[0], inner, origin);
            }
            // A poisoned lock's guard is in the error.
            (Pat::TupleStruct(tuple), value @ Value::Wrapped(_))
                if is_failure(&tuple.path) && tuple.elems.len() == 1 =>
            {
                self.bind(&tuple.elems[0], value, origin);
            }
            (_, value) => {
                self.consume(&value);
                self.bind_other(pat);
            }
        }
    }

    fn bind_parts<'p>(
        &mut self,
        pats: impl IntoIterator<Item = &'p Pat>,
        values: Vec<Value>,
        origin: Origin,
    ) {
        let pats: Vec<_> = pats.into_iter().collect();
        let rest = pats.iter().position(|pat| matches!(pat, Pat::Rest(_)));
        let skipped = (values.len() + 1).saturating_sub(pats.len());
        let mut values = values.into_iter();
        for (position, pat) in pats.into_iter().enumerate() {
            if rest == Some(position) {
                for value in values.by_ref().take(skipped) {
                    if let Origin::Let(mark) | Origin::LetElse(mark) = origin {
                        self.discarded(&value, mark);
                    }
                }
            } else {
                let value = values.next().unwrap_or(Value::Other);
                self.bind(pat, value, origin);
            }
        }
    }

    /// Whether the pattern is one for a struct, not for an enum's variant.
    fn is_struct(&self, path: &Path, place: &Place, origin: Origin) -> bool {
        let Some(name) = path.get_ident() else {
            return false;
        };
        if place.is_whole() {
            name == "Self" || self.settings.own.is_some_and(|own| name == own)
        } else {
            matches!(origin, Origin::Let(_)) && !is_success(path)
        }
    }

    /// An argument of the function.
    pub(super) fn bind_argument(&mut self, pat: &Pat, ty: &Type) {
        match chain::name(pat) {
            Some(name) if lock::is_lock_type(ty) => {
                let value = self.local_lock(&name);
                self.state.bind(name, value);
            }
            Some(name) if lock::is_self_type(ty, self.settings.own) => {
                let key = format!("{name}#{}", self.id());
                let expr = quote::ToTokens::to_token_stream(chain::bare_pattern(pat));
                let value = Value::Lock(Place::whole(name.clone(), key, expr));
                self.state.bind(name, value);
            }
            _ => self.bind_other(pat),
        }
    }

    /// An argument of a closure.
    pub(super) fn bind_input(&mut self, pat: &Pat) {
        match pat {
            Pat::Type(typed) if lock::is_lock_type(&typed.ty) => {
                self.bind_argument(&typed.pat, &typed.ty);
            }
            pat => self.bind_other(pat),
        }
    }

    /// All names in the pattern stand for nothing of interest.
    pub(super) fn bind_other(&mut self, pat: &Pat) {
        struct Names<'s>(&'s mut State);

        impl Visit<'_> for Names<'_> {
            fn visit_pat_ident(&mut self, pat: &PatIdent) {
                self.0.bind(pat.ident.to_string(), Value::Other);
                visit::visit_pat_ident(self, pat);
            }
        }

        Names(&mut self.state).visit_pat(pat);
    }

    /// `let own = Mutex::new(0)`: the lock that a `let` makes.
    pub(super) fn new_lock(&mut self, pat: &Pat, expr: &Expr) -> Option<Value> {
        let name = chain::name(pat)?;
        let is_known = lock::path(expr, &self.state).is_some();
        let is_new = match pat {
            Pat::Type(typed) => lock::is_lock_type(&typed.ty),
            _ => lock::makes_lock(expr),
        };
        (is_new && !is_known).then(|| self.local_lock(&name))
    }

    fn local_lock(&mut self, name: &str) -> Value {
        let id = self.id();
        Value::Lock(Place {
            text: name.to_owned(),
            key: Some(format!("{name}#{id}")),
            field: None,
            is_clone: false,
            asked: None,
        })
    }
}

fn is_success(path: &Path) -> bool {
    let last = path.segments.last();
    last.is_some_and(|last| last.ident == "Some" || last.ident == "Ok")
}

fn is_failure(path: &Path) -> bool {
    path.segments.last().is_some_and(|last| last.ident == "Err")
}
