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
use samples::{Samples, Scratch, Totals};

/// As the library does it: the first sample slowly, the next one fast.
fn record(samples: &Samples, ns: u64) {
    let previous = samples.pending();
    if !previous.is_some_and(|previous| samples.record_fast(previous, ns, || ())) {
        samples.record(ns, || ());
    }
}

/// What a reader sees belongs together: with samples of 2 and 5 in turn, everything follows
/// from the count.
fn check(samples: &Samples) -> u64 {
    let mut totals = Totals::new();
    samples.read(&mut totals, &mut Scratch::new(), || ());
    let (twos, fives) = (totals.count.div_ceil(2), totals.count / 2);
    assert_eq!(totals.sum, u128::from(2 * twos + 5 * fives));
    assert_eq!(totals.squares, u128::from(4 * twos + 25 * fives));
    assert_eq!(totals.buckets.iter().sum::<u64>(), totals.count);
    if totals.count > 0 {
        assert_eq!((totals.min, totals.max), (2, if fives > 0 { 5 } else { 2 }));
    }
    totals.count
}

// The writer is the model's main thread: loom branches where a load meets another thread's store,
// and a writer that loads its own counters first would hide the reader's earlier loads from it.
#[test]
fn a_reader_sees_every_record_whole_or_not_at_all() {
    let mut model = loom::model::Builder::new();
    // Every interleaving would take hours; each ordering in the file is needed within two preemptions.
    model.preemption_bound = Some(2);
    model.check(|| {
        let samples = Arc::new(Samples::new());
        let reader = {
            let samples = Arc::clone(&samples);
            loom::thread::spawn(move || check(&samples))
        };
        record(&samples, 2);
        record(&samples, 5);
        assert!(reader.join().unwrap() <= 2);
        assert_eq!(check(&samples), 2);
    });
}

#[test]
fn a_stripe_goes_on_where_its_last_owner_stopped() {
    loom::model(|| {
        let samples = Arc::new(Samples::new());
        // The slot's bit: released by the one owner, acquired by the next.
        let taken = Arc::new(loom::sync::atomic::AtomicBool::new(true));
        let first = {
            let (samples, taken) = (Arc::clone(&samples), Arc::clone(&taken));
            loom::thread::spawn(move || {
                record(&samples, 2);
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
