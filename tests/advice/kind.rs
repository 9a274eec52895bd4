//! Advice on the kind of lock.

use crate::figures::{Lock, Mode, SECOND, US, assert_texts, held, lock, snapshot};
use instrumented_lock::{Advice, Confidence};

// Short reads that bounce.

const SHORT_READS: &str = "as short as the lock itself";

/// 300,000 reads of 100 ns, two thirds of which bounced: 20 ms of 2 s.
fn short_reads() -> Lock {
    lock("RwLock").with(|lock| {
        lock.read = held(vec![(100, 300_000)]);
        lock.read.bounces = 200_000;
        lock.write = held(vec![(100, 10)]);
    })
}

#[test]
fn short_reads_that_bounce_are_found() {
    let advice = short_reads().said(SHORT_READS).unwrap();
    assert_texts(
        &advice,
        "Its reads are as short as the lock itself is expensive, and it goes from thread to \
         thread: readers wait for its cache line, not for writers.",
        "300,000 reads of 100 ns on average and 10 writes; 67 % of all acquisitions came from \
         another thread than the last",
    );
    assert_eq!(advice.confidence(), Confidence::Medium);
    let ten_times = short_reads().with(|lock| {
        lock.read = held(vec![(100, 3_000_000)]);
        lock.read.bounces = 2_000_000;
    });
    ten_times.assert_says(SHORT_READS, Confidence::High);
    let below = ten_times.with(|lock| lock.read.bounces = 1_999_999);
    below.assert_says(SHORT_READS, Confidence::Medium);
}

#[test]
fn short_reads_of_a_mutex_are_none() {
    short_reads()
        .with(|lock| lock.kind = "Mutex")
        .assert_silent_about(SHORT_READS);
    let recursive = short_reads().with(|lock| lock.kind = "RecursiveRwLock");
    recursive.assert_says(SHORT_READS, Confidence::Medium);
}

#[test]
fn short_reads_are_below_200_ns_and_bounce() {
    let of = |hold: u64| short_reads().with(|lock| lock.read.hold = vec![(hold, 300_000)]);
    of(199).assert_says(SHORT_READS, Confidence::Medium);
    of(200).assert_silent_about(SHORT_READS);
    let of = |bounces: u64| {
        short_reads().with(|lock| {
            lock.read = held(vec![(100, 500_000)]);
            lock.write = Mode::default();
            lock.read.bounces = bounces;
        })
    };
    of(250_000).assert_says(SHORT_READS, Confidence::Medium);
    of(249_999).assert_silent_about(SHORT_READS);
}

#[test]
fn short_reads_that_are_rare_cost_nothing() {
    let of = |bounces: u64| short_reads().with(|lock| lock.read.bounces = bounces);
    of(200_000).assert_says(SHORT_READS, Confidence::Medium);
    of(199_999).assert_silent_about(SHORT_READS);
    let written = short_reads().with(|lock| lock.write = held(vec![(100, 300_001)]));
    written
        .with(|lock| lock.write.bounces = 300_000)
        .assert_silent_about(SHORT_READS);
    let half = written.with(|lock| {
        lock.write = held(vec![(100, 300_000)]);
        lock.write.bounces = 300_000;
    });
    half.assert_says(SHORT_READS, Confidence::Medium);
}

// Reader-writer locks that are not used as such.

const NEVER_READ: &str = "nobody reads";
const HARDLY_READ: &str = "hardly ever read";
const NEVER_WRITTEN: &str = "nobody writes";
const ONE_THREAD: &str = "never read concurrently";

pub(crate) fn used(reads: u64, writes: u64) -> Lock {
    lock("RwLock").with(|lock| {
        lock.read = held(vec![(US, reads)]);
        lock.write = held(vec![(US, writes)]);
        lock.write.bounces = writes / 2;
        lock.read.bounces = reads / 2;
    })
}

#[test]
fn an_rwlock_that_nobody_reads_is_found() {
    let advice = used(0, 4000).said(NEVER_READ).unwrap();
    assert_texts(
        &advice,
        "It is an `RwLock` that nobody reads.",
        "4,000 writes, no reads",
    );
    used(0, 1000).assert_says(NEVER_READ, Confidence::Low);
    used(0, 999).assert_silent_about(NEVER_READ);
    used(0, 99_999).assert_says(NEVER_READ, Confidence::Low);
    used(0, 100_000).assert_says(NEVER_READ, Confidence::Medium);
    used(1, 4000).assert_silent_about(NEVER_READ);
    assert_eq!(used(0, 4000).with(|lock| lock.kind = "Mutex").advice(), []);
    let tried = used(0, 4000).with(|lock| lock.read.try_failures = 1);
    tried.assert_silent_about(NEVER_READ);
    let upgradable = used(0, 4000).with(|lock| lock.upgradable = held(vec![(US, 1)]));
    upgradable.assert_silent_about(NEVER_READ);
}

#[test]
fn an_rwlock_that_is_hardly_read_is_found() {
    let advice = used(100, 3900).said(HARDLY_READ).unwrap();
    assert_texts(
        &advice,
        "It is an `RwLock` that is hardly ever read, and so has next to nothing to share.",
        "3,900 writes, 100 reads; all reads together hold it for 100 µs of 2 s",
    );
    used(100, 900).assert_says(HARDLY_READ, Confidence::Medium);
    used(101, 900).assert_silent_about(HARDLY_READ);
    used(99, 900).assert_silent_about(HARDLY_READ);
    used(0, 4000).assert_silent_about(HARDLY_READ);
    used(100, 3900)
        .with(|lock| lock.kind = "FairMutex")
        .assert_silent_about(HARDLY_READ);
}

/// Few reads that hold for long may well do so together.
#[test]
fn an_rwlock_with_few_long_reads_is_not_hardly_read() {
    let of = |hold: u64| used(100, 3900).with(|lock| lock.read.hold = vec![(hold, 100)]);
    of(200 * US).assert_says(HARDLY_READ, Confidence::Medium);
    of(200 * US + 1).assert_silent_about(HARDLY_READ);
    let in_flight = used(100, 3900).with(|lock| lock.reads_in_flight = 1);
    in_flight.assert_silent_about(HARDLY_READ);
    let upgradable = used(100, 3900).with(|lock| lock.upgradable = held(vec![(US, 1)]));
    upgradable.assert_silent_about(HARDLY_READ);
}

#[test]
fn an_rwlock_that_nobody_writes_is_found() {
    let advice = used(4000, 0).said(NEVER_WRITTEN).unwrap();
    assert_texts(
        &advice,
        "It is an `RwLock` that nobody writes.",
        "4,000 reads, no writes",
    );
    used(1000, 0).assert_says(NEVER_WRITTEN, Confidence::Low);
    used(100_000, 0).assert_says(NEVER_WRITTEN, Confidence::Medium);
    used(999, 0).assert_silent_about(NEVER_WRITTEN);
    used(4000, 1).assert_silent_about(NEVER_WRITTEN);
    let timed_out = used(4000, 0).with(|lock| lock.write.timeouts = 1);
    timed_out.assert_silent_about(NEVER_WRITTEN);
    let upgradable = used(4000, 0).with(|lock| lock.upgradable = held(vec![(US, 1)]));
    upgradable.assert_silent_about(NEVER_WRITTEN);
}

#[test]
fn an_rwlock_that_is_written_before_the_interval_only_is_found() {
    let earlier = snapshot(SECOND, &[used(10, 5)]);
    let later = snapshot(2 * SECOND, &[used(4000, 5)]);
    let says = |advice: &[Advice]| advice.iter().any(|a| a.finding().contains(NEVER_WRITTEN));
    assert!(says(&later.advice_since(&earlier)));
    assert!(!says(&later.advice()));
}

#[test]
fn an_rwlock_of_one_thread_is_never_read_concurrently() {
    let alone = used(3000, 1000).with(|lock| {
        lock.read.bounces = 0;
        lock.write.bounces = 0;
    });
    let advice = alone.said(ONE_THREAD).unwrap();
    assert_texts(
        &advice,
        "It is an `RwLock` that only one thread uses, and so is never read concurrently.",
        "4,000 acquisitions, 3,000 of them reads, none by another thread than the last",
    );
    assert_eq!(advice.confidence(), Confidence::Low);
    let several = alone.with(|lock| lock.instances = 8);
    assert!(
        several
            .said(ONE_THREAD)
            .unwrap()
            .evidence()
            .contains("of 8 locks")
    );
    alone
        .with(|lock| lock.write.bounces = 1)
        .assert_silent_about(ONE_THREAD);
    alone
        .with(|lock| lock.read = held(vec![(US, 999)]))
        .assert_silent_about(ONE_THREAD);
    alone
        .with(|lock| lock.kind = "Mutex")
        .assert_silent_about(ONE_THREAD);
}

// Upgradable locks.

const UPGRADABLE: &str = "upgradable locks";

#[test]
fn upgradable_locks_that_nobody_upgrades_are_found() {
    let of = |upgradable: u64, writes: u64, waits: u64| {
        lock("RwLock").with(|lock| {
            lock.upgradable = held(vec![(US, upgradable)]);
            lock.upgradable.blocked = vec![(US, waits)];
            lock.write = held(vec![(US, writes)]);
        })
    };
    let advice = of(1000, 0, 0).said(UPGRADABLE).unwrap();
    assert_texts(
        &advice,
        "Nobody upgrades its upgradable locks.",
        "1,000 upgradable acquisitions, 0 of them had to wait; 0 writes, upgrades included",
    );
    of(1000, 0, 9).assert_says(UPGRADABLE, Confidence::Medium);
    of(1000, 0, 10).assert_says(UPGRADABLE, Confidence::High);
    of(100_000, 1000, 10).assert_says(UPGRADABLE, Confidence::Low);
    of(100_000, 1001, 10).assert_silent_about(UPGRADABLE);
    of(100, 0, 0).assert_says(UPGRADABLE, Confidence::Medium);
    of(99, 0, 0).assert_silent_about(UPGRADABLE);
    let tried = of(1000, 0, 0).with(|lock| lock.write.try_failures = 11);
    tried.assert_silent_about(UPGRADABLE);
}
