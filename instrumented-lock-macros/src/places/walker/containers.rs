//! Calls of methods: what goes into `self.shards` becomes a lock of that field, what `map` makes is in
//! what comes out.

use super::{Walker, bare};
use crate::places::making::{self, Call};
use crate::places::target::{Target, To};
use crate::places::variables::{How, Use};
use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, ExprPath, Member};

/// Puts its arguments, or what they return, into the receiver.
const PUTTING: [&str; 24] = [
    "append",
    "extend",
    "fill",
    "fill_with",
    "get_or_init",
    "get_or_insert",
    "get_or_insert_with",
    "get_or_try_init",
    "insert",
    "insert_entry",
    "or_insert",
    "or_insert_with",
    "or_insert_with_key",
    "push",
    "push_back",
    "push_front",
    "replace",
    "resize",
    "resize_with",
    "set",
    "store",
    "swap",
    "try_insert",
    "write",
];

/// Takes a lock: what is reached through it is the lock's data.
const LOCKING: [&str; 12] = [
    "lock",
    "read",
    "write",
    "upgradable_read",
    "borrow_mut",
    "lock_arc",
    "read_arc",
    "write_arc",
    "try_lock",
    "try_read",
    "try_write",
    "blocking_lock",
];

impl Walker {
    pub(super) fn method_call(&mut self, call: &ExprMethodCall, target: &Target) {
        let method = call.method.to_string();
        if PUTTING.contains(&method.as_str())
            && !call.args.is_empty()
            && let Some(place) = self.place(&call.receiver)
        {
            self.base(&call.receiver);
            for argument in &call.args {
                self.expr(argument, &place);
            }
            return;
        }
        self.receiver(&call.receiver, &method, target);
        // A closure runs for what comes out of `map` and its like; elsewhere nobody knows.
        let is_thread = method == "spawn" || method == "spawn_blocking";
        for argument in &call.args {
            if is_thread {
                self.expr(argument, &Target::NOWHERE);
            } else {
                self.expr(argument, target);
            }
        }
    }

    fn receiver(&mut self, receiver: &Expr, method: &str, target: &Target) {
        let is_taken = LOCKING.contains(&method);
        match bare(receiver) {
            Expr::Path(path) => {
                if let Some(id) = self.variable(path) {
                    self.variables.is_used(id, Use::Called);
                    if !is_taken {
                        let how = if method == "clone" {
                            How::Cloned
                        } else {
                            How::Moved
                        };
                        self.variables.flows(id, target.clone(), how);
                    }
                }
            }
            Expr::Reference(_) | Expr::Unary(_) | Expr::Field(_) => self.base(receiver),
            other if is_taken => self.expr(other, &Target::NOWHERE),
            other => self.expr(other, target),
        }
    }

    /// What a place belongs to: a field of the type, or a variable; with what a lock on the way protects.
    pub(super) fn place(&self, expr: &Expr) -> Option<Target> {
        match expr {
            Expr::Paren(inner) => self.place(&inner.expr),
            Expr::Group(inner) => self.place(&inner.expr),
            Expr::Reference(inner) => self.place(&inner.expr),
            Expr::Unary(inner) => self.place(&inner.expr),
            Expr::Try(inner) => self.place(&inner.expr),
            Expr::Await(inner) => self.place(&inner.base),
            Expr::Index(inner) => self.place(&inner.expr),
            Expr::MethodCall(call) => {
                let place = self.place(&call.receiver)?;
                let method = call.method.to_string();
                let is_data = LOCKING.contains(&method.as_str()) && call.args.is_empty();
                Some(if is_data { place.inner() } else { place })
            }
            Expr::Path(path) => {
                let Some(id) = self.variable(path) else {
                    return self.place_of_static(path);
                };
                let alias = self.variables.alias(id).cloned();
                Some(alias.unwrap_or_else(|| Target::variable(id)))
            }
            Expr::Field(field) => {
                let name = match &field.member {
                    Member::Named(name) => super::without_raw(name.to_string()),
                    Member::Unnamed(index) => index.index.to_string(),
                };
                if is_self(&field.base) {
                    return Some(Target::field(&self.owner("Self"), &name));
                }
                let base = self.place(&field.base)?;
                let is_field = matches!(base.to, To::Field { .. } | To::Variable(_));
                is_field.then(|| base.with(&format!(".{name}")))
            }
            _ => None,
        }
    }

    /// A static, by its capitals.
    fn place_of_static(&self, path: &ExprPath) -> Option<Target> {
        let text = making::path_text(&path.path);
        let (owner, name) = text.rsplit_once("::").unwrap_or(("", &text));
        let is_static = name
            .chars()
            .all(|c| c.is_uppercase() || c.is_numeric() || c == '_');
        is_static.then(|| Target::field(&self.owner(owner), name))
    }
}

fn is_self(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Path(path) => path.path.is_ident("self"),
        Expr::Unary(inner) => is_self(&inner.expr),
        _ => false,
    }
}

/// Whether a value has a lock in it, as far as shows.
pub(super) fn has_lock(walker: &Walker, expr: &Expr) -> bool {
    struct Finder<'a>(&'a Walker, bool);

    impl Visit<'_> for Finder<'_> {
        fn visit_expr_call(&mut self, call: &syn::ExprCall) {
            self.1 |= matches!(Call::of(call), Call::Lock) || making::is_default_of_pointer(call);
            visit::visit_expr_call(self, call);
        }

        fn visit_expr_path(&mut self, path: &syn::ExprPath) {
            let variables = &self.0.variables;
            self.1 |= self
                .0
                .variable(path)
                .is_some_and(|id| variables.has_lock(id));
        }

        fn visit_expr_macro(&mut self, invocation: &syn::ExprMacro) {
            if let Some(elements) = super::macros::elements(&invocation.mac) {
                for element in &elements {
                    self.visit_expr(element);
                }
            }
        }

        /// Its fields are those of another type.
        fn visit_expr_struct(&mut self, _: &syn::ExprStruct) {}
    }

    let mut finder = Finder(walker, false);
    finder.visit_expr(expr);
    finder.1
}
