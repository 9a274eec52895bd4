//! Blame as arithmetic: how long one line held a lock while somebody waited for it.
//!
//! A line's holds are summed up in two words, each of which is changed by one addition:
//!
//! | word | a hold begins at t | it ends at t | it ends at t, and its begin was not told |
//! |---|---|---|---|
//! | `running` | −t, and one more | +t, and one less | |
//! | `early` | | | +t, and one more |
//!
//! So at any time T the line has held the lock for `running.sum + running.count · T` more than at some
//! fixed time in the past; what that has grown by between two moments is what its holds had of the
//! time between, several at once each in full. Holds that began before anybody waited are told when they
//! end. Such a hold had been there when a wait began that it ended in: it had all of that wait up to its
//! end, and n of them had the sum of their ends less n times the wait's begin.
//!
//! Of exclusive holds, which never overlap, there is only what they have come to: see [`held_alone`].
//!
//! No atomics here: property tests hold it against intervals.

use crate::mode::Activity;

/// How a sum of stamps and a count share a word: the count in the low bits. Sums and their differences
/// are modulo what the rest of the word has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packing {
    count_bits: u32,
    /// A unit of the sum is so many ticks, as a binary logarithm.
    unit: u32,
}

impl Packing {
    /// One hold at a time, to the tick: 50 years at 3 GHz.
    const ALONE: Packing = Packing {
        count_bits: 2,
        unit: 0,
    };

    /// Up to 65,535 holds at a time, whose times may add up to eight days at 3 GHz. To the 16 ticks.
    const SHARED: Packing = Packing {
        count_bits: 16,
        unit: 4,
    };

    pub(super) fn of(activity: Activity) -> Self {
        match activity {
            Activity::Read => Self::SHARED,
            Activity::Write | Activity::Upgradable | Activity::Sleep => Self::ALONE,
        }
    }

    fn sum(self, at: u64) -> u64 {
        at >> self.unit << self.count_bits
    }

    /// What a hold that begins adds to `running`.
    pub(super) fn begins(self, at: u64) -> u64 {
        1u64.wrapping_sub(self.sum(at))
    }

    /// What a hold that ends adds to `running`.
    pub(super) fn ends(self, at: u64) -> u64 {
        self.sum(at).wrapping_sub(1)
    }

    /// What a hold adds to `early` that ends and has not been told before.
    pub(super) fn ends_early(self, at: u64) -> u64 {
        self.sum(at).wrapping_add(1)
    }

    /// How many holds a word counts.
    pub(super) fn count(self, word: u64) -> u64 {
        word & ((1 << self.count_bits) - 1)
    }

    /// What holds had of the time from `from`, when the words were `before`, to `to`, when they are
    /// `after`; in ticks. Never negative, however clocks differ.
    pub(super) fn held(self, before: Words, from: u64, after: Words, to: u64) -> u64 {
        let times = |count: u64, at: u64| count.wrapping_mul(at >> self.unit);
        let until = |word: u64, at: u64| {
            let sum = word >> self.count_bits;
            sum.wrapping_add(times(self.count(word), at))
        };
        let running = until(after.running, to).wrapping_sub(until(before.running, from));
        let early = after.early.wrapping_sub(before.early);
        let early_sum = early >> self.count_bits;
        let early = early_sum.wrapping_sub(times(self.count(early), from));
        // Only the bits of the sum mean anything; of these the highest is the sign.
        let held = running.wrapping_add(early) << self.count_bits;
        let held = held.cast_signed() >> self.count_bits;
        u64::try_from(held).unwrap_or(0) << self.unit
    }
}

/// What exclusive holds of a line had of a wait. They are told when they end, under the very lock: `before`
/// and `after` are what they had come to, in ticks, when the wait began and when it ended, and `elapsed` is
/// what had passed then of the one that was in progress, if it was of this line. Never negative.
pub(super) fn held_alone(before: u64, after: u64, elapsed: u64) -> u64 {
    let held = after.wrapping_sub(before).wrapping_sub(elapsed);
    u64::try_from(held.cast_signed()).unwrap_or(0)
}

/// The holds of one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) running: u64,
    pub(super) early: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A xorshift generator: the same cases every time.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) % n
        }
    }

    /// Plays random holds of a line and random waits, event by event, and compares what each wait is
    /// told with the sum of its overlaps. `first` is when the first wait begins: holds that began
    /// before are not told.
    fn play(packing: Packing, most_at_once: u64, seed: u64) {
        let mut random = Random(seed);
        let base = random.below(1 << 40);
        let first = base + random.below(1000) * 16;
        let mut holds: Vec<(u64, u64)> = Vec::new();
        let mut free_from = vec![base; usize::try_from(most_at_once).unwrap()];
        for _ in 0..20 {
            let who = random.below(most_at_once);
            let free = &mut free_from[usize::try_from(who).unwrap()];
            let start = *free + random.below(500) * 16;
            let end = start + random.below(1000) * 16;
            *free = end;
            holds.push((start, end));
        }
        let waits: Vec<_> = (0..8)
            .map(|i| {
                let from = if i == 0 {
                    first
                } else {
                    first + random.below(6000) * 16
                };
                (from, from + random.below(6000) * 16)
            })
            .collect();
        let words_at = |t: u64| {
            let mut words = Words::default();
            for &(start, end) in &holds {
                if start < first {
                    if end <= t && end >= first {
                        words.early = words.early.wrapping_add(packing.ends_early(end));
                    }
                    continue;
                }
                if start <= t {
                    words.running = words.running.wrapping_add(packing.begins(start));
                }
                if end <= t {
                    words.running = words.running.wrapping_add(packing.ends(end));
                }
            }
            words
        };
        for (from, to) in waits {
            // Holds that nobody has told of are known once they have ended: an exclusive wait ends when
            // they all have.
            let to = holds
                .iter()
                .filter(|&&(start, _)| start < first)
                .fold(to, |to, &(_, end)| to.max(end));
            let overlap = |&(start, end): &(u64, u64)| end.min(to).saturating_sub(start.max(from));
            let expected: u64 = holds.iter().map(overlap).sum();
            let told = packing.held(words_at(from), from, words_at(to), to);
            assert_eq!(
                told, expected,
                "{packing:?}, seed {seed}: {from} to {to} of {holds:?}"
            );
        }
    }

    #[test]
    fn a_wait_is_told_what_holds_had_of_it() {
        for seed in 1..2000 {
            play(Packing::ALONE, 1, seed);
            play(Packing::SHARED, 1, seed);
            play(Packing::SHARED, 5, seed);
        }
    }

    #[test]
    fn a_wait_is_told_what_exclusive_holds_had_of_it() {
        for seed in 1..2000 {
            let mut random = Random(seed);
            // Holds of two lines, one after the other.
            let mut free = random.below(1000);
            let holds: Vec<_> = (0..20)
                .map(|_| {
                    let start = free + random.below(100);
                    free = start + random.below(1000);
                    (random.below(2), start, free)
                })
                .collect();
            let from = random.below(8000);
            // It ends with the lock taken, so when nobody holds it.
            let to = from + random.below(8000);
            let to = holds.iter().fold(
                to,
                |to, &(_, start, end)| {
                    if (start..end).contains(&to) { end } else { to }
                },
            );
            for line in 0..2 {
                let of_line = || holds.iter().filter(|&&(of, ..)| of == line);
                let sum_at = |t: u64| -> u64 {
                    let ended = of_line().filter(|&&(_, _, end)| end <= t);
                    ended.map(|&(_, start, end)| end - start).sum()
                };
                let in_progress = of_line().find(|&&(_, start, end)| start < from && from < end);
                let elapsed = in_progress.map_or(0, |&(_, start, _)| from - start);
                let overlap = |&(_, start, end): &(u64, u64, u64)| {
                    end.min(to).saturating_sub(start.max(from))
                };
                let expected: u64 = of_line().map(overlap).sum();
                let told = held_alone(sum_at(from), sum_at(to), elapsed);
                assert_eq!(
                    told, expected,
                    "seed {seed}, line {line}: {from} to {to} of {holds:?}"
                );
            }
        }
    }

    #[test]
    fn clocks_that_differ_make_nothing_negative() {
        assert_eq!(held_alone(5, 5, 10), 0);
        let packing = Packing::ALONE;
        let before = Words {
            running: packing.begins(1000),
            early: 0,
        };
        let after = Words {
            running: before.running.wrapping_add(packing.ends(990)),
            early: 0,
        };
        assert_eq!(packing.held(before, 1005, after, 1010), 0);
    }
}
