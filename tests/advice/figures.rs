//! Snapshots with figures of choice, by way of JSON, and assertions about their advice.

use instrumented_lock::{Advice, Confidence, Snapshot};
use serde_json::{Value, json};

pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;

/// Durations in nanoseconds, and how many of each.
pub(crate) type Durations = Vec<(u64, u64)>;

/// The figures of one mode. Every hold has ended.
#[derive(Clone, Default)]
pub(crate) struct Mode {
    pub(crate) acquisitions: u64,
    pub(crate) hold: Durations,
    pub(crate) blocked: Durations,
    pub(crate) bounces: u64,
    pub(crate) try_failures: u64,
    pub(crate) timeouts: u64,
}

#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) line: u32,
    pub(crate) mode: &'static str,
    pub(crate) acquisitions: u64,
    pub(crate) hold_total: u64,
    pub(crate) hold_max: u64,
    pub(crate) blame: u64,
}

/// The figures of a lock over two seconds.
#[derive(Clone)]
pub(crate) struct Lock {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) instances: u64,
    pub(crate) write: Mode,
    pub(crate) read: Mode,
    pub(crate) upgradable: Mode,
    pub(crate) sites: Vec<Site>,
    /// The line that waits, the one that holds, how long.
    pub(crate) pairs: Vec<(u32, u32, u64)>,
    /// The label of a lock, waits for it, how long they were.
    pub(crate) waited_for: Vec<(&'static str, u64, u64)>,
    pub(crate) hand_over: u64,
    pub(crate) sleeps: u64,
    /// Acquisitions that have not been released.
    pub(crate) reads_in_flight: u64,
}

pub(crate) fn lock(kind: &'static str) -> Lock {
    Lock {
        name: "app::Store::index",
        kind,
        instances: 1,
        write: Mode::default(),
        read: Mode::default(),
        upgradable: Mode::default(),
        sites: Vec::new(),
        pairs: Vec::new(),
        waited_for: Vec::new(),
        hand_over: 0,
        sleeps: 0,
        reads_in_flight: 0,
    }
}

/// As many acquisitions as holds.
pub(crate) fn held(hold: Durations) -> Mode {
    Mode {
        acquisitions: hold.iter().map(|&(_, n)| n).sum(),
        hold,
        ..Mode::default()
    }
}

pub(crate) fn site(line: u32, acquisitions: u64, hold: u64) -> Site {
    Site {
        line,
        mode: "write",
        acquisitions,
        hold_total: acquisitions * hold,
        hold_max: hold,
        blame: 0,
    }
}

pub(crate) fn location(line: u32) -> Value {
    match line {
        0 => json!({"file": "(other)", "line": 0, "column": 0}),
        line => json!({"file": "src/store.rs", "line": line, "column": 9}),
    }
}

pub(crate) fn distribution(durations: &[(u64, u64)]) -> Value {
    let mut durations = durations.to_vec();
    durations.retain(|&(_, n)| n > 0);
    durations.sort_unstable();
    let wide = |(ns, n): (u64, u64)| (u128::from(ns), u128::from(n));
    let moments = durations.iter().copied().map(wide);
    let squares: u128 = moments.clone().map(|(ns, n)| ns * ns * n).sum();
    let sum: u128 = moments.map(|(ns, n)| ns * n).sum();
    let values = || durations.iter().map(|&(ns, _)| ns);
    let mut buckets: Vec<(u32, u64)> = Vec::new();
    for &(ns, n) in &durations {
        let holds = |&bucket: &u32| ns as f64 <= (f64::from(bucket - 1) / 8.0).exp2();
        let bucket = if ns == 0 {
            0
        } else {
            (1..322).find(holds).unwrap_or(322)
        };
        match buckets.last_mut() {
            Some((last, count)) if *last == bucket => *count += n,
            _ => buckets.push((bucket, n)),
        }
    }
    json!({
        "count": durations.iter().map(|&(_, n)| n).sum::<u64>(),
        "sum_ns": u64::try_from(sum).unwrap(),
        "sum_of_squares_ns2": squares.to_string(),
        "min_ns": values().min(),
        "max_ns": values().max(),
        "buckets": buckets,
    })
}

impl Mode {
    pub(crate) fn json(&self, in_flight: u64) -> Value {
        json!({
            "acquisitions": self.acquisitions,
            "try_failures": self.try_failures,
            "timeouts": self.timeouts,
            "releases": self.acquisitions - in_flight,
            "bounces": self.bounces,
            "contended_bounces": 0,
            "hold": distribution(&self.hold),
            "blocked": distribution(&self.blocked),
            "wait": distribution(&[]),
        })
    }
}

impl Lock {
    pub(crate) fn json(&self) -> Value {
        let site = |site: &Site| {
            json!({
                "location": location(site.line), "mode": site.mode,
                "acquisitions": site.acquisitions, "releases": site.acquisitions, "contended": 0,
                "blocked_total_ns": 0, "blocked_max_ns": 0,
                "hold_total_ns": site.hold_total, "hold_max_ns": site.hold_max,
                "blame_ns": site.blame,
            })
        };
        let pair = |&(waiter, holder, total): &(u32, u32, u64)| {
            json!({
                "waiter": location(waiter), "holder": location(holder), "waits": 1,
                "total_ns": total,
            })
        };
        let instance = |&(label, contended, blocked): &(&str, u64, u64)| {
            json!({
                "label": label, "address": 64, "number": 65, "is_gone": false,
                "contended": contended, "blocked_ns": blocked, "blocked_max_ns": blocked,
                "blame_ns": 0,
            })
        };
        json!({
            "name": self.name, "kind": self.kind, "declared_at": location(1),
            "instances": self.instances, "unmatched": 0, "clock_anomalies": 0, "nested": 0,
            "write": self.write.json(0),
            "read": self.read.json(self.reads_in_flight),
            "upgradable": self.upgradable.json(0),
            "sleep": {"waits": self.sleeps, "timeouts": 0, "time": distribution(&[])},
            "call_sites": self.sites.iter().map(site).collect::<Vec<_>>(),
            "blame": self.pairs.iter().map(pair).collect::<Vec<_>>(),
            "waited_for": self.waited_for.iter().map(instance).collect::<Vec<_>>(),
            "hand_over_ns": self.hand_over, "unblamed": 0,
        })
    }

    /// The lock after `change`.
    pub(crate) fn with(&self, change: impl FnOnce(&mut Lock)) -> Lock {
        let mut lock = self.clone();
        change(&mut lock);
        lock
    }

    pub(crate) fn advice(&self) -> Vec<Advice> {
        snapshot(2 * SECOND, std::slice::from_ref(self)).advice()
    }

    /// The advice whose finding contains `what`.
    pub(crate) fn said(&self, what: &str) -> Option<Advice> {
        let mut said = self.advice().into_iter();
        let found = said.find(|advice| advice.finding().contains(what));
        assert!(!said.any(|advice| advice.finding().contains(what)), "twice");
        found
    }

    #[track_caller]
    pub(crate) fn assert_says(&self, what: &str, confidence: Confidence) {
        let said = self.said(what).map(|advice| advice.confidence());
        assert_eq!(said, Some(confidence), "{:#?}", self.advice());
    }

    #[track_caller]
    pub(crate) fn assert_silent_about(&self, what: &str) {
        let said = self.said(what);
        assert!(said.is_none(), "{said:#?}");
    }
}

pub(crate) fn snapshot(elapsed: u64, locks: &[Lock]) -> Snapshot {
    let json = json!({
        "elapsed_ns": elapsed, "enabled": true, "diagnostics": [],
        "locks": locks.iter().map(Lock::json).collect::<Vec<_>>(), "in_flight": [],
    });
    serde_json::from_value(json).unwrap()
}

#[track_caller]
pub(crate) fn assert_texts(advice: &Advice, finding: &str, evidence: &str) {
    assert_eq!(advice.lock(), "app::Store::index");
    assert_eq!((advice.finding(), advice.evidence()), (finding, evidence));
    assert!(advice.suggestion().ends_with(['.', ')']), "{advice}");
}
