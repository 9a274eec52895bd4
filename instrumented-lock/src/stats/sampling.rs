//! Which holds are timed where not all are.
//!
//! Each is chosen with the same probability, independently of all others, so a program whose holds
//! come in a pattern is not seen through a grid. The generator is Marsaglia's 64-bit xorshift
//! ("Xorshift RNGs", Journal of Statistical Software 8/14, 2003); one for each thread.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Spreads the threads' seeds over the generator's period; the odd number next to 2^64 / φ.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

static SEED: AtomicU64 = AtomicU64::new(STEP);

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// Says yes once in 2^`shift` times, at random.
#[inline]
pub(crate) fn one_in(shift: u8) -> bool {
    let mut x = STATE.get();
    if x == 0 {
        // Never zero twice in a row: STEP is odd.
        x = SEED.fetch_add(STEP, Ordering::Relaxed).max(1);
    }
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    STATE.set(x);
    // The high bits are the better ones.
    x >> (64 - u32::from(shift)) == 0
}
