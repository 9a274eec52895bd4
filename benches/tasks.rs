//! What an uncontended lock and unlock of a mutex of tasks costs: tokio's own, that with two raw clock reads
//! inside, and ours. By the wall clock; medians of rounds in turn.
//!
//!     cargo run --release -p instrumented-lock-benches --features tokio --bin tasks
//!
//! The bar: 1.25 times tokio's own, and two clock reads.

use instrumented_lock_benches::clock;
use std::future::Future;
use std::hint::black_box;
use std::time::Instant;

const PAIRS: u32 = 200_000;
const ROUNDS: usize = 41;

async fn nanoseconds<F: Future>(mut pair: impl FnMut() -> F) -> f64 {
    let start = Instant::now();
    for _ in 0..PAIRS {
        pair().await;
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(PAIRS)
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .expect("a runtime");
    let task = runtime.spawn(async {
        let theirs = tokio::sync::Mutex::new(0_u64);
        let ours = instrumented_lock::tokio::Mutex::new(0_u64);
        let mut rows = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            rows[0].push(nanoseconds(|| async { *black_box(&theirs).lock().await += 1 }).await);
            rows[1].push(
                nanoseconds(|| async {
                    let mut guard = black_box(&theirs).lock().await;
                    black_box(clock::raw());
                    *guard += 1;
                    black_box(clock::raw());
                })
                .await,
            );
            rows[2].push(nanoseconds(|| async { *black_box(&ours).lock().await += 1 }).await);
            rows[3].push(nanoseconds(|| async { _ = black_box(clock::raw()) }).await);
        }
        rows.map(median)
    });
    let [bare, floor, ours, read] = runtime.block_on(task).expect("it does not panic");
    println!("tokio's mutex                   {bare:6.1} ns");
    println!("the same and two clock reads    {floor:6.1} ns");
    println!("ours, everything on             {ours:6.1} ns");
    let bar = 1.25 * bare + 2.0 * read;
    let verdict = if ours <= bar { "met" } else { "MISSED" };
    println!("1.25 of the first and two reads {bar:6.1} ns: {verdict}");
}
