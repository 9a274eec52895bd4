//! What makes a lock, and what passes one on. Knows functions by the last names of their paths only, so
//! a type that may be an alias of a lock is a possible one: to declare a place that makes none costs little.

use crate::types::LOCKS;
use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::{Expr, ExprCall, ExprPath, Path, PathArguments, QSelf, Type};

/// Functions of a lock type that make a lock.
const MAKING: [&str; 5] = ["new", "default", "from", "const_new", "new_const"];

/// Functions that do.
const CONST_FUNCTIONS: [&str; 4] = [
    "const_mutex",
    "const_fair_mutex",
    "const_reentrant_mutex",
    "const_rwlock",
];

/// Types that are no lock, whatever they have in them.
const OWNERS: [&str; 37] = [
    "Arc",
    "Rc",
    "Weak",
    "Box",
    "Pin",
    "Cow",
    "Vec",
    "VecDeque",
    "LinkedList",
    "BinaryHeap",
    "HashMap",
    "HashSet",
    "BTreeMap",
    "BTreeSet",
    "IndexMap",
    "IndexSet",
    "String",
    "PathBuf",
    "OsString",
    "Cell",
    "RefCell",
    "UnsafeCell",
    "OnceCell",
    "OnceLock",
    "LazyCell",
    "LazyLock",
    "Lazy",
    "ManuallyDrop",
    "MaybeUninit",
    "CachePadded",
    "ArcSwap",
    "SmallVec",
    "ArrayVec",
    "Option",
    "Instant",
    "Duration",
    "ThreadPool",
];

/// Tuple variants that only pass on what is in them.
const VARIANTS: [&str; 7] = ["Some", "Ok", "Err", "Left", "Right", "Break", "Continue"];

/// Owners of one value that dereference to it.
const POINTERS: [&str; 3] = ["Arc", "Rc", "Box"];

/// What a call does with locks.
pub(super) enum Call {
    /// Makes one, with its arguments as the data.
    Lock,
    /// Makes one, if the type is an alias; or passes its arguments on.
    Maybe,
    /// `Mutex::named(..)`: has a name.
    Named,
    /// `Arc::clone(&..)`.
    Clone,
    /// `Some(..)`, `Arc::new(..)`.
    Through,
    /// `Wrapper(..)`, by its path.
    Wrapper(String),
    /// `mem::replace(&mut self.field, ..)`.
    Replace,
    Unknown,
}

impl Call {
    pub(super) fn of(call: &ExprCall) -> Self {
        let Expr::Path(function) = &*call.func else {
            return Call::Unknown;
        };
        let Some(last) = function.path.segments.last().map(|last| &last.ident) else {
            return Call::Unknown;
        };
        let name = last.to_string();
        let Some(ty) = type_of(function) else {
            return if CONST_FUNCTIONS.contains(&name.as_str()) {
                Call::Lock
            } else if VARIANTS.contains(&name.as_str()) {
                Call::Through
            } else if begins_with_capital(&name) {
                Call::Wrapper(path_text(&function.path))
            } else {
                Call::Unknown
            };
        };
        let ty = ty.to_string();
        if VARIANTS.contains(&name.as_str()) {
            Call::Through
        } else if begins_with_capital(&name) {
            Call::Wrapper(path_text(&function.path))
        } else if CONST_FUNCTIONS.contains(&name.as_str()) {
            Call::Lock
        } else if LOCKS.contains(&ty.as_str()) {
            match name.as_str() {
                "named" => Call::Named,
                _ if MAKING.contains(&name.as_str()) => Call::Lock,
                _ => Call::Unknown,
            }
        } else if name == "clone" {
            Call::Clone
        } else if OWNERS.contains(&ty.as_str()) || ty.starts_with("Atomic") {
            Call::Through
        } else if MAKING.contains(&name.as_str()) && begins_with_capital(&ty) && ty != "Self" {
            Call::Maybe
        } else if ty == "mem" && name == "replace" {
            Call::Replace
        } else {
            Call::Unknown
        }
    }
}

/// `Mutex` in `Mutex::new`, `sync::Mutex::<u8>::new`, `<Mutex<u8>>::new`, `<Mutex<u8> as Default>::default`.
fn type_of(function: &ExprPath) -> Option<&Ident> {
    let segments = &function.path.segments;
    match &function.qself {
        Some(QSelf { ty, position, .. }) => {
            // With more than the method behind it, it is the type of an associated type.
            let is_method = segments.len() == position + 1;
            match &**ty {
                Type::Path(path) if is_method => path.path.segments.last().map(|last| &last.ident),
                _ => None,
            }
        }
        None => segments.iter().rev().nth(1).map(|ty| &ty.ident),
    }
}

/// The call that makes the lock, where the value is a lock or a pointer to one, and nothing says its type.
pub(super) fn untyped_lock(expr: &Expr) -> Option<&ExprCall> {
    match expr {
        Expr::Paren(inner) => untyped_lock(&inner.expr),
        Expr::Group(inner) => untyped_lock(&inner.expr),
        Expr::Call(call) if is_untyped_lock(call) => Some(call),
        Expr::Call(call) => {
            let Expr::Path(function) = &*call.func else {
                return None;
            };
            let ty = type_of(function)?.to_string();
            let is_pointer = POINTERS.contains(&ty.as_str()) && has_no_arguments(function);
            let argument = call
                .args
                .first()
                .filter(|_| is_pointer && call.args.len() == 1);
            argument.and_then(untyped_lock)
        }
        _ => None,
    }
}

/// `Mutex::new(..)`, without type arguments.
pub(super) fn is_untyped_lock(call: &ExprCall) -> bool {
    let Expr::Path(function) = &*call.func else {
        return false;
    };
    let is_lock = |ty: &Ident| LOCKS.iter().any(|lock| ty == lock);
    matches!(Call::of(call), Call::Lock)
        && has_no_arguments(function)
        && type_of(function).is_some_and(is_lock)
}

fn has_no_arguments(function: &ExprPath) -> bool {
    let mut segments = function.path.segments.iter();
    function.qself.is_none()
        && segments.all(|segment| matches!(segment.arguments, PathArguments::None))
}

/// `Arc::<Mutex<u8>>::default()`, which does not say who calls it: the pointer's and the lock's types.
pub(super) fn is_default_of_pointer(call: &ExprCall) -> bool {
    let Expr::Path(function) = &*call.func else {
        return false;
    };
    let segments = &function.path.segments;
    let (Some(name), Some(ty)) = (segments.last(), segments.iter().rev().nth(1)) else {
        return false;
    };
    let PathArguments::AngleBracketed(arguments) = &ty.arguments else {
        return false;
    };
    let lock = match arguments.args.first() {
        Some(syn::GenericArgument::Type(Type::Path(path))) => path.path.segments.last(),
        _ => None,
    };
    function.qself.is_none()
        && name.ident == "default"
        && POINTERS.iter().any(|pointer| ty.ident == pointer)
        && lock.is_some_and(|lock| LOCKS.iter().any(|name| lock.ident == name))
}

/// The name of a type, without its parameters.
pub(super) fn path_of(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) if path.qself.is_none() => Some(path_text(&path.path)),
        Type::Group(group) => path_of(&group.elem),
        Type::Paren(paren) => path_of(&paren.elem),
        Type::Reference(reference) => path_of(&reference.elem),
        _ => None,
    }
}

/// The path as written, without type arguments.
pub(super) fn path_text(path: &Path) -> String {
    let names = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string());
    names.collect::<Vec<_>>().join("::")
}

fn begins_with_capital(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

/// Where an expression begins.
pub(super) fn start(expr: &impl ToTokens) -> Span {
    let first = expr.to_token_stream().into_iter().next();
    first.map_or_else(Span::call_site, |token| token.span())
}
