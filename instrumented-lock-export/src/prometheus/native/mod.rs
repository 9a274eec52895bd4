//! Native histograms, which Prometheus takes as protobuf only: see [`protobuf`].

use super::buckets::{self, BOUNDS, eighths};
use super::collected::{Family, Labels, Value, collect};
use super::format;
use super::proto::{
    Bucket, BucketSpan, Histogram, LabelPair, Metric, MetricFamily, MetricType, Number,
};
use super::series::Series;
use super::sink::Kind;
use instrumented_lock::{Distribution, Snapshot};
use prost::Message as _;

/// The `Content-Type` of [`protobuf`].
pub const CONTENT_TYPE: &str = "application/vnd.google.protobuf; \
    proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Buckets an octave, as a power of two. The buckets of a snapshot are eighths of an octave of nanoseconds, and a
/// second is no power of 2^(1/8) of them: at schema 3 each of ours would lie across a boundary. At schema 4, which
/// has sixteen an octave, one bucket lies within each of ours, and the middle of ours lies in it.
const SCHEMA: i32 = 4;

/// 16 × log2(10^9) is 478.36, so a boundary of ours, e eighths of an octave above 1 ns, is at 2e − 478.36 sixteenths
/// of an octave above 1 s. The bucket below it ends half a bucket of ours, one sixteenth, lower: in the bucket of
/// schema 4 that closes at 2e − 479.
const SECOND: i32 = 479;

/// As narrow as that of Prometheus' own clients, so that both add up.
const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;

/// Empty buckets that are written rather than a new span, which has two numbers itself.
const FILLED: i32 = 2;

/// Whether an `Accept` header prefers protobuf to text and OpenMetrics, as that of a Prometheus server with native
/// histograms does.
pub fn is_preferred(accept: &str) -> bool {
    format::is_protobuf_preferred(accept)
}

/// The snapshot as `MetricFamily` messages, each with its length before it: all that [`text`](super::text) has, with
/// native histograms beside the classic buckets. Take a snapshot of the whole run.
///
/// Every bucket of the snapshot is one bucket of schema 4, so that counts are what they are and sums exact. What
/// `histogram_quantile` says lies within the bucket of the snapshot's own quantile, and is at most 2.9 % from that
/// quantile, which is rounded to the nanosecond, where it is not a minimum or maximum. Durations of 0 are in the
/// zero bucket.
pub fn protobuf(snapshot: &Snapshot, series: &Series) -> Vec<u8> {
    let mut out = Vec::new();
    for family in collect(snapshot, series) {
        if !family.samples.is_empty() {
            out.extend(message(family).encode_length_delimited_to_vec());
        }
    }
    out
}

fn message(family: Family<'_>) -> MetricFamily {
    let (kind, total) = match family.kind {
        Kind::Counter => (MetricType::Counter, "_total"),
        Kind::Gauge => (MetricType::Gauge, ""),
        Kind::Histogram => (MetricType::Histogram, ""),
    };
    let metric = |(labels, value): (Labels, Value<'_>)| {
        let label = labels.into_iter().map(|(name, value)| LabelPair {
            name: name.to_owned(),
            value,
        });
        let mut metric = Metric {
            label: label.collect(),
            ..Metric::default()
        };
        let number = match value {
            Value::Count(n) => n as f64,
            Value::Time(time) => time.as_secs_f64(),
            Value::Histogram(distribution) => {
                metric.histogram = Some(Box::new(histogram(distribution)));
                return metric;
            }
        };
        let number = Some(Number {
            value: Some(number),
        });
        match family.kind {
            Kind::Counter => metric.counter = number,
            _ => metric.gauge = number,
        }
        metric
    };
    MetricFamily {
        name: format!("instrumented_lock_{}{total}", family.name),
        help: family.help.to_owned(),
        r#type: Some(kind.into()),
        metric: family.samples.into_iter().map(metric).collect(),
    }
}

fn histogram(distribution: &Distribution) -> Histogram {
    let (classic, count) = buckets::classic(distribution);
    let bounds = BOUNDS.iter().map(|power| buckets::seconds(*power));
    let classic = bounds.zip(classic).chain([(f64::INFINITY, count)]);
    let bucket = classic.map(|(bound, below)| Bucket {
        cumulative_count: Some(below),
        upper_bound: Some(bound),
    });
    let mut zeros = 0;
    let mut spans: Vec<BucketSpan> = Vec::new();
    let mut deltas = Vec::new();
    let (mut next, mut before) = (0, 0);
    for (upper, n) in distribution.buckets() {
        if upper <= 0.0 {
            zeros += n;
            continue;
        }
        // A count of 2^63 is never reached.
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        let index = 2 * eighths(upper) - SECOND;
        let gap = index - next;
        match spans.last_mut() {
            Some(span) if gap <= FILLED => {
                for _ in 0..gap {
                    deltas.push(-before);
                    before = 0;
                }
                span.length = span.length.map(|n| n + gap.unsigned_abs() + 1);
            }
            _ => spans.push(BucketSpan {
                offset: Some(gap),
                length: Some(1),
            }),
        }
        deltas.push(n - before);
        (next, before) = (index + 1, n);
    }
    Histogram {
        // Not the distribution's: where a file contradicts itself, at least the buckets are whole.
        sample_count: Some(count),
        sample_sum: Some(distribution.sum().as_secs_f64()),
        bucket: bucket.collect(),
        schema: Some(SCHEMA),
        zero_threshold: Some(ZERO_THRESHOLD),
        zero_count: Some(zeros),
        positive_span: spans,
        positive_delta: deltas,
    }
}

#[cfg(test)]
mod tests;
