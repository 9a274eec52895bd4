//! The reports of a known snapshot, against files that people read.
//!
//! `BLESS=1 cargo test --test report` writes the files anew; read the difference.

use instrumented_lock::{RwLock, Snapshot, instrumented, registry, report};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn known() -> Snapshot {
    serde_json::from_str(&fs::read_to_string(golden("snapshot.json")).unwrap()).unwrap()
}

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(name)
}

fn assert_golden(name: &str, text: &str) {
    if std::env::var_os("BLESS").is_some() {
        fs::write(golden(name), text).unwrap();
    }
    let expected = fs::read_to_string(golden(name)).unwrap_or_default();
    assert!(text == expected, "{name} has changed; it is now:\n{text}");
}

#[test]
fn the_table_is_as_recorded() {
    assert_golden("table.txt", &known().to_string());
}

#[test]
fn the_wide_table_is_as_recorded() {
    assert_golden("wide.txt", &format!("{:#}", known()));
}

#[test]
fn lock_stat_is_as_recorded() {
    assert_golden("lock_stat.txt", &report::lock_stat(&known()));
}

/// What a script does with `/proc/lock_stat`: skip to the classes, split at the colon, take columns.
#[test]
fn lock_stat_has_the_columns_that_scripts_expect() {
    let text = report::lock_stat(&known());
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("lock_stat version 0.4"));
    let class = text
        .lines()
        .find(|line| line.contains("Store::index-R:"))
        .unwrap();
    let columns: Vec<_> = class
        .split_once("-R:")
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    assert_eq!(columns.len(), 12);
    let lock = known().lock("Store::index").unwrap().clone();
    assert_eq!(columns[1], lock.read().contended().to_string());
    assert_eq!(columns[7], lock.read().acquisitions().to_string());
    assert_eq!(columns[2], "30000.00", "microseconds");
    assert!(lines.next().unwrap().chars().all(|c| c == '-'));
}

#[test]
fn the_table_fits_100_columns_whatever_the_names() {
    let text = report::table(&known());
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn colour_is_there_only_when_asked_for() {
    let plain = report::table(&known());
    assert!(!plain.contains('\x1b'));
    let options = report::TableOptions {
        colour: true,
        wide: false,
    };
    let coloured = report::table_with(&known(), options);
    let stripped = coloured
        .replace("\x1b[1m", "")
        .replace("\x1b[33m", "")
        .replace("\x1b[0m", "");
    assert!(coloured.contains("\x1b[33m"), "contention is yellow");
    assert_eq!(stripped, plain);
}

#[test]
fn json_reads_back_as_it_was_written() {
    let known = known();
    let json = serde_json::to_value(&known).unwrap();
    let file: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(golden("snapshot.json")).unwrap()).unwrap();
    assert_eq!(json, file, "every documented field, and no other");
    let without_serde = report::json(&known);
    assert!(
        without_serde == serde_json::to_string(&known).unwrap(),
        "`report::json` differs: {without_serde}"
    );
    assert_eq!(serde_json::from_value::<Snapshot>(json).unwrap(), known);
}

proptest! {
    #[test]
    fn json_reads_back_whatever_names_and_figures_are(
        text in "\\PC*|[\\x00-\\x1f\"\\\\]*",
        n in any::<u64>(),
        thread in any::<bool>(),
    ) {
        let mut value = serde_json::to_value(known()).unwrap();
        value["diagnostics"] = serde_json::json!([&text]);
        value["begun_ns"] = n.into();
        let lock = &mut value["locks"][0];
        lock["name"] = text.clone().into();
        lock["declared_at"]["called_through_pointer"] = true.into();
        lock["write"]["waited_ns"] = n.into();
        lock["write"]["waited_before_ns"] = n.into();
        lock["write"]["holding"] =
            serde_json::json!({"count": n, "timed": 1, "total_ns": n, "longest_ns": 0});
        lock["sleep"]["asleep"] = lock["write"]["holding"].clone();
        lock["write"]["hold"]["min_ns"] = n.into();
        value["in_flight"][0]["thread"] = thread.then_some(text).into();
        value["in_flight"][0]["age_ns"] = thread.then_some(n).into();
        let snapshot: Snapshot = serde_json::from_value(value).unwrap();
        let json = report::json(&snapshot);
        prop_assert!(!json.contains('\n'), "one line");
        prop_assert!(serde_json::from_str::<Snapshot>(&json).unwrap() == snapshot);
        let known: serde_json::Value = serde_json::from_str(&json).unwrap();
        prop_assert!(known == serde_json::to_value(&snapshot).unwrap());
    }
}

#[instrumented]
static THEN: [RwLock<u32>; 2] = [const { RwLock::new(0) }; 2];

#[test]
fn intervals_one_after_the_other_are_the_whole() {
    let once = || {
        *THEN[0].write() += 1;
        let _ = *THEN[1].read();
        registry::snapshot()
    };
    let first = once();
    let held = THEN[0].read();
    let second = registry::snapshot();
    drop(held);
    let _held = THEN[1].write();
    let last = registry::snapshot();
    let whole = first.then(&second.since(&first)).then(&last.since(&second));
    assert_eq!(whole.in_flight(), last.in_flight());
    assert!(whole.elapsed() >= last.elapsed());
    let figures = |snapshot: &Snapshot| {
        let lock = snapshot.lock("THEN").unwrap().clone();
        let of_mode = |mode: &instrumented_lock::ModeSnapshot| {
            let times = mode.hold();
            let figures = (times.count(), times.sum(), times.std_dev(), mode.waited());
            (mode.acquisitions(), figures, *mode.holding())
        };
        (
            lock.modes()
                .map(|(_, mode)| of_mode(mode))
                .collect::<Vec<_>>(),
            lock.instances(),
            lock.call_sites().to_vec(),
        )
    };
    assert_eq!(figures(&whole), figures(&last));
}

#[test]
fn an_empty_snapshot_says_so() {
    let empty = known().since(&known());
    let text = empty.to_string();
    assert!(text.starts_with("0 lock classes used in 0 ns\n"), "{text}");
}

#[test]
fn figures_that_contradict_themselves_have_no_quantile() {
    for (count, min, max) in [(0, 1, 2), (3, 9, 2)] {
        let json = format!(
            r#"{{"count":{count},"sum_ns":0,"sum_of_squares_ns2":"0",
                "min_ns":{min},"max_ns":{max},"buckets":[]}}"#
        );
        let read: instrumented_lock::Distribution = serde_json::from_str(&json).unwrap();
        assert_eq!(read.quantile(0.5), None);
    }
}
