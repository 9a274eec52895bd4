//! What it costs to know where exactly: an operation to open and close, a pair of lock and unlock inside of
//! one.
//!
//! `cargo run --release -p instrumented-lock-benches --bin where --no-default-features --features stats`: medians
//! of rounds in which all cases take turns, so that they have the same machine.

#![allow(missing_docs)]

use instrumented_lock::{Operation, drop_in, operation};
use instrumented_lock_benches::measure::median;
use std::hint::black_box;
use std::time::Instant;

const PAIRS: u32 = 20_000;
const ROUNDS: usize = 201;

static LOCK: drop_in::Mutex<u64> = drop_in::Mutex::new(0);

fn pair() {
    *LOCK.lock() += 1;
}

type Case = (&'static str, fn());

const CASES: [Case; 5] = [
    ("a pair of lock and unlock", || {
        (0..PAIRS).for_each(|_| pair());
    }),
    ("a pair inside of an operation", || {
        let _operation = operation("inside");
        (0..PAIRS).for_each(|_| pair());
    }),
    ("an operation, opened and closed", || {
        (0..PAIRS).for_each(|_| drop(black_box(operation("empty"))));
    }),
    ("the same, by a handle", || {
        let handle = Operation::named("by a handle");
        (0..PAIRS).for_each(|_| drop(black_box(black_box(handle).open())));
    }),
    ("an operation with a pair in it", || {
        (0..PAIRS).for_each(|_| {
            let _operation = operation("one pair");
            pair();
        });
    }),
];

fn main() {
    let mut samples = CASES.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for ((_, run), samples) in CASES.iter().zip(&mut samples) {
            let begun = Instant::now();
            run();
            samples.push(begun.elapsed().as_nanos() as f64 / f64::from(PAIRS));
        }
    }
    for ((name, _), samples) in CASES.iter().zip(samples) {
        println!("{name:<40} {:>7.2} ns", median(samples));
    }
}
