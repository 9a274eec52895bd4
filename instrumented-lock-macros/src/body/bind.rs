//! `let`, and the names that it binds.

use super::Binding;
use super::chain;
use super::lock;
use super::state::Guard;
use super::walk::Walker;
use syn::{Expr, Pat};

/// What a `let` binds.
pub(super) enum Initial {
    /// A guard, which is not among the held ones meanwhile.
    Guard(Guard),
    /// A guard that nothing names, alive as long as the variable.
    Extended(Guard),
    /// The variable is this lock.
    Lock(lock::Place),
    Other,
}

impl Walker<'_> {
    /// Walks the initializer of a `let`.
    pub(super) fn initial(&mut self, pat: &Pat, expr: &Expr) -> Initial {
        if let Some(acquired) = self.acquired(expr) {
            let is_bound = if acquired.is_wrapped || !acquired.acquire.is_try {
                chain::unwrapped_name(pat).is_some()
            } else {
                false
            };
            let is_bound = is_bound || !acquired.is_wrapped && chain::name(pat).is_some();
            if is_wild(pat) && self.discarded(expr) || !self.take(&acquired) || !is_bound {
                return Initial::Other;
            }
            return Initial::Guard(self.held_apart(&acquired));
        }
        if let Some(inner) = chain::extended(expr)
            && let Some(acquired) = self.acquired(inner)
            && !acquired.is_wrapped
        {
            if !self.take(&acquired) {
                return Initial::Other;
            }
            return Initial::Extended(self.held_apart(&acquired));
        }
        if chain::name(pat).is_none() {
            self.value(expr);
            return Initial::Other;
        }
        if let Some(guard) = self.same_guard(expr) {
            return Initial::Guard(guard);
        }
        let lock = self.lock_of(pat, expr);
        self.value(expr);
        lock.map_or(Initial::Other, Initial::Lock)
    }

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

    fn held_apart(&mut self, acquired: &chain::Acquired<'_>) -> Guard {
        let id = self.hold(acquired);
        self.state.take(id).expect("it was held just now")
    }

    /// A guard under a new name, or with another type.
    fn same_guard(&mut self, expr: &Expr) -> Option<Guard> {
        let (source, mode) = chain::transformed(expr).unwrap_or((expr, None));
        let mut guard = if let Some(acquired) = self.acquired(source) {
            if acquired.is_wrapped || !self.take(&acquired) {
                return None;
            }
            self.held_apart(&acquired)
        } else {
            let name = chain::local(source)?;
            let Some(Binding::Guard(id)) = self.state.binding(&name) else {
                return None;
            };
            let guard = self.state.take(*id)?;
            self.state.assign(&name, &Binding::Other);
            guard
        };
        guard.mode = mode.unwrap_or(guard.mode);
        if let Expr::Call(call) = lock::bare(expr) {
            self.values(call.args.iter().skip(1));
        }
        Some(guard)
    }

    fn lock_of(&mut self, pat: &Pat, expr: &Expr) -> Option<lock::Place> {
        let known = lock::alias(expr, &self.state);
        let is_new = match pat {
            Pat::Type(typed) => lock::is_lock_type(&typed.ty),
            _ => lock::makes_lock(expr),
        };
        let name = chain::name(pat)?;
        known.or_else(|| is_new.then(|| self.local_lock(&name)))
    }
}

fn is_wild(pat: &Pat) -> bool {
    match pat {
        Pat::Type(inner) => is_wild(&inner.pat),
        pat => matches!(pat, Pat::Wild(_)),
    }
}
