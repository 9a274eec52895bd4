//! What patterns and calls of associated functions do with guards.

use super::lock::{bare, names_of};
use super::place::Mode;
use syn::{Expr, ExprCall, Ident, Pat, PatIdent, UnOp};

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

/// Whether the expression is a place: a pattern moves out of it only what it binds.
pub(super) fn is_place(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Path(_) => true,
        Expr::Field(field) => is_place(&field.base),
        Expr::Index(index) => is_place(&index.expr),
        Expr::Unary(inner) => matches!(inner.op, UnOp::Deref(_)),
        _ => false,
    }
}

/// What a function of a guard type makes of a guard.
pub(super) enum Transformed {
    /// A guard, which holds the lock in another way from then on, if any is given.
    Guard(Option<Mode>),
    /// A `Result`, both sides of which are guards.
    Either,
}

/// `MutexGuard::map(guard, ...)`, `RwLockWriteGuard::downgrade(guard)`.
pub(super) fn transformed(call: &ExprCall) -> Option<Transformed> {
    let function = associated(call)?;
    Some(match function.as_str() {
        "map" => Transformed::Guard(None),
        "downgrade" => Transformed::Guard(Some(Mode::Read)),
        "downgrade_to_upgradable" => Transformed::Guard(Some(Mode::Upgradable)),
        "upgrade" => Transformed::Guard(Some(Mode::Write)),
        "try_map" | "try_upgrade" => Transformed::Either,
        _ => return None,
    })
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

/// What a call makes of its arguments, if it keeps them.
#[derive(PartialEq, Eq)]
pub(super) enum Constructor {
    /// `Some` and `Ok`.
    Wrapping,
    /// `Box::new`, `State::Locked`.
    Other,
}

pub(super) fn constructor(function: &Expr) -> Option<Constructor> {
    let mut names = names_of(function);
    let name = names.next()?;
    match name.as_str() {
        "Some" | "Ok" => Some(Constructor::Wrapping),
        "new" => {
            let ty = names.next()?;
            let keeps = [
                "Box",
                "Rc",
                "Arc",
                "RefCell",
                "Cell",
                "Mutex",
                "ManuallyDrop",
            ];
            keeps.contains(&ty.as_str()).then_some(Constructor::Other)
        }
        name => name
            .starts_with(char::is_uppercase)
            .then_some(Constructor::Other),
    }
}

/// `Vec::new()` and its like: what is put into it is known.
pub(super) fn is_new_list(call: &ExprCall) -> bool {
    let mut names = names_of(&call.func);
    let is_made = names
        .next()
        .is_some_and(|name| matches!(name.as_str(), "new" | "with_capacity" | "default"));
    is_made
        && names.next().is_some_and(|ty| {
            matches!(
                ty.as_str(),
                "Vec" | "VecDeque" | "HashMap" | "BTreeMap" | "SmallVec"
            )
        })
}

/// A function that runs the closures that it is given before it returns.
pub(super) fn runs_at_once(function: &Expr) -> bool {
    let mut names = names_of(function);
    let Some(name) = names.next() else {
        return false;
    };
    let module = match name.as_str() {
        "catch_unwind" | "AssertUnwindSafe" | "block_in_place" => return true,
        "scope" => "thread",
        "from_fn" => "array",
        "measure" => "budget",
        "map" | "and_then" | "unwrap_or_else" | "map_or" => "Option",
        _ => return false,
    };
    names.next().is_some_and(|name| name == module)
}

/// `mem::forget` and its like.
pub(super) fn forgets(function: &Expr) -> bool {
    let mut names = names_of(function);
    match names.next().as_deref() {
        Some("forget") => names.next().is_none_or(|module| module == "mem"),
        Some("leak") => names.next().is_some_and(|ty| ty.ends_with("Guard")),
        _ => false,
    }
}

/// `iter::repeat_with` and its like.
pub(super) fn iterates(function: &Expr) -> bool {
    let mut names = names_of(function);
    let is_known = names
        .next()
        .is_some_and(|name| matches!(name.as_str(), "repeat_with" | "from_fn" | "once_with"));
    is_known && names.next().is_some_and(|module| module == "iter")
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
    match bare_pattern(pat) {
        Pat::Ident(PatIdent {
            by_ref: None,
            subpat: None,
            ident,
            ..
        }) if is_variable(ident) => Some(ident.to_string()),
        _ => None,
    }
}

/// `None` and other constants begin with a capital.
pub(super) fn is_variable(name: &Ident) -> bool {
    !name.to_string().starts_with(char::is_uppercase)
}

/// Without types and parentheses.
pub(super) fn bare_pattern(pat: &Pat) -> &Pat {
    match pat {
        Pat::Type(inner) => bare_pattern(&inner.pat),
        Pat::Paren(inner) => bare_pattern(&inner.pat),
        pat => pat,
    }
}

pub(super) fn is_wild(pat: &Pat) -> bool {
    matches!(bare_pattern(pat), Pat::Wild(_))
}

/// `ref name`.
pub(super) fn is_by_ref(pat: &Pat) -> bool {
    matches!(bare_pattern(pat), Pat::Ident(name) if name.by_ref.is_some())
}

/// Whether the pattern names anything.
pub(super) fn names_anything(pat: &Pat) -> bool {
    use syn::visit::Visit;

    struct Names(bool);

    impl Visit<'_> for Names {
        fn visit_pat_ident(&mut self, pat: &PatIdent) {
            self.0 |= is_variable(&pat.ident);
        }
    }

    let mut names = Names(false);
    names.visit_pat(pat);
    names.0
}

/// Whether the pattern refers to anything in what it matches.
pub(super) fn refers(pat: &Pat) -> bool {
    use syn::visit::Visit;

    struct References(bool);

    impl Visit<'_> for References {
        fn visit_pat_ident(&mut self, pat: &PatIdent) {
            self.0 |= pat.by_ref.is_some() || pat.subpat.is_some();
        }
    }

    let mut references = References(false);
    references.visit_pat(pat);
    references.0
}
