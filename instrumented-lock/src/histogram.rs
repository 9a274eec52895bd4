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
//! | `BUCKETS` − 1 | everything longer than 2^63 ns (292 years) |

/// Octaves told apart: all up to 2^63 ns, 292 years. Longer values share the last bucket; their
/// count, sum, minimum and maximum stay exact.
const OCTAVES: usize = 63;

/// One for zero, one for 1 ns, eight for each octave, one for everything beyond.
pub(crate) const BUCKETS: usize = 3 + 8 * OCTAVES;

/// By the five highest bits of a mantissa, the first of which is set, one for each sixteenth of an octave:
/// how many buckets lie below its start, from the one that the octave's start closes on, and the one
/// boundary inside it, as a 64-bit mantissa. Boundaries are at least 0.09 apart and a sixteenth is
/// 0.0625 wide, so it holds at most one. What has no bit set is 0, with nothing below.
const STEPS: [(u8, u64); 32] = steps();

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

const fn steps() -> [(u8, u64); 32] {
    let mut steps = [(0, u64::MAX); 32];
    let mut i = 0;
    while i < 16 {
        steps[16 + i].0 = 1;
        let start = (1 << 63) + ((i as u64) << 59);
        let end = start.wrapping_add(1 << 59);
        let mut j = 0;
        while j < 8 {
            let boundary = BOUNDARIES[j];
            if boundary < start {
                steps[16 + i].0 += 1;
            } else if boundary < end || end == 0 {
                steps[16 + i].1 = boundary;
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

/// The bucket of a value up to 2^63: a count of leading zeros, a shift and one comparison.
#[inline(always)]
const fn place_of(ns: u64) -> usize {
    let octave = (ns | 1).ilog2() as usize;
    let mantissa = ns << (63 - octave);
    // Of 0 the highest bit is not set, and it has steps of its own.
    let (below, boundary) = STEPS[(mantissa >> 59) as usize & 31];
    8 * octave + below as usize + (mantissa > boundary) as usize
}

/// Values below this have their buckets in a table.
pub(crate) const SMALL: usize = 4096;

/// The bucket of each value below [`SMALL`].
pub(crate) static SMALL_BUCKETS: [u8; SMALL] = small_buckets();

#[expect(
    clippy::cast_possible_truncation,
    reason = "their buckets are below 98"
)]
const fn small_buckets() -> [u8; SMALL] {
    let mut buckets = [0; SMALL];
    let mut ns = 0;
    while ns < SMALL {
        buckets[ns] = place_of(ns as u64) as u8;
        ns += 1;
    }
    buckets
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
            if v < SMALL as u64 {
                let small = SMALL_BUCKETS[usize::try_from(v).unwrap()];
                assert_eq!(usize::from(small), bucket, "{v}");
            }
            if bucket < BUCKETS - 1 {
                let value = v as f64;
                assert!(
                    value <= upper_bound(bucket) || v >= 1 << 53,
                    "{v} above bucket {bucket}"
                );
                assert!(
                    bucket == 0 || value > upper_bound(bucket - 1) || v == 1 || v >= 1 << 50,
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
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn the_middle_is_within_the_stated_error() {
        for v in (1..100_000u64).chain((17..63).map(|e| (1 << e) + 12_345)) {
            let value = v as f64;
            let error = (middle(bucket_of(v)) - value).abs() / value;
            assert!(error <= 0.0443, "{v}: {error}");
        }
    }
}
