//! Native histograms, which Prometheus takes as protobuf only: see [`protobuf`].

use super::buckets;
use super::collected::{Family, Labels, Value, collect};
use super::format;
use super::proto::{
    Bucket, BucketSpan, Histogram, LabelPair, Metric, MetricFamily, MetricType, Number,
};
use super::series::Series;
use super::sink::Kind;
use super::sparse::{self, Sparse};
use instrumented_lock::{Distribution, Snapshot};
use prost::Message as _;

/// The `Content-Type` of [`protobuf`].
pub const CONTENT_TYPE: &str = "application/vnd.google.protobuf; \
    proto=io.prometheus.client.MetricFamily; encoding=delimited";

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
    let classic = buckets::with_bounds(classic, count);
    let bucket = classic.into_iter().map(|(bound, below)| Bucket {
        cumulative_count: Some(below),
        upper_bound: Some(bound),
    });
    let sparse = Sparse::of(distribution);
    let span = |&(offset, length): &(i32, u32)| BucketSpan {
        offset: Some(offset),
        length: Some(length),
    };
    Histogram {
        // Not the distribution's: where a file contradicts itself, at least the buckets are whole.
        sample_count: Some(count),
        sample_sum: Some(distribution.sum().as_secs_f64()),
        bucket: bucket.collect(),
        schema: Some(sparse::SCHEMA),
        zero_threshold: Some(sparse::ZERO_THRESHOLD),
        zero_count: Some(sparse.zeros),
        positive_span: sparse.spans.iter().map(span).collect(),
        positive_delta: sparse.deltas,
    }
}

#[cfg(test)]
mod tests;
