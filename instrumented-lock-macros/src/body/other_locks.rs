//! Locks that work otherwise than ours, as the code around shows: one that is unlocked by hand has no
//! guards, and one whose `lock()` is awaited may be held across an `.await`.

use super::chain;
use super::lock::{self, bare};
use super::state::State;
use std::collections::{HashMap, HashSet};
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprAwait, ExprMethodCall, ItemImpl, Local};

/// `is_asking`: whether the compiler says what is async, where it can be asked.
pub(crate) fn in_impl(item: &ItemImpl, is_asking: bool) -> HashSet<String> {
    let mut finder = Finder::new(is_asking);
    finder.visit_item_impl(item);
    finder.found
}

pub(crate) fn in_body(body: &Block, is_asking: bool) -> HashSet<String> {
    let mut finder = Finder::new(is_asking);
    finder.visit_block(body);
    finder.found
}

struct Finder {
    is_asking: bool,
    /// The locks, as shown.
    found: HashSet<String>,
    /// What variables may be futures of.
    variables: HashMap<String, Vec<String>>,
}

impl Finder {
    fn new(is_asking: bool) -> Self {
        Finder {
            is_asking,
            found: HashSet::new(),
            variables: HashMap::new(),
        }
    }

    fn add(&mut self, lock: &Expr) {
        let place = lock::path(lock, &State::default()).filter(|place| !place.is_whole());
        self.found.extend(place.map(|place| place.text));
    }

    /// The locks whose `lock()` may be the future, or what the future is made of.
    fn made_of(&self, expr: &Expr) -> Vec<String> {
        if let Some(acquire) = lock::acquire(expr, &State::default()) {
            let is_known = self.is_asking && acquire.place.asked.is_some();
            return if is_known {
                Vec::new()
            } else {
                vec![acquire.place.text]
            };
        }
        match bare(expr) {
            Expr::MethodCall(call) => {
                let mut found = self.made_of(&call.receiver);
                found.extend(call.args.iter().flat_map(|argument| self.made_of(argument)));
                found
            }
            Expr::Call(call) => {
                let arguments = call.args.iter();
                arguments
                    .flat_map(|argument| self.made_of(argument))
                    .collect()
            }
            Expr::Reference(inner) => self.made_of(&inner.expr),
            Expr::Path(_) => {
                let variable = chain::local(expr).and_then(|name| self.variables.get(&name));
                variable.cloned().unwrap_or_default()
            }
            _ => Vec::new(),
        }
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

    fn visit_local(&mut self, local: &Local) {
        visit::visit_local(self, local);
        if let (Some(name), Some(init)) = (chain::name(&local.pat), &local.init) {
            let made_of = self.made_of(&init.expr);
            if !made_of.is_empty() {
                self.variables.entry(name).or_default().extend(made_of);
            }
        }
    }

    fn visit_expr_await(&mut self, awaited: &ExprAwait) {
        let made_of = self.made_of(&awaited.base);
        self.found.extend(made_of);
        visit::visit_expr_await(self, awaited);
    }
}
