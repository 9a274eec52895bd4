//! `Statistic`: exact, whatever threads record in it, and gone when it is dropped.

use instrumented_lock::{Distribution, Statistic};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

fn of(ns: impl IntoIterator<Item = u64>) -> Distribution {
    let statistic = Statistic::new();
    for ns in ns {
        statistic.add(Duration::from_nanos(ns));
    }
    statistic.distribution()
}

#[test]
fn moments_and_extremes_are_exact() {
    let one_to_ten = of(1..=10);
    assert_eq!(one_to_ten.count(), 10);
    assert_eq!(one_to_ten.sum(), Duration::from_nanos(55));
    // √(82.5 / 9) = 3.03
    assert!((one_to_ten.std_dev_ns().unwrap() - 3.027_650_354).abs() < 1e-9);
    let equal = of([233; 10]);
    assert_eq!(equal.std_dev(), Some(Duration::ZERO));
    assert_eq!(
        (equal.min(), equal.max()),
        (equal.quantile(0.01), equal.quantile(0.99))
    );
    assert_eq!(of([]), Distribution::default());
}

#[test]
fn durations_beyond_all_bounds_are_counted() {
    let statistic = Statistic::new();
    for duration in [
        Duration::MAX,
        Duration::ZERO,
        Duration::from_secs(3600),
        Duration::MAX,
    ] {
        statistic.add(duration);
    }
    let distribution = statistic.distribution();
    assert_eq!(distribution.count(), 4);
    assert_eq!(distribution.buckets().map(|(_, n)| n).sum::<u64>(), 4);
    assert_eq!(distribution.min(), Some(Duration::ZERO));
    assert!(distribution.max() > Some(Duration::from_secs(1 << 33)));
}

#[test]
fn a_hundred_threads_lose_nothing_while_it_is_read() {
    const THREADS: u64 = 100;
    const EACH: u64 = 5000;
    let statistic = Statistic::new();
    let barrier = Barrier::new(100);
    let running = AtomicBool::new(true);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    for _ in 0..EACH {
                        statistic.add(Duration::from_nanos(10));
                        statistic.add(Duration::from_nanos(30));
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while running.load(Ordering::Relaxed) {
                let seen = statistic.distribution();
                assert_eq!(seen.buckets().map(|(_, n)| n).sum::<u64>(), seen.count());
                assert!(seen.sum() >= Duration::from_nanos(10 * seen.count()));
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        running.store(false, Ordering::Relaxed);
    });
    let all = statistic.distribution();
    assert_eq!(all.count(), 2 * THREADS * EACH);
    assert_eq!(all.sum(), Duration::from_nanos(40 * THREADS * EACH));
    assert_eq!(all.mean(), Some(Duration::from_nanos(20)));
    assert_eq!(
        (all.min(), all.max()),
        (
            Some(Duration::from_nanos(10)),
            Some(Duration::from_nanos(30))
        )
    );
}
