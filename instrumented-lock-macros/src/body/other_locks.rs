//! Locks that work otherwise than ours, as the code around shows: one that is unlocked by hand has no
//! guards, and one whose `lock()` is awaited may be held across an `.await`.

use super::lock::{self, bare};
use super::state::State;
use std::collections::HashSet;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprAwait, ExprMethodCall, ItemImpl};

pub(crate) fn in_impl(item: &ItemImpl) -> HashSet<String> {
    let mut finder = Finder(HashSet::new());
    finder.visit_item_impl(item);
    finder.0
}

pub(crate) fn in_body(body: &Block) -> HashSet<String> {
    let mut finder = Finder(HashSet::new());
    finder.visit_block(body);
    finder.0
}

/// The locks, as shown.
struct Finder(HashSet<String>);

impl Finder {
    fn add(&mut self, lock: &Expr) {
        let place = lock::place(lock, &State::default());
        self.0.extend(place.map(|place| place.text));
    }
}

impl Visit<'_> for Finder {
    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        let name = call.method.to_string();
        if name.starts_with("unlock") || name.starts_with("force_unlock") {
            self.add(&call.receiver);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_await(&mut self, awaited: &ExprAwait) {
        if let Expr::MethodCall(call) = bare(&awaited.base)
            && lock::acquire(&awaited.base, &State::default()).is_some()
        {
            self.add(&call.receiver);
        }
        visit::visit_expr_await(self, awaited);
    }
}
