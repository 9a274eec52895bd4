//! Whose page of a log it is.

use crate::brief;
use parking_lot::Mutex;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Records of a page: what its 2 KiB have room for.
pub(crate) const PAGE_RECORDS: usize = 57;

/// Numbers that a page has for its records: a power of two, so that a number says which page it is of.
pub(crate) const PAGE_NUMBERS: u32 = 64;

/// Whose page it is.
pub(crate) struct PageOwner {
    /// Numbers the pages, from 0.
    number: u32,
    /// Numbers the threads, from 1; 0 for one that is being torn down.
    thread: AtomicU32,
    /// The lock for which the owner last said as a reader that it had it, and when.
    herd_lock: AtomicUsize,
    herd_at: AtomicU64,
    /// The owner's name, for reports.
    name: Mutex<Option<Arc<str>>>,
    /// One bit for each record of an owner that has ended.
    ended: AtomicU64,
    /// Of a page that has been borrowed and put back: the one that was put back before, as a number from 1.
    next_put_back: AtomicU32,
    /// For how long owners have used locks, each from when it got the page to its last hold; and until when this owner
    /// has: both in [`COARSE`] ticks, modulo 2^32.
    used_for: AtomicU32,
    used_until: AtomicU32,
    /// Whether it stands [beside the page](super::scopes) which operations its records belong to.
    has_scopes: AtomicBool,
}

/// How long a reader that has just said in its lock that it had it need not say so again, in ticks:
/// some microseconds, longer where the counter is slow.
const HERD: u64 = 8192;

/// Ticks that are one where the page has no room for more: some milliseconds. 2^32 of them are two months and more.
const COARSE: u64 = 1 << 22;

#[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
fn coarse(stamp: u64) -> u32 {
    (stamp / COARSE) as u32
}

impl PageOwner {
    /// Whether a reader that finds at `at` that another thread had the lock before has found so a
    /// moment ago. Then the readers take turns, and the next one finds the same whatever it reads
    /// there, while each store would take the lock's cache line from all others.
    #[inline(always)]
    pub(crate) fn is_herd(&self, lock: usize, at: u64) -> bool {
        // Relaxed: the owner's only.
        let is_herd = self.herd_lock.load(Ordering::Relaxed) == lock
            && at.wrapping_sub(self.herd_at.load(Ordering::Relaxed)) < HERD;
        if !is_herd {
            self.herd_lock.store(lock, Ordering::Relaxed);
            self.herd_at.store(at, Ordering::Relaxed);
        }
        is_herd
    }

    /// The number of the page's first record, among all of the process; never 0.
    pub(super) fn first_number(&self) -> u32 {
        (self.number + 1) * PAGE_NUMBERS
    }

    /// The number of the thread whose page it is, or was last.
    pub(crate) fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    pub(super) fn set_thread(&self, thread: u32) {
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// Its place among all pages.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    // Relaxed, both: the page is one's own, or found by an acquiring load.

    pub(super) fn set_next_put_back(&self, next: u32) {
        self.next_put_back.store(next, Ordering::Relaxed);
    }

    pub(super) fn next_put_back(&self) -> u32 {
        self.next_put_back.load(Ordering::Relaxed)
    }

    /// Whether it stands beside the page which scopes its records belong to.
    #[inline(always)]
    pub(super) fn has_scopes(&self) -> bool {
        // Acquire: pairs with the release below.
        self.has_scopes.load(Ordering::Acquire)
    }

    pub(super) fn set_has_scopes(&self) {
        self.has_scopes.store(true, Ordering::Release);
    }

    /// Which stripes its records are folded into.
    pub(super) fn home(&self) -> usize {
        self.number as usize
    }

    /// The thread's name, if it has one and has not ended.
    pub(crate) fn name(&self) -> Option<Arc<str>> {
        brief::lock(&self.name).clone()
    }

    // Relaxed, all three: for who has the page locked, or gets along with what was so a moment ago.

    /// The owner has waited for a lock or held one until `end`.
    pub(super) fn has_used(&self, end: u64) {
        let end = coarse(end);
        let until = self.used_until.load(Ordering::Relaxed);
        // It may have got the page before it was known where stamps come from.
        let more = if until == 0 {
            0
        } else {
            end.wrapping_sub(until)
        };
        // What its predecessor has left is older than it.
        if more < u32::MAX / 2 {
            let used_for = self.used_for.load(Ordering::Relaxed).wrapping_add(more);
            self.used_for.store(used_for, Ordering::Relaxed);
            self.used_until.store(end, Ordering::Relaxed);
        }
    }

    /// The page gets another owner.
    pub(super) fn starts_anew(&self, at: u64) {
        self.used_until.store(coarse(at), Ordering::Relaxed);
    }

    /// For how many ticks its owners have used locks, to [`COARSE`] ticks.
    pub(super) fn used_for(&self) -> u64 {
        u64::from(self.used_for.load(Ordering::Relaxed)) * COARSE
    }

    /// Whether the thread has ended that had this record published.
    pub(crate) fn has_ended(&self, record: u32) -> bool {
        self.ended.load(Ordering::Relaxed) >> record & 1 == 1
    }

    pub(super) fn new(number: u32) -> Self {
        PageOwner {
            number,
            thread: AtomicU32::new(0),
            herd_lock: AtomicUsize::new(0),
            herd_at: AtomicU64::new(0),
            name: Mutex::new(None),
            ended: AtomicU64::new(0),
            next_put_back: AtomicU32::new(0),
            used_for: AtomicU32::new(0),
            used_until: AtomicU32::new(0),
            has_scopes: AtomicBool::new(false),
        }
    }

    pub(super) fn set_name(&self, name: Option<Arc<str>>) {
        let before = mem::replace(&mut *brief::lock(&self.name), name);
        // Freed when the lock has been let go: an allocator may take its time.
        drop(before);
    }

    /// The owner has ended, with these records in flight.
    pub(super) fn has_left(&self, in_flight: u64) {
        self.ended.store(in_flight, Ordering::Relaxed);
    }

    /// Only these records are still in flight.
    pub(super) fn have_ended_of(&self, in_flight: u64) {
        let ended = self.ended.load(Ordering::Relaxed);
        if ended != 0 {
            self.ended.store(ended & in_flight, Ordering::Relaxed);
        }
    }
}
