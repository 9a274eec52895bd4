//! A distribution as it is kept: exact sums and a histogram. Plain data; whoever has it is alone with
//! it.

use crate::clock::SHORT;
use crate::histogram::{BUCKETS, bucket_of, short_place_of};
use std::num::NonZero;

/// Buckets that a reader looks at together: an octave.
const GROUP: usize = 8;
const GROUPS: usize = BUCKETS.div_ceil(GROUP);
const _: () = assert!(GROUPS <= 64);

/// Durations in nanoseconds: count, sum, sum of squares, minimum, maximum, and how many in each bucket.
pub(crate) struct Durations {
    count: u64,
    sum: u128,
    /// Saturating.
    squares: u128,
    min: u64,
    max: u64,
    /// In groups; past the last bucket there is nothing.
    buckets: [[u32; GROUP]; GROUPS],
    /// For buckets that have passed 2^32, how often.
    carries: Vec<(usize, u64)>,
}

/// What durations below [`SHORT`] add up to.
struct ShortSums {
    sum: u64,
    squares: u64,
    min: u32,
    max: u32,
}

impl ShortSums {
    /// Of at most 64.
    #[inline(never)]
    fn of(durations: &[NonZero<u32>]) -> Self {
        // 64 of them fit, and so do their squares: no look at each.
        const _: () = assert!((SHORT - 1).checked_mul((SHORT - 1) * 64).is_some());
        let (mut sum, mut squares) = (0, 0);
        for ns in durations {
            let ns = u64::from(ns.get());
            sum += ns;
            squares += ns * ns;
        }
        // Another loop, and signed: so the compiler takes four at a time.
        let (mut min, mut max) = (i32::MAX, 0);
        for ns in durations {
            let ns = ns.get().cast_signed();
            (min, max) = (min.min(ns), max.max(ns));
        }
        let [min, max] = [min, max].map(i32::cast_unsigned);
        ShortSums {
            sum,
            squares,
            min,
            max,
        }
    }
}

impl Durations {
    pub(super) fn new() -> Self {
        Durations {
            count: 0,
            sum: 0,
            squares: 0,
            min: u64::MAX,
            max: 0,
            buckets: [[0; GROUP]; GROUPS],
            carries: Vec::new(),
        }
    }

    /// Adds a duration that stands for 2^`shift`.
    pub(super) fn add(&mut self, ns: u64, shift: u32) {
        let weight = 1u32 << shift;
        self.count += u64::from(weight);
        self.sum += u128::from(ns) << shift;
        let squares = (u128::from(ns) * u128::from(ns)).saturating_mul(u128::from(weight));
        self.squares = self.squares.saturating_add(squares);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.count_in(bucket_of(ns), weight);
    }

    /// Adds up to 64 durations below [`SHORT`]. Returns their sum and the longest.
    pub(super) fn add_short(&mut self, durations: &[NonZero<u32>]) -> (u64, u64) {
        let sums = ShortSums::of(durations);
        self.count_short(durations);
        if !durations.is_empty() {
            self.count += durations.len() as u64;
            self.sum += u128::from(sums.sum);
            self.squares = self.squares.saturating_add(u128::from(sums.squares));
            self.min = self.min.min(u64::from(sums.min));
            self.max = self.max.max(u64::from(sums.max));
        }
        (sums.sum, u64::from(sums.max))
    }

    /// Counts them in their buckets. Apart, so that all it needs stays in registers.
    #[inline(never)]
    fn count_short(&mut self, durations: &[NonZero<u32>]) {
        let buckets = self.buckets.as_flattened_mut();
        let mut full = None;
        let mut count = |ns: &NonZero<u32>| {
            let n = &mut buckets[short_place_of(*ns) % (GROUP * GROUPS)];
            let (more, is_full) = n.overflowing_add(1);
            *n = more;
            if is_full {
                full = Some(*ns);
            }
        };
        // Four at a time: a third less to do for the loop itself.
        let (fours, rest) = durations.as_chunks::<4>();
        for four in fours {
            four.iter().for_each(&mut count);
        }
        rest.iter().for_each(&mut count);
        // At most one, since there are fewer than fit a bucket.
        if let Some(ns) = full {
            self.carry(short_place_of(ns));
        }
    }

    fn count_in(&mut self, bucket: usize, weight: u32) {
        let n = &mut self.buckets.as_flattened_mut()[bucket];
        let (sum, is_full) = n.overflowing_add(weight);
        *n = sum;
        if is_full {
            self.carry(bucket);
        }
    }

    #[cold]
    fn carry(&mut self, bucket: usize) {
        match self.carries.iter_mut().find(|(of, _)| *of == bucket) {
            Some((_, carries)) => *carries += 1,
            None => self.carries.push((bucket, 1)),
        }
    }

    /// Adds all of it to `totals`.
    pub(crate) fn add_to(&self, totals: &mut Totals) {
        totals.count += self.count;
        totals.sum += self.sum;
        totals.squares = totals.squares.saturating_add(self.squares);
        totals.min = totals.min.min(self.min);
        totals.max = totals.max.max(self.max);
        for (group, counts) in self.buckets.iter().enumerate() {
            if *counts != [0; GROUP] {
                totals.filled |= 1 << group;
                for (sum, n) in totals.buckets[group].iter_mut().zip(counts) {
                    *sum += u64::from(*n);
                }
            }
        }
        for (bucket, carries) in &self.carries {
            totals.filled |= 1 << (bucket / GROUP);
            totals.buckets.as_flattened_mut()[*bucket] += carries << 32;
        }
    }
}

/// The places of the bits that are set.
pub(super) fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (lowest < u64::BITS).then_some(lowest as usize)
    })
}

/// What several [`Durations`] add up to.
pub(crate) struct Totals {
    pub(crate) count: u64,
    pub(crate) sum: u128,
    pub(crate) squares: u128,
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// One bit for each group of buckets that are not all zero.
    filled: u64,
    buckets: Box<[[u64; GROUP]; GROUPS]>,
}

impl Totals {
    pub(crate) fn new() -> Self {
        Totals {
            count: 0,
            sum: 0,
            squares: 0,
            min: u64::MAX,
            max: 0,
            filled: 0,
            buckets: Box::new([[0; GROUP]; GROUPS]),
        }
    }

    /// Forgets everything, as far as there is anything.
    pub(crate) fn clear(&mut self) {
        for group in ones(self.filled) {
            self.buckets[group] = [0; GROUP];
        }
        (self.count, self.sum, self.squares) = (0, 0, 0);
        (self.min, self.max, self.filled) = (u64::MAX, 0, 0);
    }

    /// Bucket and count, for buckets that are not empty, in ascending order.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let of_group = |group: usize| (group * GROUP..).zip(self.buckets[group]);
        ones(self.filled).flat_map(of_group).filter(|&(_, n)| n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(durations: &Durations) -> Totals {
        let mut totals = Totals::new();
        durations.add_to(&mut totals);
        totals
    }

    fn figures(durations: &Durations) -> (u64, u128, u128, u64, u64, Vec<(usize, u64)>) {
        let all = totals(durations);
        let buckets = all.buckets().collect();
        (all.count, all.sum, all.squares, all.min, all.max, buckets)
    }

    #[test]
    fn short_durations_added_together_are_what_they_are_one_by_one() {
        let (mut one_by_one, mut together) = (Durations::new(), Durations::new());
        let short = |ns: u64| NonZero::new(u32::try_from(ns).unwrap()).unwrap();
        let longest = short(SHORT - 1);
        let values = [1, 2, 3, 4, 100, 1 << 20, SHORT - 1].into_iter().cycle();
        let values: Vec<u64> = values.take(64).collect();
        for &ns in &values {
            one_by_one.add(ns, 0);
        }
        let sum = values.iter().sum();
        let values: Vec<_> = values.into_iter().map(short).collect();
        assert_eq!(together.add_short(&values), (sum, SHORT - 1));
        assert_eq!(together.add_short(&[]), (0, 0));
        assert_eq!(figures(&together), figures(&one_by_one));
        for _ in 0..2 {
            (0..64).for_each(|_| one_by_one.add(SHORT - 1, 0));
            together.add_short(&[longest; 64]);
        }
        assert_eq!(figures(&together), figures(&one_by_one));
    }

    #[test]
    fn buckets_that_pass_32_bits_are_carried() {
        let mut durations = Durations::new();
        // All but one that fit a bucket.
        (0..32).for_each(|shift| durations.add(100, shift));
        durations.add_short(&[NonZero::new(100).unwrap(); 2]);
        durations.add(100, 0);
        let buckets: Vec<_> = totals(&durations).buckets().collect();
        assert_eq!(buckets, [(bucket_of(100), (1 << 32) + 2)]);
    }

    #[test]
    fn sums_do_not_wrap() {
        let mut durations = Durations::new();
        for _ in 0..7 {
            durations.add(1 << 62, 0);
            durations.add(5, 0);
        }
        durations.add(u64::MAX, 20);
        let all = totals(&durations);
        assert_eq!(all.sum, (7 << 62) + 35 + (u128::from(u64::MAX) << 20));
        assert_eq!((all.min, all.max), (5, u64::MAX));
        assert_eq!(all.squares, u128::MAX, "saturated");
    }

    #[test]
    fn cleared_totals_are_as_new() {
        let mut durations = Durations::new();
        durations.add(7, 0);
        let mut all = totals(&durations);
        all.clear();
        durations.add_to(&mut all);
        assert_eq!(all.buckets().collect::<Vec<_>>(), [(bucket_of(7), 1)]);
        assert_eq!((all.count, all.sum), (1, 7));
    }
}
