//! Advice on threads that wait or give up.

use crate::figures::{Lock, MS, SECOND, US, assert_texts, held, lock, site, snapshot};
use instrumented_lock::Confidence;

// Utilisation.

const CEILING: &str = "held exclusively";

/// 1000 holds of 1.6 ms in 2 s; 500 waits of 2 ms.
pub(crate) fn busy() -> Lock {
    lock("Mutex").with(|lock| {
        lock.write = held(vec![(1600 * US, 1000)]);
        lock.write.blocked = vec![(2 * MS, 500)];
    })
}

#[test]
fn utilisation_near_one_has_the_ceiling() {
    let advice = busy().said(CEILING).unwrap();
    assert_texts(
        &advice,
        "It is held exclusively 80 % of the time and lets at most 625 operations a second through, \
         however many threads there are.",
        "1,000 exclusive holds of 1.60 ms on average are 1.60 s of 2 s; 500 of 1,000 acquisitions \
         had to wait, 1 s in all",
    );
    assert_eq!(advice.confidence(), Confidence::High);
}

#[test]
fn utilisation_that_nobody_waits_for_is_said_with_low_confidence() {
    let alone = busy().with(|lock| lock.write.blocked.clear());
    alone.assert_says(CEILING, Confidence::Low);
    assert!(
        alone
            .said(CEILING)
            .unwrap()
            .evidence()
            .ends_with("; nobody had to wait for it"),
        "{alone:#?}",
        alone = alone.advice()
    );
}

#[test]
fn utilisation_from_70_percent_on_is_said() {
    let of = |hold: u64| busy().with(|lock| lock.write.hold = vec![(hold, 1000)]);
    of(1400 * US).assert_says(CEILING, Confidence::High);
    of(1400 * US - 1).assert_silent_about(CEILING);
    of(2 * MS).assert_says(CEILING, Confidence::High);
}

#[test]
fn utilisation_of_several_locks_is_no_share() {
    busy()
        .with(|lock| lock.instances = 2)
        .assert_silent_about(CEILING);
    busy()
        .with(|lock| lock.instances = 0)
        .assert_silent_about(CEILING);
    let in_parallel = busy().with(|lock| lock.write.hold = vec![(2100 * US, 1000)]);
    in_parallel.assert_silent_about(CEILING);
    let overlapping = |hold: u64| busy().with(|lock| lock.write.hold = vec![(hold, 1000)]);
    overlapping(2040 * US).assert_says(CEILING, Confidence::High);
    overlapping(2040 * US + 1).assert_silent_about(CEILING);
}

#[test]
fn utilisation_by_one_long_hold_is_no_ceiling() {
    let start = busy().with(|lock| lock.write.hold = vec![(US, 999), (1600 * MS, 1)]);
    start.assert_silent_about(CEILING);
    let few = busy().with(|lock| lock.write.hold = vec![(16_200 * US, 99)]);
    few.assert_silent_about(CEILING);
    let of =
        |longest: u64| busy().with(|lock| lock.write.hold = vec![(1440 * US, 1000), (longest, 1)]);
    of(160 * MS - 1).assert_says(CEILING, Confidence::High);
    of(160 * MS).assert_silent_about(CEILING);
}

#[test]
fn utilisation_by_readers_is_no_ceiling() {
    let readers = busy().with(|lock| {
        lock.kind = "RwLock";
        lock.read = std::mem::take(&mut lock.write);
    });
    readers.assert_silent_about(CEILING);
}

#[test]
fn utilisation_by_slow_holds_has_a_ceiling_in_seconds() {
    let slow = lock("Mutex").with(|lock| lock.write = held(vec![(200 * MS, 100)]));
    let advice = snapshot(25 * SECOND, &[slow]).advice();
    assert!(
        advice[0]
            .finding()
            .contains("at most one operation every 200 ms through"),
        "{advice:#?}"
    );
}

// One line behind most of the blame.

const CULPRIT: &str = "most of the others' waiting goes by";

/// Line 40 is blamed for 90 ms of the 100 ms that 200 waits took.
fn one_culprit() -> Lock {
    lock("Mutex").with(|lock| {
        lock.write = held(vec![(100 * US, 1000)]);
        lock.write.blocked = vec![(500 * US, 200)];
        let mut sites = [site(40, 300, 100 * US), site(50, 700, 100 * US)];
        sites[0].blame = 90 * MS;
        sites[1].blame = 10 * MS;
        lock.sites = sites.to_vec();
        lock.pairs = vec![(60, 50, 80 * MS), (61, 40, 70 * MS), (62, 40, 20 * MS)];
    })
}

#[test]
fn one_line_behind_the_blame_is_named() {
    let advice = one_culprit().said(CULPRIT).unwrap();
    assert_texts(
        &advice,
        "While src/store.rs:40 holds it, most of the others' waiting goes by.",
        "src/store.rs:40 is blamed for 90 ms of 100 ms (90 %), in 300 holds of 100 µs on average, \
         100 µs at most; 200 of 1,000 acquisitions had to wait, 100 ms in all; src/store.rs:61 \
         waits most for it, 70 ms",
    );
    assert!(advice.suggestion().contains("src/store.rs:40"), "{advice}");
    assert_eq!(advice.confidence(), Confidence::High);
}

#[test]
fn one_line_from_60_percent_of_the_blame_on_is_named() {
    let of = |blame: u64| {
        one_culprit().with(|lock| {
            lock.sites[0].blame = blame;
            lock.sites[1].blame = 100 * MS - blame;
        })
    };
    of(80 * MS).assert_says(CULPRIT, Confidence::High);
    of(80 * MS - 1).assert_says(CULPRIT, Confidence::Medium);
    of(60 * MS).assert_says(CULPRIT, Confidence::Medium);
    of(60 * MS - 1).assert_silent_about(CULPRIT);
}

#[test]
fn one_line_below_ten_waits_is_not_named() {
    let of = |waits: u64| one_culprit().with(|lock| lock.write.blocked = vec![(9 * MS, waits)]);
    of(10).assert_says(CULPRIT, Confidence::Medium);
    of(9).assert_silent_about(CULPRIT);
}

#[test]
fn one_line_is_not_named_where_the_waiting_is_little() {
    let little = |elapsed: u64| snapshot(elapsed, &[one_culprit()]).advice();
    assert!(
        little(10 * SECOND)
            .iter()
            .any(|advice| advice.finding().contains(CULPRIT))
    );
    assert_eq!(little(10 * SECOND + 1), [], "100 ms are below 1 %");
    let short = one_culprit().with(|lock| {
        lock.write.blocked = vec![(9_999, 100)];
        for site in &mut lock.sites {
            site.blame /= 100;
        }
    });
    assert_eq!(
        snapshot(50 * MS, std::slice::from_ref(&short)).advice(),
        [],
        "and 1 ms is the least"
    );
    let enough = short.with(|lock| lock.write.blocked = vec![(10 * US, 100)]);
    let advice = snapshot(50 * MS, &[enough.with(|lock| lock.sites[0].blame = MS)]).advice();
    assert!(advice[0].finding().contains(CULPRIT), "{advice:#?}");
}

#[test]
fn one_line_is_not_named_where_the_blame_is_not_the_waiting() {
    let handed_over = one_culprit().with(|lock| {
        lock.write.blocked = vec![(500 * US, 362)];
        lock.hand_over = 81 * MS;
    });
    handed_over.assert_silent_about(CULPRIT);
    let half = handed_over.with(|lock| lock.write.blocked = vec![(500 * US, 360)]);
    half.assert_says(CULPRIT, Confidence::High);
    let below = half.with(|lock| lock.write.blocked.push((1, 1)));
    below.assert_silent_about(CULPRIT);
}

#[test]
fn one_line_with_short_holds_has_nothing_to_move_out() {
    let of = |hold: u64| one_culprit().with(|lock| lock.sites[0].hold_total = 300 * hold);
    of(US).assert_says(CULPRIT, Confidence::High);
    of(US - 1).assert_silent_about(CULPRIT);
}

#[test]
fn the_row_of_all_others_is_no_line() {
    let others = one_culprit().with(|lock| lock.sites[0].line = 0);
    others.assert_silent_about(CULPRIT);
    let by_others = one_culprit().with(|lock| lock.pairs[1].0 = 0);
    let evidence = by_others.said(CULPRIT).unwrap().evidence().to_owned();
    assert!(
        evidence.ends_with("; src/store.rs:62 waits most for it, 20 ms"),
        "{evidence}"
    );
}

// Convoy.

const CONVOY: &str = "its queue is long";

/// 30,000 holds of 1 µs, a third of which waited 100 µs.
pub(crate) fn queue() -> Lock {
    lock("Mutex").with(|lock| {
        lock.write = held(vec![(1024, 30_000)]);
        lock.write.blocked = vec![(100 * US, 10_000)];
        lock.hand_over = 250 * MS;
    })
}

#[test]
fn convoy_of_short_holds_is_found() {
    let advice = queue().said(CONVOY).unwrap();
    assert_texts(
        &advice,
        "Its holds are short and its queue is long: threads pay for waiting in line and for being \
         woken, not for the work under the lock.",
        "half of the waits take 100 µs or more, 98 times the typical hold of 1.02 µs; 10,000 of \
         30,000 acquisitions had to wait, 1 s in all, 25 % of that for a lock that nobody had",
    );
    assert_eq!(advice.confidence(), Confidence::Medium);
}

#[test]
fn convoy_is_surer_with_hand_over_and_less_sure_for_several_locks() {
    let handing = queue().with(|lock| lock.hand_over = 500 * MS);
    handing.assert_says(CONVOY, Confidence::High);
    handing
        .with(|lock| lock.instances = 16)
        .assert_says(CONVOY, Confidence::Low);
    let below = queue().with(|lock| lock.hand_over = 500 * MS - 1);
    below.assert_says(CONVOY, Confidence::Medium);
}

#[test]
fn convoy_from_20_holds_a_wait_on() {
    let of = |wait: u64| {
        queue().with(|lock| {
            lock.write.blocked = vec![(wait, 10_000)];
            lock.hand_over = 0;
        })
    };
    of(20 * 1024).assert_says(CONVOY, Confidence::Medium);
    of(20 * 1024 - 1).assert_silent_about(CONVOY);
}

/// The mean hold is short too, 100 µs by 50 ms; but it is the long one that everybody waits for.
#[test]
fn convoy_is_not_a_queue_for_rare_long_holds() {
    let rare = lock("Mutex").with(|lock| {
        lock.write = held(vec![(100, 995), (200 * MS, 5)]);
        lock.write.blocked = vec![(100 * MS, 100)];
    });
    rare.assert_silent_about(CONVOY);
    let without = rare.with(|lock| lock.write.hold = vec![(100, 1000)]);
    without.assert_says(CONVOY, Confidence::Medium);
}

#[test]
fn convoy_is_not_writers_that_wait_for_slow_readers() {
    let behind_readers = queue().with(|lock| {
        lock.kind = "RwLock";
        lock.read = held(vec![(100 * US, 1000)]);
    });
    behind_readers.assert_silent_about(CONVOY);
}

#[test]
fn convoy_is_not_a_few_waits() {
    let of = |waits: u64| queue().with(|lock| lock.write.blocked = vec![(100 * US, waits)]);
    of(3000).assert_says(CONVOY, Confidence::High);
    of(2999).assert_silent_about(CONVOY);
}

#[test]
fn convoy_needs_holds_that_are_timed() {
    let of = |holds: u64| queue().with(|lock| lock.write.hold = vec![(1024, holds)]);
    of(100).assert_says(CONVOY, Confidence::Medium);
    of(99).assert_silent_about(CONVOY);
    of(0).assert_silent_about(CONVOY);
    let untimed_reads = queue().with(|lock| lock.read.acquisitions = 10);
    untimed_reads.assert_silent_about(CONVOY);
}

// Attempts that give up.

const TIMEOUTS: &str = "Attempts with a time limit give up";
const SPINNING: &str = "`try_` calls that fail";

#[test]
fn timeouts_are_said_with_the_line_to_blame() {
    let advice = one_culprit()
        .with(|lock| lock.write.timeouts = 250)
        .said(TIMEOUTS)
        .unwrap();
    assert_texts(
        &advice,
        "Attempts with a time limit give up.",
        "250 of 1,250 attempts (20 %); src/store.rs:40 is blamed most for waiting, 90 ms",
    );
    assert_eq!(advice.confidence(), Confidence::High);
}

#[test]
fn timeouts_from_ten_and_1_percent_on() {
    let of = |acquisitions: u64, timeouts: u64| {
        lock("Mutex").with(|lock| {
            lock.write.acquisitions = acquisitions;
            lock.write.timeouts = timeouts;
        })
    };
    of(990, 10).assert_says(TIMEOUTS, Confidence::Medium);
    of(991, 10).assert_silent_about(TIMEOUTS);
    of(991, 9).assert_silent_about(TIMEOUTS);
    of(100, 9).assert_silent_about(TIMEOUTS);
    of(900, 100).assert_says(TIMEOUTS, Confidence::High);
    of(901, 100).assert_says(TIMEOUTS, Confidence::Medium);
    of(0, 99).assert_silent_about(TIMEOUTS);
    of(0, 100).assert_says(TIMEOUTS, Confidence::High);
}

#[test]
fn try_failures_that_dominate_are_said() {
    let of = |acquisitions: u64, failures: u64| {
        lock("RwLock").with(|lock| {
            lock.write.acquisitions = acquisitions;
            lock.read.try_failures = failures;
        })
    };
    let advice = of(20, 1200).said(SPINNING).unwrap();
    assert_eq!(advice.evidence(), "1,200 failures, 20 acquisitions");
    of(1000, 10_000).assert_says(SPINNING, Confidence::Medium);
    of(1000, 9999).assert_says(SPINNING, Confidence::Low);
    of(500, 500).assert_says(SPINNING, Confidence::Low);
    of(501, 500).assert_silent_about(SPINNING);
    of(0, 100).assert_says(SPINNING, Confidence::Medium);
    of(10, 99).assert_silent_about(SPINNING);
}
