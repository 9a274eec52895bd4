//! Recognizes locks and the methods that take them.

use super::place::{Asked, Mode, Place};
use super::state::State;
use super::value::Value;
use crate::types;
use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::{Expr, ExprCall, ExprMethodCall, Lit, Member, Type, UnOp};

/// A call that takes a lock.
pub(super) struct Acquire<'a> {
    pub(super) place: Place,
    pub(super) mode: Mode,
    /// Does not wait: returns an `Option`, or, of std's locks, a `Result`.
    pub(super) is_try: bool,
    pub(super) call: Call<'a>,
}

/// `lock.read()`, or `RwLock::read(&lock)`.
#[derive(Clone, Copy)]
pub(super) enum Call<'a> {
    Method(&'a ExprMethodCall),
    Function(&'a ExprCall),
}

/// `self.index.lock()` and its like.
pub(super) fn acquire<'a>(expr: &'a Expr, state: &State) -> Option<Acquire<'a>> {
    let (name, arguments, lock, call) = match bare(expr) {
        Expr::MethodCall(call) if call.turbofish.is_none() => {
            let name = call.method.to_string();
            (name, call.args.len(), &*call.receiver, Call::Method(call))
        }
        Expr::Call(call) => {
            let mut names = names_of(&call.func);
            let name = names.next()?;
            let is_lock = names.next().is_some_and(|ty| is_lock_name(&ty));
            let lock = call.args.first().filter(|_| is_lock)?;
            (name, call.args.len() - 1, lock, Call::Function(call))
        }
        _ => return None,
    };
    let (mode, is_try, expected) = method(&name)?;
    if arguments != expected {
        return None;
    }
    let place = path(lock, state).filter(|place| !place.is_whole())?;
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

/// Whether its name says that it is no lock of ours: std's streams may be locked twice, its files
/// and raw locks have no guards.
pub(super) fn is_called_otherwise(place: &Place) -> bool {
    let last = place.text.rsplit(['.', ':']).next().unwrap_or_default();
    let last = last.to_lowercase();
    ["stdin", "stdout", "stderr", "raw"]
        .iter()
        .any(|name| last.contains(name))
        || last == "file"
        || last.ends_with("_file")
}

/// The lock, or what has locks in it, that an expression names.
pub(super) fn path(expr: &Expr, state: &State) -> Option<Place> {
    match bare(expr) {
        Expr::Path(path) if path.qself.is_none() => named(&path.path, state),
        Expr::Reference(inner) => path(&inner.expr, state),
        Expr::Unary(inner) if matches!(inner.op, UnOp::Deref(_)) => {
            let place = path(&inner.expr, state)?;
            // Of a raw pointer the compiler cannot be asked without more ado.
            (!state.is_unsafe || place.asked.is_none()).then(|| {
                place.asked_as(|asked| {
                    let star = inner.op;
                    quote!((#star #asked))
                })
            })
        }
        Expr::Field(field) => {
            let base = path(&field.base, state).filter(|base| !base.is_clone)?;
            if let Some(asked) = &base.asked
                && (asked.is_element || state.is_unsafe && !asked.is_whole)
            {
                // Of an element the compiler is asked as a whole; and it may be one of a union.
                return None;
            }
            let member = match &field.member {
                Member::Named(name) => syn::ext::IdentExt::unraw(name).to_string(),
                Member::Unnamed(index) => index.index.to_string(),
            };
            Some(base.field(&member, &field.member))
        }
        Expr::Index(index) => {
            let base = path(&index.expr, state)?;
            if base.asked.as_ref().is_some_and(|asked| asked.is_element) {
                return None;
            }
            let literal = match bare(&index.index) {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Int(literal) => Some(literal.base10_digits().to_owned()),
                    _ => None,
                },
                _ => None,
            };
            Some(base.element(literal.as_deref()))
        }
        Expr::MethodCall(call) if call.turbofish.is_none() => {
            let name = call.method.to_string();
            if let Some(place) = state.lending.get(&name)
                && call.args.is_empty()
                && path(&call.receiver, state)?.text == "self"
            {
                return Some(place.clone());
            }
            match (name.as_str(), call.args.len()) {
                ("clone", 0) => path(&call.receiver, state).map(|place| Place {
                    is_clone: true,
                    ..place
                }),
                ("as_ref" | "deref", 0) => path(&call.receiver, state),
                ("get_or_init", 1) => path(&call.receiver, state).map(Place::in_a_once),
                ("unwrap", 0) | ("expect", 1) => match bare(&call.receiver) {
                    Expr::MethodCall(get) if get.method == "get" && get.args.is_empty() => {
                        path(&get.receiver, state).map(Place::in_a_once)
                    }
                    _ => None,
                },
                _ => None,
            }
        }
        Expr::Call(call) => {
            let mut names = names_of(&call.func);
            let function = names.next()?;
            let is_handle = match (function.as_str(), names.next()?.as_str()) {
                ("clone", "Arc" | "Rc") => true,
                ("force", ty) => ty.starts_with("Lazy"),
                _ => false,
            };
            path(call.args.first().filter(|_| is_handle)?, state)
        }
        _ => None,
    }
}

impl Place {
    fn asked_as(self, change: impl FnOnce(TokenStream) -> TokenStream) -> Self {
        let asked = self.asked.map(|asked| {
            if asked.is_element {
                // The question goes through references anyway.
                return asked;
            }
            Asked {
                expr: change(asked.expr),
                ..asked
            }
        });
        Place { asked, ..self }
    }

    /// A field of it.
    pub(super) fn field(self, name: &str, member: &Member) -> Self {
        let is_own = self.text == "self";
        let place = self.asked_as(|asked| quote!(#asked.#member));
        Place {
            text: format!("{}.{name}", place.text),
            key: place.key.map(|key| format!("{key}.{name}")),
            field: is_own.then(|| name.to_owned()),
            is_clone: false,
            asked: place.asked.map(|asked| Asked {
                is_whole: false,
                ..asked
            }),
        }
    }

    /// An element of it, by a literal index or by any other.
    pub(super) fn element(self, literal: Option<&str>) -> Self {
        let shown = literal.unwrap_or("..");
        Place {
            text: format!("{}[{shown}]", self.text),
            key: self
                .key
                .zip(literal)
                .map(|(key, literal)| format!("{key}[{literal}]")),
            field: self.field,
            is_clone: false,
            asked: self.asked.map(|asked| Asked {
                is_element: true,
                is_whole: false,
                ..asked
            }),
        }
    }

    /// What is in a `OnceLock`: that leads to it by a method only, of a static to a lock most likely.
    fn in_a_once(self) -> Self {
        let asked = self.asked.filter(|asked| !asked.is_static);
        Place { asked, ..self }
    }

    /// A variable of type `Self`.
    pub(super) fn whole(text: String, key: String, expr: TokenStream) -> Self {
        Place {
            text,
            key: Some(key),
            field: None,
            is_clone: false,
            asked: Some(Asked {
                expr,
                is_element: false,
                is_whole: true,
                is_static: false,
            }),
        }
    }
}

/// `self`, a static, or a local that stands for a lock.
fn named(path: &syn::Path, state: &State) -> Option<Place> {
    let name = path.segments.last()?.ident.to_string();
    if let Some(single) = path.get_ident() {
        match state.binding(&single.to_string()) {
            Some(super::state::Binding::Is(Value::Lock(place))) => return Some(place.clone()),
            Some(_) => return None,
            None => {}
        }
    }
    let is_plain = path.segments.iter().all(|part| part.arguments.is_none());
    let text = path.to_token_stream().to_string().replace(' ', "");
    if name == "self" {
        return Some(Place::whole(text.clone(), text, path.to_token_stream()));
    }
    // One that is `static mut` could only be asked about in an `unsafe` block.
    let is_known = !(state.is_unsafe && state.asks_of_statics);
    (is_plain && is_shouted(&name) && is_known).then(|| Place {
        key: Some(text.clone()),
        text,
        field: None,
        is_clone: false,
        asked: state.asks_of_statics.then(|| Asked {
            expr: path.to_token_stream(),
            is_element: false,
            is_whole: false,
            is_static: true,
        }),
    })
}

/// A static's name.
pub(super) fn is_shouted(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_uppercase();
    let fits = |letter: char| letter.is_uppercase() || letter.is_numeric() || letter == '_';
    name.len() > 1 && name.chars().all(fits) && name.chars().any(is_letter)
}

/// A lock that only its own type makes reentrant is none of ours.
const PLAIN_LOCKS: [&str; 3] = ["Mutex", "RwLock", "FairMutex"];

/// What leads to the lock inside.
const HANDLES: [&str; 11] = [
    "Arc",
    "Rc",
    "Box",
    "Pin",
    "LazyLock",
    "LazyCell",
    "Lazy",
    "OnceLock",
    "OnceCell",
    "CachePadded",
    "ManuallyDrop",
];

fn is_lock_name(name: &str) -> bool {
    PLAIN_LOCKS.contains(&name)
}

/// Whether a local of this type is a lock, or a handle of one.
pub(super) fn is_lock_type(ty: &Type) -> bool {
    leads_to(ty, &|name| is_lock_name(name))
}

/// Whether a local is of type `Self`, or refers to it.
pub(super) fn is_self_type(ty: &Type, own: Option<&str>) -> bool {
    leads_to(ty, &|name| name == "Self" || own == Some(name))
}

fn leads_to(ty: &Type, is_it: &dyn Fn(&str) -> bool) -> bool {
    match ty {
        Type::Reference(reference) => leads_to(&reference.elem, is_it),
        Type::Paren(paren) => leads_to(&paren.elem, is_it),
        Type::Group(group) => leads_to(&group.elem, is_it),
        Type::Path(path) => {
            let mut ty = Type::Path(path.clone());
            let Some(segment) = types::last_segment(&mut ty) else {
                return false;
            };
            if HANDLES.iter().any(|name| segment.ident == name) {
                let inner = types::type_arguments(segment);
                inner
                    .into_iter()
                    .next()
                    .is_some_and(|inner| leads_to(inner, is_it))
            } else {
                is_it(&segment.ident.to_string())
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
