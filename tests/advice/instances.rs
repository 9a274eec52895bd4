//! Advice on classes of several locks: one that everybody waits for, and all that are waited for alike.

use crate::figures::{Lock, MS, assert_texts, held, lock};
use instrumented_lock::Confidence;

const ONE: &str = "of the waiting.";
const EVEN: &str = "spread evenly";

/// 1,000 holds and 200 waits of 2 ms: `of` says for which of 64 locks how many of them were.
fn shards(of: &[(&'static str, u64)]) -> Lock {
    lock("Mutex").with(|lock| {
        lock.instances = 64;
        lock.write = held(vec![(100_000, 1000)]);
        lock.write.blocked = vec![(2 * MS, of.iter().map(|(_, waits)| waits).sum())];
        lock.waited_for = of
            .iter()
            .map(|&(label, waits)| (label, waits, waits * 2 * MS))
            .collect();
    })
}

#[test]
fn one_hot_lock_of_many_is_named() {
    let advice = shards(&[("shard 17", 186), ("shard 3", 14)])
        .said(ONE)
        .unwrap();
    assert_texts(
        &advice,
        "1 of 64 locks of this class has 93 % of the waiting.",
        "shard 17: 372 ms in 186 waits; the next is shard 3: 28 ms in 14 waits; 200 of 1,000 \
         acquisitions had to wait, 400 ms in all",
    );
    assert_eq!(advice.confidence(), Confidence::High);
}

#[test]
fn from_60_percent_on_it_is_most() {
    shards(&[("a", 120), ("b", 80)]).assert_says(ONE, Confidence::Medium);
    shards(&[("a", 119), ("b", 81)]).assert_silent_about(ONE);
    // Too few waits to be sure.
    shards(&[("a", 80), ("b", 10)]).assert_says(ONE, Confidence::Medium);
    shards(&[("a", 90), ("b", 10)]).assert_says(ONE, Confidence::High);
    shards(&[("a", 9)]).assert_silent_about(ONE);
}

#[test]
fn few_locks_are_no_shards() {
    let of = |n| shards(&[("a", 180), ("b", 20)]).with(|lock| lock.instances = n);
    of(3).assert_silent_about(ONE);
    of(5).assert_says(ONE, Confidence::High);
    // 90 % is not four times a quarter.
    of(4).assert_silent_about(ONE);
}

const LABELS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

#[test]
fn an_even_spread_is_said_too() {
    let even = shards(&LABELS.map(|label| (label, 25))).with(|lock| lock.instances = 8);
    let advice = even.said(EVEN).unwrap();
    assert_texts(
        &advice,
        "The waiting is spread evenly over 8 locks.",
        "the one that is waited for most has 50 ms in 25 waits, 12 % of all, 1.0 times the average; \
         200 of 1,000 acquisitions had to wait, 400 ms in all",
    );
    assert_eq!(advice.confidence(), Confidence::Medium);
    even.assert_silent_about(ONE);
}

#[test]
fn neither_is_said_of_what_lies_between() {
    let with = |first| {
        let mut of = LABELS.map(|label| (label, 20));
        of[0].1 = first;
        shards(&of).with(|lock| lock.instances = 8)
    };
    with(80).assert_silent_about(ONE);
    with(85).assert_silent_about(EVEN);
    with(84).assert_says(EVEN, Confidence::Medium);
    // Of 64 locks only eight are waited for: that is no even spread over all.
    shards(&LABELS.map(|label| (label, 25))).assert_silent_about(EVEN);
}
