//! Advice from known figures: what it says, and the look-alikes on which it says nothing.
//!
//! The figures come from JSON. One test uses real locks, with the mock clock.

#[path = "advice/figures.rs"]
mod figures;
#[path = "advice/holding.rs"]
mod holding;
#[path = "advice/instances.rs"]
mod instances;
#[path = "advice/kind.rs"]
mod kind;
#[path = "advice/waiting.rs"]
mod waiting;

use figures::{MS, SECOND, US, held, lock, site, snapshot};
use instrumented_lock::{Advice, Confidence, Mutex, Snapshot, instrumented, registry};
use instrumented_lock_tests::mock_clock;
use kind::used;
use serde_json::json;
use std::time::Duration;
use waiting::busy;

#[test]
fn advice_is_sorted_by_confidence_then_by_time_blocked() {
    let quiet = used(0, 200_000).with(|lock| lock.name = "a");
    let second = busy().with(|lock| lock.name = "b");
    let first = busy().with(|lock| {
        lock.name = "c";
        lock.write.blocked = vec![(2 * MS, 501)];
    });
    let locks = [quiet, second, first];
    let advice = snapshot(2 * SECOND, &locks).advice();
    let order: Vec<_> = advice.iter().map(|a| (a.lock(), a.confidence())).collect();
    assert_eq!(
        order,
        [
            ("c", Confidence::High),
            ("b", Confidence::High),
            ("a", Confidence::Medium),
            ("c", Confidence::Low),
            ("b", Confidence::Low)
        ],
        "{advice:#?}"
    );
}

#[test]
fn a_lock_with_ordinary_figures_has_no_advice() {
    let fine = [
        lock("Mutex"),
        used(5000, 500),
        lock("Mutex").with(|lock| {
            lock.write = held(vec![(200, 90_000), (5 * US, 10_000)]);
            lock.write.blocked = vec![(3 * US, 500)];
            lock.write.bounces = 30_000;
            lock.write.try_failures = 100;
            lock.sites = vec![site(40, 60_000, 200), site(41, 40_000, 500)];
        }),
    ];
    for (i, lock) in fine.into_iter().enumerate() {
        assert_eq!(lock.advice(), [], "{i}");
    }
    assert_eq!(
        snapshot(0, &[busy()]).advice(),
        [],
        "no time, no share of it"
    );
}

#[test]
fn advice_prints_as_four_lines() {
    let text = used(0, 4000).advice()[0].to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "app::Store::index (low confidence)",
            "  It is an `RwLock` that nobody reads.",
            "  figures: 4,000 writes, no reads",
        ]
    );
    assert!(
        lines.len() == 4 && lines[3].starts_with("  advice: A `Mutex` is"),
        "{text}"
    );
}

#[test]
fn advice_in_json_has_its_five_texts() {
    let advice = used(0, 4000).advice();
    let json = serde_json::to_value(&advice).unwrap();
    assert_eq!(
        json,
        json!([{
            "lock": "app::Store::index",
            "finding": "It is an `RwLock` that nobody reads.",
            "evidence": "4,000 writes, no reads",
            "suggestion": advice[0].suggestion(),
            "confidence": "low",
        }])
    );
}

/// Advice is a function of the snapshot as it was written, wherever it is read.
#[test]
fn advice_on_the_known_snapshot_is_silent_and_does_not_panic() {
    let known = include_str!("golden/snapshot.json");
    let known: Snapshot = serde_json::from_str(known).unwrap();
    for advice in known.advice() {
        assert!(known.lock(advice.lock()).is_some());
    }
    assert_eq!(known.advice_since(&known), [], "an interval of no length");
}

#[test]
fn real_locks_are_advised_on_by_ceiling_and_growth() {
    #[instrumented]
    static SCANNED: Mutex<Vec<u64>> = Mutex::new(Vec::new());

    let clock = mock_clock();
    let first = line!() + 2;
    let scan = |hold: u64| {
        let mut entries = SCANNED.lock();
        entries.push(hold);
        clock.advance(Duration::from_nanos(hold));
        drop(entries);
        clock.advance(Duration::from_nanos(MS));
    };
    (0..200).for_each(|_| scan(100 * US));
    let earlier = registry::snapshot();
    assert_eq!(earlier.advice(), [], "9 % of the time");
    (0..200).for_each(|_| scan(4 * MS));
    let later = registry::snapshot();
    let advice = later.advice_since(&earlier);
    let texts: Vec<_> = advice.iter().map(Advice::finding).collect();
    let growth = format!(
        "The holds of {}:{first} grow with the run: a scan under the lock?",
        file!()
    );
    assert_eq!(
        texts,
        [
            growth.as_str(),
            "It is held exclusively 80 % of the time and lets at most 250 operations a second \
             through, however many threads there are.",
        ]
    );
    assert!(
        advice.iter().all(|a| a.lock().ends_with("::SCANNED")),
        "{advice:#?}"
    );
}
