//! What it costs to know where exactly: an operation to open and close, a pair of lock and unlock inside of
//! one; stacks of those that wait and make others wait.
//!
//! `cargo run --release -p instrumented-lock-benches --bin where --no-default-features --features stacks`: medians
//! of rounds in which all cases take turns, so that they have the same machine.

#![allow(missing_docs)]

use instrumented_lock::{Operation, Stacks, drop_in, operation, registry};
use instrumented_lock_benches::measure::median;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

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
    stacks();
}

const THREADS: usize = 4;
const SLICE: Duration = Duration::from_millis(60);

/// Pairs that threads make in a while who often wait for each other: work inside and as much outside.
fn contended_pairs() -> f64 {
    static SHARED: drop_in::Mutex<u64> = drop_in::Mutex::new(0);
    let end = Instant::now() + SLICE;
    let work = |n: u64| (0..200).fold(n, |n, i| black_box(n ^ i));
    let pairs = |_| {
        let mut pairs = 0_u32;
        while Instant::now() < end {
            let mut shared = SHARED.lock();
            *shared = work(*shared);
            drop(shared);
            black_box(work(1));
            pairs += 1;
        }
        f64::from(pairs)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|i| scope.spawn(move || pairs(i)))
            .collect();
        let made = threads.into_iter().map(thread::ScopedJoinHandle::join);
        made.map(|pairs| pairs.expect("nothing panics")).sum()
    })
}

/// What is left of the throughput of a lock that is waited for.
fn stacks() {
    let settings = [
        ("no stacks", Stacks::OFF),
        (
            "stacks of 1 wait in 64",
            Stacks::one_in(64).expect("a power of two"),
        ),
        ("stacks of all waits", Stacks::ALL),
        (
            "stacks of waits from 1 ms on",
            Stacks::longer_than(Duration::from_millis(1)),
        ),
        ("no stacks", Stacks::OFF),
    ];
    let mut samples = settings.map(|_| Vec::new());
    for _ in 0..41 {
        for ((_, stacks), samples) in settings.iter().zip(&mut samples) {
            registry::set_stacks(*stacks);
            samples.push(contended_pairs());
        }
    }
    registry::set_stacks(Stacks::OFF);
    let before = registry::snapshot();
    contended_pairs();
    let interval = registry::snapshot().since(&before);
    let contended: u64 = interval
        .locks()
        .iter()
        .map(|lock| lock.write().contended())
        .sum();
    let all: u64 = interval
        .locks()
        .iter()
        .map(|lock| lock.write().acquisitions())
        .sum();
    println!(
        "\n{THREADS} threads, one lock, {:.1} % of all have to wait",
        100.0 * contended as f64 / all as f64
    );
    let throughput = |of: &Vec<f64>| median(of.clone()) / SLICE.as_secs_f64() / 1e6;
    let bare = throughput(&samples[0]);
    for ((name, _), samples) in settings.iter().zip(&samples) {
        let throughput = throughput(samples);
        println!(
            "{name:<40} {throughput:>7.3} M pairs/s, {:>6.1} %",
            100.0 * throughput / bare
        );
    }
}
