//! Native histograms as a server reads them.

use super::*;
use crate::support::{self, known, many, snapshots};
use instrumented_lock::LockSnapshot;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Reads the messages that follow each other, as a server does.
fn decoded(mut bytes: &[u8]) -> Vec<MetricFamily> {
    let mut families = Vec::new();
    while !bytes.is_empty() {
        families.push(MetricFamily::decode_length_delimited(&mut bytes).unwrap());
    }
    families
}

/// The counts by index, from spans and differences, as Prometheus' documentation has it.
fn counts(histogram: &Histogram) -> BTreeMap<i32, i64> {
    let (mut index, mut count) = (0, 0);
    let mut deltas = histogram.positive_delta.iter();
    let mut counts = BTreeMap::new();
    for span in &histogram.positive_span {
        index += span.offset.unwrap();
        for _ in 0..span.length.unwrap() {
            count += deltas.next().expect("a delta for each bucket");
            assert!(counts.insert(index, count).is_none());
            index += 1;
        }
    }
    assert_eq!(deltas.next(), None);
    counts.retain(|_, n| *n != 0);
    counts
}

/// The bounds of a bucket of schema 4, in nanoseconds.
fn bounds(index: i32) -> (f64, f64) {
    let bound = |i: i32| (f64::from(i) / 16.0).exp2() * 1e9;
    (bound(index - 1), bound(index))
}

fn find<'a>(families: &'a [MetricFamily], name: &str, labels: &[(&str, &str)]) -> &'a Metric {
    let name = format!("instrumented_lock_{name}");
    let family = families.iter().find(|family| family.name == name).unwrap();
    let has = |metric: &Metric, (name, value): (&str, &str)| {
        let mut of_name = metric.label.iter().filter(|label| label.name == name);
        of_name.any(|label| label.value == value)
    };
    let is_it = |metric: &&Metric| labels.iter().all(|label| has(metric, *label));
    family.metric.iter().find(is_it).unwrap()
}

/// Every bucket of the one is a bucket of the other, and lies within it.
fn assert_same(histogram: &Histogram, distribution: &Distribution) {
    let mut expected = distribution.buckets().filter(|(upper, _)| *upper > 0.0);
    for (index, n) in counts(histogram) {
        let (upper, expected) = expected.next().expect("no more buckets than there are");
        assert_eq!(u64::try_from(n).unwrap(), expected);
        let (low, high) = bounds(index);
        if upper.is_finite() {
            let lower = upper / 0.125f64.exp2();
            assert!(
                lower <= low && high <= upper,
                "{lower} {low} {high} {upper}"
            );
            let middle = upper / 0.0625f64.exp2();
            assert!(low < middle && middle <= high, "{low} {middle} {high}");
            assert!(high / middle < 1.0160 && middle / low < 1.0283);
        } else {
            assert!(low > 63f64.exp2(), "{low}");
        }
    }
    assert_eq!(expected.next(), None);
    let zeros = distribution.buckets().find(|(upper, _)| *upper <= 0.0);
    assert_eq!(histogram.zero_count, Some(zeros.map_or(0, |(_, n)| n)));
    assert_eq!(histogram.sample_count, Some(distribution.count()));
    assert_eq!(histogram.sample_sum, Some(distribution.sum().as_secs_f64()));
    assert_eq!(histogram.schema, Some(4));
    // What makes it a native one where it is empty.
    assert!(histogram.zero_threshold.unwrap() > 0.0);
    let last = histogram.bucket.last().unwrap();
    assert_eq!(last.cumulative_count, histogram.sample_count);
}

proptest! {
    #[test]
    fn what_is_decoded_is_what_the_snapshot_says(snapshot in snapshots(), most in 0..5usize) {
        let families = decoded(&protobuf(&snapshot, &Series::of(&snapshot, most)));
        for lock in snapshot.locks() {
            for (name, mode) in lock.modes().filter(|(_, mode)| mode.acquisitions() > 0) {
                let name = name.to_string();
                let labels = [("lock", lock.name()), ("mode", &name)];
                for (family, distribution) in [("wait_seconds", mode.wait()), ("hold_seconds", mode.hold())] {
                    let metric = find(&families, family, &labels);
                    assert_same(metric.histogram.as_ref().unwrap(), distribution);
                }
                let acquired = find(&families, "acquisitions_total", &labels).counter.unwrap();
                prop_assert_eq!(acquired.value, Some(mode.acquisitions() as f64));
            }
        }
    }
}

#[test]
fn every_bucket_of_a_snapshot_has_one_of_its_own() {
    let mut modes = [(); 3].map(|()| support::mode(&[1], &[], 0));
    let all: Vec<_> = (0..507).map(|bucket| (bucket, 3 + bucket % 5)).collect();
    modes[0]["hold"]["count"] = all.iter().map(|(_, n)| n).sum::<u64>().into();
    modes[0]["hold"]["buckets"] = serde_json::json!(all);
    let snapshot = support::snapshot(vec![support::lock("a", "Mutex", &modes, &[])]);
    let hold = snapshot.locks()[0].write().hold();
    assert_eq!(hold.buckets().count(), 507);
    assert_same(&histogram(hold), hold);
}

#[test]
fn texts_and_protobuf_have_the_same_samples() {
    let snapshot = known();
    let series = Series::of(&snapshot, 2);
    let families = decoded(&protobuf(&snapshot, &series));
    let text = crate::prometheus::text(&snapshot, &series, crate::prometheus::Format::Text);
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let is_of_histogram = |line: &&str| line.contains("_bucket{") || line.contains("_sum{");
    let of_text = samples.filter(|line| !is_of_histogram(line)).count();
    assert_eq!(
        families
            .iter()
            .map(|family| family.metric.len())
            .sum::<usize>(),
        of_text
    );
    for family in &families {
        assert!(text.contains(&format!("# HELP {} {}\n", family.name, family.help)));
        let kind = format!("{:?}", family.r#type()).to_lowercase();
        assert!(
            text.contains(&format!("# TYPE {} {kind}\n", family.name)),
            "{kind}"
        );
    }
    let one = find(
        &families,
        "live_locks",
        &[("lock", "app::store::Store::index")],
    );
    assert!(one.gauge.unwrap().value.unwrap() >= 1.0 && one.counter.is_none());
    let time = find(
        &families,
        "operation_wait_seconds_total",
        &[("operation", "GET /keys")],
    );
    assert_eq!(time.counter.unwrap().value, Some(0.08));
}

#[test]
fn a_thousand_classes_are_less_than_their_text() {
    let snapshot = many(1000);
    let series = Series::of(&snapshot, Series::DEFAULT);
    let bytes = protobuf(&snapshot, &series).len();
    assert!(bytes <= 4_000_000, "{bytes}");
    assert_eq!(
        snapshot.locks().iter().map(LockSnapshot::name).count(),
        1000
    );
}

#[test]
fn it_is_for_those_that_prefer_it() {
    // As Prometheus 2.42 with native histograms has it, Prometheus 3 with and without, and others.
    let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
    let both = format!(
        "{protobuf},application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
    );
    let rather_text =
        format!("application/openmetrics-text;version=1.0.0;q=0.5,{protobuf};q=0.4,*/*;q=0.1");
    let spaced = "text/plain; q=0.2, Application/vnd.google.protobuf; proto=\"io.prometheus.client.MetricFamily\"; encoding=delimited; q=0.7";
    for accept in [protobuf, &both, spaced] {
        assert!(is_preferred(accept), "{accept}");
    }
    for accept in [
        "",
        "*/*",
        &rather_text,
        &format!("{protobuf};q=0"),
        &protobuf.replace("delimited", "text"),
        &protobuf.replace("MetricFamily", "Metric"),
    ] {
        assert!(!is_preferred(accept), "{accept}");
    }
}
