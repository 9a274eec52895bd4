//! Calls of functions, and values that are made of others: structs and tuples.

use super::{Walker, bare, containers, without_raw};
use crate::places::hint::address;
use crate::places::making::{self, Call};
use crate::places::target::{Target, To};
use crate::places::variables::How;
use syn::{Expr, ExprCall, Member};

impl Walker {
    pub(super) fn call(&mut self, call: &ExprCall, target: &Target) {
        let at = making::start(call);
        if making::is_default_of_pointer(call) {
            self.hints.defaults.insert(address(call));
            self.makes(at, target);
            return;
        }
        match Call::of(call) {
            Call::Lock => {
                self.makes(at, target);
                if let To::Variable(id) = target.to
                    && making::is_untyped_lock(call)
                {
                    self.listed.push((address(call), id));
                }
                self.arguments(call, &target.inner());
            }
            Call::Maybe => {
                self.may_make(at, target);
                self.passed_on(call, target);
            }
            Call::Named => self.arguments(call, &target.inner()),
            Call::Clone => {
                if let Some(value) = call.args.first() {
                    self.clone_of(value, target);
                }
            }
            Call::Through => self.arguments(call, target),
            Call::Wrapper(path) => self.wrapper(call, &path, target),
            Call::Replace => {
                let place = call.args.first().and_then(|first| self.place(first));
                self.arguments(call, &place.unwrap_or(Target::NOWHERE));
            }
            Call::Unknown => {
                if let Expr::Path(function) = &*call.func
                    && let Some(id) = self.variable(function)
                {
                    // A closure that makes it.
                    self.variables.flows(id, target.clone(), How::Moved);
                } else if !matches!(&*call.func, Expr::Path(_)) {
                    self.base(&call.func);
                }
                self.passed_on(call, target);
            }
        }
    }

    fn arguments(&mut self, call: &ExprCall, target: &Target) {
        for argument in &call.args {
            self.expr(argument, target);
        }
    }

    /// One value that goes in is probably in what comes out; of several nobody knows.
    fn passed_on(&mut self, call: &ExprCall, target: &Target) {
        let locks: usize = call.args.iter().map(|part| self.locks_in(part)).sum();
        let is_one = locks == 1 || call.args.len() == 1;
        let nowhere = Target::NOWHERE;
        self.arguments(call, if is_one { target } else { &nowhere });
    }

    /// A tuple struct or variant.
    fn wrapper(&mut self, call: &ExprCall, path: &str, target: &Target) {
        let owner = self.owner(path);
        let is_own = self.is_own(&owner);
        for (index, argument) in call.args.iter().enumerate() {
            let (owner, field) = (owner.clone(), index.to_string());
            let to = if is_own {
                To::Field { owner, field }
            } else {
                let is_only = call.args.len() == 1;
                let outer = if is_only {
                    target.clone()
                } else {
                    Target::NOWHERE
                };
                let outer = Box::new(outer);
                To::Wrapped {
                    owner,
                    field,
                    outer,
                }
            };
            self.expr(argument, &Target::new(to));
        }
    }

    pub(super) fn structure(&mut self, value: &syn::ExprStruct) {
        let owner = self.owner(&making::path_text(&value.path));
        for field in &value.fields {
            let name = match &field.member {
                Member::Named(name) => without_raw(name.to_string()),
                Member::Unnamed(index) => index.index.to_string(),
            };
            self.expr(&field.expr, &Target::field(&owner, &name));
        }
        if let Some(rest) = &value.rest {
            self.expr(rest, &Target::NOWHERE);
        }
    }

    /// The type that a path means here.
    pub(super) fn owner(&self, path: &str) -> String {
        let own = self.own.as_deref().unwrap_or("Self");
        match path.strip_prefix("Self") {
            Some("") => own.to_owned(),
            Some(rest) if rest.starts_with("::") => format!("{own}{rest}"),
            _ => path.to_owned(),
        }
    }

    /// Whether it is the type that the code is of, or a variant of it.
    fn is_own(&self, owner: &str) -> bool {
        let own = self.own.as_deref().unwrap_or("Self");
        owner
            .strip_prefix(own)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    }

    /// The parts of a tuple: where several have locks, each has its number.
    pub(super) fn parts<'a>(
        &mut self,
        parts: impl Iterator<Item = &'a Expr> + Clone,
        target: &Target,
    ) {
        let counts: Vec<_> = parts.clone().map(|part| self.locks_in(part)).collect();
        let is_one = counts.iter().sum::<usize>() <= 1;
        let mut number = 0;
        for (part, count) in parts.zip(counts) {
            if is_one {
                self.expr(part, target);
            } else if count > 1 && matches!(bare(part), Expr::Tuple(_)) {
                // Numbered with the others.
                let Expr::Tuple(inner) = bare(part) else {
                    continue;
                };
                for inner in &inner.elems {
                    self.expr(inner, &target.with(&format!(".{number}")));
                    number += self.locks_in(inner).min(1);
                }
            } else {
                self.expr(part, &target.with(&format!(".{number}")));
                number += count.min(1);
            }
        }
    }

    /// How many locks of a name of their own are in a value, as far as shows: those of a list have one.
    fn locks_in(&self, expr: &Expr) -> usize {
        match expr {
            Expr::Tuple(tuple) => tuple.elems.iter().map(|part| self.locks_in(part)).sum(),
            other => usize::from(containers::has_lock(self, other)),
        }
    }
}
