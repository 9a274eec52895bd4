//! Advice on how long, how evenly and how often a lock is held.

use crate::figures::{Lock, MS, SECOND, US, assert_texts, held, lock, site, snapshot};
use crate::waiting::queue;
use instrumented_lock::{Advice, Confidence};

// Holds that grow.

const GROWTH: &str = "grow with the run";

/// 1000 holds at line 40 so far, `mean` long each but for the longest.
fn held_at_40(holds: u64, mean: u64, longest: u64) -> Lock {
    lock("Mutex").with(|lock| {
        lock.write = held(vec![(mean, holds - 1), (longest, 1)]);
        let mut site = site(40, holds, mean);
        site.hold_total = (holds - 1) * mean + longest;
        site.hold_max = longest;
        lock.sites = vec![site];
    })
}

/// The advice since 1000 holds of 10 µs, after `holds` more of `mean` in one second.
fn since_10_us(holds: u64, mean: u64) -> Vec<Advice> {
    let earlier = held_at_40(1000, 10 * US, 10 * US);
    let later = held_at_40(1000 + holds, mean, mean).with(|lock| {
        lock.write.hold = vec![(10 * US, 1000), (mean, holds)];
        lock.sites[0].hold_total = 10 * MS + holds * mean;
    });
    snapshot(2 * SECOND, &[later]).advice_since(&snapshot(SECOND, &[earlier]))
}

fn growth(advice: &[Advice]) -> Option<&Advice> {
    advice
        .iter()
        .find(|advice| advice.finding().contains(GROWTH))
}

#[test]
fn growth_of_holds_between_snapshots_is_found() {
    let advice = since_10_us(1001, 50 * US);
    let advice = growth(&advice).unwrap();
    assert_texts(
        advice,
        "The holds of src/store.rs:40 grow with the run: a scan under the lock?",
        "a write hold of src/store.rs:40 took 10 µs on average over 1,000 holds before, and 50 µs \
         over 1,001 since, 5.0 times as long; together 40.0 ms more",
    );
    assert_eq!(advice.confidence(), Confidence::High);
}

#[test]
fn growth_from_twice_on_is_said() {
    let confidence = |holds, mean| growth(&since_10_us(holds, mean)).map(Advice::confidence);
    assert_eq!(confidence(2000, 20 * US), Some(Confidence::Medium));
    assert_eq!(confidence(2000, 20 * US - 1), None);
    assert_eq!(confidence(1000, 40 * US), Some(Confidence::High));
    assert_eq!(confidence(1000, 40 * US - 1), Some(Confidence::Medium));
    assert_eq!(confidence(999, 40 * US), Some(Confidence::Medium));
    assert_eq!(confidence(100, 200 * US), Some(Confidence::Medium));
    assert_eq!(confidence(99, 200 * US), None);
}

#[test]
fn growth_that_costs_below_1_percent_is_not_said() {
    assert!(
        growth(&since_10_us(1000, 20 * US)).is_some(),
        "10 ms of 1 s"
    );
    assert!(growth(&since_10_us(999, 20 * US)).is_none());
}

#[test]
fn growth_is_not_one_long_hold() {
    let earlier = snapshot(SECOND, &[held_at_40(1000, 10 * US, 10 * US)]);
    let preempted = held_at_40(2000, 10 * US, 500 * MS);
    let advice = snapshot(2 * SECOND, &[preempted]).advice_since(&earlier);
    assert!(growth(&advice).is_none(), "{advice:#?}");
}

/// A line can acquire in two modes: here it downgrades what it has written.
#[test]
fn growth_is_within_a_mode() {
    let both = |reads: u64, writes: u64| {
        held_at_40(writes, 10 * US, 10 * US).with(|lock| {
            lock.kind = "RwLock";
            lock.read = held(vec![(100 * US, reads)]);
            lock.sites.push(site(40, reads, 100 * US));
            lock.sites[1].mode = "read";
        })
    };
    let earlier = snapshot(SECOND, &[both(1000, 1000)]);
    let advice = snapshot(2 * SECOND, &[both(2000, 2000)]).advice_since(&earlier);
    assert!(growth(&advice).is_none(), "{advice:#?}");
}

/// The mean of the lock has grown, that of each line has not.
#[test]
fn growth_is_not_another_mix_of_lines() {
    let mix = |short: u64, long: u64| {
        lock("Mutex").with(|lock| {
            lock.write = held(vec![(10 * US, short), (100 * US, long)]);
            lock.sites = vec![site(40, short, 10 * US), site(50, long, 100 * US)];
        })
    };
    let earlier = snapshot(SECOND, &[mix(1000, 100)]);
    let advice = snapshot(2 * SECOND, &[mix(1100, 2100)]).advice_since(&earlier);
    assert!(growth(&advice).is_none(), "{advice:#?}");
}

#[test]
fn growth_needs_the_lock_in_both_snapshots() {
    let later = snapshot(2 * SECOND, &[held_at_40(2000, 50 * US, 50 * US)]);
    let advice = later.advice_since(&snapshot(SECOND, &[]));
    assert!(growth(&advice).is_none(), "{advice:#?}");
    assert!(growth(&later.advice()).is_none());
}

#[test]
fn growth_of_holds_below_a_microsecond_is_noise() {
    let of = |mean: u64| {
        let earlier = snapshot(SECOND, &[held_at_40(100_000, 100, 100)]);
        let later = held_at_40(200_000, mean, mean).with(|lock| {
            lock.write.hold = vec![(100, 100_000), (mean, 100_000)];
            lock.sites[0].hold_total = 100_000 * (100 + mean);
        });
        growth(&snapshot(2 * SECOND, &[later]).advice_since(&earlier)).is_some()
    };
    assert!(of(1000));
    assert!(!of(999));
}

// Uneven holds.

const UNEVEN: &str = "far longer than most";

fn uneven() -> Lock {
    lock("Mutex").with(|lock| {
        lock.write = held(vec![(2048, 9800), (8 * MS, 200)]);
        lock.write.blocked = vec![(4 * MS, 300)];
        lock.sites = vec![site(40, 9000, 2048), site(50, 1000, 8 * MS)];
    })
}

#[test]
fn uneven_holds_are_weak_evidence() {
    let advice = uneven().said(UNEVEN).unwrap();
    assert_texts(
        &advice,
        "A few of its holds are far longer than most, and others wait for it.",
        "10,000 holds (write): p50 2.05 µs, p99 8 ms, 8 ms at most; the longest at src/store.rs:50",
    );
    assert_eq!(advice.confidence(), Confidence::Low);
    assert!(advice.suggestion().contains("advice_since"));
    let read = uneven().with(|lock| {
        lock.kind = "RwLock";
        lock.sites[1].mode = "read";
    });
    let evidence = read.said(UNEVEN).unwrap().evidence().to_owned();
    assert!(
        evidence.ends_with("the longest at src/store.rs:40"),
        "{evidence}"
    );
}

#[test]
fn uneven_holds_that_nobody_waits_for_are_not_said() {
    uneven()
        .with(|lock| lock.write.blocked.clear())
        .assert_silent_about(UNEVEN);
}

#[test]
fn uneven_is_by_the_99th_percentile_and_not_by_the_longest() {
    let once = uneven().with(|lock| lock.write.hold = vec![(2048, 9950), (8 * MS, 50)]);
    once.assert_silent_about(UNEVEN);
}

#[test]
fn uneven_from_50_times_on_is_said() {
    // Where they lie in their buckets, the quantiles of these are exact.
    let of = |short: u64, long: u64| {
        uneven().with(|lock| lock.write.hold = vec![(short, 9800), (long, 200)])
    };
    of(4096, 50 * 4096).assert_says(UNEVEN, Confidence::Low);
    of(4096, 50 * 4096 - 1).assert_silent_about(UNEVEN);
    of(1024, 105 * US).assert_says(UNEVEN, Confidence::Low);
    of(1024, 96 * US).assert_silent_about(UNEVEN);
    let few = uneven().with(|lock| lock.write.hold = vec![(2048, 970), (8 * MS, 29)]);
    few.assert_silent_about(UNEVEN);
}

// One lock several times in a row.

const IN_A_ROW: &str = "take it equally often";

fn three_times() -> Lock {
    lock("Mutex").with(|lock| {
        lock.write = held(vec![(100, 1_550_000)]);
        lock.write.bounces = 100_000;
        lock.sites = vec![
            site(40, 500_000, 100),
            site(41, 500_000, 100),
            site(50, 50_000, 100),
            site(42, 495_000, 100),
        ];
    })
}

#[test]
fn lines_with_equal_counts_are_listed() {
    let advice = three_times().said(IN_A_ROW).unwrap();
    assert_texts(
        &advice,
        "3 lines take it equally often: perhaps one operation takes it 3 times in a row.",
        "acquisitions: src/store.rs:40 500,000, src/store.rs:41 500,000, src/store.rs:42 495,000; \
         another thread than the last at 6.5 % of all 1,550,000",
    );
    assert_eq!(advice.confidence(), Confidence::Medium);
}

#[test]
fn lines_up_to_2_percent_apart_are_equal() {
    let of =
        |acquisitions: u64| three_times().with(|lock| lock.sites[3].acquisitions = acquisitions);
    of(490_000).assert_says(IN_A_ROW, Confidence::Medium);
    of(489_999).assert_says(IN_A_ROW, Confidence::Low);
    let one = of(489_999).with(|lock| lock.sites[1].acquisitions = 511_000);
    one.assert_silent_about(IN_A_ROW);
}

#[test]
fn lines_that_alternate_between_threads_are_not_in_a_row() {
    let of = |bounces: u64| three_times().with(|lock| lock.write.bounces = bounces);
    of(1_550_000 / 4).assert_says(IN_A_ROW, Confidence::Medium);
    of(1_550_000 / 4 + 1).assert_silent_about(IN_A_ROW);
}

#[test]
fn lines_below_1000_acquisitions_are_not_compared() {
    let of = |n: u64| {
        queue().with(|lock| {
            lock.sites = vec![site(40, n, 100), site(41, n, 100), site(0, 30_000, 100)];
        })
    };
    of(1000).assert_says(IN_A_ROW, Confidence::Low);
    of(999).assert_silent_about(IN_A_ROW);
}

#[test]
fn the_row_of_all_others_is_not_compared() {
    let others = queue().with(|lock| {
        lock.sites = vec![site(40, 15_000, 100), site(0, 15_000, 100)];
    });
    others.assert_silent_about(IN_A_ROW);
}

#[test]
fn lines_of_a_lock_that_costs_nothing_are_not_said() {
    let slow = three_times();
    let said = |elapsed: u64| {
        let advice = snapshot(elapsed, std::slice::from_ref(&slow)).advice();
        advice
            .iter()
            .any(|advice| advice.finding().contains(IN_A_ROW))
    };
    assert!(said(3100 * MS), "31 ms of acquisitions are 1 %");
    assert!(!said(3100 * MS + 1));
}

#[test]
fn an_upgrade_is_no_acquisition_in_a_row() {
    let upgraded = queue().with(|lock| {
        lock.kind = "RwLock";
        lock.sites = vec![site(40, 15_000, 100), site(41, 15_000, 100)];
        lock.sites[0].mode = "upgradable";
    });
    upgraded.assert_silent_about(IN_A_ROW);
}

#[test]
fn a_wait_for_a_condition_variable_is_no_acquisition_in_a_row() {
    let of = |sleeps: u64| three_times().with(|lock| lock.sleeps = sleeps);
    of(500_000).assert_silent_about(IN_A_ROW);
    of(999).assert_says(IN_A_ROW, Confidence::Medium);
}

// Readers in a mutex.

const SHARED: &str = "readers could share it";

/// 10,000 holds of 50 µs, a fifth of which had to wait 60 µs.
fn long_mutex() -> Lock {
    lock("Mutex").with(|lock| {
        lock.write = held(vec![(50 * US, 10_000)]);
        lock.write.blocked = vec![(60 * US, 2000)];
    })
}

#[test]
fn readers_in_a_mutex_are_a_question() {
    let advice = long_mutex().said(SHARED).unwrap();
    assert_texts(
        &advice,
        "It is a mutex that is held for long and often waited for; readers could share it.",
        "10,000 holds of 50 µs on average; 2,000 of 10,000 acquisitions had to wait, 120 ms in all",
    );
    assert_eq!(advice.confidence(), Confidence::Low);
    assert!(
        advice
            .suggestion()
            .starts_with("If most of these holders only read")
    );
}

#[test]
fn readers_in_other_locks_are_no_question() {
    for kind in ["RwLock", "RecursiveRwLock", "ReentrantMutex"] {
        long_mutex()
            .with(|lock| lock.kind = kind)
            .assert_silent_about(SHARED);
    }
    long_mutex()
        .with(|lock| lock.kind = "FairMutex")
        .assert_says(SHARED, Confidence::Low);
}

#[test]
fn readers_in_a_mutex_need_long_holds_and_many_waits() {
    let of = |hold: u64, waits: u64| {
        long_mutex().with(|lock| {
            lock.write.hold = vec![(hold, 10_000)];
            lock.write.blocked = vec![(60 * US, waits)];
        })
    };
    of(10 * US, 1000).assert_says(SHARED, Confidence::Low);
    of(10 * US - 1, 1000).assert_silent_about(SHARED);
    of(10 * US, 999).assert_silent_about(SHARED);
}
