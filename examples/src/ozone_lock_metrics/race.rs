//! The three statistics against each other.

use super::statistics::{Add, Adders, Synchronized};
use crate::incident::{Gate, median};
use instrumented_lock::Statistic;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The three, empty.
#[derive(Debug, Default)]
pub struct Three {
    synchronized: Synchronized,
    adders: Adders,
    ours: Statistic,
}

impl Three {
    /// One of each.
    pub const KINDS: usize = 3;

    /// Does `f` with one of them, whose type it knows: no call through a pointer is timed.
    fn with<T>(&self, kind: usize, f: impl Fun<T>) -> T {
        match kind {
            0 => f.call(&self.synchronized),
            1 => f.call(&self.adders),
            _ => f.call(&self.ours),
        }
    }
}

/// What is done with any of the three.
trait Fun<T> {
    fn call<A: Add>(self, statistic: &A) -> T;
}

/// Adds durations that differ, as those of locks do.
struct AddFor<'a> {
    seed: u64,
    until: Until<'a>,
}

enum Until<'a> {
    Added(u64),
    Stopped(&'a AtomicBool),
}

/// Between two looks whether to stop.
const BATCH: u64 = 64;

impl Fun<u64> for AddFor<'_> {
    /// Returns how many.
    #[inline(never)]
    fn call<A: Add>(self, statistic: &A) -> u64 {
        let mut random = self.seed;
        let mut add = || {
            // The low half of a linear congruential generator's high half: 0 to 65 µs.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            statistic.add(black_box(Duration::from_nanos(random >> 48)));
        };
        match self.until {
            Until::Added(n) => {
                (0..n).for_each(|_| add());
                n
            }
            Until::Stopped(stop) => {
                let mut n = 0;
                while !stop.load(Ordering::Relaxed) {
                    (0..BATCH).for_each(|_| add());
                    n += BATCH;
                }
                n
            }
        }
    }
}

/// Nanoseconds an addition, of each kind.
pub type Times = [f64; Three::KINDS];

/// Additions of each thread in a burst.
const BURST: u64 = 500;

/// Threads that all come from a barrier and add 500 times each: the time that an addition takes as
/// its thread sees it, the median of `rounds`. The kinds take turns, and the first round, in which
/// threads meet the statistics for the first time, counts like any other.
pub fn burst(threads: usize, rounds: usize) -> Times {
    let (three, gate) = (Three::default(), Gate::new(threads));
    let bursts = |number: usize| {
        let mut took = [const { Vec::new() }; Three::KINDS];
        for round in 0..rounds {
            for (kind, took) in took.iter_mut().enumerate() {
                let until = Until::Added(BURST);
                let seed = (number * rounds + round) as u64;
                gate.pass();
                let start = Instant::now();
                three.with(kind, AddFor { seed, until });
                took.push(start.elapsed());
                // Else the first to end would disturb the last.
                gate.pass();
            }
        }
        took
    };
    let bursts: Vec<_> = thread::scope(|scope| {
        let bursts = &bursts;
        let started: Vec<_> = (0..threads)
            .map(|number| scope.spawn(move || bursts(number)))
            .collect();
        let ended = started.into_iter().filter_map(|thread| thread.join().ok());
        ended.collect()
    });
    let of_round = |kind: usize, round: usize| {
        let all: Duration = bursts.iter().map(|took| took[kind][round]).sum();
        all.as_secs_f64() * 1e9 / (BURST as f64 * threads as f64)
    };
    std::array::from_fn(|kind| median((0..rounds).map(|round| of_round(kind, round)).collect()))
}

/// Threads that add all the time, `each` of the kinds for so long: elapsed time by additions of all
/// threads, the median of `rounds` in which the kinds take turns.
pub fn steady(threads: usize, rounds: u32, each: Duration) -> Times {
    let three = Three::default();
    let mut times = [const { Vec::new() }; Three::KINDS];
    for _ in 0..rounds {
        for (kind, times) in times.iter_mut().enumerate() {
            let stop = AtomicBool::new(false);
            let gate = Gate::new(threads + 1);
            let ended = thread::scope(|scope| {
                let adders: Vec<_> = (0..threads)
                    .map(|number| {
                        let (three, stop, gate) = (&three, &stop, &gate);
                        scope.spawn(move || {
                            gate.pass();
                            let (until, seed) = (Until::Stopped(stop), number as u64);
                            let start = Instant::now();
                            let added = three.with(kind, AddFor { seed, until });
                            (added, start, Instant::now())
                        })
                    })
                    .collect();
                gate.pass();
                thread::sleep(each / rounds);
                stop.store(true, Ordering::Relaxed);
                let ended = adders.into_iter().filter_map(|adder| adder.join().ok());
                ended.collect::<Vec<_>>()
            });
            let added: u64 = ended.iter().map(|(added, ..)| added).sum();
            // The first start is not when the main thread says so: it may be the last to go on.
            let start = ended.iter().map(|&(_, start, _)| start).min();
            let end = ended.iter().map(|&(.., end)| end).max();
            let elapsed = start.zip(end).map(|(start, end)| end - start);
            let elapsed = elapsed.unwrap_or_default();
            times.push(elapsed.as_secs_f64() * 1e9 / added.max(1) as f64);
        }
    }
    times.map(median)
}

/// Reads of adders and of ours, `each` for so long while two threads add, and how many of them
/// contradict themselves: what is added is always the same, so the mean is known, and a read that
/// has another one has seen half of an addition.
pub fn contradictions(each: Duration) -> [(u64, u64); 2] {
    const ALWAYS: Duration = Duration::from_nanos(1000);
    let statistics: [&dyn Add; 2] = [&Adders::new(), &Statistic::new()];
    statistics.map(|statistic| {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        statistic.add(ALWAYS);
                    }
                });
            }
            let (mut reads, mut wrong) = (0, 0);
            let start = Instant::now();
            while start.elapsed() < each {
                let read = statistic.read();
                reads += 1;
                // Of a billion additions one more or less would not show; there are fewer.
                wrong += u64::from(read.count > 0 && (read.mean - 1000.0).abs() > 1e-6);
            }
            stop.store(true, Ordering::Relaxed);
            (reads, wrong)
        })
    })
}
