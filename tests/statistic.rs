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

/// What 64 bits have no room for does not come out less than its parts.
#[test]
fn sums_do_not_wrap() {
    let statistic = Statistic::new();
    let mut expected = 0u128;
    let mut last = Duration::ZERO;
    for n in 0..200 {
        for ns in [1 << 62, 5, u64::MAX - 1, 1 << (n % 64)] {
            statistic.add(Duration::from_nanos(ns));
            expected += u128::from(ns);
            let distribution = statistic.distribution();
            assert!(
                distribution.sum() >= last,
                "{:?} after {last:?}",
                distribution.sum()
            );
            last = distribution.sum();
        }
    }
    let distribution = statistic.distribution();
    assert_eq!(distribution.sum().as_nanos(), expected);
    assert_eq!(distribution.count(), 800);
    let mean = distribution.mean().unwrap();
    assert_eq!(mean.as_nanos(), (expected + 400) / 800);
    assert!(distribution.min() <= Some(mean) && Some(mean) <= distribution.max());
    assert!(distribution.std_dev_ns().unwrap().is_finite());
    assert!(distribution.quantile(0.5) <= distribution.max());
}

#[test]
fn sums_of_many_threads_do_not_wrap() {
    let statistic = Statistic::new();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..1000).for_each(|_| statistic.add(Duration::from_nanos(1 << 62))));
        }
    });
    let distribution = statistic.distribution();
    assert_eq!(distribution.sum().as_nanos(), 8000 << 62);
    assert_eq!(distribution.mean(), Some(Duration::from_nanos(1 << 62)));
}
