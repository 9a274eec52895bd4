//! For programs that have a [`Registry`](prometheus_client::registry::Registry) of the crate `prometheus-client`:
//! a collector that adds the locks to each scrape of it.
//!
//! ```
//! use instrumented_lock_export::prometheus::client::Collector;
//! use prometheus_client::encoding::text::encode;
//! use prometheus_client::registry::Registry;
//!
//! let mut registry = Registry::default();
//! registry.register_collector(Box::new(Collector::default()));
//! let mut body = String::new();
//! encode(&mut body, &registry)?;
//! # assert!(body.contains("instrumented_lock_recording"), "{body}");
//! # Ok::<(), std::fmt::Error>(())
//! ```
//!
//! The metrics are those of [`text`](super::text), and in Prometheus' protobuf format, which is the feature
//! `prometheus_protobuf` of that crate, histograms are native too.

use super::buckets;
use super::collected::{Family, Labels, Value, collect};
use super::series::Series;
use super::sink::Kind;
use super::sparse::{self, Sparse};
use instrumented_lock::{Distribution, Snapshot, registry};
use prometheus_client::collector;
use prometheus_client::encoding::{
    DescriptorEncoder, MetricEncoder, NativeHistogram, NativeHistogramBuckets, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The locks of this program, as a snapshot at each scrape has them.
#[derive(Debug)]
pub struct Collector {
    most: usize,
    /// What has been told apart so far; `None` before the first scrape.
    told: Mutex<Option<Series>>,
}

impl Default for Collector {
    /// Tells [`Series::DEFAULT`] of each apart.
    fn default() -> Self {
        Collector::with_series(Series::DEFAULT)
    }
}

impl Collector {
    /// Tells at most so many lines apart, as many operations and as many locks of a class; see [`Series`].
    pub fn with_series(most: usize) -> Self {
        Collector {
            most,
            told: Mutex::new(None),
        }
    }
}

impl collector::Collector for Collector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let snapshot = registry::snapshot();
        // A panic in between has left it whole.
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let series = told.get_or_insert_with(|| Series::of(&snapshot, self.most));
        series.add(&snapshot);
        let series = series.clone();
        drop(told);
        encode(&snapshot, &series, encoder)
    }
}

/// Gives a snapshot, from wherever it is, to an encoder. Take one of a whole run, not an interval.
///
/// # Errors
///
/// Those of the encoder.
pub fn encode(
    snapshot: &Snapshot,
    series: &Series,
    mut encoder: DescriptorEncoder<'_>,
) -> fmt::Result {
    for family in collect(snapshot, series) {
        if !family.samples.is_empty() {
            encode_family(&family, &mut encoder)?;
        }
    }
    Ok(())
}

fn encode_family(family: &Family<'_>, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let kind = match family.kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge => MetricType::Gauge,
        Kind::Histogram => MetricType::Histogram,
    };
    let (name, unit) = match family.name.strip_suffix("_seconds") {
        Some(name) => (name, Some(&Unit::Seconds)),
        None => (family.name, None),
    };
    let name = format!("instrumented_lock_{name}");
    // Units and `_total` are added there.
    let mut encoder = encoder.encode_descriptor(&name, family.help, unit, kind)?;
    for (labels, value) in &family.samples {
        sample(family.kind, value, labels, &mut encoder)?;
    }
    Ok(())
}

fn sample(
    kind: Kind,
    value: &Value<'_>,
    labels: &Labels,
    encoder: &mut MetricEncoder<'_>,
) -> fmt::Result {
    let mut encoder = encoder.encode_family(labels)?;
    match (kind, value) {
        (_, Value::Histogram(distribution)) => histogram(distribution, &mut encoder),
        (Kind::Counter, Value::Count(n)) => encoder.encode_counter::<NoLabelSet, _, u64>(n, None),
        (Kind::Counter, Value::Time(time)) => {
            encoder.encode_counter::<NoLabelSet, _, u64>(&time.as_secs_f64(), None)
        }
        (_, Value::Count(n)) => encoder.encode_gauge(n),
        (_, Value::Time(time)) => encoder.encode_gauge(&time.as_secs_f64()),
    }
}

fn histogram(distribution: &Distribution, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
    let (classic, count) = buckets::classic(distribution);
    let mut before = 0;
    // Each with its own count there, not with that of all below.
    let classic = buckets::with_bounds(classic, count).map(|(bound, below)| {
        let own = below - before;
        before = below;
        (bound, own)
    });
    let sparse = Sparse::of(distribution);
    let none = NativeHistogramBuckets {
        spans: &[],
        deltas: &[],
    };
    let native = NativeHistogram {
        schema: sparse::SCHEMA,
        zero_threshold: sparse::ZERO_THRESHOLD,
        zero_count: sparse.zeros,
        negative: none,
        positive: NativeHistogramBuckets {
            spans: &sparse.spans,
            deltas: &sparse.deltas,
        },
        created: None,
    };
    let sum = distribution.sum().as_secs_f64();
    encoder.encode_histogram_with_native::<NoLabelSet>(sum, count, &classic, None, native)
}
