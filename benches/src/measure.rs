//! Slices of a case on any number of threads, and what they took.

use crate::case::Run;
use crate::clock::{self, processor_time};
use crate::subject::Subject;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What a slice took.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Pairs, of all threads.
    pub pairs: u64,
    /// From the moment all threads were ready to the last pair.
    pub wall: Duration,
    /// Of all threads of the process, until those of the subject were done too.
    pub processor: Duration,
}

impl Taken {
    /// Nanoseconds of one pair, by the wall clock.
    pub fn nanoseconds(&self) -> f64 {
        self.wall.as_nanos() as f64 / self.pairs as f64
    }

    /// Nanoseconds of processor time for one pair.
    pub fn processor_nanoseconds(&self) -> f64 {
        self.processor.as_nanos() as f64 / self.pairs as f64
    }

    /// Million pairs a second, if so many threads have the processors for themselves and nobody waits.
    /// What other programs take of the processors meanwhile counts for nobody.
    pub fn millions_alone(&self, threads: usize) -> f64 {
        threads.min(processors()) as f64 * 1e3 / self.processor_nanoseconds()
    }

    /// Million pairs a second, and for as long as one likes: what other threads of the subject have
    /// to do with a pair takes its part of the processors.
    pub fn millions(&self) -> f64 {
        let shared_out = self.processor / u32::try_from(processors()).unwrap_or(1);
        self.pairs as f64 / self.wall.max(shared_out).as_secs_f64() / 1e6
    }
}

/// Processors that this process may use.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Pairs between two looks at the clock: few, so that a thread that is not awake at the end counts
/// little; enough to make nothing of the look.
const BATCH: u64 = 64;

/// One thread, this one: so many pairs, or as many as the subject can take in a row.
pub fn alone(subject: &Subject, run: &Run, pairs: u64) -> Taken {
    subject.set_mode();
    let pairs = pairs.min(subject.at_most);
    let processor = processor_time();
    let start = Instant::now();
    run(0, pairs);
    let wall = start.elapsed();
    finish(subject, pairs, wall, processor)
}

/// So many threads for so long a time; where the subject cannot take that, as many pairs as it can.
///
/// Each thread looks at the clock itself: with more threads than processors, nobody who could tell
/// them to stop would be awake in time.
pub fn together(subject: &Subject, run: &Run, threads: usize, time: Duration) -> Taken {
    subject.set_mode();
    // Events of all threads are for one collector.
    let share = subject.at_most.saturating_mul(4) / threads as u64;
    let most = subject
        .drains
        .map_or(u64::MAX, |_| share.min(subject.at_most));
    let ticks = clock::ticks(time);
    let (processor, done) = at_once(threads, |thread, start| {
        let (mut pairs, mut passed) = (0, 0);
        while pairs < most && passed < ticks {
            run(thread, BATCH);
            pairs += BATCH;
            passed = clock::raw().saturating_sub(start);
        }
        (pairs, passed)
    });
    let pairs = done.iter().map(|(pairs, _)| pairs).sum();
    // One that was not awake at the end did the rest of its batch later.
    let passed = done.iter().map(|&(_, passed)| passed.min(ticks)).max();
    finish(
        subject,
        pairs,
        clock::duration(passed.unwrap_or(0)),
        processor,
    )
}

/// So many threads, for one slice of time after the other, which go over from one to the other and
/// back at the end of each: what each slice took, in processor time only.
///
/// Nobody sleeps in between, so a slice finds the threads on the processors, and the locks in the
/// state, that the one before has left.
pub fn alternating(runs: [&Run; 2], threads: usize, time: Duration, slices: usize) -> Vec<Taken> {
    let ticks = clock::ticks(time).max(1);
    let (_, done) = at_once(threads, |thread, start| {
        let mut taken = vec![(0, Duration::ZERO); slices];
        let (mut slice, mut since) = (0, clock::thread_time());
        while slice < slices {
            runs[slice % 2](thread, BATCH);
            taken[slice].0 += BATCH;
            let now = clock::raw().saturating_sub(start) / ticks;
            let now = usize::try_from(now).unwrap_or(usize::MAX);
            if now != slice {
                let until = clock::thread_time();
                taken[slice].1 += until.saturating_sub(since);
                (slice, since) = (now, until);
            }
        }
        taken
    });
    summed(&done, time)
}

/// Every second figure, from the second on, with its ratio to the mean of its neighbours; where one of
/// them is missing there is none.
pub fn of_neighbours(figures: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    let pairs = figures.windows(3).step_by(2);
    let ratios = pairs.map(|of| (of[1], of[1] * 2.0 / (of[0] + of[2])));
    ratios.filter(|(_, ratio)| ratio.is_finite())
}

/// So many threads, all alive, of which by turns all and the first `few` do `pairs` pairs, shared out
/// among them: what each turn took, in processor time only, without falling asleep and waking up.
///
/// A turn is a number of pairs: the time in which a thousand threads all get a processor is long.
pub fn all_and_few(run: &Run, threads: usize, few: usize, pairs: u64, turns: usize) -> Vec<Taken> {
    let (turn, busy) = (&AtomicUsize::new(0), &AtomicUsize::new(threads));
    let takers = |turn: usize| if turn.is_multiple_of(2) { threads } else { few };
    let act = move |thread| {
        let mut taken = vec![(0, Duration::ZERO); turns];
        for mine in (0..turns).filter(|&turn| thread < takers(turn)) {
            while turn.load(Ordering::Acquire) < mine {
                thread::park();
            }
            let share = pairs / takers(mine) as u64;
            let since = clock::thread_time();
            run(thread, share);
            taken[mine] = (share, clock::thread_time().saturating_sub(since));
            busy.fetch_sub(1, Ordering::Release);
        }
        taken
    };
    let done: Vec<_> = thread::scope(|scope| {
        let spawn = |thread| scope.spawn(move || act(thread));
        let all: Vec<_> = (0..threads).map(spawn).collect();
        for next in 1..turns {
            while busy.load(Ordering::Acquire) > 0 {
                thread::sleep(Duration::from_micros(200));
            }
            busy.store(takers(next), Ordering::Relaxed);
            turn.store(next, Ordering::Release);
            for taker in &all[..takers(next)] {
                taker.thread().unpark();
            }
        }
        let done = all.into_iter().map(|it| it.join().unwrap_or_default());
        done.collect()
    });
    summed(&done, Duration::ZERO)
}

/// What each slice took, of what it took each thread.
fn summed(threads: &[Vec<(u64, Duration)>], wall: Duration) -> Vec<Taken> {
    let slices = threads.first().map_or(0, Vec::len);
    let of_slice = |slice: usize| Taken {
        pairs: threads.iter().map(|taken| taken[slice].0).sum(),
        wall,
        processor: threads.iter().map(|taken| taken[slice].1).sum(),
    };
    (0..slices).map(of_slice).collect()
}

/// So many threads, so many pairs each: from the moment all were ready until the last was done.
pub fn amount(run: &Run, threads: usize, pairs: u64) -> Duration {
    let (_, passed) = at_once(threads, |thread, start| {
        run(thread, pairs);
        clock::raw().saturating_sub(start)
    });
    clock::duration(passed.into_iter().max().unwrap_or(0))
}

/// Has so many threads do something at the same moment, whose time on [`clock::raw`] they are told:
/// what the process had had of the processors by then, and what each gives back.
fn at_once<T: Default + Send>(
    threads: usize,
    act: impl Fn(usize, u64) -> T + Sync,
) -> (Duration, Vec<T>) {
    let (arrived, start) = (&AtomicUsize::new(0), &AtomicU64::new(0));
    let (go, act) = (&Barrier::new(threads + 1), &act);
    thread::scope(|scope| {
        let work = |thread| {
            move || {
                arrived.fetch_add(1, Ordering::Relaxed);
                go.wait();
                // Relaxed: the barrier orders it.
                act(thread, start.load(Ordering::Relaxed))
            }
        };
        let work: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(work(thread)))
            .collect();
        // The last to arrive lets all go, and that is to be this thread, which takes the time.
        while arrived.load(Ordering::Relaxed) < threads {
            thread::sleep(Duration::from_micros(50));
        }
        let processor = processor_time();
        start.store(clock::raw(), Ordering::Relaxed);
        go.wait();
        let done = work
            .into_iter()
            .map(|thread| thread.join().unwrap_or_default());
        (processor, done.collect())
    })
}

/// Both, one right after the other, in every second round the other way around: then a machine that
/// gets faster or slower meanwhile favours nobody.
pub fn in_turns<T>(round: usize, first: impl FnOnce() -> T, second: impl FnOnce() -> T) -> (T, T) {
    if round.is_multiple_of(2) {
        (first(), second())
    } else {
        let second = second();
        (first(), second)
    }
}

/// The time that each of `threads` threads needs for its own `pairs` pairs, when all begin at the
/// same moment: nanoseconds a pair, the mean over the threads.
pub fn burst(run: &Run, threads: usize, pairs: u64) -> f64 {
    let waiting = &AtomicUsize::new(threads);
    thread::scope(|scope| {
        let work = |thread| {
            move || {
                // The thread's first is not what a burst is about.
                run(thread, 1);
                waiting.fetch_sub(1, Ordering::Relaxed);
                let mut spins = 0;
                while waiting.load(Ordering::Relaxed) > 0 {
                    spins += 1;
                    if spins % 256 == 0 {
                        thread::yield_now();
                    }
                    std::hint::spin_loop();
                }
                let start = Instant::now();
                run(thread, pairs);
                start.elapsed().as_nanos() as f64 / pairs as f64
            }
        };
        let threads: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(work(thread)))
            .collect();
        let count = threads.len() as f64;
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(0.0))
            .sum::<f64>()
            / count
    })
}

fn finish(subject: &Subject, pairs: u64, wall: Duration, processor: Duration) -> Taken {
    if let Some(drains) = subject.drains {
        thread::sleep(drains);
    }
    Taken {
        pairs,
        wall,
        processor: processor_time().saturating_sub(processor),
    }
}

/// The one in the middle.
pub fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}
