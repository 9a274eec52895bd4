//! The bucket boundaries: where a nanosecond value falls, and what a bucket stands for.
//!
//! Eight buckets an octave at the powers of 2^(1/8), upper bound inclusive. These are the
//! boundaries of OpenTelemetry's exponential histogram at scale 3 and of Prometheus' native
//! histogram at schema 3, so an export moves counts and loses nothing. A value is at most a factor
//! of 2^(1/16) away from its bucket's geometric middle: 4.4 %.
//!
//! | bucket | values in ns |
//! |---|---|
//! | 0 | exactly 0 |
//! | k, from 1 to `BUCKETS` − 2 | 2^((k − 2) / 8) < v ≤ 2^((k − 1) / 8) |
//! | `BUCKETS` − 1 | everything longer than 2^40 ns (18 minutes) |

/// Octaves told apart: up to 2^40 ns, about 18 minutes. Longer values share the last bucket; their
/// count, sum, minimum and maximum stay exact.
const OCTAVES: usize = 40;

/// One for zero, one for 1 ns, eight for each octave, one for everything beyond.
pub(crate) const BUCKETS: usize = 3 + 8 * OCTAVES;

/// For each sixteenth of an octave: how many boundaries lie below its start (the octave's own start
/// not counted), and the one boundary inside it, as a 64-bit mantissa. Boundaries are at least
/// 0.09 apart and a sixteenth is 0.0625 wide, so it holds at most one.
const STEPS: [(u8, u64); 16] = steps();

/// 2^(j/8) for j = 0..8 as mantissas (the leading bit is bit 63), rounded down: for an integer
/// value shifted up to bit 63, `value > floor(boundary)` and `value > boundary` are the same.
const BOUNDARIES: [u64; 8] = [
    0x8000_0000_0000_0000,
    0x8b95_c1e3_ea8b_d6e6,
    0x9837_f051_8db8_a96f,
    0xa5fe_d6a9_b151_38ea,
    0xb504_f333_f9de_6484,
    0xc567_2a11_5506_dadd,
    0xd744_fcca_d69d_6af4,
    0xeac0_c6e7_dd24_392e,
];

const fn steps() -> [(u8, u64); 16] {
    let mut steps = [(0, u64::MAX); 16];
    let mut i = 0;
    while i < 16 {
        let start = (1 << 63) + ((i as u64) << 59);
        let end = start.wrapping_add(1 << 59);
        let mut j = 0;
        while j < 8 {
            let boundary = BOUNDARIES[j];
            if boundary < start {
                steps[i].0 += 1;
            } else if boundary < end || end == 0 {
                steps[i].1 = boundary;
            }
            j += 1;
        }
        i += 1;
    }
    steps
}

/// The bucket of a value in nanoseconds.
pub(crate) fn bucket_of(ns: u64) -> usize {
    place_of(ns).min(BUCKETS - 1)
}

/// The bucket of a value, as if there were buckets for all values: a count of leading zeros, a shift
/// and one comparison.
#[inline(always)]
pub(crate) fn place_of(ns: u64) -> usize {
    if ns == 0 {
        return 0;
    }
    let octave = ns.ilog2() as usize;
    let mantissa = ns << ns.leading_zeros();
    let (below, boundary) = STEPS[(mantissa >> 59) as usize & 15];
    1 + 8 * octave + below as usize + usize::from(mantissa > boundary)
}

/// The largest value of a bucket in nanoseconds, as OpenTelemetry and Prometheus state it: exact
/// for bucket 0 and for powers of two, infinite for the last.
pub(crate) fn upper_bound(bucket: usize) -> f64 {
    match bucket {
        0 => 0.0,
        _ if bucket >= BUCKETS - 1 => f64::INFINITY,
        k => ((k - 1) as f64 / 8.0).exp2(),
    }
}

/// The value that stands for a bucket in quantiles: its geometric middle, at most 4.4 % from any
/// value in it. The last bucket has none; the caller's maximum stands for it.
pub(crate) fn middle(bucket: usize) -> f64 {
    match bucket {
        0 => 0.0,
        k => upper_bound(k) / 2f64.powf(1.0 / 16.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_boundary_value_falls_where_the_bounds_say() {
        let edges = (0..64).flat_map(|e| (0..8).map(move |j| BOUNDARIES[j] >> (63 - e)));
        let values = edges.flat_map(|v| [v.saturating_sub(1), v, v.saturating_add(1)]);
        for v in (0..5000).chain(values).chain([u64::MAX]) {
            let bucket = bucket_of(v);
            if bucket < BUCKETS - 1 && v < 1 << 50 {
                let value = v as f64;
                assert!(value <= upper_bound(bucket), "{v} above bucket {bucket}");
                assert!(
                    bucket == 0 || value > upper_bound(bucket - 1) || v == 1,
                    "{v} below bucket {bucket}"
                );
            } else {
                assert!(v > 1 << OCTAVES, "{v} in bucket {bucket}");
            }
        }
    }

    #[test]
    fn powers_of_two_close_their_octave() {
        for e in 0..=OCTAVES {
            assert_eq!(bucket_of(1 << e), 1 + 8 * e);
            assert_eq!(
                upper_bound(bucket_of(1 << e)).to_bits(),
                (e as f64).exp2().to_bits()
            );
        }
        assert_eq!(bucket_of((1 << OCTAVES) + 1), BUCKETS - 1);
    }

    #[test]
    fn the_middle_is_within_the_stated_error() {
        for v in (1..100_000u64).chain((17..39).map(|e| (1 << e) + 12_345)) {
            let value = v as f64;
            let error = (middle(bucket_of(v)) - value).abs() / value;
            assert!(error <= 0.0443, "{v}: {error}");
        }
    }
}
