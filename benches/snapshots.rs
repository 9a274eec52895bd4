//! `cargo bench --bench snapshots`: what a snapshot takes, by the number of classes that 64
//! threads have used.

#![allow(missing_docs, reason = "criterion's macros make the entry point")]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use instrumented_lock::registry;
use instrumented_lock_benches::classes::activate;

fn snapshots(c: &mut Criterion) {
    let mut group = c.benchmark_group("snapshot");
    group.sample_size(20);
    for classes in [10, 100, 1000] {
        activate(classes);
        group.bench_function(BenchmarkId::new("classes", classes), |b| {
            b.iter(registry::snapshot);
        });
    }
    group.finish();
}

criterion_group!(benches, snapshots);
criterion_main!(benches);
