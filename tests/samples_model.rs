//! The sequence lock of `stats/samples.rs`, under every interleaving that loom finds.
//!
//! The file is compiled here against loom's atomics and a histogram of three buckets; everything
//! else in it is what the library ships.

#![allow(dead_code, unreachable_pub, missing_docs, clippy::pedantic)]

mod sync {
    pub(super) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
    pub(super) use loom::thread::yield_now;
}

mod histogram {
    pub(crate) const BUCKETS: usize = 3;

    pub(crate) fn bucket_of(ns: u64) -> usize {
        place_of(ns).min(BUCKETS - 1)
    }

    pub(crate) fn place_of(ns: u64) -> usize {
        usize::from(ns > 0) + usize::from(ns > 3)
    }
}

#[path = "../instrumented-lock/src/stats/samples.rs"]
mod samples;

use loom::sync::Arc;
use samples::{Samples, Scratch, Tally, Totals};

struct Recorded {
    samples: Samples,
    tally: Tally,
}

impl Recorded {
    fn new() -> Self {
        Recorded {
            samples: Samples::new(),
            tally: Tally::new(),
        }
    }
}

/// As the library does it: fast if it can be. Returns whether it could.
fn record(Recorded { samples, tally }: &Recorded, ns: u64) -> bool {
    let fast = |previous| samples.record_fast(previous, ns, tally, || ());
    let recorded = samples.pending().is_some_and(fast);
    if !recorded {
        samples.record(ns, tally, || ());
    }
    recorded
}

/// What a reader sees belongs together: of the samples 5, 5, 2, 5 in this order, everything follows
/// from the count.
fn check(Recorded { samples, tally }: &Recorded) -> u64 {
    let mut totals = Totals::new();
    samples.read(&mut totals, &mut Scratch::new(), || tally.get());
    let twos = u64::from(totals.count > 2);
    let fives = totals.count - twos;
    assert_eq!(totals.sum, u128::from(2 * twos + 5 * fives));
    assert_eq!(totals.squares, u128::from(4 * twos + 25 * fives));
    assert_eq!(totals.buckets.iter().sum::<u64>(), totals.count);
    if totals.count > 0 {
        assert_eq!((totals.min, totals.max), (if twos > 0 { 2 } else { 5 }, 5));
    }
    totals.count
}

// The writer is the model's main thread: loom branches where a load meets another thread's store,
// and a writer that loads its own counters first would hide the reader's earlier loads from it.
fn model(write: impl Fn(&Recorded) + Sync + Send + 'static, prepare: fn(&Recorded)) {
    let mut model = loom::model::Builder::new();
    // Every interleaving would take hours; each ordering in the file is needed within two preemptions.
    model.preemption_bound = Some(2);
    model.check(move || {
        let recorded = Arc::new(Recorded::new());
        prepare(&recorded);
        let before = check(&recorded);
        let reader = {
            let recorded = Arc::clone(&recorded);
            loom::thread::spawn(move || check(&recorded))
        };
        write(&recorded);
        let after = check(&recorded);
        assert!((before..=after).contains(&reader.join().unwrap()));
    });
}

#[test]
fn a_reader_sees_a_slow_record_whole_or_not_at_all() {
    let write = |recorded: &Recorded| assert!(!record(recorded, 5) && !record(recorded, 5));
    model(write, |_| ());
}

#[test]
fn a_reader_sees_a_fast_record_whole_or_not_at_all() {
    // The first two fill the bucket that a fast one then moves the second to.
    let prepare = |recorded: &Recorded| assert!(!record(recorded, 5) && !record(recorded, 5));
    model(|recorded| assert!(record(recorded, 2)), prepare);
}

#[test]
fn a_stripe_goes_on_where_its_last_owner_stopped() {
    loom::model(|| {
        let samples = Arc::new(Recorded::new());
        // The slot's bit: released by the one owner, acquired by the next.
        let taken = Arc::new(loom::sync::atomic::AtomicBool::new(true));
        let first = {
            let (samples, taken) = (Arc::clone(&samples), Arc::clone(&taken));
            loom::thread::spawn(move || {
                record(&samples, 5);
                taken.store(false, loom::sync::atomic::Ordering::Release);
            })
        };
        while taken.load(loom::sync::atomic::Ordering::Acquire) {
            loom::thread::yield_now();
        }
        record(&samples, 5);
        assert_eq!(check(&samples), 2);
        first.join().unwrap();
    });
}
