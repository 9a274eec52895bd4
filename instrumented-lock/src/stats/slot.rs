//! Thread slots: which stripe a thread may write.
//!
//! A thread takes one of [`EXCLUSIVE`] slots at its first record and gives it back when it ends, so
//! a slot has one owner at a time and its stripes one writer. Threads beyond that number share
//! [`SHARED`] further slots, whose stripes take a writer lock: slower, never wrong, and memory stays
//! bounded. A slot's figures are cumulative, so the next owner goes on where the last one stopped.

use super::flight;
use crate::clock;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Slots with one owner at a time: as many as fit one word of [`TAKEN`].
pub(crate) const EXCLUSIVE: usize = 64;

/// Slots that threads beyond [`EXCLUSIVE`] share, spread over so many writer locks.
pub(crate) const SHARED: usize = 8;

pub(crate) const SLOTS: usize = EXCLUSIVE + SHARED;

/// One bit for each exclusive slot that has an owner.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Deals the shared slots out in turn.
static NEXT_SHARED: AtomicUsize = AtomicUsize::new(0);

/// Numbers the threads, from 1.
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

/// A thread as the statistics know it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Thread {
    /// Below [`SLOTS`].
    pub(crate) slot: usize,
    /// No other thread's, until 2^32 have come and gone. Not 0.
    pub(crate) id: u32,
}

thread_local! {
    /// This thread; `id` is 0 as long as it has not recorded anything. Without a destructor, so
    /// that it costs one load and stays readable while the thread is being torn down.
    static THREAD: Cell<Thread> = const { Cell::new(Thread { slot: 0, id: 0 }) };

    /// Gives the slot back when the thread ends.
    static LEASE: Lease = const { Lease };
}

/// The calling thread.
#[inline(always)]
pub(crate) fn current() -> Thread {
    let thread = THREAD.get();
    if thread.id == 0 { assign() } else { thread }
}

#[cold]
#[inline(never)]
fn assign() -> Thread {
    clock::refine();
    // A thread that is being torn down could not give an exclusive slot back.
    let slot = match LEASE.try_with(|_| ()) {
        Ok(()) => take().unwrap_or_else(shared),
        Err(_) => shared(),
    };
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed).max(1);
    let thread = Thread { slot, id };
    THREAD.set(thread);
    if slot < EXCLUSIVE {
        flight::new_owner(slot);
    }
    thread
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
        let Thread { slot, id } = THREAD.get();
        // Guards may still drop after this, in the destructors of other thread-locals.
        THREAD.set(Thread { slot: shared(), id });
        if slot < EXCLUSIVE {
            // Release: see `take`.
            TAKEN.fetch_and(!(1 << slot), Ordering::Release);
        }
    }
}
