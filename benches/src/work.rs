//! Work of a known length: a chain of arithmetic in which every step needs the one before.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

/// What the sections that do something do: as long a chain as takes so many nanoseconds on this
/// machine.
///
/// The first call finds out how long that is.
#[inline(always)]
pub fn nanoseconds(nanoseconds: u64) {
    static STEPS_OF_A_THOUSAND: OnceLock<u64> = OnceLock::new();
    chain(STEPS_OF_A_THOUSAND.get_or_init(|| steps_of(1000.0)) * nanoseconds / 1000);
}

#[inline(always)]
fn chain(steps: u64) {
    let mut x = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..steps {
        // Some four cycles a step, and no way to begin the next one earlier.
        x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (x >> 31);
    }
    black_box(x);
}

/// How many steps take so many nanoseconds: the quickest of some long runs, since a machine can be
/// disturbed but not helped.
fn steps_of(nanoseconds: f64) -> u64 {
    const STEPS: u64 = 20_000;
    let one = |_| {
        let start = Instant::now();
        chain(STEPS);
        start.elapsed().as_nanos() as f64 / STEPS as f64
    };
    let step = (0..20).map(one).fold(f64::MAX, f64::min);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small positive number"
    )]
    let steps = (nanoseconds / step).round() as u64;
    steps.max(1)
}
