//! What is added to the code: the class parameter of a lock that is used before anything tells its type.
//!
//! `let a = Arc::new(Mutex::new(0)); let b = a.clone(); Self { a }` does not compile, because the class is
//! a type parameter and the method `clone` is looked for before the field tells it. With `Mutex::<_>::new(0)`
//! the parameter is the default one. Code that compiles without has no use for it and is left as it is.

use super::making;
use proc_macro2::Span;
use std::collections::HashSet;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprCall, parse_quote_spanned};

/// The calls that make such locks, by their addresses in the syntax tree.
#[derive(Default)]
pub(crate) struct Hints {
    pub(super) locks: HashSet<usize>,
    /// `Arc::<Mutex<u8>>::default()`, which becomes `Arc::<Mutex<u8>>::new(Default::default())`: the
    /// library of std does not tell who calls the former.
    pub(super) defaults: HashSet<usize>,
}

pub(super) fn address(call: &ExprCall) -> usize {
    std::ptr::from_ref(call).addr()
}

impl Hints {
    /// Whether there was anything to add. The tree is the one that has been looked at.
    pub(super) fn apply_to_block(self, block: &mut Block) -> bool {
        let is_any = !self.locks.is_empty() || !self.defaults.is_empty();
        if is_any {
            Applier(self).visit_block_mut(block);
        }
        is_any
    }
}

struct Applier(Hints);

impl VisitMut for Applier {
    fn visit_expr_call_mut(&mut self, call: &mut ExprCall) {
        let (address, at) = (address(call), making::start(call));
        if self.0.locks.contains(&address) {
            tell_class(call, at);
        } else if self.0.defaults.contains(&address) {
            call_default(call, at);
        }
        visit_mut::visit_expr_call_mut(self, call);
    }
}

/// The call begins and ends where it did, so that the lock is made at the same place.
fn tell_class(call: &mut ExprCall, at: Span) {
    let Expr::Path(function) = &mut *call.func else {
        return;
    };
    let ours = Span::mixed_site().located_at(at);
    let mut segments = function.path.segments.iter_mut().rev();
    let Some(ty) = segments.nth(1) else {
        return;
    };
    if ty.ident == "Condvar" {
        // It has no other parameter.
        let mut path = function.path.clone();
        let Some(name) = path.segments.pop() else {
            return;
        };
        path.segments.pop_punct();
        *call.func = parse_quote_spanned!(at=> <#path>::#name);
    } else {
        ty.arguments = syn::PathArguments::AngleBracketed(parse_quote_spanned!(ours=> ::<_>));
    }
}

fn call_default(call: &mut ExprCall, at: Span) {
    if let Expr::Path(function) = &mut *call.func
        && let Some(name) = function.path.segments.last_mut()
    {
        name.ident = syn::Ident::new("new", name.ident.span());
        call.args
            .push(parse_quote_spanned!(at=> ::core::default::Default::default()));
    }
}
