//! The rules for the types of an annotated item: locks that nobody measures, that protect nothing,
//! or that are where no lock belongs. Each looks at what the type says, not at what an alias hides.

use super::findings::Findings;
use crate::ast::Field;
use crate::attr::Place;
use crate::foreign::{self, is_phantom};
use crate::message;
use crate::rule::Rule;
use crate::types::{self, Reach};
use syn::visit::{self, Visit};
use syn::{Type, TypeFnPtr, TypePath};

/// Owners that only one thread can reach.
const UNSHARED: [&str; 3] = ["Rc", "RefCell", "Cell"];

/// The guards of `lock_api`, std and tokio.
const GUARDS: [&str; 28] = [
    "MutexGuard",
    "MappedMutexGuard",
    "FairMutexGuard",
    "MappedFairMutexGuard",
    "ReentrantMutexGuard",
    "MappedReentrantMutexGuard",
    "ReentrantLockGuard",
    "RwLockReadGuard",
    "RwLockWriteGuard",
    "RwLockUpgradableReadGuard",
    "RwLockUpgradableGuard",
    "MappedRwLockReadGuard",
    "MappedRwLockWriteGuard",
    "RwLockMappedWriteGuard",
    "RecursiveRwLockReadGuard",
    "RecursiveRwLockWriteGuard",
    "RecursiveRwLockUpgradableReadGuard",
    "MappedRecursiveRwLockReadGuard",
    "MappedRecursiveRwLockWriteGuard",
    "ArcMutexGuard",
    "ArcReentrantMutexGuard",
    "ArcRwLockReadGuard",
    "ArcRwLockWriteGuard",
    "ArcRwLockUpgradableReadGuard",
    "OwnedMutexGuard",
    "OwnedRwLockReadGuard",
    "OwnedRwLockWriteGuard",
    "SpinMutexGuard",
];

const ATOMICS: [&str; 12] = [
    "AtomicBool",
    "AtomicI8",
    "AtomicI16",
    "AtomicI32",
    "AtomicI64",
    "AtomicIsize",
    "AtomicPtr",
    "AtomicU8",
    "AtomicU16",
    "AtomicU32",
    "AtomicU64",
    "AtomicUsize",
];

pub(super) fn check(field: &Field, place: Place, findings: &mut Findings) {
    if field.options.has("skip") {
        return;
    }
    let rules: [(Rule, RuleFn); 5] = [
        (Rule::ForeignLock, foreign_lock),
        (Rule::NestedLock, nested_lock),
        (Rule::StoredGuard, stored_guard),
        (Rule::UnsharedLock, unshared_lock),
        (Rule::LockOfAtomic, lock_of_atomic),
    ];
    for (rule, check) in rules {
        if !field.allowed.has(rule) {
            check(&field.ty, place, findings);
        }
    }
}

type RuleFn = fn(&Type, Place, &mut Findings);

fn foreign_lock(ty: &Type, place: Place, findings: &mut Findings) {
    for lock in foreign::all_in(ty) {
        findings.add(&lock.path, message::foreign_lock(&lock, place));
    }
}

/// The inner lock belongs to whoever holds the outer one, and to nobody else.
fn nested_lock(ty: &Type, place: Place, findings: &mut Findings) {
    each_lock_in(ty, Reach::Shared, &mut |outer, kind| {
        for data in types::last_segment(outer)
            .map(types::type_arguments)
            .into_iter()
            .flatten()
        {
            each_lock_in(data, Reach::Owned, &mut |inner, inner_kind| {
                findings.add(&*inner, message::nested_lock(inner_kind, kind, place));
            });
        }
    });
}

fn stored_guard(ty: &Type, place: Place, findings: &mut Findings) {
    each_path(ty, &mut |path| {
        let name = last_name(path);
        let is_guard = GUARDS.contains(&name.as_str());
        if is_guard {
            findings.add(path, message::stored_guard(&name, place));
        }
        is_guard
    });
}

fn unshared_lock(ty: &Type, place: Place, findings: &mut Findings) {
    each_path(ty, &mut |path| {
        let owner = last_name(path);
        let mut first = None;
        if UNSHARED.contains(&owner.as_str()) {
            let mut path = path.clone();
            for part in path
                .path
                .segments
                .last_mut()
                .map(types::type_arguments)
                .into_iter()
                .flatten()
            {
                each_lock_in(part, Reach::Owned, &mut |_, kind| {
                    first = first.or(Some(kind));
                });
            }
        }
        if let Some(kind) = first {
            findings.add(path, message::unshared_lock(kind, &owner, place));
        }
        first.is_some()
    });
}

fn lock_of_atomic(ty: &Type, place: Place, findings: &mut Findings) {
    each_lock_in(ty, Reach::Shared, &mut |lock, kind| {
        let data = types::last_segment(lock).map(types::type_arguments);
        if let Some(Type::Path(data)) = data.and_then(|data| data.into_iter().next()) {
            let name = last_name(data);
            if ATOMICS.contains(&name.as_str()) {
                findings.add(&*lock, message::lock_of_atomic(kind, &name, place));
            }
        }
    });
}

/// Calls `visit` for what is a lock by its name, not for condition variables.
fn each_lock_in(ty: &Type, reach: Reach, visit: &mut dyn FnMut(&mut Type, &'static str)) {
    types::each_known(&mut ty.clone(), reach, &mut |lock, kind| {
        if kind != "Condvar" {
            visit(lock, kind);
        }
    });
}

/// Calls `visit` for every named type that a value of `ty` may hold, from the outside to the inside;
/// not for what is inside one for which `visit` says that it is enough.
fn each_path(ty: &Type, visit: &mut dyn FnMut(&TypePath) -> bool) {
    struct Visitor<'a>(&'a mut dyn FnMut(&TypePath) -> bool);

    impl Visit<'_> for Visitor<'_> {
        fn visit_type_path(&mut self, path: &TypePath) {
            if path.qself.is_none() && !is_phantom(path) && !self.0(path) {
                visit::visit_type_path(self, path);
            }
        }

        fn visit_type_fn_ptr(&mut self, _: &TypeFnPtr) {}

        /// `dyn Fn(MutexGuard<'_, u8>)` takes guards, and keeps none.
        fn visit_parenthesized_generic_arguments(
            &mut self,
            _: &syn::ParenthesizedGenericArguments,
        ) {
        }
    }

    Visitor(visit).visit_type(ty);
}

fn last_name(path: &TypePath) -> String {
    let last = path.path.segments.last();
    last.map_or_else(String::new, |segment| segment.ident.to_string())
}
