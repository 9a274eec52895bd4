//! Threads that take turns at locks, played through: a closed queueing network with as many customers as there are
//! threads. Formulas for such networks (mean value analysis) know no locks that some share and others do not, and
//! holds of one distribution only; here a hold is as long as holds have been.
//!
//! Each thread thinks, then goes through the locks of one operation, and begins again. Locks are taken in the order
//! in which they were asked for; readers that stand behind each other have one together.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// Operations that are played through, and how many of them until it is about as it will be.
const OPERATIONS: u32 = 12_000;
const WARMING_UP: u32 = 2_000;

/// What one visit is like.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    /// Of all visits of the lock.
    pub(super) share: f64,
    pub(super) is_shared: bool,
    /// How long the lock is held, in nanoseconds: each with the probability that it is at most so long.
    pub(super) holds: Vec<(f64, f64)>,
}

/// The locks of a class.
#[derive(Clone, Debug)]
pub(super) struct Station {
    /// How often one operation goes there.
    pub(super) visits: f64,
    /// How likely it is that a visit is to each of the locks, or one before it.
    pub(super) locks: Vec<f64>,
    pub(super) of_modes: Vec<Visit>,
}

impl Station {
    /// Its locks are held so many times as long.
    pub(super) fn scale(&mut self, factor: f64) {
        let holds = self.of_modes.iter_mut().flat_map(|mode| &mut mode.holds);
        holds.for_each(|(_, ns)| *ns *= factor);
    }
}

/// Threads and locks.
#[derive(Clone, Debug)]
pub(super) struct System {
    /// Not always a whole number.
    pub(super) threads: f64,
    /// What a thread does between two operations, without the locks, in nanoseconds.
    pub(super) think_ns: f64,
    /// Whether that always takes the same, or is as different as can be: exponentially distributed.
    pub(super) is_steady: bool,
    pub(super) stations: Vec<Station>,
}

impl System {
    /// Operations a nanosecond.
    pub(super) fn throughput(&self) -> f64 {
        let below = self.threads.floor().max(1.0);
        let part = (self.threads - below).clamp(0.0, 1.0);
        let of = |threads: f64| Run::new(self, threads).throughput();
        if part < 0.02 {
            of(below)
        } else {
            of(below) * (1.0 - part) + of(below + 1.0) * part
        }
    }
}

/// Chooses by cumulated probabilities.
fn choose<T>(all: &[T], probability: impl Fn(&T) -> f64, u: f64) -> usize {
    let found = all.partition_point(|one| probability(one) < u);
    found.min(all.len().saturating_sub(1))
}

/// `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), so that the
/// same figures give the same prediction.
struct Random(u64);

impl Random {
    /// Uniform in (0, 1].
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 + f64::EPSILON
    }
}

/// A moment, in nanoseconds.
#[derive(Clone, Copy, PartialEq)]
struct At(f64);

impl Eq for At {}

impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for At {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A lock that a thread is going to use, and how.
#[derive(Clone, Copy)]
struct Step {
    station: usize,
    lock: usize,
    is_shared: bool,
    hold: f64,
}

#[derive(Default)]
struct Lock {
    readers: u32,
    is_written: bool,
    queue: VecDeque<usize>,
}

struct Run<'a> {
    system: &'a System,
    random: Random,
    locks: Vec<Vec<Lock>>,
    /// What each thread has still to do of its operation, the next one last.
    plans: Vec<Vec<Step>>,
    /// When each thread is through with what it does: it thinks, or holds the lock that is next.
    events: BinaryHeap<Reverse<(At, usize)>>,
    holds: Vec<bool>,
    now: f64,
}

impl<'a> Run<'a> {
    fn new(system: &'a System, threads: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whoever asks has looked that there are not too many"
        )]
        let threads = threads as usize;
        let of_station = |station: &Station| {
            let locks = station.locks.iter().map(|_| Lock::default());
            locks.collect()
        };
        let mut run = Run {
            system,
            random: Random(1),
            locks: system.stations.iter().map(of_station).collect(),
            plans: vec![Vec::new(); threads],
            events: BinaryHeap::new(),
            holds: vec![false; threads],
            now: 0.0,
        };
        for thread in 0..threads {
            let somewhere = system.think_ns * run.random.uniform();
            run.events.push(Reverse((At(somewhere), thread)));
        }
        run
    }

    fn throughput(mut self) -> f64 {
        let (mut done, mut begun) = (0, 0.0);
        while let Some(Reverse((At(at), thread))) = self.events.pop() {
            self.now = at;
            if self.holds[thread] {
                self.release(thread);
                if self.plans[thread].is_empty() {
                    done += 1;
                    if done == WARMING_UP {
                        begun = at;
                    }
                    if done == OPERATIONS {
                        break;
                    }
                    self.think(thread);
                    continue;
                }
            } else {
                self.plan(thread);
            }
            self.ask(thread);
        }
        f64::from(OPERATIONS - WARMING_UP) / (self.now - begun).max(f64::MIN_POSITIVE)
    }

    fn think(&mut self, thread: usize) {
        let system = self.system;
        let time = if system.is_steady {
            system.think_ns
        } else {
            -system.think_ns * self.random.uniform().ln()
        };
        self.events.push(Reverse((At(self.now + time), thread)));
    }

    /// What an operation of this thread is going to do: at least one thing.
    fn plan(&mut self, thread: usize) {
        let mut plan = Vec::new();
        while plan.is_empty() {
            for (number, station) in self.system.stations.iter().enumerate() {
                let mut left = station.visits;
                while left > 0.0 && (left >= 1.0 || self.random.uniform() <= left) {
                    left -= 1.0;
                    let u = self.random.uniform();
                    let lock = choose(&station.locks, |at_most| *at_most, u);
                    let u = self.random.uniform();
                    let mut sum = 0.0;
                    let mode = station.of_modes.iter().find(|mode| {
                        sum += mode.share;
                        sum >= u
                    });
                    let Some(mode) = mode.or(station.of_modes.last()) else {
                        continue;
                    };
                    let u = self.random.uniform();
                    let hold = mode
                        .holds
                        .get(choose(&mode.holds, |(at_most, _)| *at_most, u));
                    plan.push(Step {
                        station: number,
                        lock,
                        is_shared: mode.is_shared,
                        hold: hold.map_or(0.0, |(_, ns)| *ns),
                    });
                }
            }
        }
        plan.reverse();
        self.plans[thread] = plan;
    }

    /// The thread wants the next lock of its plan.
    fn ask(&mut self, thread: usize) {
        let Some(&step) = self.plans[thread].last() else {
            return;
        };
        self.locks[step.station][step.lock].queue.push_back(thread);
        self.admit(step.station, step.lock);
    }

    /// The thread has done with the lock that it holds.
    fn release(&mut self, thread: usize) {
        self.holds[thread] = false;
        let Some(step) = self.plans[thread].pop() else {
            return;
        };
        let lock = &mut self.locks[step.station][step.lock];
        if step.is_shared {
            lock.readers -= 1;
        } else {
            lock.is_written = false;
        }
        self.admit(step.station, step.lock);
    }

    /// Whoever is first in the queue gets the lock, if that can be.
    fn admit(&mut self, station: usize, number: usize) {
        let lock = &mut self.locks[station][number];
        while let Some(&thread) = lock.queue.front() {
            let Some(step) = self.plans[thread].last() else {
                return;
            };
            let is_free = !lock.is_written && (step.is_shared || lock.readers == 0);
            if !is_free {
                return;
            }
            lock.queue.pop_front();
            if step.is_shared {
                lock.readers += 1;
            } else {
                lock.is_written = true;
            }
            self.holds[thread] = true;
            self.events
                .push(Reverse((At(self.now + step.hold), thread)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(is_shared: bool, holds: &[(f64, f64)]) -> Station {
        Station {
            visits: 1.0,
            locks: vec![1.0],
            of_modes: vec![Visit {
                share: 1.0,
                is_shared,
                holds: holds.to_vec(),
            }],
        }
    }

    fn system(threads: f64, think_ns: f64, stations: Vec<Station>) -> System {
        System {
            threads,
            think_ns,
            is_steady: false,
            stations,
        }
    }

    fn assert_about(is: f64, expected: f64, what: &str) {
        assert!(
            (is / expected - 1.0).abs() < 0.03,
            "{what}: {is}, not {expected}"
        );
    }

    /// The exponential distribution with the mean 1000, in a thousand steps.
    fn exponential() -> Vec<(f64, f64)> {
        let step = |i: u32| {
            let u = (f64::from(i) + 0.5) / 1000.0;
            (f64::from(i + 1) / 1000.0, -1000.0 * (1.0 - u).ln())
        };
        (0..1000).map(step).collect()
    }

    #[test]
    fn one_thread_waits_for_nobody() {
        let one = system(1.0, 500.0, vec![station(false, &[(1.0, 1500.0)])]);
        assert_about(one.throughput(), 1.0 / 2000.0, "one thread");
    }

    #[test]
    fn a_lock_lets_one_through_at_a_time_and_readers_together() {
        let one = system(4.0, 0.0, vec![station(false, &[(1.0, 1000.0)])]);
        assert_about(one.throughput(), 1.0 / 1000.0, "exclusive");
        let shared = system(4.0, 0.0, vec![station(true, &[(1.0, 1000.0)])]);
        assert_about(shared.throughput(), 4.0 / 1000.0, "shared");
    }

    #[test]
    fn the_slower_of_two_in_sequence_is_the_limit() {
        let two = vec![
            station(false, &[(1.0, 1000.0)]),
            station(false, &[(1.0, 1700.0)]),
        ];
        let two = system(8.0, 300.0, two);
        assert_about(two.throughput(), 1.0 / 1700.0, "two in sequence");
    }

    #[test]
    fn exponential_holds_are_as_the_formula_for_the_machine_repairman_says() {
        // Erlang's: of M/M/1 with 3 customers that think for 2000 on average and are served in 1000, the server is
        // idle with the probability p0 = 1 / Σ 3!/(3−k)! (1000/2000)^k.
        let sum: f64 = 1.0 + 3.0 * 0.5 + 6.0 * 0.25 + 6.0 * 0.125;
        let expected = (1.0 - 1.0 / sum) / 1000.0;
        let machines = system(3.0, 2000.0, vec![station(false, &exponential())]);
        assert_about(machines.throughput(), expected, "repairman");
    }

    #[test]
    fn a_part_of_a_thread_is_between_two_whole_numbers() {
        let of = |threads| {
            let stations = vec![station(false, &[(1.0, 1000.0)])];
            system(threads, 5000.0, stations).throughput()
        };
        let (two, three) = (of(2.0), of(3.0));
        assert_about(of(2.5), f64::midpoint(two, three), "two and a half");
    }

    #[test]
    fn shards_are_locks_of_their_own() {
        let mut sharded = station(false, &[(1.0, 1000.0)]);
        sharded.locks = vec![0.25, 0.5, 0.75, 1.0];
        let of = system(16.0, 0.0, vec![sharded]).throughput();
        // Of sixteen threads at four locks all have something to do nearly always.
        assert!((3.2 / 1000.0..4.0 / 1000.0).contains(&of), "{of}");
    }
}
