//! Guards in the scrutinee of `match`, `if let`, `while let` and `for`: alive through the blocks.

use super::chain::Acquired;
use super::lock::{bare, names_of};
use super::walker::Walker;
use syn::{Arm, Block, Expr, ExprMethodCall, Stmt, UnOp};

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
const OWNED: [&str; 32] = [
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
    "clone",
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
    "is_err",
    "any",
    "all",
];

/// Calls whose value cannot borrow from the guard on which they are called directly.
const OWNED_AT_ROOT: [&str; 4] = ["next", "recv", "try_recv", "recv_timeout"];

/// Calls whose value is a part of the receiver's.
const PASSING: [&str; 5] = [
    "unwrap",
    "expect",
    "ok",
    "unwrap_or_default",
    "unwrap_or_else",
];

/// The guard in the scrutinee, and whether the scrutinee's value is certainly independent of it.
pub(super) struct Found<'e> {
    pub(super) guard: Acquired<'e>,
    pub(super) is_needless: bool,
}

pub(super) fn find<'e>(
    scrutinee: &'e Expr,
    blocks: &Blocks<'_>,
    walker: &Walker<'_>,
) -> Option<Found<'e>> {
    let guard = root(scrutinee, walker)?;
    if walker.acquired(scrutinee).is_some() || guard.is_wrapped && guard.acquire.is_try {
        return None;
    }
    let is_iterated = matches!(blocks, Blocks::Iterated);
    let is_needless = is_owned(scrutinee, is_iterated, walker) && !blocks.are_trivial();
    Some(Found { guard, is_needless })
}

/// What the chain of fields and calls begins with.
fn root<'e>(expr: &'e Expr, walker: &Walker<'_>) -> Option<Acquired<'e>> {
    if let Some(acquired) = walker.acquired(expr) {
        return Some(acquired);
    }
    let inner = match bare(expr) {
        Expr::MethodCall(call) => &call.receiver,
        Expr::Field(field) => &field.base,
        Expr::Index(index) => &index.expr,
        Expr::Reference(inner) => &inner.expr,
        Expr::Unary(inner) => &inner.expr,
        Expr::Try(inner) => &inner.expr,
        Expr::Cast(inner) => &inner.expr,
        Expr::Call(call) => {
            return call
                .args
                .first()
                .filter(|_| is_mem(&call.func))
                .and_then(|place| root(place, walker));
        }
        _ => return None,
    };
    root(inner, walker)
}

fn is_owned(expr: &Expr, is_iterated: bool, walker: &Walker<'_>) -> bool {
    match bare(expr) {
        Expr::MethodCall(call) => is_owned_call(call, is_iterated, walker),
        Expr::Try(inner) => is_owned(&inner.expr, is_iterated, walker),
        Expr::Unary(inner) => {
            !matches!(inner.op, UnOp::Deref(_)) && is_owned(&inner.expr, is_iterated, walker)
        }
        Expr::Cast(_) => true,
        Expr::Call(call) => is_mem(&call.func),
        _ => false,
    }
}

fn is_owned_call(call: &ExprMethodCall, is_iterated: bool, walker: &Walker<'_>) -> bool {
    let name = call.method.to_string();
    match name.as_str() {
        // With an argument it is an iterator's.
        "take" => call.args.is_empty(),
        // With one argument it may be an `Option`'s, which lends the value.
        "insert" => call.args.len() == 2,
        // Of an iterator they are lazy.
        "cloned" | "copied" => !is_iterated,
        name if PASSING.contains(&name) => {
            walker.acquired(&call.receiver).is_none()
                && is_owned(&call.receiver, is_iterated, walker)
        }
        name if OWNED_AT_ROOT.contains(&name) => walker.acquired(&call.receiver).is_some(),
        name => OWNED.contains(&name),
    }
}

/// `mem::take` and `mem::replace`.
fn is_mem(function: &Expr) -> bool {
    let mut names = names_of(function);
    let is_known = names
        .next()
        .is_some_and(|name| name == "take" || name == "replace");
    is_known && names.next().is_some_and(|name| name == "mem")
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
        Expr::Tuple(tuple) => tuple.elems.iter().all(is_trivial),
        Expr::Struct(literal) => literal.fields.iter().all(|field| is_trivial(&field.expr)),
        // `Some(value)`, `Err(Error::Closed)`.
        Expr::Call(call) => is_constructor(&call.func) && call.args.iter().all(is_trivial),
        _ => false,
    }
}

fn is_constructor(function: &Expr) -> bool {
    let Expr::Path(path) = bare(function) else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|part| part.ident.to_string().starts_with(char::is_uppercase))
}
