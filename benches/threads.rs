//! `cargo bench --bench threads`: disjoint locks of one class, a herd of readers, one contended
//! mutex, and recording by itself, on several threads. Compare within a run, not between runs.

#![allow(missing_docs, reason = "criterion's macros make the entry point")]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use instrumented_lock_benches::case::{Case, Run};
use instrumented_lock_benches::measure::amount;
use instrumented_lock_benches::recorder::RECORDERS;
use instrumented_lock_benches::subject::{EXACT, FLOORS, PEERS};
use std::time::Duration;

const THREADS: [usize; 4] = [1, 2, 8, 80];

const CASES: [(Case, &str); 5] = [
    (Case::Disjoint, "disjoint"),
    (Case::DisjointWorking, "disjoint, 100 ns of work"),
    (Case::ReadHerd, "read herd, 100 ns of work"),
    (Case::Mutex, "contended"),
    (Case::MutexWorking, "contended, 250 ns of work"),
];

fn locks(c: &mut Criterion) {
    for (case, name) in CASES {
        let peers = PEERS.iter().filter(|peer| peer.drains.is_none());
        let subjects: Vec<_> = FLOORS.iter().chain([&EXACT]).chain(peers).collect();
        of_threads(c, name, |threads| {
            let runs = subjects
                .iter()
                .map(|subject| (subject.title(), subject.build(case, threads)));
            runs.collect()
        });
    }
}

fn recording(c: &mut Criterion) {
    of_threads(c, "recording", |_| {
        RECORDERS
            .map(|(name, make)| (name.to_owned(), make()))
            .into()
    });
}

/// One time is that of as many pairs on each of the threads.
fn of_threads(c: &mut Criterion, name: &str, runs: impl Fn(usize) -> Vec<(String, Run)>) {
    EXACT.set_mode();
    let mut group = c.benchmark_group(name);
    group
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(2));
    for threads in THREADS {
        for (name, run) in runs(threads) {
            group.bench_function(BenchmarkId::new(name, threads), |b| {
                b.iter_custom(|n| amount(&run, threads, n));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, locks, recording);
criterion_main!(benches);
