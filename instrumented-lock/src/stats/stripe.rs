//! A stripe: one lock class, one mode, one thread slot.

use super::samples::{Samples, Scratch, Totals};
use super::{leak_once, slot};
use crate::class::LockClass;
use crate::clock;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// How a lock is acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Mode {
    /// Exclusively: every acquisition of a mutex, and the writers of a reader-writer lock.
    Write,
    /// Shared with other readers.
    Read,
    /// Shared with readers, and able to become exclusive; one at a time.
    Upgradable,
}

/// Adds one to a counter of the calling thread's slot.
#[inline]
pub(super) fn count(slot: usize, counter: &AtomicU64) {
    if slot >= slot::EXCLUSIVE {
        counter.fetch_add(1, Ordering::Release);
    } else {
        // No locked instruction: this thread is the only writer. Release: a reader that has seen a
        // release counted also sees its acquisition, which came before.
        let n = counter.load(Ordering::Relaxed).wrapping_add(1);
        counter.store(n, Ordering::Release);
    }
}

/// How a hold is recorded. Decided when it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timing {
    /// Its time is measured.
    Exact,
    /// Its time is measured and stands for 2^this holds.
    ForMany(u8),
    /// It is counted only.
    Untimed,
}

/// What a stripe is about: a mode of a lock, or the sleep of a condition variable, where an
/// "acquisition" is a wait that begins and a "hold" the time asleep.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Row {
    Write,
    Read,
    Upgradable,
    Sleep,
}

pub(super) const ROWS: [Row; 4] = [Row::Write, Row::Read, Row::Upgradable, Row::Sleep];

/// The statistics of one row of a class that one slot keeps.
///
/// The owner of the slot is the only writer. In a shared slot several threads are: there the
/// counters take atomic adds and the distributions a lock among their writers.
///
/// Aligned so that its neighbours in memory, which belong to other threads, share no cache line or
/// pair of lines with it.
#[repr(C, align(128))]
pub(crate) struct Stripe {
    hold: Samples,
    acquired: AtomicU64,
    class: &'static LockClass,
    row: Row,
    slot: usize,
    try_failures: AtomicU64,
    timeouts: AtomicU64,
    /// Releases of holds whose timing was not exact.
    sampled_releases: AtomicU64,
    /// Made before the first wait.
    blocked: AtomicPtr<Samples>,
    writers: parking_lot::Mutex<()>,
}

impl Stripe {
    pub(super) fn new(class: &'static LockClass, row: Row, slot: usize) -> Self {
        Stripe {
            hold: Samples::new(),
            acquired: AtomicU64::new(0),
            class,
            row,
            slot,
            try_failures: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            sampled_releases: AtomicU64::new(0),
            blocked: AtomicPtr::new(ptr::null_mut()),
            writers: parking_lot::Mutex::new(()),
        }
    }

    #[inline]
    fn is_shared(&self) -> bool {
        self.slot >= slot::EXCLUSIVE
    }

    #[inline]
    fn count(&self, counter: &AtomicU64) {
        count(self.slot, counter);
    }

    #[inline(always)]
    fn nanoseconds(&self, start: u64, end: u64) -> u64 {
        clock::nanoseconds(start, end).unwrap_or_else(|| self.class.stats.clock_ran_back())
    }

    /// Calls `record` as the only writer.
    fn alone(&self, record: impl FnOnce()) {
        if self.is_shared() {
            let _writers = self.writers.lock();
            record();
        } else {
            record();
        }
    }

    /// An acquisition that did not have to wait.
    #[inline]
    pub(crate) fn acquired(&self) {
        self.count(&self.acquired);
    }

    pub(crate) fn try_failed(&self) {
        self.count(&self.try_failures);
    }

    pub(crate) fn timed_out(&self) {
        self.count(&self.timeouts);
    }

    /// Everything that recording a wait needs, got ready before the wait: nothing is allocated or
    /// calibrated once the lock is held.
    pub(crate) fn prepare_to_block(&self) {
        leak_once(&self.blocked, Samples::new);
        clock::calibrate();
    }

    fn blocked(&self) -> Option<&Samples> {
        // SAFETY: null, or what `prepare_to_block` made, which nothing frees.
        unsafe { self.blocked.load(Ordering::Acquire).as_ref() }
    }

    /// An acquisition that waited from `start` to `end`.
    pub(crate) fn acquired_after(&self, start: u64, end: u64) {
        self.count(&self.acquired);
        if let Some(blocked) = self.blocked() {
            let ns = self.nanoseconds(start, end);
            self.alone(|| blocked.record(ns));
        }
    }

    /// The end of a hold whose timing was exact. `self` is the stripe of the acquisition; the
    /// release is recorded in the stripe of the thread that makes it.
    pub(crate) fn released(&self, start: u64, end: u64) {
        if slot::current() == self.slot && !self.is_shared() {
            self.hold.record(self.nanoseconds(start, end));
        } else {
            self.released_elsewhere(start, end);
        }
    }

    #[cold]
    #[inline(never)]
    fn released_elsewhere(&self, start: u64, end: u64) {
        let stripe = self.of(self.row);
        let ns = stripe.nanoseconds(start, end);
        stripe.alone(|| stripe.hold.record(ns));
    }

    /// The end of any other hold; with `shift`, of one that stands for 2^`shift`.
    pub(crate) fn released_sampled(&self, start: u64, end: u64, shift: Option<u8>) {
        let stripe = self.of(self.row);
        stripe.count(&stripe.sampled_releases);
        if let Some(shift) = shift {
            let ns = stripe.nanoseconds(start, end);
            stripe.alone(|| stripe.hold.record_for_many(ns, shift));
        }
    }

    /// The calling thread's stripe of the same class for another row.
    pub(crate) fn of(&self, row: Row) -> &'static Stripe {
        self.class.stats.stripe(self.class, row)
    }

    pub(super) fn read_distributions(&self, totals: &mut RowTotals, scratch: &mut Scratch) {
        self.hold.read(&mut totals.hold, scratch);
        if let Some(blocked) = self.blocked() {
            blocked.read(&mut totals.blocked, scratch);
        }
        totals.sampled_releases += self.sampled_releases.load(Ordering::Acquire);
    }

    pub(super) fn read_counters(&self, totals: &mut RowTotals) {
        totals.acquisitions += self.acquired.load(Ordering::Relaxed);
        totals.try_failures += self.try_failures.load(Ordering::Relaxed);
        totals.timeouts += self.timeouts.load(Ordering::Relaxed);
    }
}

/// All stripes of a class and row, added up.
pub(crate) struct RowTotals {
    pub(crate) acquisitions: u64,
    pub(crate) try_failures: u64,
    pub(crate) timeouts: u64,
    sampled_releases: u64,
    pub(crate) hold: Totals,
    pub(crate) blocked: Totals,
}

impl RowTotals {
    pub(super) fn new() -> Self {
        RowTotals {
            acquisitions: 0,
            try_failures: 0,
            timeouts: 0,
            sampled_releases: 0,
            hold: Totals::new(),
            blocked: Totals::new(),
        }
    }

    /// All releases, however they were timed.
    pub(crate) fn releases(&self) -> u64 {
        self.hold.count - self.hold.weights + self.sampled_releases
    }
}
