//! Prometheus' formats: a golden file each, and what holds for any snapshot, as a reader of the format sees it.

#![allow(clippy::float_cmp, reason = "counts are whole numbers")]

mod samples;
mod support;

use instrumented_lock::{CallSite, Distribution, InstanceSnapshot, OperationSnapshot, Snapshot};
use instrumented_lock_export::prometheus::{Format, Series, text};
use proptest::prelude::*;
use samples::{Sample, parse};
use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};
use support::{assert_golden, known, many, snapshots};

fn written(snapshot: &Snapshot, most: usize, format: Format) -> String {
    text(snapshot, &Series::of(snapshot, most), format)
}

#[test]
fn text_is_as_recorded() {
    assert_golden("metrics.txt", &written(&known(), 2, Format::Text));
}

#[test]
fn open_metrics_is_as_recorded() {
    assert_golden(
        "openmetrics.txt",
        &written(&known(), 2, Format::OpenMetrics),
    );
}

#[test]
fn the_format_is_the_one_that_is_asked_for() {
    let prometheus_3 = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                        text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
    assert_eq!(Format::accepted(prometheus_3), Format::OpenMetrics);
    assert_eq!(Format::accepted("*/*"), Format::Text);
    assert!(Format::Text.content_type().contains("0.0.4"));
}

fn find(samples: &[Sample], name: &str, labels: &[(&str, &str)]) -> f64 {
    let is_it = |sample: &&Sample| {
        sample.name == format!("instrumented_lock_{name}")
            && labels
                .iter()
                .all(|(name, value)| sample.label(name) == *value)
    };
    samples
        .iter()
        .filter(is_it)
        .map(|sample| sample.value)
        .sum()
}

/// How many durations were not longer.
fn at_most(distribution: &Distribution, ns: f64) -> f64 {
    let buckets = distribution.buckets().filter(|(upper, _)| *upper <= ns);
    buckets.map(|(_, n)| n as f64).sum()
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

proptest! {
    #[test]
    fn what_is_read_is_what_the_snapshot_says(
        snapshot in snapshots(),
        most in 0..5usize,
        format in prop::sample::select(&[Format::Text, Format::OpenMetrics][..]),
    ) {
        let samples = parse(&written(&snapshot, most, format));
        for lock in snapshot.locks() {
            for (name, mode) in lock.modes() {
                let name = name.to_string();
                let labels = [("lock", lock.name()), ("mode", &name)];
                let of = |name: &str| find(&samples, name, &labels);
                prop_assert_eq!(of("acquisitions_total"), mode.acquisitions() as f64);
                prop_assert_eq!(of("contended_total"), mode.contended() as f64);
                prop_assert_eq!(of("try_failures_total"), mode.try_failures() as f64);
                prop_assert_eq!(of("timeouts_total"), mode.timeouts() as f64);
                prop_assert_eq!(of("waiting"), mode.waiting().count() as f64);
                for (name, distribution) in [("wait", mode.wait()), ("hold", mode.hold())] {
                    prop_assert_eq!(of(&format!("{name}_seconds_count")), distribution.count() as f64);
                    let sum = of(&format!("{name}_seconds_sum"));
                    prop_assert!(is_near(sum, distribution.sum().as_secs_f64()));
                    let name = format!("instrumented_lock_{name}_seconds_bucket");
                    let buckets: Vec<_> = samples.iter().filter(|sample| {
                        sample.name == name
                            && labels.iter().all(|(name, value)| sample.label(name) == *value)
                    }).collect();
                    for bucket in &buckets {
                        let seconds: f64 = bucket.label("le").parse().unwrap();
                        let expected = at_most(distribution, (seconds * 1e9).round());
                        prop_assert_eq!(bucket.value, expected);
                    }
                    prop_assert!(buckets.is_sorted_by(|a, b| a.value <= b.value));
                    prop_assert!(buckets.last().is_none_or(|last| last.label("le") == "+Inf"));
                }
            }
            let of = |name: &str| find(&samples, name, &[("lock", lock.name())]);
            let waited: Duration = lock.call_sites().iter().map(CallSite::blocked_total).sum();
            let blamed: Duration = lock.call_sites().iter().map(CallSite::blame).sum();
            let is_used = lock.modes().any(|(_, mode)| mode.acquisitions() > 0 || mode.waiting().count() > 0)
                || lock.sleep().waits() > 0;
            if is_used {
                prop_assert!(is_near(of("site_wait_seconds_total"), waited.as_secs_f64()));
                prop_assert!(is_near(of("blame_seconds_total"), blamed.as_secs_f64()));
                prop_assert!(is_near(of("hand_over_seconds_total"), lock.hand_over().as_secs_f64()));
                prop_assert_eq!(of("live_locks"), 1.0);
            }
            let n: u64 = lock.waited_for().iter().map(InstanceSnapshot::contended).sum();
            prop_assert_eq!(of("instance_contended_total"), n as f64);
            let waited: Duration = lock.waited_for().iter().map(InstanceSnapshot::blocked).sum();
            prop_assert!(is_near(of("instance_wait_seconds_total"), waited.as_secs_f64()));
        }
        let of = |name: &str| find(&samples, name, &[]);
        let opened: u64 = snapshot.operations().iter().map(OperationSnapshot::opened).sum();
        prop_assert_eq!(of("operations_total"), opened as f64);
        let sum = |time: fn(&OperationSnapshot) -> Duration| {
            snapshot.operations().iter().map(time).sum::<Duration>().as_secs_f64()
        };
        prop_assert!(is_near(of("operation_wait_seconds_total"), sum(OperationSnapshot::waited)));
        prop_assert!(is_near(of("operation_hold_seconds_total"), sum(OperationSnapshot::held)));
        prop_assert!(is_near(of("operation_blame_seconds_total"), sum(OperationSnapshot::blame)));
        let told = |family: &str, label: &str| {
            let of_family = samples.iter().filter(|sample| sample.name.ends_with(family));
            let labels = of_family.map(|sample| (sample.label("lock"), sample.label(label)));
            labels.filter(|(_, label)| *label != "other").collect::<HashSet<_>>().len()
        };
        prop_assert!(told("k_instance_wait_seconds_total", "lock_instance") <= most);
        prop_assert!(told("k_operation_wait_seconds_total", "operation") <= most);
        prop_assert!(told("k_operations_total", "operation") <= most);
        let told = |sample: &&Sample| !matches!(sample.label("site"), "" | "other");
        let sites: HashSet<_> = samples.iter().filter(told)
            .map(|sample| (sample.label("lock"), sample.label("site"))).collect();
        prop_assert!(sites.len() <= most);
    }
}

#[test]
fn the_lines_that_are_told_apart_are_those_that_cost_most_and_stay_so() {
    let lines = |costs: &[u64]| {
        let lines: Vec<_> = costs
            .iter()
            .map(|ns| ("src/a.rs".to_owned(), *ns))
            .collect();
        let modes = [(); 3].map(|()| support::mode(&[1], &[], 0));
        support::snapshot(vec![support::lock("a", "Mutex", &modes, &lines)])
    };
    let told = |snapshot: &Snapshot, series: &Series| -> BTreeMap<String, f64> {
        let samples = parse(&text(snapshot, series, Format::Text));
        let waits = |sample: &&Sample| sample.name.ends_with("site_wait_seconds_total");
        let told = samples.iter().filter(waits);
        told.map(|sample| (sample.label("site").to_owned(), sample.value * 1e9))
            .collect()
    };
    let before = lines(&[10, 3000, 2000]);
    let mut series = Series::of(&before, 2);
    let names: Vec<_> = told(&before, &series).into_keys().collect();
    assert_eq!(names, ["other", "src/a.rs:2:9", "src/a.rs:3:9"]);
    // The first line has become the dearest; the counter of the others must not go down.
    let after = lines(&[9000, 3000, 2000]);
    series.add(&after);
    assert!((told(&after, &series)["other"] - 9000.0).abs() < 1.0);
    let mut roomy = Series::of(&before, 4);
    roomy.add(&after);
    assert_eq!(told(&after, &roomy).len(), 3);
}

#[test]
fn a_thousand_classes_are_a_scrape_of_four_megabytes_at_most() {
    let snapshot = many(1000);
    let once = || {
        let start = Instant::now();
        let body = written(&snapshot, Series::DEFAULT, Format::Text);
        (start.elapsed(), body)
    };
    let (time, body) = (0..5).map(|_| once()).min().unwrap();
    println!("{} bytes in {time:?}", body.len());
    assert!(body.len() <= 4_000_000, "{} bytes", body.len());
    assert_eq!(find(&parse(&body), "acquisitions_total", &[]), 70_000.0);
}

#[test]
fn what_is_told_apart_once_stays_so_also_of_operations_and_locks_of_a_class() {
    let of = |costs: [(&str, u64); 3]| {
        let modes = [(); 3].map(|()| support::mode(&[1], &[], 0));
        let mut lock = support::lock("a", "Mutex", &modes, &[]);
        let instances = costs.map(|(name, ns)| support::instance(Some(name), 1, 1, ns));
        lock["waited_for"] = instances.to_vec().into();
        let operations = costs.map(|(name, ns)| support::operation(name, 1, &[("a", ns)]));
        support::with_operations(vec![lock], &operations)
    };
    let before = of([("x", 10), ("y", 3000), ("z", 2000)]);
    let after = of([("x", 9000), ("y", 3000), ("z", 2000)]);
    let mut series = Series::of(&before, 2);
    series.add(&after);
    let samples = parse(&text(&after, &series, Format::Text));
    for (family, label) in [
        ("operation_wait_seconds_total", "operation"),
        ("instance_wait_seconds_total", "lock_instance"),
    ] {
        let of = |value| (find(&samples, family, &[(label, value)]) * 1e9).round();
        assert_eq!(
            ["x", "y", "z", "other"].map(of),
            [0.0, 3000.0, 2000.0, 9000.0],
            "{family}"
        );
    }
}
