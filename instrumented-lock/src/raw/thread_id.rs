//! Who holds a reentrant mutex, and which lock was asked.
//!
//! `lock_api`'s reentrant mutex calls its raw mutex for the outermost acquisition only, so the raw
//! mutex cannot see the nested ones; and it hides both of its parts. What it does do on every call
//! is ask its thread id. The id therefore knows the lock's class, and leaves word in a
//! thread-local of which lock was asked last. It does not say either which line calls: our type leaves word
//! of that.

use super::{RawMutex, caller};
use crate::brief;
use crate::cell::ClassCell;
use crate::class::Declaration;
use crate::classes;
use crate::lock_kind::LockKind;
use crate::mode::Activity;
use crate::stats::{self, Kind};
use lock_api::GetThreadId;
use std::cell::Cell;
use std::num::NonZeroUsize;
use std::panic::Location;
use std::ptr;

thread_local! {
    static LAST_ASKED: Cell<*const RawThreadId> = const { Cell::new(ptr::null()) };
}

/// The thread id under [`ReentrantMutex`](crate::ReentrantMutex).
pub struct RawThreadId {
    class: ClassCell,
}

impl RawThreadId {
    pub(crate) const fn declared(declaration: &'static Declaration) -> Self {
        RawThreadId {
            class: ClassCell::declared(declaration),
        }
    }

    #[track_caller]
    pub(crate) fn named(name: &str, kind: LockKind) -> Self {
        let class = classes::of_name(name, kind, Location::caller());
        RawThreadId {
            class: ClassCell::named(class),
        }
    }

    pub(crate) const fn at_site(site: &'static Location<'static>) -> Self {
        RawThreadId {
            class: ClassCell::site(site),
        }
    }
}

// SAFETY: the id is parking_lot's.
unsafe impl GetThreadId for RawThreadId {
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "lock_api's way to say `new`"
    )]
    const INIT: Self = Self::at_site(Location::caller());

    #[inline]
    fn nonzero_thread_id(&self) -> NonZeroUsize {
        LAST_ASKED.set(self);
        parking_lot::RawThreadId::INIT.nonzero_thread_id()
    }
}

type ReentrantMutex<T> = lock_api::ReentrantMutex<RawMutex, RawThreadId, T>;

/// Acquires a reentrant mutex, with `acquire`, for the line that calls this. Counts the acquisition if it is
/// a nested one.
#[inline]
#[track_caller]
pub(crate) fn acquire_reentrant<T: ?Sized, G>(
    lock: &ReentrantMutex<T>,
    acquire: impl FnOnce() -> Option<G>,
) -> Option<G> {
    let (is_nested, id) = ask(lock);
    // Before the raw mutex, which takes itself for that of a plain one, names the class.
    let id = id.filter(|_| !brief::is_inside());
    let class = id.map(|id| id.class.class_uncounted(LockKind::ReentrantMutex));
    if !is_nested {
        caller::is_about_to_use(address(lock), Location::caller());
    }
    let guard = acquire()?;
    if let Some(class) = class.filter(|class| is_nested && class.state().is_on()) {
        let event = stats::event(&class.stats, Activity::Write, Kind::Nested);
        let room = stats::this_thread().room_for_one();
        room.page.publish(&event);
    }
    Some(guard)
}

/// Somebody is about to look at what a reentrant mutex protects.
pub(crate) fn look_at_reentrant<T: ?Sized>(lock: &ReentrantMutex<T>) {
    // Who has it acquires it once more, which the raw mutex does not see.
    if !lock.is_owned_by_current_thread() {
        caller::is_about_to_look(address(lock));
    }
}

/// Where the raw mutex is.
fn address<T: ?Sized>(lock: &ReentrantMutex<T>) -> usize {
    // SAFETY: only the address is looked at.
    ptr::from_ref(unsafe { lock.raw() }).addr()
}

/// Whether the calling thread has the lock, and the lock's id, if that is found.
fn ask<T: ?Sized>(lock: &ReentrantMutex<T>) -> (bool, Option<&RawThreadId>) {
    LAST_ASKED.set(ptr::null());
    let is_held_here = lock.is_owned_by_current_thread();
    let id = LAST_ASKED.replace(ptr::null());
    // SAFETY: it has been asked since it was null, so it was an id then; and it is a part of the lock, which
    // is borrowed, so it still is.
    let id = is_part(lock, id).then(|| unsafe { &*id });
    (is_held_here, id)
}

/// Whether all of this lies in `whole`.
fn is_part<T: ?Sized, P>(whole: &T, part: *const P) -> bool {
    let start = ptr::from_ref(whole).addr();
    let offset = part.addr().checked_sub(start);
    offset.is_some_and(|offset| offset + size_of::<P>() <= size_of_val(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `lock_api` asks is its own affair: an id is only believed where it lies in the lock.
    #[test]
    fn only_an_id_within_the_lock_is_its_id() {
        let locks = [ReentrantMutex::new(0u8), ReentrantMutex::new(0)];
        let [one, other] = &locks;
        let (_, id) = ask(one);
        let id = ptr::from_ref(id.expect("lock_api asks for the id of the lock"));
        assert!(is_part(one, id));
        assert!(!is_part(other, id));
        assert!(!is_part(one, ptr::null::<RawThreadId>()));
        let just_before = ptr::from_ref(other).cast::<RawThreadId>();
        assert!(is_part(other, just_before));
        assert!(!is_part(other, just_before.wrapping_byte_sub(1)));
        let last = just_before.wrapping_byte_add(size_of_val(other) - size_of::<RawThreadId>());
        assert!(is_part(other, last));
        assert!(!is_part(other, last.wrapping_byte_add(1)));
        // Nor is one that somebody has left there.
        LAST_ASKED.set(ptr::dangling());
        let (is_held_here, found) = ask(one);
        assert!(!is_held_here);
        assert_eq!(found.map(ptr::from_ref), Some(id));
        assert!(LAST_ASKED.get().is_null());
    }
}
