//! The walk through statements and expressions, as the program would go: where one leads into the
//! other, it is all one.

use super::bind::{self, Initial};
use super::chain::{self, Acquired};
use super::lock::{self, bare};
use super::macros::{self, Arguments};
use super::scrutinee::Blocks;
use super::state::{Binding, Guard, State};
use super::walker::Walker;
use crate::attr::{Options, Place as Where, is_lock};
use crate::item_attrs::attributes;
use syn::{
    BinOp, Block, Expr, ExprCall, ExprForLoop, ExprIf, ExprLet, ExprMatch, ExprMethodCall,
    ExprWhile, Item, Label, Lifetime, Local, Macro, Pat, Stmt,
};

impl Walker<'_> {
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
        for attribute in attrs.iter().filter(|attribute| is_lock(attribute)) {
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
            Stmt::Item(Item::Fn(function)) => {
                self.apart(State::default(), |walker| walker.block(&function.block));
            }
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

    /// Walks the initializer of a `let`.
    fn initial(&mut self, pat: &Pat, expr: &Expr) -> Initial {
        if let Some(acquired) = self.acquired(expr) {
            let is_bound = if acquired.is_wrapped || !acquired.acquire.is_try {
                chain::unwrapped_name(pat).is_some()
            } else {
                false
            };
            let is_bound = is_bound || !acquired.is_wrapped && chain::name(pat).is_some();
            if bind::is_wild(pat) && self.discarded(expr) || !self.take(&acquired) || !is_bound {
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
        if let Expr::Call(call) = bare(expr) {
            self.values(call.args.iter().skip(1));
        }
        Some(guard)
    }

    /// `let _ = self.a.lock();` and a bare `self.a.lock();`. Whether that is what the expression is.
    fn discarded(&mut self, expr: &Expr) -> bool {
        let Some(acquired) = self.acquired(expr) else {
            return false;
        };
        if acquired.acquire.is_try {
            return false;
        }
        if self.take(&acquired) {
            self.discarded_guard(&acquired.acquire);
        }
        true
    }

    /// The guard is taken, unless that is a mistake; it is not held yet.
    fn take(&mut self, acquired: &Acquired<'_>) -> bool {
        let call = acquired.acquire.call;
        self.place(&call.receiver);
        for argument in &call.args {
            self.value(argument);
        }
        self.has_locked = true;
        self.may_take(&acquired.acquire)
    }

    /// An expression that is used where it stands: a receiver, what a field is of, an operand of
    /// `*` and `&`. A guard in it is a temporary.
    fn place(&mut self, expr: &Expr) {
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
    fn value(&mut self, expr: &Expr) {
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

    fn values<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
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

    fn invocation(&mut self, invocation: &Macro) {
        match Arguments::of(invocation) {
            Arguments::Together(arguments) => self.scoped(|walker| {
                for argument in &arguments {
                    walker.place(argument);
                }
            }),
            Arguments::Separate(arguments) => {
                for argument in &arguments {
                    self.scoped(|walker| walker.place(argument));
                }
            }
            Arguments::Moved(arguments) => self.values(&arguments),
            Arguments::Unknown => self.moved_in(&invocation.tokens),
        }
        self.state.is_dead |= macros::diverges(invocation);
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

/// Branches and loops: what holds where paths meet again.
impl Walker<'_> {
    fn flow(&mut self, expr: &Expr) {
        match expr {
            Expr::Block(block) => match &block.label {
                Some(label) => self.labelled(label, &block.block),
                None => self.block(&block.block),
            },
            Expr::Unsafe(block) => self.block(&block.block),
            Expr::Const(block) => self.block(&block.block),
            Expr::TryBlock(block) => {
                // `?` leaves it early: any guard may have been dropped or not.
                let before = self.state.clone();
                self.block(&block.block);
                self.state.join(before);
            }
            Expr::If(branch) => self.branch(branch),
            Expr::Match(branches) => self.branches(branches),
            Expr::While(repeat) => self.repeat_while(repeat),
            Expr::ForLoop(repeat) => self.repeat_for(repeat),
            Expr::Loop(repeat) => {
                self.enter_loop(repeat.label.as_ref());
                self.block(&repeat.body);
                let paths = self.loops.leave();
                self.state.is_dead = true;
                self.state.join_all(paths.breaks);
            }
            Expr::Break(leave) => {
                self.values(leave.expr.as_deref());
                self.jump(leave.label.as_ref(), true);
            }
            Expr::Continue(next) => self.jump(next.label.as_ref(), false),
            Expr::Return(leave) => {
                self.values(leave.expr.as_deref());
                self.state.is_dead = true;
            }
            _ => {}
        }
    }

    fn labelled(&mut self, label: &Label, block: &Block) {
        self.loops.enter(Some(label), true, self.state.depth());
        self.block(block);
        let paths = self.loops.leave();
        self.state.join_all(paths.breaks);
    }

    fn jump(&mut self, label: Option<&Lifetime>, is_break: bool) {
        self.loops.jump(label, is_break, self.state.clone());
        self.state.is_dead = true;
    }

    fn branch(&mut self, branch: &ExprIf) {
        self.state.enter();
        self.condition(&branch.cond, &Blocks::Then(&branch.then_branch));
        let mut otherwise = self.state.clone();
        self.block(&branch.then_branch);
        self.state.leave();
        // What the condition holds is dropped before `else` from edition 2024 on. Earlier editions
        // hold it longer: there, a mistake goes unseen.
        otherwise.leave();
        let then = std::mem::replace(&mut self.state, otherwise);
        if let Some((_, expr)) = &branch.else_branch {
            self.scoped(|walker| walker.value(expr));
        }
        self.state.join(then);
    }

    /// The condition of `if` and `while`: what a `let` in it takes lives through the block.
    fn condition(&mut self, expr: &Expr, blocks: &Blocks<'_>) {
        match bare(expr) {
            Expr::Binary(chain) if matches!(chain.op, BinOp::And(_)) => {
                self.condition(&chain.left, blocks);
                self.condition(&chain.right, blocks);
            }
            Expr::Let(binding) => {
                self.scrutinee_guard(&binding.expr, blocks);
                self.let_condition(binding);
            }
            other => self.scoped(|walker| walker.value(other)),
        }
    }

    fn let_condition(&mut self, binding: &ExprLet) {
        let is_guard = self.scrutinee(&binding.expr, Some(&binding.pat));
        if !is_guard {
            self.bind_other(&binding.pat);
        }
    }

    /// Walks the expression that is matched; whether it became the pattern's guard.
    fn scrutinee(&mut self, expr: &Expr, pat: Option<&Pat>) -> bool {
        if let Some(acquired) = self.acquired(expr) {
            if !self.take(&acquired) {
                return false;
            }
            let name = pat.and_then(|pat| {
                let whole = chain::name(pat).filter(|_| !acquired.is_wrapped);
                whole.or_else(|| chain::unwrapped_name(pat))
            });
            if let Some(name) = name {
                let id = self.hold(&acquired);
                self.state.bind(name, Binding::Guard(id));
                return true;
            }
            if !acquired.is_wrapped && !acquired.acquire.is_try {
                self.hold(&acquired);
            }
        } else if chain::local(expr).is_some() {
            self.value(expr);
        } else {
            self.place(expr);
        }
        false
    }

    fn branches(&mut self, branches: &ExprMatch) {
        let blocks = Blocks::Arms(&branches.arms);
        self.scrutinee_guard(&branches.expr, &blocks);
        let guard = self
            .acquired(&branches.expr)
            .filter(|found| found.is_wrapped);
        let is_wrapped = guard.is_some();
        // Which arm has the guard is up to its pattern; none has it where it must not be taken.
        let guard = guard.filter(|guard| self.take(guard));
        if !is_wrapped {
            self.scrutinee(&branches.expr, None);
        }
        let before = self.state.clone();
        self.state.is_dead = true;
        for arm in &branches.arms {
            let joined = std::mem::replace(&mut self.state, before.clone());
            self.state.enter();
            self.arm_pattern(&arm.pat, guard.as_ref());
            self.value(&arm.body);
            self.state.leave();
            self.state.join(joined);
        }
        if branches.arms.is_empty() {
            self.state = before;
            self.state.is_dead = true;
        }
    }

    fn arm_pattern(&mut self, pat: &Pat, guard: Option<&Acquired<'_>>) {
        let (pat, condition) = match pat {
            Pat::Guard(guarded) => (&*guarded.pat, Some(&guarded.guard)),
            pat => (pat, None),
        };
        match (chain::unwrapped_name(pat), guard) {
            (Some(name), Some(guard)) => {
                let id = self.hold(guard);
                self.state.bind(name, Binding::Guard(id));
            }
            _ => self.bind_other(pat),
        }
        if let Some(condition) = condition {
            self.condition(condition, &Blocks::None);
        }
    }

    fn enter_loop(&mut self, label: Option<&Label>) {
        self.loops.enter(label, false, self.state.depth());
    }

    fn repeat_while(&mut self, repeat: &ExprWhile) {
        self.enter_loop(repeat.label.as_ref());
        self.state.enter();
        self.condition(&repeat.cond, &Blocks::Repeated);
        let mut otherwise = self.state.clone();
        self.block(&repeat.body);
        self.state.leave();
        otherwise.leave();
        self.after_loop(otherwise);
    }

    fn repeat_for(&mut self, repeat: &ExprForLoop) {
        self.scrutinee_guard(&repeat.expr, &Blocks::Iterated);
        self.state.enter();
        self.scrutinee(&repeat.expr, None);
        self.enter_loop(repeat.label.as_ref());
        let otherwise = self.state.clone();
        self.state.enter();
        self.bind_other(&repeat.pat);
        self.block(&repeat.body);
        self.state.leave();
        self.after_loop(otherwise);
        self.state.leave();
    }

    /// After a loop that may end before or after any iteration.
    fn after_loop(&mut self, before: State) {
        let paths = self.loops.leave();
        self.state.join(before);
        self.state.join_all(paths.breaks);
        self.state.join_all(paths.continues);
    }
}
