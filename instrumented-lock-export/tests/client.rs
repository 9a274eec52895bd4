//! The collector: a registry of `prometheus-client` says what our own text says.

#![allow(clippy::float_cmp, reason = "both are of the same figures")]

mod samples;
mod support;

use instrumented_lock::{Mutex, Snapshot, instrumented};
use instrumented_lock_export::prometheus::client::{Collector, encode};
use instrumented_lock_export::prometheus::{Format, Series, text};
use prometheus_client::encoding::{DescriptorEncoder, prometheus_text, text as open_metrics};
use prometheus_client::registry::Registry;
use proptest::prelude::*;
use samples::parse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use support::{known, snapshots};

/// A snapshot as a collector.
#[derive(Debug)]
struct Of(Snapshot, Series);

impl prometheus_client::collector::Collector for Of {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        encode(&self.0, &self.1, encoder)
    }
}

/// What a registry with this collector says, and what we say.
fn both(snapshot: &Snapshot, format: Format) -> (String, String) {
    let series = Series::of(snapshot, 2);
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Of(snapshot.clone(), series.clone())));
    let mut theirs = String::new();
    match format {
        Format::OpenMetrics => open_metrics::encode(&mut theirs, &registry).unwrap(),
        Format::Text => prometheus_text::encode(&mut theirs, &registry).unwrap(),
    }
    (theirs, text(snapshot, &series, format))
}

type Samples = BTreeMap<(String, BTreeMap<String, String>), f64>;

fn read(text: &str) -> Samples {
    let samples = parse(text).into_iter().map(|mut sample| {
        if let Some(bound) = sample.labels.get_mut("le").filter(|bound| *bound != "+Inf") {
            *bound = bound.parse::<f64>().unwrap().to_string();
        }
        ((sample.name, sample.labels), sample.value)
    });
    samples.collect()
}

/// What is said of families that have samples.
fn comments(text: &str) -> BTreeSet<&str> {
    let lines: Vec<_> = text.lines().collect();
    let about = lines.chunk_by(|line, next| line.starts_with('#') || !next.starts_with('#'));
    // Of families without samples the comments come right before those of another one.
    let of_family = about.filter_map(|chunk| {
        let last = chunk.iter().rposition(|line| line.starts_with("# HELP "))?;
        let said = chunk[last..]
            .iter()
            .take_while(|line| line.starts_with('#'));
        chunk
            .last()
            .is_some_and(|line| !line.starts_with('#'))
            .then_some(said)
    });
    of_family.flatten().copied().collect()
}

#[test]
fn what_is_said_of_families_is_the_same() {
    for format in [Format::OpenMetrics, Format::Text] {
        let (theirs, ours) = both(&known(), format);
        assert_eq!(comments(&theirs), comments(&ours));
        assert!(comments(&ours).len() >= 40, "{:?}", comments(&ours));
    }
}

proptest! {
    #[test]
    fn samples_are_the_same(
        snapshot in snapshots(),
        format in prop::sample::select(&[Format::Text, Format::OpenMetrics][..]),
    ) {
        let (theirs, ours) = both(&snapshot, format);
        prop_assert_eq!(read(&theirs), read(&ours));
    }
}

#[instrumented]
static LEDGER: Mutex<u32> = Mutex::new(0);

#[test]
fn a_program_registers_the_collector_and_each_scrape_is_of_now() {
    let mut registry = Registry::with_prefix("app");
    registry.register_collector(Box::new(Collector::default()));
    let acquired = || {
        let mut body = String::new();
        open_metrics::encode(&mut body, &registry).unwrap();
        let of_ledger = |(name, labels): &(String, BTreeMap<String, String>)| {
            name == "app_instrumented_lock_acquisitions_total" && labels["lock"] == "client::LEDGER"
        };
        let samples = read(&body).into_iter().filter(|(key, _)| of_ledger(key));
        samples.map(|(_, n)| n).sum::<f64>()
    };
    assert_eq!(acquired(), 0.0);
    *LEDGER.lock() += 1;
    assert_eq!(acquired(), 1.0);
    *LEDGER.lock() += 1;
    *LEDGER.lock() += 1;
    assert_eq!(acquired(), 3.0);
}
