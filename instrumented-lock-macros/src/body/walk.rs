//! The walk through statements and expressions, as the program would go: where one leads into the
//! other, it is all one.

use super::bind::Origin;
use super::chain;
use super::finding::Site;
use super::lock::{self, bare};
use super::macros::{self, Arguments};
use super::state::State;
use super::value::{Kind, Value};
use super::walker::Walker;
use crate::attr::{Options, Place as Where, is_lock};
use crate::item_attrs::attributes;
use std::rc::Rc;
use syn::{
    Attribute, BinOp, Block, Expr, ExprClosure, ExprField, Item, Local, Macro, Member, Pat, Stmt,
};

impl Walker<'_> {
    pub(super) fn block(&mut self, block: &Block) -> Value {
        self.scoped_value(|walker| {
            let mut value = Value::Other;
            for stmt in &block.stmts {
                if walker.state.is_dead {
                    break;
                }
                value = walker.stmt(stmt);
            }
            value
        })
    }

    /// The value is that of an expression without a semicolon.
    fn stmt(&mut self, stmt: &Stmt) -> Value {
        let attrs = attributes(stmt);
        let mut options = Options::new(Where::Statement);
        for attribute in attrs.iter().filter(|attribute| is_lock(attribute)) {
            options.read_attribute(attribute);
        }
        let around = self.allowed;
        self.allowed = around.union(options.allowed());
        let value = self.conditional(attrs, |walker| walker.bare_stmt(stmt));
        self.allowed = around;
        value
    }

    /// What is under a `cfg` may not be there: what it does, it does in one of two worlds.
    pub(super) fn conditional(
        &mut self,
        attrs: &[Attribute],
        walk: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let cfgs = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
        let known = self.cfgs.len();
        self.cfgs.extend(cfgs.cloned());
        if self.cfgs.len() == known {
            return walk(self);
        }
        let before = self.state.clone();
        let value = walk(self);
        self.consume(&value);
        self.state.meet(before);
        self.cfgs.truncate(known);
        Value::Other
    }

    fn bare_stmt(&mut self, stmt: &Stmt) -> Value {
        match stmt {
            Stmt::Local(local) => self.local(local),
            Stmt::Item(Item::Fn(function)) => {
                self.apart(State::default(), |walker| {
                    walker.block(&function.block);
                });
            }
            Stmt::Item(Item::Static(item)) => {
                // Any other is what its name says: a static.
                if !lock::is_lock_type(&item.ty) {
                    self.state.bind(item.ident.to_string(), Value::Other);
                }
            }
            Stmt::Item(_) => {}
            Stmt::Expr(expr, None) => return self.scoped_value(|walker| walker.eval(expr)),
            Stmt::Expr(expr, Some(_)) => {
                self.scoped(|walker| {
                    let mark = walker.mark();
                    let value = walker.eval(expr);
                    walker.discarded(&value, mark);
                });
            }
            Stmt::Macro(stmt) => {
                self.scoped(|walker| {
                    walker.invocation(&stmt.mac);
                });
            }
        }
        Value::Other
    }

    fn local(&mut self, local: &Local) {
        let Some(init) = &local.init else {
            self.bind_other(&local.pat);
            return;
        };
        let mark = self.mark();
        let value = self.scoped_value(|walker| walker.initial(&local.pat, &init.expr));
        if let Some((_, diverges)) = &init.diverge {
            let bound = self.state.clone();
            self.consume(&value);
            self.value(diverges);
            self.state = bound;
        }
        let origin = if init.diverge.is_some() {
            Origin::LetElse(mark)
        } else {
            Origin::Let(mark)
        };
        self.bind(&local.pat, value, origin);
    }

    /// Walks the initializer of a `let`.
    fn initial(&mut self, pat: &Pat, expr: &Expr) -> Value {
        if chain::is_wild(pat) && chain::is_place(expr) {
            // Nothing is moved.
            self.place(expr);
            return Value::Other;
        }
        if let Some(lock) = self.new_lock(pat, expr) {
            self.value(expr);
            return lock;
        }
        let known = match self.kind(expr) {
            Kind::Unknown => Value::Other,
            _ if chain::name(pat).is_none() => Value::Other,
            kind => Value::Known(kind),
        };
        let mark = self.mark();
        if chain::is_by_ref(pat) && chain::is_place(expr) {
            self.place(expr);
            return Value::Other;
        }
        let is_reference = lock::path(expr, &self.state).is_none();
        let extended = chain::extended(expr).filter(|_| is_reference);
        let value = match extended {
            Some(inner) => self.place(inner),
            None => self.eval(expr),
        };
        if extended.is_none() && !chain::is_by_ref(pat) {
            return if value == Value::Other { known } else { value };
        }
        // What the variable refers to lives as long as it does.
        if value.ids().iter().all(|&id| id > mark) {
            self.state.keep(&value, self.state.depth() - 1);
        }
        Value::Other
    }

    /// An expression that is used where it stands: a receiver, what a field is of, an operand of
    /// `*` and `&`. A guard in it is a temporary, or stays in its variable.
    pub(super) fn place(&mut self, expr: &Expr) -> Value {
        match bare(expr) {
            Expr::Path(_) => {
                let name = chain::local(expr);
                let known = name.and_then(|name| self.state.known(&name).cloned());
                known.unwrap_or(Value::Other)
            }
            Expr::Field(field) => {
                let base = self.place(&field.base);
                part(&base, &field.member).unwrap_or(Value::Other)
            }
            Expr::Index(index) => {
                self.place(&index.expr);
                self.value(&index.index);
                Value::Other
            }
            Expr::Reference(inner) => {
                self.place(&inner.expr);
                Value::Other
            }
            Expr::RawAddr(inner) => {
                self.place(&inner.expr);
                Value::Other
            }
            Expr::Unary(inner) => {
                self.place(&inner.expr);
                Value::Other
            }
            other => self.eval(other),
        }
    }

    /// An expression whose value goes elsewhere.
    pub(super) fn value(&mut self, expr: &Expr) {
        let value = self.eval(expr);
        self.consume(&value);
    }

    pub(super) fn values<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        let values = self.eval_all(exprs);
        for value in &values {
            self.consume(value);
        }
    }

    /// All are evaluated before any of them goes elsewhere.
    pub(super) fn eval_all<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<Value> {
        let is_consumed = std::mem::take(&mut self.is_consumed);
        let values = exprs.into_iter().map(|expr| self.eval(expr)).collect();
        self.is_consumed = is_consumed;
        values
    }

    /// What an expression gives. The guards in it are alive, as temporaries, until somebody gets
    /// the value.
    pub(super) fn eval(&mut self, expr: &Expr) -> Value {
        if let Some(acquire) = self.acquire(expr) {
            return self.take(&acquire);
        }
        if let Some(place) = lock::path(expr, &self.state) {
            self.in_path(expr);
            return Value::Lock(place);
        }
        match bare(expr) {
            Expr::Path(_) => match chain::local(expr) {
                Some(name) => self.variable(&name),
                None => Value::Other,
            },
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Call(call) => self.call(call),
            Expr::Macro(invocation) => self.invocation(&invocation.mac),
            Expr::Await(awaited) => {
                // A guard is nothing that is awaited.
                self.value(&awaited.base);
                self.across_await(Site::of(&awaited.await_token));
                Value::Other
            }
            Expr::Assign(assign) => {
                self.assign(&assign.left, &assign.right);
                Value::Other
            }
            Expr::Binary(binary) => {
                self.binary(&binary.left, &binary.op, &binary.right);
                Value::Other
            }
            Expr::Closure(closure) => self.closure(closure),
            Expr::Async(block) => {
                self.later(block, block.capture.is_some(), |walker| {
                    let value = walker.block(&block.block);
                    walker.consume(&value);
                });
                Value::Other
            }
            Expr::Array(array) => Value::Parts(self.eval_all(&array.elems)),
            Expr::Tuple(tuple) => Value::Parts(self.eval_all(&tuple.elems)),
            Expr::Struct(literal) => {
                let fields = self.eval_all(literal.fields.iter().map(|field| &field.expr));
                self.values(literal.rest.as_deref());
                Value::Parts(fields).in_a_bag()
            }
            Expr::Repeat(repeat) => {
                self.value(&repeat.expr);
                Value::Other
            }
            Expr::Range(range) => {
                self.values(range.start.as_deref());
                self.values(range.end.as_deref());
                Value::Other
            }
            Expr::Cast(cast) => {
                self.place(&cast.expr);
                Value::Other
            }
            Expr::Try(inner) => {
                let value = self.eval(&inner.expr);
                self.may_be_poisoning |= matches!(value, Value::Guard(_));
                self.unwrapped(&value).unwrap_or_else(|| {
                    // What is no `Result` is no guard of ours.
                    self.consume(&value);
                    Value::Other
                })
            }
            Expr::Yield(inner) => {
                self.values(inner.expr.as_deref());
                Value::Other
            }
            Expr::Let(binding) => {
                self.let_condition(binding);
                Value::Other
            }
            Expr::Verbatim(tokens) => {
                self.moved_in(tokens);
                Value::Other
            }
            Expr::Field(field) => self.field(field),
            Expr::Index(_) | Expr::Reference(_) | Expr::RawAddr(_) | Expr::Unary(_) => {
                self.place(expr);
                Value::Other
            }
            other => self.flow(other),
        }
    }

    /// What is evaluated on the way to a lock.
    fn in_path(&mut self, expr: &Expr) {
        match bare(expr) {
            Expr::Reference(inner) => self.in_path(&inner.expr),
            Expr::Unary(inner) => self.in_path(&inner.expr),
            Expr::Field(field) => self.in_path(&field.base),
            Expr::Index(index) => {
                self.in_path(&index.expr);
                self.value(&index.index);
            }
            Expr::MethodCall(call) => {
                self.in_path(&call.receiver);
                self.values(&call.args);
            }
            Expr::Call(call) => {
                for argument in &call.args {
                    self.in_path(argument);
                }
            }
            _ => {}
        }
    }

    /// A field that is moved out of its variable, or copied.
    fn field(&mut self, field: &ExprField) -> Value {
        let base = self.place(&field.base);
        let Some(name) = chain::local(&field.base) else {
            return Value::Other;
        };
        match part(&base, &field.member) {
            Some(moved) if moved.has_guards() => {
                let mut rest = base;
                if let (Value::Parts(parts), Member::Unnamed(index)) = (&mut rest, &field.member) {
                    parts[index.index as usize] = Value::Other;
                }
                self.state.rebind(&name, rest);
                moved
            }
            Some(other) => other,
            None => {
                if matches!(base, Value::Bag(_) | Value::Maybe(_) | Value::Wrapped(_)) {
                    self.moved(&name);
                }
                Value::Other
            }
        }
    }

    fn closure(&mut self, closure: &ExprClosure) -> Value {
        let names = self.state.names();
        self.later(closure, closure.capture.is_some(), |walker| {
            for input in &closure.inputs {
                walker.bind_input(input);
            }
            walker.value(&closure.body);
        });
        Value::Closure(Rc::new(closure.clone()), names)
    }

    pub(super) fn invocation(&mut self, invocation: &Macro) -> Value {
        let mut value = Value::Other;
        match Arguments::of(invocation) {
            Arguments::Together(arguments) => self.scoped(|walker| {
                for argument in &arguments {
                    walker.place(argument);
                }
            }),
            Arguments::Separate(arguments) => {
                for argument in &arguments {
                    self.scoped(|walker| {
                        walker.place(argument);
                    });
                }
            }
            Arguments::Moved(arguments) => {
                let values = self.eval_all(&arguments);
                value = Value::Bag(Value::Parts(values).ids());
            }
            Arguments::Unknown => self.moved_in(&invocation.tokens),
        }
        if macros::awaits(invocation) {
            self.across_await(Site::of(&invocation.path));
        }
        self.state.is_dead |= macros::diverges(invocation);
        value
    }

    fn assign(&mut self, left: &Expr, right: &Expr) {
        let mark = self.mark();
        let value = self.eval(right);
        self.assign_value(left, value, mark);
    }

    fn assign_value(&mut self, left: &Expr, value: Value, mark: u32) {
        match (bare(left), value) {
            (Expr::Infer(_), value) => self.discarded(&value, mark),
            (Expr::Tuple(tuple), Value::Parts(parts)) if tuple.elems.len() == parts.len() => {
                for (left, part) in tuple.elems.iter().zip(parts) {
                    self.assign_value(left, part, mark);
                }
            }
            (_, value) => {
                let variable = chain::local(left);
                if let Some(name) = variable.filter(|name| self.state.known(name).is_some()) {
                    self.state.assign(&name, &value);
                } else {
                    self.consume(&value);
                    self.place(left);
                    self.forget_locks_in(left);
                }
            }
        }
    }

    fn binary(&mut self, left: &Expr, op: &BinOp, right: &Expr) {
        if matches!(op, BinOp::And(_) | BinOp::Or(_)) {
            self.scoped(|walker| walker.value(left));
            let before = self.state.clone();
            self.scoped(|walker| walker.value(right));
            self.state.join(before);
        } else {
            self.place(left);
            self.place(right);
        }
    }
}

/// A part of a tuple.
fn part(base: &Value, member: &Member) -> Option<Value> {
    let (Value::Parts(parts), Member::Unnamed(index)) = (base, member) else {
        return None;
    };
    parts.get(index.index as usize).cloned()
}
