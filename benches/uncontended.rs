//! `cargo bench --bench uncontended`: one thread, nobody waits; and a lock's life from creation to
//! drop. Compare within a run, not between runs.

#![allow(missing_docs, reason = "criterion's macros make the entry point")]

use criterion::{Criterion, criterion_group, criterion_main};
use instrumented_lock_benches::case::Case;
use instrumented_lock_benches::subject::{EXACT, FLOORS, OURS, PEERS};
use std::time::{Duration, Instant};

const CASES: [(Case, &str); 6] = [
    (Case::Mutex, "mutex"),
    (Case::Read, "read"),
    (Case::Write, "write"),
    (Case::Nested, "nested"),
    (Case::Create, "create"),
    (Case::CreateAndUse, "create and use"),
];

fn uncontended(c: &mut Criterion) {
    for (case, name) in CASES {
        let mut group = c.benchmark_group(name);
        group
            .warm_up_time(Duration::from_secs(1))
            .measurement_time(Duration::from_secs(3));
        // Without what leaves work to a collector: criterion does not wait for it.
        let peers = PEERS.iter().filter(|peer| peer.drains.is_none());
        for subject in FLOORS.iter().chain(&OURS).chain(peers) {
            let run = subject.build(case, 1);
            subject.set_mode();
            group.bench_function(subject.title(), |b| {
                b.iter_custom(|n| {
                    let start = Instant::now();
                    run(0, n);
                    start.elapsed()
                });
            });
        }
        group.finish();
    }
    EXACT.set_mode();
}

criterion_group!(benches, uncontended);
criterion_main!(benches);
