//! `cargo bench --bench uncontended`: one thread, nobody waits. Floors and instrumented locks in
//! one criterion group; compare within a run, not between runs.

#![allow(missing_docs, reason = "criterion's macros make the entry point")]

use criterion::{Criterion, criterion_group, criterion_main};
use instrumented_lock::registry;
use instrumented_lock_benches::{Case, FLOORS, OFF, OURS};
use std::time::Instant;

fn bench(group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>, case: Case) {
    group.bench_function(case.name, |b| {
        b.iter_custom(|n| {
            let start = Instant::now();
            (case.run)(n);
            start.elapsed()
        });
    });
}

fn uncontended(c: &mut Criterion) {
    let mut group = c.benchmark_group("uncontended");
    // Each right after its floor: a machine changes its state in the minutes that a run takes.
    for floor in FLOORS {
        bench(&mut group, floor);
        for (case, _) in OURS.into_iter().filter(|(_, of)| *of == floor.name) {
            bench(&mut group, case);
        }
    }
    registry::set_enabled(false);
    bench(&mut group, OFF.0);
    registry::set_enabled(true);
    group.finish();
}

criterion_group!(benches, uncontended);
criterion_main!(benches);
