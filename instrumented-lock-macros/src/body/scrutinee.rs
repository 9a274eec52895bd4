//! Guards in the scrutinee of `match`, `if let`, `while let` and `for`: alive through the blocks.

use super::chain;
use super::lock::{bare, names_of};
use super::value::{Kind, Value};
use super::walker::Walker;
use crate::rule::Rule;
use syn::{Arm, BinOp, Block, Expr, ExprMethodCall, Lit, Pat, Stmt, UnOp};

/// The blocks through which the guard lives.
pub(super) enum Blocks<'a> {
    None,
    /// Of `if let`.
    Then(&'a Block),
    Arms(&'a [Arm]),
    /// Of `while let`.
    Repeated,
    /// Of `for`.
    Iterated,
}

/// Calls whose value borrows nothing, whatever the arguments.
const OWNED: [&str; 42] = [
    "pop",
    "pop_front",
    "pop_back",
    "pop_first",
    "pop_last",
    "remove",
    "remove_entry",
    "swap_remove",
    "swap_remove_back",
    "swap_remove_front",
    "split_off",
    "replace",
    "len",
    "is_empty",
    "capacity",
    "count",
    "to_owned",
    "to_string",
    "to_vec",
    "contains",
    "contains_key",
    "starts_with",
    "ends_with",
    "is_some",
    "is_some_and",
    "is_none",
    "is_none_or",
    "is_ok",
    "is_ok_and",
    "is_err",
    "is_err_and",
    "any",
    "all",
    "position",
    "sum",
    "product",
    "eq",
    "ne",
    "cmp",
    "partial_cmp",
    "parse",
    "elapsed",
];

/// Calls whose value cannot borrow from the guard on which they are called directly.
const OWNED_AT_ROOT: [&str; 4] = ["next", "recv", "try_recv", "recv_timeout"];

/// Calls on what is owned whose value may be lazy, and so run while the guard lives.
const BORROWING: [&str; 4] = ["as_ref", "as_mut", "as_deref", "as_deref_mut"];

impl Walker<'_> {
    /// Walks the expression that is matched against the patterns, and judges the guards in it.
    pub(super) fn scrutinee(&mut self, expr: &Expr, pats: &[&Pat], blocks: &Blocks<'_>) -> Value {
        let mark = self.mark();
        let names_anything = pats.iter().any(|pat| chain::names_anything(pat));
        let value = if chain::is_place(expr) && !names_anything {
            // Nothing is moved; but the blocks depend on what is in it.
            self.place(expr);
            if let Some(name) = chain::local(expr)
                && let Some(known) = self.state.known(&name)
                && !matches!(known, Value::Guard(_) | Value::Lock(_))
            {
                self.moved(&name);
            }
            Value::Other
        } else {
            self.eval(expr)
        };
        let ids = value.ids();
        let temporary = self
            .state
            .guards
            .iter()
            .find(|guard| guard.id > mark && guard.is_certain && !ids.contains(&guard.id))
            .cloned();
        if let Some(guard) = temporary {
            let is_needless = !blocks.are_trivial() && {
                let may_refer = pats.iter().any(|pat| chain::refers(pat));
                pats.iter().any(|pat| is_bool(pat)) || self.is_value(expr, may_refer, blocks)
            };
            if is_needless || self.settings.denied.has(Rule::ScrutineeGuard) {
                self.scrutinee_guard(&guard, is_needless);
            }
        } else if matches!(blocks, Blocks::Arms(_) | Blocks::Then(_)) {
            let is_unnamed = |id| pats.iter().all(|pat| skipped(pat, &value).contains(&id));
            for id in ids.into_iter().filter(|&id| id > mark && is_unnamed(id)) {
                if let Some(guard) = self
                    .state
                    .guard(id)
                    .cloned()
                    .filter(|guard| guard.is_certain)
                {
                    self.unnamed_guard(&guard);
                }
            }
        }
        value
    }

    /// The scrutinee is a value that does not borrow from the guard, or a place out of which the
    /// patterns copy.
    fn is_value(&self, expr: &Expr, may_refer: bool, blocks: &Blocks<'_>) -> bool {
        let is_iterated = matches!(blocks, Blocks::Iterated);
        if self.is_owned(expr, is_iterated) {
            return true;
        }
        // Nothing can be moved out of what a guard protects.
        !may_refer && !is_iterated && self.is_copied(expr)
    }

    /// `*guard`, `guard.field`: a place in the protected data.
    fn is_copied(&self, expr: &Expr) -> bool {
        match bare(expr) {
            Expr::Unary(inner) => matches!(inner.op, UnOp::Deref(_)) && self.is_guard(&inner.expr),
            Expr::Field(field) => self.is_guard(&field.base) || self.is_copied(&field.base),
            Expr::Index(index) => self.is_guard(&index.expr) || self.is_copied(&index.expr),
            _ => false,
        }
    }

    /// Whether the expression is a call that takes a lock, or that returns a guard.
    pub(super) fn is_guard(&self, expr: &Expr) -> bool {
        if self.acquire(expr).is_some() {
            return true;
        }
        let Expr::MethodCall(call) = bare(expr) else {
            return false;
        };
        let returned = self.settings.returning.get(&call.method.to_string());
        returned.is_some_and(|returned| returned.mode.is_some())
    }

    /// Whether the expression's value borrows from no guard in it.
    fn is_owned(&self, expr: &Expr, is_iterated: bool) -> bool {
        if self.is_guard(expr) {
            return false;
        }
        match bare(expr) {
            Expr::MethodCall(call) => self.is_owned_call(call, is_iterated),
            Expr::Try(inner) => self.is_owned(&inner.expr, is_iterated),
            Expr::Unary(inner) => match inner.op {
                UnOp::Deref(_) => false,
                _ => self.is_owned(&inner.expr, is_iterated) || self.is_copied(&inner.expr),
            },
            Expr::Cast(_) | Expr::Lit(_) | Expr::Path(_) => true,
            Expr::Binary(binary) => is_comparison(&binary.op) || is_arithmetic(&binary.op),
            Expr::Tuple(tuple) => tuple.elems.iter().all(|part| self.is_owned_part(part)),
            Expr::Call(call) => {
                is_mem(&call.func)
                    || chain::transformed(call).is_none()
                        && call.args.iter().all(|part| self.is_owned_part(part))
            }
            Expr::Range(range) => {
                let ends = [&range.start, &range.end];
                ends.into_iter()
                    .flatten()
                    .all(|end| self.is_owned_part(end))
            }
            Expr::Field(field) => self.is_owned(&field.base, is_iterated),
            // A temporary of its own.
            Expr::Reference(inner) => self.is_owned(&inner.expr, is_iterated),
            _ => false,
        }
    }

    /// By value, a place in the data is copied, and a guard moved.
    fn is_owned_part(&self, expr: &Expr) -> bool {
        !self.is_guard(expr)
            && (self.is_owned(expr, false) || self.is_copied(expr) || !self.has_guard(expr))
    }

    /// Whether there is a lock taken in it, as far as its value may borrow from that.
    fn has_guard(&self, expr: &Expr) -> bool {
        if self.is_guard(expr) {
            return true;
        }
        match bare(expr) {
            Expr::Path(_) | Expr::Lit(_) | Expr::Closure(_) => false,
            Expr::Field(field) => self.has_guard(&field.base),
            Expr::Index(index) => self.has_guard(&index.expr),
            Expr::Reference(inner) => self.has_guard(&inner.expr),
            Expr::Unary(inner) => self.has_guard(&inner.expr),
            Expr::Try(inner) => self.has_guard(&inner.expr),
            Expr::MethodCall(call) => {
                self.has_guard(&call.receiver) || call.args.iter().any(|arg| self.has_guard(arg))
            }
            Expr::Call(call) => call.args.iter().any(|argument| self.has_guard(argument)),
            _ => true,
        }
    }

    fn is_owned_call(&self, call: &ExprMethodCall, is_iterated: bool) -> bool {
        let name = call.method.to_string();
        let name = name.as_str();
        let receiver = &call.receiver;
        let kind = self.kind(receiver);
        let at_root = self.is_guard(receiver);
        match name {
            // With an argument it is an iterator's.
            "take" if call.args.is_empty() => !lends(receiver),
            "take" => self.is_owned(receiver, is_iterated),
            // With one argument it may be an `Option`'s, which lends the value.
            "insert" => call.args.len() == 2,
            // Of an iterator they are lazy.
            "cloned" | "copied" => {
                !is_iterated && kind != Kind::Iterator || self.is_owned(receiver, is_iterated)
            }
            "clone" => kind != Kind::Iterator || self.is_owned(receiver, is_iterated),
            "collect" | "max" | "min" | "last" | "nth" if kind == Kind::Iterator => {
                self.gives_values(receiver)
            }
            "map" | "map_or" | "and_then" if kind == Kind::Optional => {
                call.args.last().is_some_and(makes_values) || self.is_owned(receiver, is_iterated)
            }
            name if OWNED_AT_ROOT.contains(&name) && at_root => true,
            name if OWNED.contains(&name) => true,
            // A conversion of what is not known.
            _ if at_root || BORROWING.contains(&name) => is_arithmetic_call(name),
            _ => {
                self.is_owned(receiver, is_iterated)
                    && call.args.iter().all(|argument| !self.has_guard(argument))
            }
        }
    }

    /// An iterator over values, not over references into what is iterated.
    fn gives_values(&self, expr: &Expr) -> bool {
        let Expr::MethodCall(call) = bare(expr) else {
            return false;
        };
        let name = call.method.to_string();
        match name.as_str() {
            "cloned" | "copied" | "drain" | "chars" | "bytes" | "extract_if" => true,
            "map" => call.args.first().is_some_and(makes_values),
            "filter" | "rev" | "skip" | "take" | "step_by" | "chain" | "take_while"
            | "skip_while" | "inspect" | "fuse" | "peekable" => self.gives_values(&call.receiver),
            "into_iter" => self.is_owned(&call.receiver, false),
            _ => false,
        }
    }
}

/// A chain that leads to a reference.
fn lends(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::MethodCall(call) => {
            BORROWING.contains(&call.method.to_string().as_str()) || lends(&call.receiver)
        }
        _ => false,
    }
}

/// The guards in the value for which the pattern has an underscore.
fn skipped(pat: &Pat, value: &Value) -> Vec<u32> {
    match (chain::bare_pattern(pat), value) {
        (Pat::Wild(_), value) => value.ids(),
        (Pat::Tuple(tuple), Value::Parts(parts)) if tuple.elems.len() == parts.len() => {
            let pairs = tuple.elems.iter().zip(parts);
            pairs.flat_map(|(pat, part)| skipped(pat, part)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether it matches a bool, from which nothing is to be had.
fn is_bool(pat: &Pat) -> bool {
    match pat {
        Pat::Lit(literal) => matches!(literal.lit, Lit::Bool(_)),
        _ => false,
    }
}

/// A closure or a function whose value does not borrow from its argument.
fn makes_values(function: &Expr) -> bool {
    match bare(function) {
        Expr::Closure(closure) => is_fresh(&closure.body),
        path => names_of(path).next().is_some_and(|name| {
            matches!(
                name.as_str(),
                "clone" | "to_owned" | "to_string" | "to_vec" | "len"
            )
        }),
    }
}

/// A value that is made, not a reference to a part of something.
fn is_fresh(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::MethodCall(call) => {
            let name = call.method.to_string();
            matches!(
                name.as_str(),
                "clone" | "to_owned" | "to_string" | "to_vec" | "len"
            )
        }
        Expr::Lit(_) | Expr::Cast(_) | Expr::Field(_) => true,
        Expr::Binary(binary) => is_comparison(&binary.op) || is_arithmetic(&binary.op),
        Expr::Unary(inner) => matches!(inner.op, UnOp::Deref(_)) || is_fresh(&inner.expr),
        Expr::Tuple(tuple) => tuple.elems.iter().all(is_fresh),
        Expr::Macro(invocation) => invocation.mac.path.is_ident("format"),
        _ => false,
    }
}

/// A number's, which give a number, or a bool.
fn is_arithmetic_call(name: &str) -> bool {
    let prefixes = [
        "checked_",
        "saturating_",
        "wrapping_",
        "overflowing_",
        "is_",
        "count_",
    ];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn is_comparison(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::Eq(_)
            | BinOp::Ne(_)
            | BinOp::Lt(_)
            | BinOp::Le(_)
            | BinOp::Gt(_)
            | BinOp::Ge(_)
            | BinOp::And(_)
            | BinOp::Or(_)
    )
}

fn is_arithmetic(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::Add(_)
            | BinOp::Sub(_)
            | BinOp::Mul(_)
            | BinOp::Div(_)
            | BinOp::Rem(_)
            | BinOp::BitAnd(_)
            | BinOp::BitOr(_)
            | BinOp::BitXor(_)
            | BinOp::Shl(_)
            | BinOp::Shr(_)
    )
}

/// `mem::take` and `mem::replace`.
fn is_mem(function: &Expr) -> bool {
    let mut names = names_of(function);
    let is_known = names
        .next()
        .is_some_and(|name| name == "take" || name == "replace");
    is_known
        && names
            .next()
            .is_some_and(|name| name == "mem" || name == "Option")
}

impl Blocks<'_> {
    /// All that the blocks do is to give a value: the guard lives no longer than it takes to do so.
    fn are_trivial(&self) -> bool {
        match self {
            Blocks::Arms(arms) => arms.iter().all(|arm| is_trivial(&arm.body)),
            Blocks::Then(block) => is_trivial_block(block),
            Blocks::None | Blocks::Repeated | Blocks::Iterated => false,
        }
    }
}

fn is_trivial_block(block: &Block) -> bool {
    match block.stmts.as_slice() {
        [] => true,
        [Stmt::Expr(expr, _)] => is_trivial(expr),
        [Stmt::Macro(stmt)] => super::macros::diverges(&stmt.mac),
        _ => false,
    }
}

fn is_trivial(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Lit(_) | Expr::Path(_) | Expr::Continue(_) => true,
        Expr::Block(block) => is_trivial_block(&block.block),
        Expr::Break(leave) => leave.expr.as_deref().is_none_or(is_trivial),
        Expr::Return(leave) => leave.expr.as_deref().is_none_or(is_trivial),
        Expr::Field(field) => is_trivial(&field.base),
        Expr::Reference(inner) => is_trivial(&inner.expr),
        Expr::Unary(inner) => is_trivial(&inner.expr),
        Expr::Cast(inner) => is_trivial(&inner.expr),
        Expr::Binary(binary) => is_trivial(&binary.left) && is_trivial(&binary.right),
        Expr::Assign(assign) => is_trivial(&assign.left) && is_trivial(&assign.right),
        Expr::Tuple(tuple) => tuple.elems.iter().all(is_trivial),
        Expr::Struct(literal) => literal.fields.iter().all(|field| is_trivial(&field.expr)),
        // `Some(value)`, `Err(Error::Closed)`, `String::new()`.
        Expr::Call(call) => is_constructor(&call.func) && call.args.iter().all(is_trivial),
        Expr::MethodCall(call) => {
            let name = call.method.to_string();
            let is_cheap = matches!(
                name.as_str(),
                "into" | "to_string" | "to_owned" | "clone" | "len" | "is_empty" | "as_str"
            );
            is_cheap && is_trivial(&call.receiver)
        }
        Expr::Macro(invocation) => {
            invocation.mac.path.is_ident("format") || super::macros::diverges(&invocation.mac)
        }
        _ => false,
    }
}

fn is_constructor(function: &Expr) -> bool {
    let mut names = names_of(function);
    names.next().is_some_and(|name| {
        name.starts_with(char::is_uppercase)
            || matches!(name.as_str(), "new" | "default" | "from") && names.next().is_some()
    })
}
