//! The walk through statements and expressions.

use super::chain::{self, Acquired};
use super::lock::{self, bare};
use super::scrutinee;
use super::{Binding, Finding, Rules, Settings, Site, State};
use crate::attr::{Options, Place as Where};
use crate::item_attrs::attributes;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::HashSet;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ExprCall, ExprMethodCall, Item, Local, Pat, PatIdent, Stmt, Type};

pub(super) struct Walker<'a> {
    pub(super) settings: Settings<'a>,
    pub(super) state: State,
    pub(super) findings: Vec<Finding>,
    /// On the statements around this point.
    pub(super) allowed: Rules,
    pub(super) loops: Vec<super::flow::Target>,
    pub(super) has_locked: bool,
    /// Methods of `self` that are called.
    pub(super) calls: HashSet<String>,
    /// Guards that a closure takes along.
    captured: Vec<u32>,
    /// Guards whose life across an `.await` has been reported.
    pub(super) awaited: HashSet<u32>,
    next_id: u32,
}

impl<'a> Walker<'a> {
    pub(super) fn new(settings: Settings<'a>) -> Self {
        Walker {
            settings,
            state: State::default(),
            findings: Vec::new(),
            allowed: Rules::default(),
            loops: Vec::new(),
            has_locked: false,
            calls: HashSet::new(),
            captured: Vec::new(),
            awaited: HashSet::new(),
            next_id: 0,
        }
    }

    pub(super) fn id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn block(&mut self, block: &Block) {
        self.state.enter();
        for stmt in &block.stmts {
            if self.state.is_dead {
                break;
            }
            self.stmt(stmt);
        }
        self.state.leave();
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let attrs = attributes(stmt);
        let mut options = Options::new(Where::Statement);
        for attribute in attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("lock"))
        {
            options.read_attribute(attribute);
        }
        let around = self.allowed;
        self.allowed = around.union(options.allowed());
        // Such a statement may not be there: what it does, it does in one of two worlds.
        let is_conditional = attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("cfg"));
        let before = is_conditional.then(|| self.state.clone());
        match stmt {
            Stmt::Local(local) => self.local(local),
            Stmt::Item(Item::Fn(function)) => self.function(&function.block),
            Stmt::Item(Item::Static(item)) => {
                // Any other is what its name says: a static.
                if !lock::is_lock_type(&item.ty) {
                    self.state.bind(item.ident.to_string(), Binding::Other);
                }
            }
            Stmt::Item(_) => {}
            Stmt::Expr(expr, semicolon) => {
                self.state.enter();
                if semicolon.is_none() || !self.discarded(expr) {
                    self.value(expr);
                }
                self.state.leave();
            }
            Stmt::Macro(stmt) => {
                self.state.enter();
                self.invocation(&stmt.mac);
                self.state.leave();
            }
        }
        if let Some(before) = before {
            self.state.join(before);
        }
        self.allowed = around;
    }

    fn local(&mut self, local: &Local) {
        let Some(init) = &local.init else {
            self.bind_other(&local.pat);
            return;
        };
        self.state.enter();
        let binding = self.initial(&local.pat, &init.expr);
        self.state.leave();
        if let Some((_, diverges)) = &init.diverge {
            let bound = self.state.clone();
            self.value(diverges);
            self.state = bound;
        }
        self.bind(&local.pat, binding);
    }

    /// The guard is taken, unless that is a mistake; it is not held yet.
    pub(super) fn take(&mut self, acquired: &Acquired<'_>) -> bool {
        let call = acquired.acquire.call;
        self.place(&call.receiver);
        for argument in &call.args {
            self.value(argument);
        }
        self.has_locked = true;
        self.may_take(&acquired.acquire)
    }

    pub(super) fn acquired<'e>(&self, expr: &'e Expr) -> Option<Acquired<'e>> {
        let found = chain::acquired(expr, &self.state, self.settings.is_poisoning)?;
        let is_other = self.settings.others.contains(&found.acquire.place.text);
        (!is_other).then_some(found)
    }

    /// Holds the guard as a temporary, or until the end of the scope.
    pub(super) fn hold(&mut self, acquired: &Acquired<'_>) -> u32 {
        let id = self.id();
        let lock::Acquire {
            place, mode, call, ..
        } = &acquired.acquire;
        let at = Site::of_call(call);
        self.state.hold(id, place.clone(), *mode, at, self.allowed);
        id
    }

    /// An expression that is used where it stands: a receiver, what a field is of, an operand of
    /// `*` and `&`. A guard in it is a temporary.
    pub(super) fn place(&mut self, expr: &Expr) {
        if let Some(acquired) = self.acquired(expr) {
            let is_certain = !(acquired.is_wrapped && acquired.acquire.is_try);
            if self.take(&acquired) && is_certain {
                self.hold(&acquired);
            }
            return;
        }
        match bare(expr) {
            Expr::Path(_) => {}
            Expr::Field(field) => self.place(&field.base),
            Expr::Index(index) => {
                self.place(&index.expr);
                self.value(&index.index);
            }
            Expr::Reference(inner) => self.place(&inner.expr),
            Expr::RawAddr(inner) => self.place(&inner.expr),
            Expr::Unary(inner) => self.place(&inner.expr),
            other => self.value(other),
        }
    }

    /// An expression whose value goes elsewhere.
    pub(super) fn value(&mut self, expr: &Expr) {
        if let Some(acquired) = self.acquired(expr) {
            self.take(&acquired);
            return;
        }
        match bare(expr) {
            Expr::Path(path) => {
                if let Some(name) = path.path.get_ident() {
                    self.moved(&name.to_string());
                }
            }
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Call(call) => self.call(call),
            Expr::Macro(invocation) => self.invocation(&invocation.mac),
            Expr::Await(awaited) => {
                self.value(&awaited.base);
                self.across_await(awaited);
            }
            Expr::Assign(assign) => self.assign(&assign.left, &assign.right),
            Expr::Binary(binary) => self.binary(&binary.left, &binary.op, &binary.right),
            Expr::Closure(closure) => {
                let is_move = closure.capture.is_some();
                self.later(closure, is_move, |walker| {
                    for input in &closure.inputs {
                        walker.bind_other(input);
                    }
                    walker.value(&closure.body);
                });
            }
            Expr::Async(block) => {
                self.later(block, block.capture.is_some(), |walker| {
                    walker.block(&block.block);
                });
            }
            Expr::Array(array) => self.values(&array.elems),
            Expr::Tuple(tuple) => self.values(&tuple.elems),
            Expr::Struct(literal) => {
                self.values(literal.fields.iter().map(|field| &field.expr));
                self.values(literal.rest.as_deref());
            }
            Expr::Repeat(repeat) => self.value(&repeat.expr),
            Expr::Range(range) => {
                self.values(range.start.as_deref());
                self.values(range.end.as_deref());
            }
            Expr::Cast(cast) => self.place(&cast.expr),
            Expr::Try(inner) => self.value(&inner.expr),
            Expr::Yield(inner) => self.values(inner.expr.as_deref()),
            Expr::Let(binding) => self.let_condition(binding),
            Expr::Verbatim(tokens) => self.moved_in(tokens),
            Expr::Field(_)
            | Expr::Index(_)
            | Expr::Reference(_)
            | Expr::RawAddr(_)
            | Expr::Unary(_) => self.place(expr),
            other => self.flow(other),
        }
    }

    pub(super) fn values<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        for expr in exprs {
            self.value(expr);
        }
    }

    fn method_call(&mut self, call: &ExprMethodCall) {
        self.place(&call.receiver);
        self.values(&call.args);
        if chain::local(&call.receiver).is_some_and(|name| name == "self") {
            self.across_call(call, &call.method.to_string());
        }
    }

    fn call(&mut self, call: &ExprCall) {
        if let Some((guard, body)) = chain::unlocked(call)
            && let Some(Binding::Guard(id)) = self.state.binding(&guard).cloned()
        {
            self.unlocked(id, body);
            return;
        }
        match bare(&call.func) {
            Expr::Path(_) => {}
            function => self.place(function),
        }
        self.values(&call.args);
    }

    /// The body runs at once, without the guard.
    fn unlocked(&mut self, id: u32, body: &Expr) {
        let guard = self.state.take(id);
        self.state.enter();
        self.value(body);
        self.state.leave();
        self.state.is_dead = false;
        self.state.guards.extend(guard);
    }

    fn assign(&mut self, left: &Expr, right: &Expr) {
        if matches!(bare(left), Expr::Infer(_)) {
            if !self.discarded(right) {
                self.value(right);
            }
            return;
        }
        let Some(name) = chain::local(left) else {
            self.value(right);
            self.place(left);
            self.forget_locks_in(left);
            return;
        };
        let guard = self.acquired(right).filter(|found| !found.is_wrapped);
        let binding = match guard {
            Some(guard) if self.take(&guard) => Binding::Guard(self.hold(&guard)),
            Some(_) => Binding::Other,
            None => {
                self.value(right);
                Binding::Other
            }
        };
        self.state.assign(&name, &binding);
    }

    /// Another lock is in that place from now on.
    fn forget_locks_in(&mut self, left: &Expr) {
        if let Some(key) = lock::place(left, &self.state).and_then(|place| place.key) {
            self.state.guards.retain(|guard| {
                let held = guard.place.key.as_deref();
                !held.is_some_and(|held| held.starts_with(&key))
            });
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

    pub(super) fn scoped(&mut self, walk: impl FnOnce(&mut Self)) {
        self.state.enter();
        walk(self);
        self.state.leave();
    }

    /// A closure or an `async` block: nothing is held in it but what it takes itself.
    fn later(&mut self, tokens: &impl ToTokens, is_move: bool, walk: impl FnOnce(&mut Self)) {
        let inside = self.state.of_closure();
        let around = std::mem::replace(&mut self.state, inside);
        let loops = std::mem::take(&mut self.loops);
        self.scoped(walk);
        self.state = around;
        self.loops = loops;
        if is_move {
            self.moved_in(&tokens.to_token_stream());
        }
        for id in self.captured.clone() {
            self.state.forget(id);
        }
    }

    /// A function in this function.
    fn function(&mut self, body: &Block) {
        let around = std::mem::take(&mut self.state);
        let loops = std::mem::take(&mut self.loops);
        self.block(body);
        self.state = around;
        self.loops = loops;
    }

    /// The value of a variable goes elsewhere: dropped, stored, returned.
    pub(super) fn moved(&mut self, name: &str) {
        match self.state.binding(name) {
            Some(Binding::Guard(id)) => {
                let id = *id;
                self.state.forget(id);
            }
            Some(Binding::Captured(id)) => self.captured.push(*id),
            _ => {}
        }
    }

    /// Any variable in the tokens may be moved.
    pub(super) fn moved_in(&mut self, tokens: &TokenStream) {
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(ident) => self.moved(&ident.to_string()),
                TokenTree::Group(group) => self.moved_in(&group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
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

    pub(super) fn local_lock(&mut self, name: &str) -> lock::Place {
        let id = self.id();
        lock::Place {
            text: name.to_owned(),
            key: Some(format!("{name}#{id}")),
            field: None,
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

    /// What the scrutinee's temporaries cost the blocks, and the walk through it.
    pub(super) fn scrutinized(&mut self, expr: &Expr, blocks: &scrutinee::Blocks<'_>) {
        if let Some(found) = scrutinee::find(expr, blocks, self) {
            self.scrutinee_guard(&found);
        }
    }
}
