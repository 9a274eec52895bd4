//! Whom holds have kept waiting: what one hold is blamed for, and what a class keeps of it by pairs of
//! lines, the one that waits and the one that holds.

use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A line that waits or holds; `None` for all that are not told apart.
pub(super) type Line = Option<&'static Location<'static>>;

/// Mostly the very same location; to compare what two of them say takes longer.
pub(super) fn is_line(one: Line, other: Line) -> bool {
    one.map(ptr::from_ref) == other.map(ptr::from_ref) || one == other
}

/// Waiting lines that an episode keeps apart, besides all others.
pub(super) const LINES: usize = 3;

/// What one line has waited for a hold.
#[derive(Clone, Copy)]
pub(super) struct Share {
    pub(super) waiter: Line,
    pub(super) ticks: u64,
    pub(super) waits: u64,
}

impl Share {
    pub(super) const NONE: Share = Share {
        waiter: None,
        ticks: 0,
        waits: 0,
    };
}

/// What a hold that has ended is blamed for, worked out before the unlock and recorded after.
pub(crate) struct Verdict {
    /// What was waited before the hold, when nobody had the lock, in ticks.
    pub(super) hand_over: u64,
    /// All that the hold is blamed for, in ticks.
    pub(super) total: u64,
    /// Of each waiting line.
    pub(super) shares: [Share; LINES + 1],
}

impl Verdict {
    /// What each line that has waited has to say: who, how long in ticks, and how many.
    fn shares(&self) -> impl Iterator<Item = &Share> {
        self.shares.iter().filter(|share| share.ticks > 0)
    }

    /// Adds the parts to the pairs of a class.
    pub(crate) fn add_to(&self, pairs: &mut Vec<Pair>, holder: Line, to_ns: impl Fn(u64) -> u64) {
        for share in self.shares() {
            Pair {
                waiter: share.waiter,
                holder,
                waits: share.waits,
                total: to_ns(share.ticks),
            }
            .add_to(pairs);
        }
    }
}

/// Pairs that a class keeps; beyond that the smallest makes room.
pub(super) const PAIRS: usize = 64;

/// A waiting line and a holding one.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) waiter: Line,
    pub(crate) holder: Line,
    pub(crate) waits: u64,
    /// Nanoseconds.
    pub(crate) total: u64,
}

impl Pair {
    /// Adds it to the pairs of a class.
    fn add_to(self, pairs: &mut Vec<Pair>) {
        let is_it = |pair: &&mut Pair| {
            is_line(pair.waiter, self.waiter) && is_line(pair.holder, self.holder)
        };
        if let Some(pair) = pairs.iter_mut().find(is_it) {
            pair.waits += self.waits;
            pair.total = pair.total.saturating_add(self.total);
            return;
        }
        if pairs.len() == PAIRS {
            let smallest = pairs.iter().enumerate().min_by_key(|(_, pair)| pair.total);
            let Some((i, _)) = smallest else { return };
            pairs.swap_remove(i);
        }
        // Few lines meet at most locks: the first allocation is of one pair.
        if pairs.len() == pairs.capacity() {
            pairs.reserve_exact(pairs.len().max(1));
        }
        pairs.push(self);
    }
}

/// What a stripe has to add to the pairs of its class: of one pair, until another one comes. A lock
/// that is waited for is mostly so at the same lines, one hold after the other, and the pairs are
/// behind a lock. Written by the stripe's owner.
pub(super) struct Owed {
    waiter: AtomicPtr<Location<'static>>,
    holder: AtomicPtr<Location<'static>>,
    waits: AtomicU64,
    /// Nanoseconds.
    total: AtomicU64,
}

impl Owed {
    pub(super) fn new() -> Self {
        Owed {
            waiter: AtomicPtr::new(ptr::null_mut()),
            holder: AtomicPtr::new(ptr::null_mut()),
            waits: AtomicU64::new(0),
            total: AtomicU64::new(0),
        }
    }

    /// Adds what a hold of line `holder` is blamed for, if it is this pair.
    pub(super) fn add(&self, verdict: &Verdict, holder: Line, to_ns: impl Fn(u64) -> u64) -> bool {
        let mut shares = verdict.shares();
        let (Some(share), None) = (shares.next(), shares.next()) else {
            return false;
        };
        let (waiter, holder) = (pointer(share.waiter), pointer(holder));
        if self.get().is_none() {
            self.waiter.store(waiter, Ordering::Relaxed);
            self.holder.store(holder, Ordering::Relaxed);
        } else if self.waiter.load(Ordering::Relaxed) != waiter
            || self.holder.load(Ordering::Relaxed) != holder
        {
            return false;
        }
        for (sum, n) in [
            (&self.waits, share.waits),
            (&self.total, to_ns(share.ticks)),
        ] {
            // Release: who sees that something is owed sees whose it is.
            sum.store(sum.load(Ordering::Relaxed) + n, Ordering::Release);
        }
        true
    }

    /// Waits and nanoseconds.
    fn get(&self) -> Option<(u64, u64)> {
        let [waits, total] = [&self.waits, &self.total].map(|sum| sum.load(Ordering::Acquire));
        (waits > 0 || total > 0).then_some((waits, total))
    }

    /// Adds it to the pairs of the class, which are locked.
    pub(super) fn copy_to(&self, pairs: &mut Vec<Pair>) {
        if let Some((waits, total)) = self.get() {
            Pair {
                waiter: line(&self.waiter),
                holder: line(&self.holder),
                waits,
                total,
            }
            .add_to(pairs);
        }
    }

    /// The same, and forgets it. For the owner.
    pub(super) fn move_to(&self, pairs: &mut Vec<Pair>) {
        self.copy_to(pairs);
        self.waits.store(0, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
    }
}

fn pointer(line: Line) -> *mut Location<'static> {
    line.map_or(ptr::null_mut(), |line| ptr::from_ref(line).cast_mut())
}

fn line(pointer: &AtomicPtr<Location<'static>>) -> Line {
    // SAFETY: null, or what `pointer` made of a `&'static Location`.
    unsafe { pointer.load(Ordering::Relaxed).as_ref() }
}
