//! [`Collected`]: all metrics at once, for formats that are no text.

use super::families;
use super::series::Series;
use super::sink::{Kind, Sink};
use instrumented_lock::{Distribution, Snapshot};
use std::time::Duration;

/// A sample's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Count(u64),
    Time(Duration),
    Histogram(&'a Distribution),
}

/// Names and values.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// A family and its samples.
#[derive(Clone, Debug)]
pub(crate) struct Family<'a> {
    /// Without the library's name before it, or `_total` after it.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
    pub(crate) samples: Vec<(Labels, Value<'a>)>,
}

/// The families of a snapshot.
pub(crate) fn collect<'a>(snapshot: &'a Snapshot, series: &Series) -> Vec<Family<'a>> {
    let mut all = Collected::default();
    families::write(&mut all, snapshot, series);
    all.0
}

#[derive(Default)]
struct Collected<'a>(Vec<Family<'a>>);

impl<'a> Collected<'a> {
    fn add(&mut self, labels: &Labels, value: Value<'a>) {
        if let Some(family) = self.0.last_mut() {
            family.samples.push((labels.clone(), value));
        }
    }
}

impl<'a> Sink<'a> for Collected<'a> {
    type Labels = Labels;

    fn label(labels: &mut Labels, name: &'static str, value: &str) {
        labels.push((name, value.to_owned()));
    }

    fn family(&mut self, name: &'static str, kind: Kind, help: &'static str) {
        self.0.push(Family {
            name,
            kind,
            help,
            samples: Vec::new(),
        });
    }

    fn sample(&mut self, labels: &Labels, value: u64) {
        self.add(labels, Value::Count(value));
    }

    fn time(&mut self, labels: &Labels, time: Duration) {
        self.add(labels, Value::Time(time));
    }

    fn histogram(&mut self, labels: &Labels, distribution: &'a Distribution) {
        self.add(labels, Value::Histogram(distribution));
    }
}
