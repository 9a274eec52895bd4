//! The messages of Prometheus' `metrics.proto`, package `io.prometheus.client`: those fields that we write.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct MetricFamily {
    #[prost(string, tag = 1)]
    pub(super) name: String,
    #[prost(string, tag = 2)]
    pub(super) help: String,
    /// Required where it is 0 too, which a counter is.
    #[prost(enumeration = "MetricType", optional, tag = 3)]
    pub(super) r#type: Option<i32>,
    #[prost(message, repeated, tag = 4)]
    pub(super) metric: Vec<Metric>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(super) enum MetricType {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Metric {
    #[prost(message, repeated, tag = 1)]
    pub(super) label: Vec<LabelPair>,
    #[prost(message, optional, tag = 2)]
    pub(super) gauge: Option<Number>,
    #[prost(message, optional, tag = 3)]
    pub(super) counter: Option<Number>,
    #[prost(message, optional, boxed, tag = 7)]
    pub(super) histogram: Option<Box<Histogram>>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LabelPair {
    #[prost(string, tag = 1)]
    pub(super) name: String,
    #[prost(string, tag = 2)]
    pub(super) value: String,
}

/// A `Gauge` or a `Counter`, whose value has the same number.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Number {
    #[prost(double, optional, tag = 1)]
    pub(super) value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Histogram {
    #[prost(uint64, optional, tag = 1)]
    pub(super) sample_count: Option<u64>,
    /// Seconds.
    #[prost(double, optional, tag = 2)]
    pub(super) sample_sum: Option<f64>,
    /// The classic ones.
    #[prost(message, repeated, tag = 3)]
    pub(super) bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = 5)]
    pub(super) schema: Option<i32>,
    #[prost(double, optional, tag = 6)]
    pub(super) zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = 7)]
    pub(super) zero_count: Option<u64>,
    #[prost(message, repeated, tag = 12)]
    pub(super) positive_span: Vec<BucketSpan>,
    /// The count of each bucket less that of the one before.
    #[prost(sint64, repeated, packed = "false", tag = 13)]
    pub(super) positive_delta: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Bucket {
    #[prost(uint64, optional, tag = 1)]
    pub(super) cumulative_count: Option<u64>,
    /// Inclusive, in seconds.
    #[prost(double, optional, tag = 2)]
    pub(super) upper_bound: Option<f64>,
}

/// Buckets that follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub(super) struct BucketSpan {
    /// Of the first span where it begins, of others how many buckets are left out before it.
    #[prost(sint32, optional, tag = 1)]
    pub(super) offset: Option<i32>,
    #[prost(uint32, optional, tag = 2)]
    pub(super) length: Option<u32>,
}
