//! [`Distribution`]: exact moments, extremes, and a histogram for the quantiles.

use crate::histogram::{BUCKETS, middle, upper_bound};
use std::time::Duration;

/// A distribution of durations.
///
/// Count, sum, sum of squares, minimum and maximum are exact to the nanosecond, and add up exactly
/// over threads and processes; so mean and standard deviation are exact up to the last rounding.
/// Quantiles come from a histogram of eight buckets an octave and are at most 4.4 % off, and rounded to the nanosecond.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Distribution {
    pub(crate) count: u64,
    /// Nanoseconds.
    pub(crate) sum_ns: u128,
    /// Saturating. A string in JSON, where numbers end at 2^53.
    #[cfg_attr(feature = "serde", serde(with = "decimal_string"))]
    pub(crate) sum_of_squares_ns2: u128,
    pub(crate) min_ns: Option<u64>,
    pub(crate) max_ns: Option<u64>,
    /// Bucket and count, for buckets that are not empty, in ascending order.
    pub(crate) buckets: Vec<(usize, u64)>,
}

impl Distribution {
    /// This distribution and `zeros` durations of zero.
    pub(crate) fn with_zeros(&self, zeros: u64) -> Self {
        let mut all = self.clone();
        if zeros > 0 {
            all.count += zeros;
            all.min_ns = Some(0);
            all.max_ns = Some(self.max_ns.unwrap_or(0));
            match all.buckets.first_mut() {
                Some((0, n)) => *n += zeros,
                _ => all.buckets.insert(0, (0, zeros)),
            }
        }
        all
    }

    /// How many durations were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum; [`Duration::MAX`] beyond that.
    pub fn sum(&self) -> Duration {
        duration(self.sum_ns)
    }

    /// The shortest. Exact over a lifetime; for the difference of two snapshots see
    /// [`Snapshot::since`](crate::Snapshot::since).
    pub fn min(&self) -> Option<Duration> {
        self.min_ns.map(Duration::from_nanos)
    }

    /// The longest. Exact over a lifetime; for the difference of two snapshots see
    /// [`Snapshot::since`](crate::Snapshot::since).
    pub fn max(&self) -> Option<Duration> {
        self.max_ns.map(Duration::from_nanos)
    }

    /// Sum divided by count, rounded to the nanosecond.
    pub fn mean(&self) -> Option<Duration> {
        let count = u128::from(self.count);
        (count > 0).then(|| duration((self.sum_ns + count / 2) / count))
    }

    /// The sample standard deviation, √(Σ(x − mean)² / (n − 1)), rounded to the nanosecond. `None`
    /// below two durations.
    ///
    /// Worked out from count, sum and sum of squares as √((n·Σx² − (Σx)²) / (n·(n − 1))), in whole
    /// numbers as long as they fit 128 bits, so that equal durations have deviation zero.
    pub fn std_dev(&self) -> Option<Duration> {
        Some(Duration::from_nanos(rounded(self.std_dev_ns()?)))
    }

    /// [`std_dev`](Self::std_dev) in nanoseconds, with the fraction that a [`Duration`] has no
    /// room for.
    pub fn std_dev_ns(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let n = u128::from(self.count);
        let exact = n
            .checked_mul(self.sum_of_squares_ns2)
            .zip(self.sum_ns.checked_mul(self.sum_ns))
            .map(|(squares, square)| float(squares.saturating_sub(square)) / float(n));
        let scatter = exact.unwrap_or_else(|| {
            // Beyond 128 bits: the same with the mean taken out first, in floating point.
            let mean = float(self.sum_ns) / float(n);
            (float(self.sum_of_squares_ns2) - float(self.sum_ns) * mean).max(0.0)
        });
        Some((scatter / float(n - 1)).sqrt())
    }

    /// The duration that a share `q` of all durations does not exceed, at most 4.4 % off and never
    /// outside minimum and maximum: `quantile(0.99)` is p99. By nearest rank: the ⌈q·n⌉-th
    /// smallest. `q` is clamped to 0..=1. `None` where nothing was recorded.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        // What was read from a file may contradict itself.
        let (min, max) = self
            .min_ns
            .zip(self.max_ns)
            .filter(|(min, max)| min <= max)?;
        if self.count == 0 {
            return None;
        }
        let rank = rounded((q.clamp(0.0, 1.0) * self.count as f64).ceil()).clamp(1, self.count);
        if rank == self.count {
            return Some(Duration::from_nanos(max));
        }
        let mut seen = 0;
        let bucket = self.buckets.iter().find(|&&(_, n)| {
            seen += n;
            seen >= rank
        });
        let ns = match bucket {
            Some(&(bucket, _)) => value_in(bucket),
            None => max,
        };
        Some(Duration::from_nanos(ns.clamp(min, max)))
    }

    /// The histogram: for each bucket that is not empty, its inclusive upper bound in nanoseconds
    /// and how many durations lie in it, in ascending order. Bounds are 0, then powers of 2^(1/8)
    /// from 1 ns to 2^63 ns, then infinity: OpenTelemetry's exponential histogram at scale 3,
    /// Prometheus' native histogram at schema 3.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.buckets
            .iter()
            .map(|&(bucket, n)| (upper_bound(bucket), n))
    }

    /// Both together, as if recorded in one.
    pub(crate) fn merge(&self, other: &Self) -> Self {
        Distribution {
            count: self.count + other.count,
            sum_ns: self.sum_ns.saturating_add(other.sum_ns),
            sum_of_squares_ns2: self
                .sum_of_squares_ns2
                .saturating_add(other.sum_of_squares_ns2),
            min_ns: self.min_ns.into_iter().chain(other.min_ns).min(),
            max_ns: self.max_ns.max(other.max_ns),
            buckets: combine(&self.buckets, &other.buckets, u64::saturating_add),
        }
    }

    /// No duration was longer: the upper bound of the last bucket, or the maximum where that is exact.
    pub(crate) fn at_most_ns(&self) -> u64 {
        let Some(&(bucket, _)) = self.buckets.last() else {
            return 0;
        };
        rounded(upper_bound(bucket)).max(self.max_ns.unwrap_or(0))
    }

    /// What came after `earlier`. Its minimum and maximum are exact where the interval moved the
    /// lifetime's, or has one duration only; else they stand for its outermost buckets, as quantiles do, and
    /// are within the lifetime's, the mean between them.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let buckets = combine(&self.buckets, &earlier.buckets, u64::saturating_sub);
        let lowest = buckets.first().map(|&(bucket, _)| bucket);
        let highest = buckets.last().map(|&(bucket, _)| bucket);
        let (count, sum_ns) = (
            self.count.saturating_sub(earlier.count),
            self.sum_ns.saturating_sub(earlier.sum_ns),
        );
        // What is shorter than the mean, or as long, and what is longer, or as long.
        let mean = |rounding: u128| {
            let mean = (sum_ns + rounding) / u128::from(count.max(1));
            u64::try_from(mean).unwrap_or(u64::MAX)
        };
        let (below, above) = (mean(0), mean(u128::from(count.saturating_sub(1))));
        let within = |ns: u64| match self.min_ns.zip(self.max_ns) {
            Some((min, max)) if min <= max => ns.clamp(min, max),
            _ => ns,
        };
        let min_ns = match (lowest, self.min_ns) {
            (None, _) | (_, None) => None,
            (Some(_), min) if earlier.min_ns.is_none() || min < earlier.min_ns => min,
            (Some(_), _) if count == 1 => Some(below),
            (Some(bucket), Some(_)) => Some(within(value_in(bucket).min(below))),
        };
        let max_ns = match (highest, self.max_ns) {
            (None, _) | (_, None) => None,
            (Some(_), max) if max > earlier.max_ns => max,
            (Some(_), _) if count == 1 => Some(above),
            (Some(bucket), Some(_)) => Some(within(value_in(bucket).max(above))),
        };
        Distribution {
            count,
            sum_ns,
            sum_of_squares_ns2: self
                .sum_of_squares_ns2
                .saturating_sub(earlier.sum_of_squares_ns2),
            min_ns,
            max_ns,
            buckets,
        }
    }
}

/// The whole number of nanoseconds that stands for a bucket, at most 4.4 % from any value in it. For the last
/// one the largest: the caller knows what it was at most.
fn value_in(bucket: usize) -> u64 {
    if bucket < BUCKETS - 1 {
        rounded(middle(bucket))
    } else {
        u64::MAX
    }
}

fn combine(
    a: &[(usize, u64)],
    b: &[(usize, u64)],
    op: impl Fn(u64, u64) -> u64,
) -> Vec<(usize, u64)> {
    let mut dense = [0; BUCKETS];
    for &(bucket, n) in a {
        dense[bucket.min(BUCKETS - 1)] += n;
    }
    for &(bucket, n) in b {
        let to = &mut dense[bucket.min(BUCKETS - 1)];
        *to = op(*to, n);
    }
    dense
        .into_iter()
        .enumerate()
        .filter(|&(_, n)| n > 0)
        .collect()
}

fn duration(ns: u128) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    match u64::try_from(ns / SECOND) {
        Ok(seconds) => Duration::new(seconds, (ns % SECOND) as u32),
        Err(_) => Duration::MAX,
    }
}

fn float(n: u128) -> f64 {
    n as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and no caller has a negative number"
)]
fn rounded(ns: f64) -> u64 {
    ns.round() as u64
}

#[cfg(feature = "serde")]
mod decimal_string {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(n: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(n)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<u128, D::Error> {
        let digits = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        digits.parse().map_err(|_| {
            D::Error::custom(format_args!(
                "expected digits in a string, found `{digits}`"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::bucket_of;

    fn of(values: &[u64]) -> Distribution {
        let one = |&ns: &u64| Distribution {
            count: 1,
            sum_ns: u128::from(ns),
            sum_of_squares_ns2: u128::from(ns) * u128::from(ns),
            min_ns: Some(ns),
            max_ns: Some(ns),
            buckets: vec![(bucket_of(ns), 1)],
        };
        let nothing = Distribution::default();
        values
            .iter()
            .map(one)
            .fold(nothing, |all, one| all.merge(&one))
    }

    #[test]
    fn std_dev_of_equal_durations_is_zero() {
        assert_eq!(of(&[100; 10]).std_dev(), Some(Duration::ZERO));
        assert_eq!(of(&[1 << 60; 10]).std_dev(), Some(Duration::ZERO));
    }

    #[test]
    fn std_dev_is_the_sample_deviation() {
        let deviation = of(&[2, 4, 4, 4, 5, 5, 7, 9]).std_dev_ns().unwrap();
        assert!(
            (deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-12,
            "{deviation}"
        );
        assert_eq!(of(&[1]).std_dev(), None);
        assert_eq!(of(&[1, 3]).std_dev_ns(), Some(2f64.sqrt()));
    }

    #[test]
    fn quantile_is_the_nearest_rank_within_the_stated_error() {
        let values: Vec<u64> = (1..=1000).collect();
        let d = of(&values);
        for (q, exact) in [
            (0.0, 1.0),
            (0.5, 500.0),
            (0.99, 990.0),
            (0.999, 999.0),
            (1.0, 1000.0),
        ] {
            let ns = d.quantile(q).unwrap().as_nanos() as f64;
            assert!((ns - exact).abs() <= 0.0443 * exact, "q {q}: {ns}");
        }
        assert_eq!(of(&[]).quantile(0.5), None);
        assert_eq!(of(&[7; 5]).quantile(0.5), Some(Duration::from_nanos(7)));
    }

    #[test]
    fn a_sum_past_64_bits_widens() {
        let d = of(&[u64::MAX - 1; 4]);
        assert_eq!(d.sum().as_nanos(), 4 * u128::from(u64::MAX - 1));
        assert_eq!(d.mean(), Some(Duration::from_nanos(u64::MAX - 1)));
    }

    #[test]
    fn since_has_the_extremes_of_the_interval_within_the_stated_error() {
        let earlier = of(&[10, 5000]);
        let d = of(&[10, 5000, 200, 300]).since(&earlier);
        assert_eq!((d.count(), d.sum()), (2, Duration::from_nanos(500)));
        let (min, max) = (d.min().unwrap().as_nanos(), d.max().unwrap().as_nanos());
        assert!((192..=208).contains(&min), "{min}");
        assert!((287..=313).contains(&max), "{max}");
        let moved = of(&[10, 5000, 3, 9000]).since(&earlier);
        assert_eq!(moved.min(), Some(Duration::from_nanos(3)));
        assert_eq!(moved.max(), Some(Duration::from_nanos(9000)));
        assert_eq!(earlier.since(&earlier), Distribution::default());
        let only = of(&[10, 5000, 777]).since(&earlier);
        assert_eq!((only.min(), only.max()), (only.mean(), only.mean()));
    }

    #[test]
    fn figures_of_an_interval_are_within_the_stated_error_at_any_magnitude() {
        let near = |found: Option<Duration>, exact: u64, what: &str| {
            let found = found.unwrap().as_nanos() as f64;
            let exact = exact as f64;
            // A duration is a whole number of nanoseconds.
            let most = 0.0443 * exact + 0.5;
            let error = (found - exact).abs();
            assert!(error <= most, "{what}: {found}, not {exact}");
        };
        for exponent in 0..62 {
            for odd in [0, 1, 3, 5, 7, 11] {
                let low = (1u64 << exponent) + (1 << exponent) / 13 * odd;
                for high in [low, low + low / 40, low + low / 9, low.saturating_mul(2)] {
                    let values = [low, low, high, high, high];
                    // Whatever came before, longer and shorter ones among it.
                    for before in [
                        vec![],
                        vec![0, 1, u64::MAX],
                        vec![low / 3, high.saturating_mul(5)],
                    ] {
                        let earlier = of(&before);
                        let d = of(&[&before[..], &values].concat()).since(&earlier);
                        assert_eq!(d.count(), 5);
                        near(d.min(), low, "min");
                        near(d.max(), high, "max");
                        near(d.quantile(0.0), low, "first");
                        near(d.quantile(0.4), low, "p40");
                        near(d.quantile(0.5), high, "p50");
                        near(d.quantile(1.0), high, "last");
                        assert!(d.min() <= d.max());
                    }
                }
            }
        }
    }

    #[test]
    fn merge_is_as_if_recorded_together() {
        let (a, b) = ([3, 900, 17], [0, 1_000_000, 17]);
        assert_eq!(of(&a).merge(&of(&b)), of(&[a, b].concat()));
        assert_eq!(of(&a).merge(&of(&[])), of(&a));
    }

    #[test]
    fn zeros_count_as_durations() {
        assert_eq!(of(&[5, 6]).with_zeros(3), of(&[5, 6, 0, 0, 0]));
        assert_eq!(of(&[5, 6]).with_zeros(0), of(&[5, 6]));
    }
}
