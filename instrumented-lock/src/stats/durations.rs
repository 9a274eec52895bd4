//! A distribution as it is kept: exact sums and a histogram. Plain data; whoever has it is alone with
//! it.

use crate::clock::SHORT;
use crate::histogram::{BUCKETS, SMALL, SMALL_BUCKETS, bucket_of};

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
    /// What each bucket can take before it must be looked at.
    room: u32,
    /// What has been taken out of full buckets.
    carried: Vec<(usize, u64)>,
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
    fn of(durations: &[u32]) -> Self {
        // 64 of them fit, and so do their squares: no look at each.
        const _: () = assert!((SHORT - 1).checked_mul((SHORT - 1) * 64).is_some());
        let (mut sum, mut squares) = (0, 0);
        for &ns in durations {
            let ns = u64::from(ns);
            sum += ns;
            squares += ns * ns;
        }
        // Another loop, and signed: so the compiler takes four at a time.
        let (mut min, mut max) = (i32::MAX, 0);
        for ns in durations {
            let ns = ns.cast_signed();
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
            room: u32::MAX,
            carried: Vec::new(),
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
    pub(super) fn add_short(&mut self, durations: &[u32]) -> (u64, u64) {
        if durations.is_empty() {
            return (0, 0);
        }
        let sums = ShortSums::of(durations);
        self.count_short(durations, sums.max);
        self.count += durations.len() as u64;
        self.sum += u128::from(sums.sum);
        self.squares = self.squares.saturating_add(u128::from(sums.squares));
        self.min = self.min.min(u64::from(sums.min));
        self.max = self.max.max(u64::from(sums.max));
        (sums.sum, u64::from(sums.max))
    }

    /// Counts them in their buckets. Apart, so that all it needs stays in registers.
    #[inline(never)]
    fn count_short(&mut self, durations: &[u32], longest: u32) {
        self.make_room(64);
        let buckets = self.buckets.as_flattened_mut();
        if (longest as usize) < SMALL {
            for ns in durations {
                buckets[usize::from(SMALL_BUCKETS[*ns as usize % SMALL])] += 1;
            }
        } else {
            for ns in durations {
                buckets[bucket_of(u64::from(*ns))] += 1;
            }
        }
    }

    fn count_in(&mut self, bucket: usize, weight: u32) {
        self.make_room(weight);
        self.buckets.as_flattened_mut()[bucket] += weight;
    }

    /// Every bucket is to have room for so many more.
    #[inline]
    fn make_room(&mut self, weight: u32) {
        match self.room.checked_sub(weight) {
            Some(room) => self.room = room,
            None => self.carry(weight),
        }
    }

    /// Takes out what is in buckets that are half full.
    #[cold]
    fn carry(&mut self, weight: u32) {
        let mut most = 0;
        for (bucket, n) in self.buckets.as_flattened_mut().iter_mut().enumerate() {
            if *n > u32::MAX / 2 {
                match self.carried.iter_mut().find(|(of, _)| *of == bucket) {
                    Some((_, carried)) => *carried += u64::from(*n),
                    None => self.carried.push((bucket, u64::from(*n))),
                }
                *n = 0;
            }
            most = most.max(*n);
        }
        self.room = u32::MAX - most - weight;
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
        for (bucket, carried) in &self.carried {
            totals.filled |= 1 << (bucket / GROUP);
            totals.buckets.as_flattened_mut()[*bucket] += carried;
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
        let longest = u32::try_from(SHORT - 1).unwrap();
        for values in [
            vec![0, 1, 2, 3, 4, 100, 4095],
            vec![0, 4096, 1 << 20, longest],
            vec![longest],
        ] {
            let values: Vec<u32> = values.into_iter().cycle().take(64).collect();
            for &ns in &values {
                one_by_one.add(u64::from(ns), 0);
            }
            let sum = values.iter().copied().map(u64::from).sum();
            let max = u64::from(*values.iter().max().unwrap());
            assert_eq!(together.add_short(&values), (sum, max));
            assert_eq!(together.add_short(&[]), (0, 0));
            assert_eq!(figures(&together), figures(&one_by_one));
        }
    }

    #[test]
    fn buckets_that_pass_32_bits_are_carried() {
        let mut durations = Durations::new();
        for _ in 0..3 {
            // All but one that fit a bucket.
            (0..32).for_each(|shift| durations.add(100, shift));
            durations.add_short(&[100, 100, 7]);
            durations.add(100, 0);
        }
        let buckets: Vec<_> = totals(&durations).buckets().collect();
        assert_eq!(
            buckets,
            [(bucket_of(7), 3), (bucket_of(100), 3 * ((1 << 32) + 2))]
        );
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
