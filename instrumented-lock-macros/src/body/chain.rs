//! What becomes of a guard in the expression that takes it.

use super::lock::{self, Acquire, bare, names_of};
use super::place::Mode;
use super::state::State;
use syn::{Expr, ExprCall, Pat, PatIdent, UnOp};

/// An expression whose value is a guard.
pub(super) struct Acquired<'a> {
    pub(super) acquire: Acquire<'a>,
    /// Still inside the `Option` or `Result` that the method returned.
    pub(super) is_wrapped: bool,
}

/// `self.a.lock()`, `self.a.try_lock().unwrap()`, `self.a.try_lock()?`. What `self.a.lock().unwrap()`
/// gives is not known, unless locks are poisoning ones: it may be the data that is unwrapped.
pub(super) fn acquired<'a>(
    expr: &'a Expr,
    state: &State,
    is_poisoning: bool,
) -> Option<Acquired<'a>> {
    if let Some(acquire) = lock::acquire(expr, state) {
        let is_wrapped = acquire.is_try || is_poisoning;
        return Some(Acquired {
            acquire,
            is_wrapped,
        });
    }
    let (inner, is_wrapped) = match bare(expr) {
        Expr::Try(inner) => (&*inner.expr, false),
        Expr::MethodCall(call) => match &*call.method.to_string() {
            "unwrap" | "expect" | "unwrap_or_else" => (&*call.receiver, false),
            "ok" | "map_err" => (&*call.receiver, true),
            _ => return None,
        },
        _ => return None,
    };
    let inner = acquired(inner, state, is_poisoning)?;
    inner.is_wrapped.then_some(Acquired {
        is_wrapped,
        ..inner
    })
}

/// `&mut *self.a.lock()`: in a `let`, the guard lives as long as the variable.
pub(super) fn extended(expr: &Expr) -> Option<&Expr> {
    let Expr::Reference(reference) = bare(expr) else {
        return None;
    };
    let mut inner = bare(&reference.expr);
    loop {
        inner = match inner {
            Expr::Reference(next) => bare(&next.expr),
            Expr::Unary(next) if matches!(next.op, UnOp::Deref(_)) => bare(&next.expr),
            Expr::Field(next) => bare(&next.base),
            Expr::Index(next) => bare(&next.expr),
            other => return Some(other),
        };
    }
}

/// `MutexGuard::map(guard, ...)`, `RwLockWriteGuard::downgrade(guard)`: the guard, and how it holds
/// the lock from then on, if that changes.
pub(super) fn transformed(expr: &Expr) -> Option<(&Expr, Option<Mode>)> {
    let Expr::Call(call) = bare(expr) else {
        return None;
    };
    let mode = match &*associated(call)? {
        "map" => None,
        "downgrade" => Some(Mode::Read),
        "downgrade_to_upgradable" => Some(Mode::Upgradable),
        "upgrade" => Some(Mode::Write),
        _ => return None,
    };
    Some((call.args.first()?, mode))
}

/// `MutexGuard::unlocked(&mut guard, || ...)`: the guard's name and what runs without it.
pub(super) fn unlocked(call: &ExprCall) -> Option<(String, &Expr)> {
    if !matches!(&*associated(call)?, "unlocked" | "unlocked_fair") {
        return None;
    }
    let mut arguments = call.args.iter();
    let Expr::Reference(guard) = bare(arguments.next()?) else {
        return None;
    };
    let Expr::Closure(closure) = bare(arguments.next()?) else {
        return None;
    };
    Some((local(&guard.expr)?, &closure.body))
}

/// The function's name, where it is one of a guard type.
fn associated(call: &ExprCall) -> Option<String> {
    let mut names = names_of(&call.func);
    let function = names.next()?;
    names.next()?.ends_with("Guard").then_some(function)
}

/// The name of a local variable.
pub(super) fn local(expr: &Expr) -> Option<String> {
    match bare(expr) {
        Expr::Path(path) if path.qself.is_none() => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}

/// A pattern that is one name.
pub(super) fn name(pat: &Pat) -> Option<String> {
    match pat {
        Pat::Type(inner) => name(&inner.pat),
        Pat::Paren(inner) => name(&inner.pat),
        Pat::Ident(PatIdent {
            by_ref: None,
            subpat: None,
            ident,
            ..
        }) => Some(ident.to_string()),
        _ => None,
    }
}

/// The name in `Some(name)` and `Ok(name)`.
pub(super) fn unwrapped_name(pat: &Pat) -> Option<String> {
    let Pat::TupleStruct(pat) = pat else {
        return None;
    };
    let last = pat.path.segments.last()?;
    let is_success = last.ident == "Some" || last.ident == "Ok";
    match pat.elems.first() {
        Some(inner) if is_success && pat.elems.len() == 1 => name(inner),
        _ => None,
    }
}
