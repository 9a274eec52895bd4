//! Which holds are timed where not all are.
//!
//! Each is chosen with the same probability, independently of all others, so a program whose holds
//! come in a pattern is not seen through a grid. What is drawn is how many holds are passed over
//! until the next one that is timed: then all but that one only count down. Of independent trials
//! that number is geometrically distributed, floor(ln u / ln(1 − p)) for u uniform in (0, 1]
//! (Devroye, Non-Uniform Random Variate Generation, 1986, X.2). The generator is Marsaglia's 64-bit
//! xorshift ("Xorshift RNGs", Journal of Statistical Software 8/14, 2003); one for each thread. Every process
//! has a seed of its own, and a child of `fork` another one than its parent: so what one process overlooks
//! another one sees.

use crate::settings::MOST_SHIFT;
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// From the seed of one thread to that of the next, before they are mixed; the odd number next to 2^64 / φ.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The seed of the next thread, before it is mixed; 0 until there is one.
static SEED: AtomicU64 = AtomicU64::new(0);

/// A seed that no other thread has, of this process or of another one; not 0.
fn seed() -> u64 {
    if SEED.load(Ordering::Relaxed) == 0 {
        // What the standard library draws for its hash maps: each process has another one.
        let drawn = RandomState::new().build_hasher().finish();
        let _ = SEED.compare_exchange(0, drawn | 1, Ordering::Relaxed, Ordering::Relaxed);
    }
    mix(SEED.fetch_add(STEP, Ordering::Relaxed)).max(1)
}

/// Makes neighbours differ in half of their bits: the last step of `SplitMix64` (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014).
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// This is a child of `fork`, with the seed of its parent.
pub(super) fn this_is_a_child() {
    let seed = SEED.load(Ordering::Relaxed);
    if seed != 0 {
        SEED.store(
            mix(seed ^ u64::from(std::process::id())) | 1,
            Ordering::Relaxed,
        );
    }
}

/// Room for every shift that the state of a class can say, so that nobody has to look whether there is any.
const SHIFTS: usize = 32;
const _: () = assert!((MOST_SHIFT as usize) < SHIFTS);

/// What a thread draws from.
pub(crate) struct Sampling {
    /// For each shift the holds to be passed over until one is timed; 0 where none is, or none has been
    /// drawn.
    gaps: [Cell<u32>; SHIFTS],
    /// One bit for each shift of which a gap has been drawn.
    drawn: Cell<u32>,
    /// The generator; 0 at first.
    state: Cell<u64>,
}

impl Sampling {
    pub(super) const fn new() -> Self {
        Sampling {
            gaps: [const { Cell::new(0) }; SHIFTS],
            drawn: Cell::new(0),
            state: Cell::new(0),
        }
    }

    /// Passes over a hold, of which one in 2^`shift` is timed, if that is so easily said. If not,
    /// [`one_in`](Self::one_in) says what becomes of it. No other shifts than those there are: false.
    #[inline(always)]
    pub(crate) fn passes_over(&self, shift: u8) -> bool {
        let left = self.gaps.get(usize::from(shift)).map_or(0, Cell::get);
        if left == 0 {
            return false;
        }
        self.gaps[usize::from(shift)].set(left - 1);
        true
    }

    /// Says yes once in 2^`shift` times, at random.
    pub(crate) fn one_in(&self, shift: u8) -> bool {
        let gap = &self.gaps[usize::from(shift)];
        let drawn = self.drawn.get();
        if drawn >> shift & 1 == 0 {
            self.drawn.set(drawn | 1 << shift);
            gap.set(self.draw(shift));
        }
        if self.passes_over(shift) {
            return false;
        }
        gap.set(self.draw(shift));
        true
    }

    /// Draws from another generator from now on.
    pub(super) fn start_over(&self) {
        self.state.set(0);
        self.drawn.set(0);
        self.gaps.iter().for_each(|gap| gap.set(0));
    }

    /// Draws from the exponential distribution with the mean 1 (Devroye, II.2).
    pub(crate) fn exponential(&self) -> f64 {
        -self.uniform().ln()
    }

    fn draw(&self, shift: u8) -> u32 {
        let p = 1.0 / f64::from(1u32 << shift);
        let gap = (self.uniform().ln() / (-p).ln_1p()).floor();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most 37 · 2^20"
        )]
        let gap = gap as u32;
        gap
    }

    /// Uniform in (0, 1].
    fn uniform(&self) -> f64 {
        let mut x = self.state.get();
        if x == 0 {
            x = seed();
        }
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.state.set(x);
        // Of the high bits, which are the better ones.
        ((x >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_mean_and_variance_of_independent_trials() {
        for shift in [1u8, 3, 6] {
            let sampling = Sampling::new();
            let n = 200_000;
            let gaps: Vec<f64> = (0..n).map(|_| f64::from(sampling.draw(shift))).collect();
            let mean = gaps.iter().sum::<f64>() / f64::from(n);
            let scatter = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
            let variance = scatter / f64::from(n);
            let p = 1.0 / f64::from(1 << shift);
            let expected = (1.0 - p) / p;
            // Five standard errors of the mean; the variance's are wider.
            let tolerance = 5.0 * (expected / p / f64::from(n)).sqrt();
            assert!(
                (mean - expected).abs() < tolerance,
                "{shift}: {mean}, not {expected}"
            );
            assert!(
                (variance / (expected / p) - 1.0).abs() < 0.05,
                "{shift}: {variance}"
            );
        }
    }

    #[test]
    fn seeds_of_neighbours_differ_in_half_of_their_bits() {
        let seeds: Vec<u64> = (0..1000).map(|_| seed()).collect();
        let differ = |pair: &[u64]| (pair[0] ^ pair[1]).count_ones();
        let bits: u32 = seeds.windows(2).map(differ).sum();
        assert!((31_000..33_000).contains(&bits), "{bits}");
    }

    #[test]
    fn the_first_gap_of_a_thread_has_the_mean_of_all() {
        // Of 2000 threads; the bounds are six standard errors wide.
        let first = |_| f64::from(Sampling::new().draw(4));
        let mean = (0..2000).map(first).sum::<f64>() / 2000.0;
        assert!((mean - 15.0).abs() < 6.0 * 15.5 / 2000f64.sqrt(), "{mean}");
    }

    #[test]
    fn one_in_so_many_is_chosen_whichever_way_it_is_asked() {
        let sampling = Sampling::new();
        let chosen = (0..640_000).filter(|_| !sampling.passes_over(6) && sampling.one_in(6));
        let chosen = chosen.count();
        assert!((9_500..10_500).contains(&chosen), "{chosen}");
    }
}
