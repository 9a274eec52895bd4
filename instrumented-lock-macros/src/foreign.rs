//! Locks of other libraries, where the type names them by path. Imported ones look like ours: the
//! trait check in the expansion finds them.

use syn::visit::{self, Visit};
use syn::{Path, Type, TypeFnPtr, TypePath};

/// What a lock is called elsewhere, and here.
const REPLACEMENTS: [(&str, &str); 9] = [
    ("Mutex", "Mutex"),
    ("RwLock", "RwLock"),
    ("FairMutex", "FairMutex"),
    ("ReentrantMutex", "ReentrantMutex"),
    ("ReentrantLock", "ReentrantMutex"),
    ("Condvar", "Condvar"),
    ("SpinMutex", "Mutex"),
    ("TicketMutex", "FairMutex"),
    ("Semaphore", "Semaphore"),
];

/// How a library's locks work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// As `parking_lot`'s.
    Plain,
    /// std's, which can be poisoned.
    Std,
    /// tokio's.
    Tokio,
    /// Others whose guards may live across an `.await`.
    Async,
}

/// How the paths of other libraries' locks begin.
const LIBRARIES: [(&[&str], Family); 10] = [
    (&["std", "sync"], Family::Std),
    (&["parking_lot"], Family::Plain),
    (&["lock_api"], Family::Plain),
    (&["spin"], Family::Plain),
    (&["tokio", "sync"], Family::Tokio),
    (&["async_lock"], Family::Async),
    (&["async_std", "sync"], Family::Async),
    (&["futures", "lock"], Family::Async),
    (&["futures_util", "lock"], Family::Async),
    (&["smol", "lock"], Family::Async),
];

/// A foreign lock.
pub(crate) struct Foreign {
    pub(crate) path: Path,
    /// The name of ours.
    pub(crate) replacement: &'static str,
    pub(crate) family: Family,
}

/// The foreign locks that `ty` names by path, in the order of the source.
pub(crate) fn all_in(ty: &Type) -> Vec<Foreign> {
    let mut finder = Finder(Vec::new());
    finder.visit_type(ty);
    finder.0
}

pub(crate) fn first_in(ty: &Type) -> Option<Foreign> {
    all_in(ty).into_iter().next()
}

struct Finder(Vec<Foreign>);

impl Visit<'_> for Finder {
    fn visit_type_path(&mut self, path: &TypePath) {
        if path.qself.is_none() {
            self.0.extend(foreign(&path.path));
        }
        if !is_phantom(path) {
            visit::visit_type_path(self, path);
        }
    }

    /// What a function takes is not kept here.
    fn visit_type_fn_ptr(&mut self, _: &TypeFnPtr) {}
}

/// A marker holds nothing.
pub(crate) fn is_phantom(path: &TypePath) -> bool {
    let last = path.path.segments.last();
    last.is_some_and(|segment| segment.ident == "PhantomData")
}

fn foreign(path: &Path) -> Option<Foreign> {
    let names: Vec<_> = path.segments.iter().map(|part| &part.ident).collect();
    let (last, before) = names.split_last()?;
    let begins_with = |start: &[&str]| {
        before.len() >= start.len() && before.iter().zip(start).all(|(name, part)| *name == part)
    };
    let (_, family) = LIBRARIES
        .into_iter()
        .find(|(start, _)| begins_with(start))?;
    let (_, replacement) = REPLACEMENTS.into_iter().find(|(name, _)| *last == name)?;
    // There is none of it for others.
    if replacement == "Semaphore" && family != Family::Tokio {
        return None;
    }
    Some(Foreign {
        path: path.clone(),
        replacement,
        family,
    })
}
