//! Who holds a reentrant mutex, and which lock was asked.
//!
//! `lock_api`'s reentrant mutex calls its raw mutex for the outermost acquisition only, so the raw
//! mutex cannot see the nested ones; and it hides both of its parts. What it does do on every call
//! is ask its thread id. The id therefore knows the lock's class, and leaves word in a
//! thread-local of which lock was asked last.

use crate::cell::ClassCell;
use crate::class::Declaration;
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

/// Counts a nested acquisition of the lock for which `is_held_here` asks, if it says yes and
/// `acquire` then succeeds.
#[inline]
pub(crate) fn counting_nested<G>(
    is_held_here: impl FnOnce() -> bool,
    acquire: impl FnOnce() -> Option<G>,
) -> Option<G> {
    let nested = is_held_here();
    // SAFETY: `is_held_here` has just asked this very lock, through a reference that the caller
    // still has.
    let id = unsafe { &*LAST_ASKED.get() };
    // Before the raw mutex, which takes itself for that of a plain one, names the class.
    let class = id.class.class_uncounted(LockKind::ReentrantMutex);
    let guard = acquire()?;
    if nested && class.state().is_on() {
        let event = stats::event(&class.stats, Activity::Write, Kind::Nested);
        stats::here(|thread| _ = thread.room_for_one().page.publish(&event));
    }
    Some(guard)
}
