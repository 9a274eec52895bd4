//! [`request`]: a snapshot as the message of OTLP.

use crate::prometheus::Series;
use crate::prometheus::buckets::eighths;
use crate::prometheus::collected::{Family, Labels, Value, collect};
use crate::prometheus::sink::Kind;
use instrumented_lock::{Distribution, Snapshot};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Metric,
    NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use std::time::{SystemTime, UNIX_EPOCH};

/// Buckets an octave, as a power of two: what the snapshot has, because times are in its nanoseconds.
const SCALE: i32 = 3;

/// A snapshot of the whole run as a message: `began` is when the run did, the same for all messages of a
/// process; `now` is when the snapshot was taken. `resource` says whose it is, as `service.name`.
pub fn request(
    snapshot: &Snapshot,
    series: &Series,
    resource: &[(String, String)],
    began: SystemTime,
    now: SystemTime,
) -> ExportMetricsServiceRequest {
    let times = (nanoseconds(began), nanoseconds(now));
    let families = collect(snapshot, series).into_iter();
    let families = families.filter(|family| !family.samples.is_empty());
    let metrics = families.map(|family| metric(&family, times)).collect();
    let scope = InstrumentationScope {
        name: env!("CARGO_PKG_NAME").to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..InstrumentationScope::default()
    };
    let attributes = resource.iter().map(|(name, value)| attribute(name, value));
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: attributes.collect(),
                ..Resource::default()
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics,
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn attribute(name: &str, value: &str) -> KeyValue {
    KeyValue {
        key: name.to_owned(),
        value: Some(AnyValue {
            value: Some(Any::StringValue(value.to_owned())),
        }),
        ..KeyValue::default()
    }
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    let attributes = labels.iter().map(|(name, value)| attribute(name, value));
    attributes.collect()
}

fn metric(family: &Family<'_>, times: (u64, u64)) -> Metric {
    let time = family.name.strip_suffix("_seconds");
    let temporality = AggregationTemporality::Cumulative as i32;
    let numbers = || {
        let points = family.samples.iter().filter_map(|(labels, value)| {
            let value = match value {
                Value::Count(n) => i64::try_from(*n).unwrap_or(i64::MAX),
                Value::Time(time) => i64::try_from(time.as_nanos()).unwrap_or(i64::MAX),
                Value::Histogram(_) => return None,
            };
            Some(NumberDataPoint {
                attributes: attributes(labels),
                start_time_unix_nano: times.0,
                time_unix_nano: times.1,
                value: Some(number_data_point::Value::AsInt(value)),
                ..NumberDataPoint::default()
            })
        });
        points.collect::<Vec<_>>()
    };
    let data = match family.kind {
        Kind::Counter => Data::Sum(Sum {
            data_points: numbers(),
            aggregation_temporality: temporality,
            is_monotonic: true,
        }),
        Kind::Gauge => {
            let mut data_points = numbers();
            for point in &mut data_points {
                // What is so now has no beginning.
                point.start_time_unix_nano = 0;
            }
            Data::Gauge(Gauge { data_points })
        }
        Kind::Histogram => {
            let points = family.samples.iter().filter_map(|(labels, value)| {
                let Value::Histogram(distribution) = value else {
                    return None;
                };
                let mut point = histogram(distribution);
                point.attributes = attributes(labels);
                (point.start_time_unix_nano, point.time_unix_nano) = times;
                Some(point)
            });
            Data::ExponentialHistogram(ExponentialHistogram {
                data_points: points.collect(),
                aggregation_temporality: temporality,
            })
        }
    };
    let unit = match family.name {
        _ if time.is_some() => "ns",
        "acquisitions"
        | "contended"
        | "bounces"
        | "instance_contended"
        | "operation_acquisitions"
        | "operation_contended" => "{acquisition}",
        "operations" => "{operation}",
        "try_failures" | "timeouts" => "{attempt}",
        "waiting" | "holding" | "sleeping" => "{thread}",
        "live_locks" => "{lock}",
        _ => "1",
    };
    Metric {
        name: format!("instrumented_lock.{}", time.unwrap_or(family.name)),
        description: family.help.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    }
}

/// Bucket `i` of scale 3 holds what is longer than 2^(i/8) and not longer than 2^((i + 1)/8).
fn histogram(distribution: &Distribution) -> ExponentialHistogramDataPoint {
    let mut zeros = 0;
    let mut positive = Buckets::default();
    for (upper, n) in distribution.buckets() {
        if upper <= 0.0 {
            zeros += n;
            continue;
        }
        let index = eighths(upper) - 1;
        if positive.bucket_counts.is_empty() {
            positive.offset = index;
        }
        let at = usize::try_from(index - positive.offset).unwrap_or(0);
        if positive.bucket_counts.len() <= at {
            positive.bucket_counts.resize(at + 1, 0);
        }
        positive.bucket_counts[at] += n;
    }
    let ns = |time: std::time::Duration| time.as_nanos() as f64;
    ExponentialHistogramDataPoint {
        // Not the count: where a file contradicts itself, at least the buckets are whole.
        count: zeros + positive.bucket_counts.iter().sum::<u64>(),
        sum: Some(ns(distribution.sum())),
        scale: SCALE,
        zero_count: zeros,
        positive: Some(positive),
        min: distribution.min().map(ns),
        max: distribution.max().map(ns),
        ..ExponentialHistogramDataPoint::default()
    }
}
