//! Snapshots for tests: the one that the golden files are of, and any.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use instrumented_lock::Snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The snapshot that the library's own reports are tested with, and operations and locks that were waited for.
pub fn known() -> Snapshot {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/snapshot.json");
    let mut known: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let locks = known["locks"].as_array_mut().unwrap();
    let index = locks
        .iter_mut()
        .find(|lock| lock["name"] == "app::store::Store::index");
    index.unwrap()["waited_for"] = json!([
        instance(Some("shard 17"), 0x7f00_0010, 4, 70_000_000),
        instance(None, 0x7f00_0020, 2, 30_000_000),
        instance(None, 0, 1, 1000),
    ]);
    let journal = known["locks"].as_array_mut().unwrap().iter_mut();
    let journal = journal.filter(|lock| lock["name"] == "app::journal::Journal::lines");
    for lock in journal {
        lock["stacks"] = json!([
            stack("waiter", 3, 90_000, &["append", "app::serve<Put>", "main"]),
            stack("holder", 1, 70_000, &["app::journal::flush", "main"]),
        ]);
    }
    known["operations"] = json!([
        operation(
            "GET /keys",
            3,
            &[("app::store::Store::index", 80_000_000), ("unused::A", 0)]
        ),
        operation(
            "PUT /keys <all>",
            2,
            &[("app::store::Store::index", 20_000_000)]
        ),
        operation(
            "(other)",
            1,
            &[("app::journal::Journal::lines", 12_000_000)]
        ),
    ]);
    serde_json::from_value(known).unwrap()
}

/// One lock of a class, or all others where the address is 0.
pub fn instance(label: Option<&str>, address: u64, contended: u64, ns: u64) -> Value {
    json!({
        "label": label, "address": address, "number": address, "is_gone": contended == 2,
        "contended": contended, "blocked_ns": ns, "blocked_max_ns": ns / 2, "blame_ns": ns / 4,
    })
}

/// A stack of functions, the innermost first, all of one file but the last, of which nothing is known.
pub fn stack(role: &str, count: u64, ns: u64, functions: &[&str]) -> Value {
    let frame = |(i, name): (usize, &&str)| {
        let is_known = i + 1 < functions.len();
        let (file, line) = (
            is_known.then_some("src/app.rs"),
            is_known.then_some(10 * (i + 1)),
        );
        json!({"function": name, "file": file, "line": line})
    };
    json!({
        "role": role, "mode": "write", "count": count, "total_ns": ns,
        "frames": functions.iter().enumerate().map(frame).collect::<Vec<_>>(),
    })
}

/// An operation that has waited so long for each of these locks.
pub fn operation(name: &str, opened: u64, locks: &[(&str, u64)]) -> Value {
    let lock = |&(lock, ns): &(&str, u64)| {
        json!({
            "lock": lock, "acquisitions": opened, "hold_total_ns": ns / 3, "hold_max_ns": ns / 9,
            "contended": u64::from(ns > 0), "gave_up": 0, "waited_ns": ns, "waited_max_ns": ns,
            "blame_ns": ns / 7,
        })
    };
    json!({"name": name, "opened": opened, "locks": locks.iter().map(lock).collect::<Vec<_>>()})
}

fn golden(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    folder.join(name)
}

/// With `BLESS` in the environment the file is written anew; read the difference.
pub fn assert_golden(name: &str, text: &str) {
    if std::env::var_os("BLESS").is_some() {
        fs::write(golden(name), text).unwrap();
    }
    let expected = fs::read_to_string(golden(name)).unwrap_or_default();
    assert!(text == expected, "{name} has changed; it is now:\n{text}");
}

/// The bucket of a duration, found by looking.
fn bucket_of(ns: u64) -> usize {
    let upper = |k: usize| ((k as f64 - 1.0) / 8.0).exp2();
    if ns == 0 {
        return 0;
    }
    (1..506).find(|&k| ns as f64 <= upper(k)).unwrap_or(506)
}

/// Durations in nanoseconds as a distribution.
pub fn distribution(values: &[u64]) -> Value {
    let mut buckets = BTreeMap::<usize, u64>::new();
    for &ns in values {
        *buckets.entry(bucket_of(ns)).or_default() += 1;
    }
    let square = |&ns: &u64| u128::from(ns) * u128::from(ns);
    json!({
        "count": values.len(),
        "sum_ns": values.iter().sum::<u64>(),
        "sum_of_squares_ns2": values.iter().map(square).sum::<u128>().to_string(),
        "min_ns": values.iter().min(),
        "max_ns": values.iter().max(),
        "buckets": buckets.into_iter().collect::<Vec<_>>(),
    })
}

fn location(file: &str, line: u32) -> Value {
    json!({"file": file, "line": line, "column": 9})
}

/// A mode with these holds and waits.
pub fn mode(holds: &[u64], blocked: &[u64], in_flight: u64) -> Value {
    let acquisitions = holds.len().max(blocked.len());
    let mut waits = blocked.to_vec();
    waits.resize(acquisitions, 0);
    json!({
        "acquisitions": acquisitions,
        "try_failures": holds.len() / 2,
        "timeouts": blocked.len() / 2,
        "releases": holds.len(),
        "bounces": blocked.len(),
        "contended_bounces": blocked.len(),
        "waiting": {"count": in_flight, "timed": in_flight, "total_ns": in_flight, "longest_ns": in_flight},
        "hold": distribution(holds),
        "blocked": distribution(blocked),
        "wait": distribution(&waits),
    })
}

/// A lock whose lines share its waits: so many to each, and the other half of each is blamed.
pub fn lock(name: &str, kind: &str, modes: &[Value; 3], lines: &[(String, u64)]) -> Value {
    let site = |(at, (file, ns)): (usize, &(String, u64))| {
        json!({
            "location": location(file, u32::try_from(at).unwrap() + 1),
            "mode": (["write", "read", "upgradable"][at % 3]),
            "acquisitions": 2, "releases": 2, "contended": 1,
            "blocked_total_ns": ns, "blocked_max_ns": ns,
            "hold_total_ns": ns, "hold_max_ns": ns,
            "blame_ns": ns / 2,
        })
    };
    let pair = |(at, (file, ns)): (usize, &(String, u64))| {
        let here = location(file, u32::try_from(at).unwrap() + 1);
        json!({"waiter": here, "holder": here, "waits": 1, "total_ns": ns / 4})
    };
    json!({
        "name": name,
        "kind": kind,
        "declared_at": location("src/declared.rs", 3),
        "instances": 1, "unmatched": 0, "clock_anomalies": 0, "nested": 0,
        "sleep": {"waits": lines.len(), "timeouts": 0, "time": distribution(&[])},
        "write": modes[0], "read": modes[1], "upgradable": modes[2],
        "call_sites": lines.iter().enumerate().map(site).collect::<Vec<_>>(),
        "blame": lines.iter().enumerate().map(pair).collect::<Vec<_>>(),
        "hand_over_ns": lines.iter().map(|(_, ns)| ns / 3).sum::<u64>(),
        "unblamed": 0,
    })
}

/// A snapshot of these locks.
pub fn snapshot(locks: Vec<Value>) -> Snapshot {
    with_operations(locks, &[])
}

/// A snapshot of these locks and operations.
pub fn with_operations(mut locks: Vec<Value>, operations: &[Value]) -> Snapshot {
    locks.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
    locks.dedup_by(|a, b| a["name"] == b["name"]);
    let snapshot = json!({
        "elapsed_ns": 1_000_000_000, "begun_ns": 5, "enabled": true, "diagnostics": [],
        "locks": locks, "in_flight": [], "operations": operations,
    });
    serde_json::from_value(snapshot).unwrap()
}

/// Text that formats trip over.
pub fn awkward() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,4}(::[a-zA-Z]{1,8}){0,3}",
        "\\PC{0,12}",
        "[\\x00-\\x7f]{0,12}",
        "[\"\\\\\n\r;{}=, #<>&']{1,8}",
    ]
}

fn durations() -> impl Strategy<Value = Vec<u64>> {
    // Boundaries and what lies beside them among the rest.
    let near_power = (0..40u32, 0..3u64).prop_map(|(power, beside)| (1u64 << power) - 1 + beside);
    prop::collection::vec(prop_oneof![Just(0), near_power, 0..1u64 << 40], 0..12)
}

/// Any snapshot.
pub fn snapshots() -> impl Strategy<Value = Snapshot> {
    let modes = [0; 3].map(|_| (durations(), durations(), 0..3u64));
    let lines = prop::collection::vec((awkward(), 0..1u64 << 40), 0..4);
    let kinds = prop::sample::select(&["Mutex", "RwLock", "Condvar", "Unknown"][..]);
    let label = prop::option::of(awkward());
    let instances = prop::collection::vec((label, 0..3u64, 0..9u64, 0..1u64 << 40), 0..4);
    let one = (awkward(), kinds, modes, lines, instances).prop_map(
        |(name, kind, modes, lines, instances)| {
            let modes = modes.map(|(holds, blocked, n)| mode(&holds, &blocked, n));
            let mut lock = lock(&name, kind, &modes, &lines);
            let one = |(label, address, n, ns): (Option<String>, _, _, _)| {
                instance(label.as_deref(), address, n, ns)
            };
            lock["waited_for"] = instances.into_iter().map(one).collect();
            lock
        },
    );
    let locks = prop::collection::btree_map(awkward(), 0..1u64 << 40, 0..3);
    let operations = prop::collection::btree_map(awkward(), (0..9u64, locks), 0..4);
    (prop::collection::vec(one, 0..4), operations).prop_map(|(locks, operations)| {
        let one = |(name, (opened, locks)): (&String, &(u64, BTreeMap<String, u64>))| {
            let locks: Vec<_> = locks
                .iter()
                .map(|(lock, ns)| (lock.as_str(), *ns))
                .collect();
            operation(name, *opened, &locks)
        };
        let operations: Vec<_> = operations.iter().map(one).collect();
        with_operations(locks, &operations)
    })
}

/// So many classes as a busy program has, each with holds and waits of all lengths and six lines.
pub fn many(classes: usize) -> Snapshot {
    let one = |i: usize| {
        let spread = |n: u64| {
            (0..n)
                .map(|at| (i as u64 + 1) << (at % 35))
                .collect::<Vec<_>>()
        };
        let lines: Vec<_> = (0..6)
            .map(|line| {
                (
                    format!("crates/storage/src/module_{i}.rs"),
                    1000 * (line + i as u64),
                )
            })
            .collect();
        let modes = [
            mode(&spread(70), &spread(50), 1),
            mode(&[], &[], 0),
            mode(&[], &[], 0),
        ];
        let name = format!("storage::module_{i}::Store::index");
        let mut lock = lock(&name, "Mutex", &modes, &lines);
        lock["sleep"]["waits"] = 0.into();
        for site in lock["call_sites"].as_array_mut().unwrap() {
            site["mode"] = "write".into();
        }
        lock
    };
    snapshot((0..classes).map(one).collect())
}
