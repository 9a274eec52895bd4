//! [`Sparse`]: the buckets of a snapshot as those of a native histogram.

use super::buckets::eighths;
use instrumented_lock::Distribution;

/// Buckets an octave, as a power of two. The buckets of a snapshot are eighths of an octave of nanoseconds, and a
/// second is no power of 2^(1/8) of them: at schema 3 each of ours would lie across a boundary. At schema 4, which
/// has sixteen an octave, one bucket lies within each of ours, and the middle of ours lies in it.
pub(super) const SCHEMA: i32 = 4;

/// 16 × log2(10^9) is 478.36, so a boundary of ours, e eighths of an octave above 1 ns, is at 2e − 478.36 sixteenths
/// of an octave above 1 s. The bucket below it ends half a bucket of ours, one sixteenth, lower: in the bucket of
/// schema 4 that closes at 2e − 479.
const SECOND: i32 = 479;

/// As narrow as that of Prometheus' own clients, so that both add up.
pub(super) const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;

/// Empty buckets that are written rather than a new span, which has two numbers itself.
const FILLED: i32 = 2;

/// Buckets that are not empty, as Prometheus has them.
#[derive(Debug, Default)]
pub(super) struct Sparse {
    /// Durations of 0.
    pub(super) zeros: u64,
    /// Of buckets that follow each other: of the first where they begin, of others how many are left out before
    /// them; and how many they are.
    pub(super) spans: Vec<(i32, u32)>,
    /// The count of each bucket less that of the one before.
    pub(super) deltas: Vec<i64>,
}

impl Sparse {
    pub(super) fn of(distribution: &Distribution) -> Self {
        let mut sparse = Sparse::default();
        // The index after the last bucket, and its count.
        let (mut next, mut before) = (0, 0);
        for (upper, n) in distribution.buckets() {
            if upper <= 0.0 {
                sparse.zeros += n;
                continue;
            }
            // A count of 2^63 is never reached.
            let n = i64::try_from(n).unwrap_or(i64::MAX);
            let index = 2 * eighths(upper) - SECOND;
            let gap = index - next;
            match sparse.spans.last_mut() {
                Some((_, length)) if gap <= FILLED => {
                    for _ in 0..gap {
                        sparse.deltas.push(-before);
                        before = 0;
                    }
                    *length += gap.unsigned_abs() + 1;
                }
                _ => sparse.spans.push((gap, 1)),
            }
            sparse.deltas.push(n - before);
            (next, before) = (index + 1, n);
        }
        sparse
    }
}
