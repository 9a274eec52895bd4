//! Which line has kept which line waiting: pairs of a waiting and a holding line.

use super::site::Site;
use std::ptr;

/// A line that waits or holds; `None` for all that are not told apart.
pub(crate) type Line = Option<Site>;

/// Mostly the very same location; to compare what two of them say takes longer.
fn is_line(one: Line, other: Line) -> bool {
    one.map(ptr::from_ref) == other.map(ptr::from_ref) || one == other
}

/// Pairs that are kept; beyond that the smallest makes room.
pub(super) const PAIRS: usize = 64;

/// A waiting line and a holding one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) waiter: Line,
    pub(crate) holder: Line,
    pub(crate) waits: u64,
    /// Nanoseconds.
    pub(crate) total: u64,
}

impl Pair {
    fn is_same(&self, other: &Pair) -> bool {
        is_line(self.waiter, other.waiter) && is_line(self.holder, other.holder)
    }

    /// Adds it to its like among `pairs`, of which `most` are kept.
    pub(crate) fn add_to(self, pairs: &mut Vec<Pair>, most: usize) {
        if let Some(pair) = pairs.iter_mut().find(|pair| pair.is_same(&self)) {
            pair.waits += self.waits;
            pair.total = pair.total.saturating_add(self.total);
            return;
        }
        if pairs.len() == most {
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
