//! [`Sink`]: what a format does with metrics.

use instrumented_lock::Distribution;
use std::time::Duration;

/// What a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A format, to which families and then their samples are given.
pub(crate) trait Sink<'a> {
    /// What tells the samples of a family apart.
    type Labels: Clone + Default;

    fn label(labels: &mut Self::Labels, name: &'static str, value: &str);

    /// Begins a family. A name that ends with `_seconds` is of times.
    fn family(&mut self, name: &'static str, kind: Kind, help: &'static str);

    fn sample(&mut self, labels: &Self::Labels, value: u64);

    fn time(&mut self, labels: &Self::Labels, time: Duration);

    fn histogram(&mut self, labels: &Self::Labels, distribution: &'a Distribution);
}
