//! The buckets of a snapshot, for other histograms.

use instrumented_lock::Distribution;

/// Upper bounds of the classic buckets: these powers of two, in nanoseconds.
pub(super) const BOUNDS: [u32; 7] = [8, 12, 16, 20, 24, 28, 32];

/// How many durations are not longer than each of [`BOUNDS`], and how many there are.
pub(super) fn classic(distribution: &Distribution) -> ([u64; BOUNDS.len()], u64) {
    let mut buckets = distribution.buckets().peekable();
    let mut below = 0;
    let counts = BOUNDS.map(|power| {
        // Powers of two are exact.
        let ns = f64::from(power).exp2();
        while let Some((_, n)) = buckets.next_if(|(upper, _)| *upper <= ns) {
            below += n;
        }
        below
    });
    // Not the count: where a file contradicts itself, at least the buckets are whole.
    (counts, below + buckets.map(|(_, n)| n).sum::<u64>())
}

/// What [`classic`] says with the upper bounds in seconds, the last of which is infinite.
#[cfg(any(feature = "prometheus-native", feature = "prometheus-client"))]
pub(super) fn with_bounds(
    counts: [u64; BOUNDS.len()],
    count: u64,
) -> [(f64, u64); BOUNDS.len() + 1] {
    std::array::from_fn(|i| match BOUNDS.get(i) {
        Some(power) => (seconds(*power), counts[i]),
        None => (f64::INFINITY, count),
    })
}

/// An upper bound of [`BOUNDS`] in seconds.
pub(super) fn seconds(power: u32) -> f64 {
    f64::from(power).exp2() / 1e9
}

/// Where the bucket of this upper bound ends: so many eighths of an octave above 1 ns. Of the last one, which is
/// unbounded, where the one after 2^63 ns would end.
#[cfg(any(
    feature = "otlp",
    feature = "prometheus-native",
    feature = "prometheus-client"
))]
pub(crate) fn eighths(upper_ns: f64) -> i32 {
    if upper_ns.is_infinite() {
        return 8 * 63 + 1;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an exponent is below a thousand"
    )]
    let eighths = (upper_ns.log2() * 8.0).round() as i32;
    eighths
}
