//! Recognizes locks and the methods that take them.

use super::place::{Mode, Place};
use super::state::{Binding, State};
use crate::types;
use quote::ToTokens as _;
use syn::{Expr, ExprMethodCall, Lit, Member, Type, UnOp};

/// A call that takes a lock.
pub(super) struct Acquire<'a> {
    pub(super) place: Place,
    pub(super) mode: Mode,
    /// Does not wait: returns an `Option`, or, of std's locks, a `Result`.
    pub(super) is_try: bool,
    pub(super) call: &'a ExprMethodCall,
}

/// `self.index.lock()` and its like.
pub(super) fn acquire<'a>(expr: &'a Expr, state: &State) -> Option<Acquire<'a>> {
    let Expr::MethodCall(call) = bare(expr) else {
        return None;
    };
    let (mode, is_try, arguments) = method(&call.method.to_string())?;
    if call.args.len() != arguments || call.turbofish.is_some() {
        return None;
    }
    let place = place(&call.receiver, state)?;
    Some(Acquire {
        place,
        mode,
        is_try,
        call,
    })
}

/// The mode, whether it only tries, and the number of arguments.
fn method(name: &str) -> Option<(Mode, bool, usize)> {
    let (rest, is_try) = match name.strip_prefix("try_") {
        Some(rest) => (rest, true),
        None => (name, false),
    };
    let timed = rest.strip_suffix("_for").or(rest.strip_suffix("_until"));
    let arguments = usize::from(timed.is_some());
    if timed.is_some() && !is_try {
        return None;
    }
    let mode = match timed.unwrap_or(rest) {
        "lock" | "lock_arc" | "write" | "write_arc" => Mode::Write,
        "read" | "read_arc" => Mode::Read,
        "read_recursive" | "read_arc_recursive" | "read_recursive_arc" => Mode::RecursiveRead,
        "upgradable_read" | "upgradable_read_arc" => Mode::Upgradable,
        _ => return None,
    };
    Some((mode, is_try, arguments))
}

/// Without parentheses.
pub(super) fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => bare(&inner.expr),
        Expr::Group(inner) => bare(&inner.expr),
        other => other,
    }
}

/// The lock that an expression names, unless it is nothing that can be one.
pub(super) fn place(expr: &Expr, state: &State) -> Option<Place> {
    let place = path(expr, state)?;
    let last = place.text.rsplit(['.', ':']).next().unwrap_or_default();
    let last = last.to_lowercase();
    // std's streams may be locked twice, its files and raw locks have no guards.
    let is_other = ["stdin", "stdout", "stderr", "raw"]
        .iter()
        .any(|name| last.contains(name))
        || last == "file"
        || last.ends_with("_file");
    (place.text != "self" && !is_other).then_some(place)
}

fn path(expr: &Expr, state: &State) -> Option<Place> {
    match bare(expr) {
        Expr::Path(path) if path.qself.is_none() => named(&path.path, state),
        Expr::Reference(inner) => self::path(&inner.expr, state),
        Expr::Unary(inner) if matches!(inner.op, UnOp::Deref(_)) => self::path(&inner.expr, state),
        Expr::Field(field) => {
            let base = self::path(&field.base, state)?;
            let member = match &field.member {
                Member::Named(name) => syn::ext::IdentExt::unraw(name).to_string(),
                Member::Unnamed(index) => index.index.to_string(),
            };
            let is_own = base.text == "self";
            Some(Place {
                text: format!("{}.{member}", base.text),
                key: base.key.map(|key| format!("{key}.{member}")),
                field: is_own.then_some(member),
            })
        }
        Expr::Index(index) => {
            let base = self::path(&index.expr, state)?;
            let literal = match bare(&index.index) {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Int(literal) => Some(literal.base10_digits().to_owned()),
                    _ => None,
                },
                _ => None,
            };
            let shown = literal.as_deref().unwrap_or("..");
            Some(Place {
                text: format!("{}[{shown}]", base.text),
                key: base
                    .key
                    .zip(literal)
                    .map(|(key, literal)| format!("{key}[{literal}]")),
                field: base.field,
            })
        }
        _ => None,
    }
}

/// `self`, a static, or a local that stands for a lock.
fn named(path: &syn::Path, state: &State) -> Option<Place> {
    let name = path.segments.last()?.ident.to_string();
    if let Some(single) = path.get_ident() {
        match state.binding(&single.to_string()) {
            Some(Binding::Lock(place)) => return Some(place.clone()),
            Some(_) => return None,
            None => {}
        }
    }
    let is_plain = path.segments.iter().all(|part| part.arguments.is_none());
    if name != "self" && !(is_plain && is_shouted(&name)) {
        return None;
    }
    let text = path.to_token_stream().to_string().replace(' ', "");
    Some(Place {
        key: Some(text.clone()),
        text,
        field: None,
    })
}

/// A static's name.
fn is_shouted(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_uppercase();
    let fits = |letter: char| letter.is_uppercase() || letter.is_numeric() || letter == '_';
    name.len() > 1 && name.chars().all(fits) && name.chars().any(is_letter)
}

/// A lock that only its own type makes reentrant is none of ours.
const PLAIN_LOCKS: [&str; 3] = ["Mutex", "RwLock", "FairMutex"];

/// Whether a local of this type is a lock, or a handle of one.
pub(super) fn is_lock_type(ty: &Type) -> bool {
    match ty {
        Type::Reference(reference) => is_lock_type(&reference.elem),
        Type::Paren(paren) => is_lock_type(&paren.elem),
        Type::Group(group) => is_lock_type(&group.elem),
        Type::Path(path) => {
            let mut ty = Type::Path(path.clone());
            let Some(segment) = types::last_segment(&mut ty) else {
                return false;
            };
            let is_handle = ["Arc", "Rc", "Box"]
                .iter()
                .any(|name| segment.ident == name);
            if is_handle {
                let inner = types::type_arguments(segment);
                inner
                    .into_iter()
                    .next()
                    .is_some_and(|inner| is_lock_type(inner))
            } else {
                PLAIN_LOCKS.iter().any(|name| segment.ident == name)
            }
        }
        _ => false,
    }
}

/// The names of a path, the last one first; none of another expression.
pub(super) fn names_of(function: &Expr) -> impl Iterator<Item = String> {
    let path = match bare(function) {
        Expr::Path(path) => Some(&path.path),
        _ => None,
    };
    let segments = path.into_iter().flat_map(|path| path.segments.iter().rev());
    segments.map(|part| part.ident.to_string())
}

/// `Mutex::new(0)`, `Arc::new(Mutex::new(0))`: an expression that is visibly a new lock.
pub(super) fn makes_lock(expr: &Expr) -> bool {
    let Expr::Call(call) = bare(expr) else {
        return false;
    };
    let mut names = names_of(&call.func);
    let (Some(function), Some(ty)) = (names.next(), names.next()) else {
        return false;
    };
    match ty.as_str() {
        "Arc" | "Rc" | "Box" => function == "new" && call.args.first().is_some_and(makes_lock),
        ty => PLAIN_LOCKS.contains(&ty) && ["new", "default", "from"].contains(&&*function),
    }
}

/// `&self.index`, `Arc::clone(&self.index)`: an expression that is a lock which has a name already.
pub(super) fn alias(expr: &Expr, state: &State) -> Option<Place> {
    match bare(expr) {
        Expr::Reference(inner) => path(&inner.expr, state),
        Expr::Call(call) => {
            let Expr::Path(function) = bare(&call.func) else {
                return None;
            };
            let names: Vec<_> = function.path.segments.iter().rev().take(2).collect();
            let is_clone = names.len() == 2 && names[0].ident == "clone" && names[1].ident == "Arc";
            let argument = call.args.first().filter(|_| is_clone)?;
            path(argument, state)
        }
        other @ Expr::Path(_) => place(other, state),
        _ => None,
    }
}
