//! What a timeline costs while it is recorded: a pair of lock and unlock before, meanwhile and after, in every
//! round.
//!
//! `cargo run --release -p instrumented-lock-benches --bin timeline --no-default-features --features stats`:
//! medians of the rounds, for one thread and for two that do not share a lock.

#![allow(missing_docs)]

use instrumented_lock::{drop_in, timeline};
use instrumented_lock_benches::measure::median;
use std::thread;
use std::time::Instant;

/// As many as there is room for, and so many that most are left out.
const FEW: u32 = 100_000;
const MANY: u32 = 4_000_000;
const ROUNDS: usize = 25;

static LOCKS: [drop_in::Mutex<u64>; 2] = [const { drop_in::Mutex::new(0) }; 2];

/// What a pair takes, in nanoseconds, on as many threads.
fn pair(threads: usize, pairs: u32) -> f64 {
    let begun = Instant::now();
    thread::scope(|scope| {
        let run = |lock: &'static drop_in::Mutex<u64>| (0..pairs).for_each(|_| *lock.lock() += 1);
        for lock in &LOCKS[1..threads] {
            scope.spawn(move || run(lock));
        }
        run(&LOCKS[0]);
    });
    begun.elapsed().as_nanos() as f64 / f64::from(pairs)
}

fn main() {
    for threads in [1, 2] {
        let mut samples = [const { Vec::new() }; 8];
        let (mut kept, mut all, mut last) = (0, 0, String::new());
        for _ in 0..ROUNDS {
            let before = pair(threads, FEW);
            let many_before = pair(threads, MANY);
            let begun = Instant::now();
            let recording = timeline::start().expect("nobody else records");
            let to_start = begun.elapsed().as_secs_f64() * 1e3;
            let few = pair(threads, FEW / 2);
            let many = pair(threads, MANY);
            let begun = Instant::now();
            let timeline = recording.stop();
            let to_stop = begun.elapsed().as_secs_f64() * 1e3;
            let after = pair(threads, FEW);
            kept += timeline.events().len() as u64;
            all += timeline.holds();
            last = timeline.to_string();
            let more = few - f64::midpoint(before, after);
            let more_of_many = many - many_before;
            let of_round = [
                before,
                few,
                many,
                after,
                more,
                more_of_many,
                to_start,
                to_stop,
            ];
            for (samples, sample) in samples.iter_mut().zip(of_round) {
                samples.push(sample);
            }
        }
        let [
            before,
            few,
            many,
            after,
            more,
            more_of_many,
            to_start,
            to_stop,
        ] = samples.map(median);
        println!("a pair of lock and unlock on {threads} threads");
        println!("  before                         {before:>7.2} ns");
        println!("  recorded, all are kept         {few:>7.2} ns, {more:.2} more");
        println!(
            "  recorded, {:>4.1} % are kept     {many:>7.2} ns, {more_of_many:.2} more",
            100.0 * kept as f64 / all as f64,
        );
        println!("  after                          {after:>7.2} ns");
        println!("  to start {to_start:.1} ms, to stop {to_stop:.1} ms");
        println!("  the last one: {last}");
    }
}
