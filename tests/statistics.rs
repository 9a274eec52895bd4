//! The figures are exact: known durations in, by the mock clock, known figures out.

use instrumented_lock::{
    Distribution, LockSnapshot, Mutex, MutexGuard, RwLock, instrumented, registry,
};
use instrumented_lock_tests::{figures, mock_clock};
use std::time::Duration;

const NS: Duration = Duration::from_nanos(1);
const MS: Duration = Duration::from_millis(1);

fn hold_for(lock: &Mutex<()>, durations: impl IntoIterator<Item = Duration>) {
    let clock = mock_clock();
    for duration in durations {
        let guard = lock.lock();
        clock.advance_here(duration);
        drop(guard);
    }
}

fn bucket_sum(distribution: &Distribution) -> u64 {
    distribution.buckets().map(|(_, n)| n).sum()
}

#[test]
fn ten_equal_holds_drained_at_once_have_deviation_zero() {
    #[instrumented]
    static EQUAL: Mutex<()> = Mutex::new(());
    hold_for(&EQUAL, [100 * NS; 10]);
    let lock = figures("EQUAL");
    let hold = lock.write().hold();
    assert_eq!((hold.count(), hold.sum()), (10, 1000 * NS));
    assert_eq!(
        (hold.min(), hold.max(), hold.mean()),
        (Some(100 * NS), Some(100 * NS), Some(100 * NS))
    );
    assert_eq!(hold.std_dev(), Some(Duration::ZERO));
    assert_eq!(hold.quantile(0.5), Some(100 * NS));
}

#[test]
fn eight_known_holds_have_the_sample_deviation() {
    #[instrumented]
    static KNOWN: Mutex<()> = Mutex::new(());
    hold_for(&KNOWN, [2, 4, 4, 4, 5, 5, 7, 9].map(Duration::from_nanos));
    let lock = figures("KNOWN");
    let hold = lock.write().hold();
    let deviation = hold.std_dev_ns().unwrap();
    assert!((deviation - 2.138).abs() < 0.0005, "{deviation}");
    assert_eq!(
        (hold.min(), hold.max(), hold.mean()),
        (Some(2 * NS), Some(9 * NS), Some(5 * NS))
    );
    assert_eq!(bucket_sum(hold), 8);
}

#[test]
fn a_live_guard_is_not_in_the_hold_distribution() {
    #[instrumented]
    struct Two {
        locks: [RwLock<()>; 2],
    }
    let two = Two {
        locks: [RwLock::new(()), RwLock::new(())],
    };
    let clock = mock_clock();
    let live = two.locks[0].read();
    let finished = two.locks[1].read();
    clock.advance_here(10 * MS);
    drop(finished);
    clock.advance_here(1000 * MS);

    let lock = figures("Two::locks");
    let read = lock.read();
    assert_eq!(
        (read.hold().count(), read.hold().mean()),
        (1, Some(10 * MS))
    );
    assert_eq!((read.acquisitions(), read.releases()), (2, 1));
    drop(live);
    assert_eq!(figures("Two::locks").read().hold().max(), Some(1010 * MS));
}

#[test]
fn a_forgotten_guard_stays_in_flight() {
    #[instrumented]
    static FORGOTTEN: Mutex<()> = Mutex::new(());
    mock_clock();
    std::mem::forget(FORGOTTEN.lock());
    let lock = figures("FORGOTTEN");
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (1, 0)
    );
    assert_eq!(*lock.write().hold(), Distribution::default());
}

#[test]
fn a_clock_that_steps_back_gives_zero_and_one_anomaly() {
    #[instrumented]
    static BACK: Mutex<()> = Mutex::new(());
    let clock = mock_clock();
    clock.advance_here(5 * MS);
    let guard = BACK.lock();
    clock.step_back_here(MS);
    drop(guard);
    hold_for(&BACK, [7 * NS]);

    let lock = figures("BACK");
    assert_eq!(lock.clock_anomalies(), 1);
    let hold = lock.write().hold();
    assert_eq!((hold.count(), hold.sum()), (2, 7 * NS));
    assert_eq!(
        (hold.min(), hold.max()),
        (Some(Duration::ZERO), Some(7 * NS))
    );
}

#[test]
fn totals_past_two_to_the_63_widen() {
    #[instrumented]
    static LONG: Mutex<()> = Mutex::new(());
    let quarter = Duration::from_nanos(1 << 62);
    hold_for(&LONG, [quarter; 3]);
    let lock = figures("LONG");
    let hold = lock.write().hold();
    assert_eq!(hold.sum().as_nanos(), 3 << 62);
    assert_eq!(
        (hold.mean(), hold.std_dev()),
        (Some(quarter), Some(Duration::ZERO))
    );
    assert_eq!((hold.quantile(0.5), bucket_sum(hold)), (Some(quarter), 3));
}

#[test]
fn quantiles_are_within_the_stated_error() {
    #[instrumented]
    static SPREAD: Mutex<()> = Mutex::new(());
    hold_for(&SPREAD, (1..=10_000).map(|i| i * 37 * NS));
    let lock = figures("SPREAD");
    for q in [0.001, 0.25, 0.5, 0.9, 0.99, 0.999] {
        let exact = q * 10_000.0 * 37.0;
        let estimate = lock.write().hold().quantile(q).unwrap().as_nanos() as f64;
        assert!(
            (estimate / exact - 1.0).abs() <= 0.044,
            "p{q}: {estimate} for {exact}"
        );
    }
}

#[test]
fn an_interval_has_its_own_figures() {
    #[instrumented]
    static INTERVAL: Mutex<()> = Mutex::new(());
    hold_for(&INTERVAL, [50 * NS, 9000 * NS]);
    let earlier = instrumented_lock::registry::snapshot();
    hold_for(&INTERVAL, [1000 * NS; 10]);
    let interval = instrumented_lock::registry::snapshot().since(&earlier);
    let write = interval.lock("INTERVAL").unwrap().write();
    assert_eq!((write.acquisitions(), write.releases()), (10, 10));
    let hold = write.hold();
    assert_eq!((hold.sum(), hold.mean()), (10_000 * NS, Some(1000 * NS)));
    assert_eq!(hold.std_dev(), Some(Duration::ZERO));
    let (min, max) = (hold.min().unwrap(), hold.max().unwrap());
    assert!(min > 917 * NS && min <= 1000 * NS, "{min:?}");
    assert!(max >= 1000 * NS && max < 1091 * NS, "{max:?}");
}

#[test]
fn merged_snapshots_add_up_exactly() {
    #[instrumented]
    static MERGED: Mutex<()> = Mutex::new(());
    hold_for(&MERGED, [2, 4, 4, 4].map(Duration::from_nanos));
    let first = instrumented_lock::registry::snapshot();
    hold_for(&MERGED, [5, 5, 7, 9].map(Duration::from_nanos));
    let both = instrumented_lock::registry::snapshot();
    let second = both.since(&first);
    let json = serde_json::to_string(&second).unwrap();
    let other_process: instrumented_lock::Snapshot = serde_json::from_str(&json).unwrap();
    assert_eq!(other_process, second);

    let merged = first.merge(&other_process);
    let (merged, both) = (merged.lock("MERGED").unwrap(), both.lock("MERGED").unwrap());
    assert_eq!(merged.write().acquisitions(), 8);
    assert_eq!(
        merged.write().hold().std_dev_ns(),
        both.write().hold().std_dev_ns()
    );
    assert_eq!(merged.write().hold().sum(), both.write().hold().sum());
    assert_eq!(merged.write().wait().count(), 8);
}

/// What a thread has done with one lock, or at one of its lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Done {
    count: u64,
    total: Duration,
    longest: Duration,
}

impl Done {
    fn add(&mut self, hold: Duration) {
        self.count += 1;
        self.total += hold;
        self.longest = self.longest.max(hold);
    }
}

/// More lines than a page of the log is sorted into, taken in no order, with guards kept for long, so
/// that pages have holes.
#[test]
fn holds_of_many_lines_in_any_order_are_all_in_their_rows() {
    type Line = fn(&Mutex<()>) -> MutexGuard<'_, ()>;
    let clock = mock_clock();
    let (first, second, third) = (Mutex::new(()), Mutex::new(()), Mutex::new(()));
    let locks = [&first, &second, &third];
    let kept_locks: [RwLock<()>; 40] = std::array::from_fn(|_| RwLock::new(()));
    let created = line!() - 3;
    let lines: [Line; 7] = [
        |lock| lock.lock(),
        |lock| lock.lock(),
        |lock| lock.lock(),
        |lock| lock.lock(),
        |lock| lock.lock(),
        |lock| lock.lock(),
        |lock| lock.try_lock().unwrap(),
    ];
    let mut random = 1u64;
    let mut next = |below: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % below
    };
    let mut done = [[Done::default(); 7]; 3];
    let mut kept = std::collections::VecDeque::new();
    let mut kept_count = 0;
    for round in 0..5_000 {
        let [lock, line] = [3, 7].map(|below| usize::try_from(next(below)).unwrap());
        let hold = match next(20) {
            0 => Duration::from_secs(next(3)),
            1..8 => Duration::from_nanos(next(1 << 20)),
            _ => Duration::from_nanos(next(5_000)),
        };
        let guard = lines[line](locks[lock]);
        clock.advance_here(hold);
        drop(guard);
        done[lock][line].add(hold);
        if round % 7 == 0 {
            kept.push_back(kept_locks[kept_count % 40].write());
            kept_count += 1;
            if kept.len() == 30 {
                kept.pop_front();
            }
        }
    }
    drop(kept);

    let snapshot = registry::snapshot();
    let is_it = |lock: &&LockSnapshot| {
        let at = lock.declared_at();
        (at.file(), at.line()) == (file!(), created)
    };
    let mut snapshots: Vec<_> = snapshot.locks().iter().filter(is_it).collect();
    snapshots.sort_by_key(|lock| lock.declared_at().column());
    for (lock, lines) in snapshots.iter().zip(&done) {
        let hold = lock.write().hold();
        let count = lines.iter().map(|line| line.count).sum();
        let total: Duration = lines.iter().map(|line| line.total).sum();
        let longest = lines.iter().map(|line| line.longest).max();
        assert_eq!(
            (hold.count(), hold.sum(), hold.max()),
            (count, total, longest)
        );
        assert_eq!(bucket_sum(hold), count);
        let mut rows: Vec<_> = lock.call_sites().iter().collect();
        rows.sort_by_key(|row| row.location().line());
        let rows: Vec<_> = rows
            .iter()
            .map(|row| Done {
                count: row.releases(),
                total: row.hold_total(),
                longest: row.hold_max(),
            })
            .collect();
        assert_eq!(rows, lines);
    }
    assert_eq!(snapshots.len(), 3);
}
