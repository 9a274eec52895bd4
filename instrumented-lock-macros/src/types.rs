//! Finds the locks inside a field's type. Knows types by the last name of their path only: a macro
//! sees no further, so an alias of a lock has to be marked.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{GenericArgument, PathArguments, PathSegment, ReturnType, Type, TypePath};

/// The lock types of the library; also the names of their `LockKind`s.
pub(crate) const LOCKS: [&str; 7] = [
    "Mutex",
    "RwLock",
    "FairMutex",
    "ReentrantMutex",
    "RecursiveRwLock",
    "Condvar",
    "Semaphore",
];

/// Handles: what they point to may be somebody else's, with another class or none.
const HANDLES: [&str; 3] = ["Arc", "Rc", "Weak"];

/// Containers through which a marked field is followed to its lock, which an alias hides; with the
/// position of the element among the type arguments.
const CONTAINERS: [(&str, usize); 21] = [
    ("Arc", 0),
    ("ArcSwap", 0),
    ("BTreeMap", 1),
    ("Box", 0),
    ("CachePadded", 0),
    ("Cell", 0),
    ("HashMap", 1),
    ("IndexMap", 1),
    ("Lazy", 0),
    ("LazyCell", 0),
    ("LazyLock", 0),
    ("LinkedList", 0),
    ("ManuallyDrop", 0),
    ("OnceCell", 0),
    ("OnceLock", 0),
    ("Option", 0),
    ("Pin", 0),
    ("Rc", 0),
    ("Vec", 0),
    ("VecDeque", 0),
    ("Weak", 0),
];

/// Types that are no lock whatever is imported under their name.
const PLAIN: [&str; 19] = [
    "bool",
    "char",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "isize",
    "str",
    "String",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "usize",
    "PhantomData",
];

/// How far the search goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Locks that the field owns.
    Owned,
    /// Those behind `Arc` and `Rc` too.
    Handles,
    /// Locks behind handles and aliases too: the field is marked.
    Shared,
}

/// Calls `visit` for every lock inside `ty`, in the order of the source, with the name of its
/// `LockKind`. `visit` may replace the type. What is inside the lock's own data is not looked at.
pub(crate) fn each_lock(
    ty: &mut Type,
    reach: Reach,
    visit: &mut dyn FnMut(&mut Type, &'static str),
) {
    let mut found = false;
    each_known(ty, reach, &mut |ty, kind| {
        found = true;
        visit(ty, kind);
    });
    if !found && reach == Reach::Shared {
        let leaf = leaf(ty);
        if !is_plain(leaf) {
            visit(leaf, "Unknown");
        }
    }
}

/// Whether `ty` has a lock behind a handle or a reference, where only a marked field is followed.
pub(crate) fn has_shared_lock(ty: &Type) -> bool {
    let mut found = false;
    each_known(&mut ty.clone(), Reach::Shared, &mut |_, _| found = true);
    found
}

/// The kinds of the locks behind `Arc` and `Rc`, each with its number among all locks of the field, and how
/// many these are.
pub(crate) fn handles(ty: &mut Type) -> (Vec<(usize, &'static str)>, usize) {
    let mut owned = Vec::new();
    each_known(ty, Reach::Owned, &mut |ty, _| {
        owned.push(std::ptr::from_ref(ty));
    });
    let (mut found, mut number) = (Vec::new(), 0);
    each_known(ty, Reach::Handles, &mut |ty, kind| {
        if !owned.contains(&std::ptr::from_ref(ty)) {
            found.push((number, kind));
        }
        number += 1;
    });
    (found, number)
}

/// In `LazyLock<Mutex<u8>, fn() -> Mutex<u8>>` both are one type, so what has been made of the first is made
/// of what the function returns.
pub(crate) fn mirror_initialiser(mut written: Type, ty: &mut Type) {
    let (Some(written), Some(segment)) = (last_segment(&mut written), last_segment(ty)) else {
        return;
    };
    let before = type_arguments(written);
    let mut after = type_arguments(segment);
    if let ([value, Type::FnPtr(function)], [new, Type::FnPtr(mirrored)]) =
        (&before[..], &mut after[..])
        && let ReturnType::Type(_, returned) = &function.output
        && returned.to_token_stream().to_string() == value.to_token_stream().to_string()
        && let ReturnType::Type(_, mirrored) = &mut mirrored.output
    {
        **mirrored = Type::clone(new);
        return;
    }
    for (before, after) in before.into_iter().zip(after) {
        mirror_initialiser(before.clone(), after);
    }
}

/// Whether `ty` may be an alias of a lock, or of a handle of one, as far as its name says.
pub(crate) fn may_be_alias(ty: &mut Type) -> bool {
    let leaf = leaf(ty);
    let is_known = lock_kind(leaf).is_some() || is_plain(leaf);
    !is_known && matches!(leaf, Type::Path(path) if path.qself.is_none())
}

/// Whether `ty` is a lock by its name.
pub(crate) fn is_lock(ty: &Type) -> bool {
    lock_kind(&mut ty.clone()).is_some()
}

/// What an `Arc`, an `Rc` or a `Box` points to.
pub(crate) fn pointed_at(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let is_pointer = ["Arc", "Rc", "Box"].iter().any(|name| last.ident == name);
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) if is_pointer && arguments.args.len() == 1 => {
            match arguments.args.first() {
                Some(GenericArgument::Type(ty)) => Some(ty),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether `is_such` for any name or sign in there.
pub(crate) fn each_token(tokens: TokenStream, is_such: &mut dyn FnMut(&str) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => each_token(group.stream(), is_such),
        other => is_such(&other.to_string()),
    })
}

/// Whether `ty` is none of the known containers.
pub(crate) fn is_leaf(ty: &mut Type) -> bool {
    !is_container(ty)
}

/// The spans of the first and the last token, inside the invisible delimiters that a
/// `macro_rules!` fragment has.
pub(crate) fn ends(ty: &Type) -> (Span, Span) {
    if let Type::Group(group) = ty {
        return ends(&group.elem);
    }
    let mut spans = ty.to_token_stream().into_iter().map(|token| token.span());
    let first = spans.next().unwrap_or_else(Span::call_site);
    (first, spans.last().unwrap_or(first))
}

/// As [`each_lock`], without what an alias may hide.
pub(crate) fn each_known(
    ty: &mut Type,
    reach: Reach,
    visit: &mut dyn FnMut(&mut Type, &'static str),
) {
    if let Some(kind) = lock_kind(ty) {
        visit(ty, kind);
    } else {
        for part in parts(ty, reach) {
            each_known(part, reach, visit);
        }
    }
}

fn lock_kind(ty: &mut Type) -> Option<&'static str> {
    let segment = last_segment(ty)?;
    LOCKS.into_iter().find(|lock| segment.ident == lock)
}

/// The types of which `ty` is made, as far as its locks are the field's own or `reach` goes.
fn parts(ty: &mut Type, reach: Reach) -> Vec<&mut Type> {
    match ty {
        Type::Array(array) => vec![&mut array.elem],
        Type::Group(group) => vec![&mut group.elem],
        Type::Paren(paren) => vec![&mut paren.elem],
        Type::Slice(slice) => vec![&mut slice.elem],
        Type::Tuple(tuple) => tuple.elems.iter_mut().collect(),
        Type::Reference(reference) if reach == Reach::Shared => vec![&mut reference.elem],
        Type::Path(path) => match last_of(path) {
            Some(segment) if is_open(&segment.ident, reach) => type_arguments(segment),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn is_open(ident: &Ident, reach: Reach) -> bool {
    let name = ident.to_string();
    // A guard borrows the data of a lock; a lock in there belongs to another item.
    let is_foreign = name.ends_with("Guard") || name == "PhantomData";
    let is_handle = HANDLES.contains(&name.as_str());
    let is_reached = match reach {
        Reach::Owned => false,
        Reach::Handles => name != "Weak",
        Reach::Shared => true,
    };
    !is_foreign && (!is_handle || is_reached)
}

/// The innermost type of known containers: in `Vec<Arc<Table>>` it is `Table`.
fn leaf(ty: &mut Type) -> &mut Type {
    if !is_container(ty) {
        return ty;
    }
    match ty {
        Type::Array(array) => leaf(&mut array.elem),
        Type::Group(group) => leaf(&mut group.elem),
        Type::Paren(paren) => leaf(&mut paren.elem),
        Type::Reference(reference) => leaf(&mut reference.elem),
        Type::Slice(slice) => leaf(&mut slice.elem),
        _ => leaf(element(ty).expect("a container has an element")),
    }
}

fn is_container(ty: &mut Type) -> bool {
    match ty {
        Type::Array(_) | Type::Group(_) | Type::Paren(_) | Type::Reference(_) | Type::Slice(_) => {
            true
        }
        _ => element(ty).is_some(),
    }
}

fn element(ty: &mut Type) -> Option<&mut Type> {
    let segment = last_segment(ty)?;
    let (_, position) = CONTAINERS
        .into_iter()
        .find(|(name, _)| segment.ident == name)?;
    type_arguments(segment).into_iter().nth(position)
}

fn is_plain(ty: &mut Type) -> bool {
    match last_segment(ty) {
        Some(segment) => PLAIN.iter().any(|name| segment.ident == name),
        None => matches!(ty, Type::Never(_) | Type::FnPtr(_) | Type::TraitObject(_)),
    }
}

pub(crate) fn last_segment(ty: &mut Type) -> Option<&mut PathSegment> {
    match ty {
        Type::Path(path) => last_of(path),
        _ => None,
    }
}

/// `<A as B>::C` could be anything.
fn last_of(path: &mut TypePath) -> Option<&mut PathSegment> {
    if path.qself.is_some() {
        None
    } else {
        path.path.segments.last_mut()
    }
}

pub(crate) fn type_arguments(segment: &mut PathSegment) -> Vec<&mut Type> {
    let PathArguments::AngleBracketed(arguments) = &mut segment.arguments else {
        return Vec::new();
    };
    let types = arguments
        .args
        .iter_mut()
        .filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        });
    types.collect()
}
