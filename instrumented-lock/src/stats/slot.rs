//! Thread slots: which stripe a thread may write.
//!
//! A thread takes one of [`EXCLUSIVE`] slots at its first record and gives it back when it ends, so
//! a slot has one owner at a time and its stripes one writer. Threads beyond that number share
//! [`SHARED`] further slots, whose stripes take a writer lock: slower, never wrong, and memory stays
//! bounded. A slot's figures are cumulative, so the next owner goes on where the last one stopped.

use super::Site;
use super::flight::{self, Table};
use super::sampling::Sampling;
use crate::clock;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Slots with one owner at a time: as many as fit one word of [`TAKEN`].
pub(crate) const EXCLUSIVE: usize = 64;

/// Slots that threads beyond [`EXCLUSIVE`] share, spread over so many writer locks.
pub(crate) const SHARED: usize = 4;

/// One bit for each exclusive slot that has an owner.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Deals the shared slots out in turn.
static NEXT_SHARED: AtomicUsize = AtomicUsize::new(0);

/// Numbers the threads, from 1.
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

/// A thread as the statistics know it: all that they keep in thread-local storage, so that an
/// acquisition and a release look there once. In a library that look is a call, as far as the
/// compiler knows.
pub(crate) struct Thread {
    slot: Cell<usize>,
    id: Cell<u32>,
    /// What the thread has in flight; none with a shared slot.
    pub(super) table: Cell<Option<&'static Table>>,
    /// The row of the hold that this thread ended last: where `lock_api` locks again what it has
    /// just unlocked, the line is the one that locked before.
    pub(super) last_released: Cell<Option<&'static Site>>,
    pub(crate) sampling: Sampling,
}

/// Not a slot: no table is that long.
const NONE: usize = usize::MAX;

thread_local! {
    /// This thread. Without a destructor, so that it stays readable while the thread is being torn
    /// down.
    static THREAD: Thread = const {
        Thread {
            slot: Cell::new(NONE),
            id: Cell::new(0),
            table: Cell::new(None),
            last_released: Cell::new(None),
            sampling: Sampling::new(),
        }
    };

    /// Gives the slot back when the thread ends.
    static LEASE: Lease = const { Lease };
}

impl Thread {
    /// Exclusive ones first, then shared ones; beyond all tables as long as the thread has not
    /// recorded anything.
    #[inline(always)]
    pub(crate) fn slot(&self) -> usize {
        self.slot.get()
    }

    /// No other thread's, until 2^32 have come and gone. Not 0, once there is a slot.
    #[inline(always)]
    pub(crate) fn id(&self) -> u32 {
        self.id.get()
    }

    /// The thread has ended a hold of this row.
    #[inline(always)]
    pub(super) fn has_released(&self, site: &'static Site) {
        // Mostly it is the same: a store less before the next locked instruction.
        if !self
            .last_released
            .get()
            .is_some_and(|last| ptr::eq(last, site))
        {
            self.last_released.set(Some(site));
        }
    }

    /// The same, with a slot.
    fn settled(&self) -> &Self {
        if self.slot() == NONE {
            assign(self);
        }
        self
    }
}

/// Calls `f` with the calling thread, which may have no slot yet.
#[inline(always)]
pub(crate) fn here<T>(f: impl FnOnce(&Thread) -> T) -> T {
    // `with` is not inlined where what it calls is long.
    let thread = THREAD.with(ptr::from_ref);
    // SAFETY: without a destructor it lives as long as the thread, which is here until `f` returns.
    f(unsafe { &*thread })
}

/// The calling thread's slot.
pub(crate) fn current() -> usize {
    here(|thread| thread.settled().slot())
}

#[cold]
#[inline(never)]
fn assign(thread: &Thread) {
    clock::refine();
    // A thread that is being torn down could not give an exclusive slot back.
    let slot = match LEASE.try_with(|_| ()) {
        Ok(()) => take().unwrap_or_else(shared),
        Err(_) => shared(),
    };
    thread
        .id
        .set(NEXT_ID.fetch_add(1, Ordering::Relaxed).max(1));
    thread.slot.set(slot);
    thread.table.set(flight::new_owner(slot));
}

fn take() -> Option<usize> {
    // Acquire: pairs with the release in `Lease::drop`; the last owner's records are complete and
    // visible before this thread adds to them.
    let taken = TAKEN.try_update(Ordering::Acquire, Ordering::Relaxed, |taken| {
        let free = taken.trailing_ones();
        (free < 64).then(|| taken | 1 << free)
    });
    taken.ok().map(|before| before.trailing_ones() as usize)
}

fn shared() -> usize {
    EXCLUSIVE + NEXT_SHARED.fetch_add(1, Ordering::Relaxed) % SHARED
}

struct Lease;

impl Drop for Lease {
    fn drop(&mut self) {
        // Guards may still drop after this, in the destructors of other thread-locals.
        let slot = here(|thread| {
            thread.table.set(None);
            thread.slot.replace(shared())
        });
        if slot < EXCLUSIVE {
            // Release: see `take`.
            TAKEN.fetch_and(!(1 << slot), Ordering::Release);
        }
    }
}
