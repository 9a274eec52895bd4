//! `let`, and the names that it binds.

use super::chain;
use super::lock;
use super::place::Place;
use super::state::{Binding, Guard, State};
use super::walker::Walker;
use syn::visit::{self, Visit};
use syn::{Expr, Pat, PatIdent, Type};

/// What a `let` binds.
pub(super) enum Initial {
    /// A guard, which is not among the held ones meanwhile.
    Guard(Guard),
    /// A guard that nothing names, alive as long as the variable.
    Extended(Guard),
    /// The variable is this lock.
    Lock(Place),
    Other,
}

impl Walker<'_> {
    pub(super) fn bind(&mut self, pat: &Pat, initial: Initial) {
        let name = chain::name(pat).or_else(|| chain::unwrapped_name(pat));
        match (initial, name) {
            (Initial::Guard(guard), Some(name)) => {
                let id = self.state.hold_again(guard);
                self.state.bind(name, Binding::Guard(id));
            }
            (Initial::Lock(place), Some(name)) => self.state.bind(name, Binding::Lock(place)),
            (Initial::Extended(guard), _) => {
                self.state.hold_again(guard);
                self.bind_other(pat);
            }
            _ => self.bind_other(pat),
        }
    }

    pub(super) fn bind_argument(&mut self, pat: &Pat, ty: &Type) {
        match chain::name(pat) {
            Some(name) if lock::is_lock_type(ty) => {
                let place = self.local_lock(&name);
                self.state.bind(name, Binding::Lock(place));
            }
            _ => self.bind_other(pat),
        }
    }

    /// All names in the pattern stand for nothing of interest.
    pub(super) fn bind_other(&mut self, pat: &Pat) {
        struct Names<'s>(&'s mut State);

        impl Visit<'_> for Names<'_> {
            fn visit_pat_ident(&mut self, pat: &PatIdent) {
                self.0.bind(pat.ident.to_string(), Binding::Other);
                visit::visit_pat_ident(self, pat);
            }
        }

        Names(&mut self.state).visit_pat(pat);
    }

    pub(super) fn lock_of(&mut self, pat: &Pat, expr: &Expr) -> Option<Place> {
        let known = lock::alias(expr, &self.state);
        let is_new = match pat {
            Pat::Type(typed) => lock::is_lock_type(&typed.ty),
            _ => lock::makes_lock(expr),
        };
        let name = chain::name(pat)?;
        known.or_else(|| is_new.then(|| self.local_lock(&name)))
    }

    fn local_lock(&mut self, name: &str) -> Place {
        let id = self.id();
        Place {
            text: name.to_owned(),
            key: Some(format!("{name}#{id}")),
            field: None,
        }
    }
}

pub(super) fn is_wild(pat: &Pat) -> bool {
    match pat {
        Pat::Type(inner) => is_wild(&inner.pat),
        pat => matches!(pat, Pat::Wild(_)),
    }
}
