//! What single operations and measurements have had of the locks of a class: counts and sums only, without
//! lines and distributions.
//!
//! Plain data, in tables that are looked up by a [`Scope`] and the class.

use super::scope::Scope;
use std::mem;

/// In place of a class: all classes that are not told apart.
pub(crate) const OTHER_CLASSES: usize = 0;

/// What one scope has had of the locks of one class. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// Acquisitions whose holds have ended.
    pub(crate) acquisitions: u64,
    pub(crate) held: u64,
    pub(crate) held_max: u64,
    /// Waits that ended with the lock taken, and waits that gave up.
    pub(crate) contended: u64,
    pub(crate) gave_up: u64,
    /// How long both have waited.
    pub(crate) waited: u64,
    pub(crate) waited_max: u64,
    /// How long others waited meanwhile.
    pub(crate) blame: u64,
}

impl Share {
    pub(super) fn add_holds(&mut self, count: u64, total: u64, longest: u64) {
        self.acquisitions += count;
        self.held = self.held.saturating_add(total);
        self.held_max = self.held_max.max(longest);
    }

    pub(super) fn add_wait(&mut self, ns: u64, is_acquired: bool) {
        self.contended += u64::from(is_acquired);
        self.gave_up += u64::from(!is_acquired);
        self.waited = self.waited.saturating_add(ns);
        self.waited_max = self.waited_max.max(ns);
    }

    pub(super) fn add_blame(&mut self, ns: u64) {
        self.blame = self.blame.saturating_add(ns);
    }

    pub(crate) fn add(&mut self, other: &Share) {
        self.add_holds(other.acquisitions, other.held, other.held_max);
        self.contended += other.contended;
        self.gave_up += other.gave_up;
        self.waited = self.waited.saturating_add(other.waited);
        self.waited_max = self.waited_max.max(other.waited_max);
        self.add_blame(other.blame);
    }
}

/// A share, and whose it is of what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// That of nobody where the row is free.
    pub(crate) scope: Scope,
    /// The address of the figures of the class, or [`OTHER_CLASSES`].
    pub(crate) class: usize,
    pub(crate) share: Share,
}

const FREE: Row = Row {
    scope: Scope::NONE,
    class: OTHER_CLASSES,
    share: Share {
        acquisitions: 0,
        held: 0,
        held_max: 0,
        contended: 0,
        gave_up: 0,
        waited: 0,
        waited_max: 0,
        blame: 0,
    },
};

/// Places that a table has at first. A power of two, as all its sizes are.
const AT_FIRST: usize = 16;

/// A table of shares, each found in the place that its scope and class lead to, or behind it.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    places: Vec<Row>,
    used: usize,
}

impl Shares {
    pub(crate) const fn new() -> Self {
        Shares {
            places: Vec::new(),
            used: 0,
        }
    }

    /// An empty one with room for so many rows.
    pub(super) fn with_room(rows: usize) -> Self {
        let places = (rows * 4 / 3 + 1).next_power_of_two().max(AT_FIRST);
        Shares {
            places: vec![FREE; places],
            used: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// How many rows can be added without an allocation.
    pub(super) fn room(&self) -> usize {
        (self.places.len() * 3 / 4).saturating_sub(self.used)
    }

    /// Where the row is, or belongs. There is a free place.
    fn place(&self, scope: Scope, class: usize) -> usize {
        let last = self.places.len() - 1;
        let mut place = hash(scope, class) & last;
        loop {
            let row = &self.places[place];
            let is_it = row.scope == scope && row.class == class;
            if is_it || row.scope == Scope::NONE {
                return place;
            }
            place = (place + 1) & last;
        }
    }

    /// Whether there is a row for it.
    pub(super) fn has(&self, scope: Scope, class: usize) -> bool {
        !self.places.is_empty() && self.places[self.place(scope, class)].scope == scope
    }

    /// The share of a scope in a class. Allocates where there is no [`room`](Self::room).
    #[inline]
    pub(super) fn of(&mut self, scope: Scope, class: usize) -> &mut Share {
        if self.room() == 0 {
            self.grow();
        }
        let place = self.place(scope, class);
        let row = &mut self.places[place];
        if row.scope == Scope::NONE {
            (row.scope, row.class) = (scope, class);
            self.used += 1;
        }
        &mut row.share
    }

    #[cold]
    fn grow(&mut self) {
        let larger = Shares::with_room(2 * self.used.max(AT_FIRST / 2));
        let smaller = mem::replace(self, larger);
        self.add_all(&smaller);
    }

    pub(super) fn add_all(&mut self, other: &Shares) {
        for row in other.rows() {
            self.of(row.scope, row.class).add(&row.share);
        }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.places.iter().filter(|row| row.scope != Scope::NONE)
    }

    /// Takes out the rows of which `is_it` is so.
    pub(super) fn take(&mut self, is_it: impl Fn(Scope) -> bool) -> Vec<Row> {
        let (taken, kept): (Vec<Row>, Vec<Row>) = self.rows().partition(|row| is_it(row.scope));
        if !taken.is_empty() {
            self.places.fill(FREE);
            self.used = 0;
            for row in kept {
                *self.of(row.scope, row.class) = row.share;
            }
        }
        taken
    }
}

/// Multiplied by the odd number next to 2^64 / φ, whose upper bits depend on all.
#[inline]
fn hash(scope: Scope, class: usize) -> usize {
    let mixed =
        (class as u64 ^ scope.to_bits().rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(mixed >> 32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_finds_each_row_again_however_it_grows_and_what_is_taken_out() {
        let mut shares = Shares::new();
        let scope = |n: u64| Scope::from_bits(1 + n % 100);
        for n in 0..1000 {
            shares
                .of(scope(n), 256 * usize::try_from(n % 7).unwrap())
                .add_holds(1, n, n);
        }
        assert_eq!(shares.len(), 700);
        let of = |shares: &Shares, scope: Scope| {
            let rows = shares.rows().filter(|row| row.scope == scope);
            rows.map(|row| row.share.acquisitions).sum::<u64>()
        };
        assert_eq!(of(&shares, scope(3)), 10);
        let taken = shares.take(|of| of == scope(3));
        assert_eq!(
            taken.iter().map(|row| row.share.acquisitions).sum::<u64>(),
            10
        );
        assert_eq!((of(&shares, scope(3)), of(&shares, scope(4))), (0, 10));
        assert!(!shares.has(scope(3), 0) && shares.has(scope(4), 256));
        let all: u64 = shares.rows().map(|row| row.share.acquisitions).sum();
        assert_eq!(all, 990);
    }
}
