//! Rules about the kind of lock: reader-writer locks that another one would do better.

use super::case::{Case, percent, ratio, share, times};
use super::thresholds::{
    BOUNCING, COST_OF_BOUNCE, MANY, MUCH_TIME, OF_TIME, READS, SHORT_READ, SOME, UPGRADED,
    VERY_MANY, WAITS, WRITES,
};
use super::{Advice, Confidence};
use crate::report::units::{count, time};
use crate::snapshot::ModeSnapshot;

fn attempts(mode: &ModeSnapshot) -> u64 {
    mode.acquisitions()
        .saturating_add(mode.try_failures())
        .saturating_add(mode.timeouts())
}

/// How sure it is that what has not happened in so many acquisitions does not happen.
fn never_in(acquisitions: u64) -> Confidence {
    if acquisitions >= VERY_MANY {
        Confidence::Medium
    } else {
        Confidence::Low
    }
}

/// Reads that are over before a second reader could profit, from one thread to the next.
pub(super) fn short_reads(case: &Case<'_>) -> Option<Advice> {
    let read = case.lock.read();
    let hold = read.hold().mean()?;
    let (all, bounces) = (case.acquisitions(), case.lock.bounces());
    let is_read = read.acquisitions() >= MANY && share(read.acquisitions(), all) >= READS;
    let cost = times(COST_OF_BOUNCE, bounces);
    let is_bouncing = share(bounces, all) >= BOUNCING && case.is_worth(cost);
    if !(case.is_rwlock() && is_read && hold < SHORT_READ && is_bouncing) {
        return None;
    }
    let evidence = format!(
        "{} reads of {} on average and {} writes; {} of all acquisitions came from another thread \
         than the last",
        count(read.acquisitions()),
        time(hold),
        count(case.lock.write().acquisitions()),
        percent(share(bounces, all)),
    );
    Some(case.advice(
        if ratio(cost, case.elapsed) >= MUCH_TIME {
            Confidence::High
        } else {
            Confidence::Medium
        },
        "Its reads are as short as the lock itself is expensive, and it goes from thread to \
         thread: readers wait for its cache line, not for writers.",
        evidence,
        "A `Mutex` costs less than an `RwLock` here; sharding spreads the cache line; where \
         writes are rare, `arc-swap` or another read-copy-update lets readers do without the lock.",
    ))
}

/// Only ever written.
pub(super) fn never_read(case: &Case<'_>) -> Option<Advice> {
    let (write, read) = (case.lock.write().acquisitions(), case.lock.read());
    let others = attempts(read).saturating_add(attempts(case.lock.upgradable()));
    if !case.is_rwlock() || write < MANY || others > 0 {
        return None;
    }
    Some(case.advice(
        never_in(write),
        "It is an `RwLock` that nobody reads.",
        format!("{} writes, no reads", count(write)),
        "A `Mutex` is smaller and cheaper; or some of the writers only read.",
    ))
}

/// So little read that a mutex would make nobody wait for it.
pub(super) fn hardly_read(case: &Case<'_>) -> Option<Advice> {
    let (write, read) = (case.lock.write().acquisitions(), case.lock.read());
    let all = case.acquisitions();
    let is_written = all >= MANY && share(write, all) >= WRITES;
    // Holds in flight are of unknown length.
    let is_over = read.acquisitions() <= read.releases();
    let shared = ratio(read.hold().sum(), case.elapsed);
    let is_only_read = read.acquisitions() > 0 && attempts(case.lock.upgradable()) == 0;
    if !(case.is_rwlock() && is_written && is_over && is_only_read && shared <= OF_TIME) {
        return None;
    }
    Some(case.advice(
        Confidence::Medium,
        "It is an `RwLock` that is hardly ever read, and so has next to nothing to share.",
        format!(
            "{} writes, {} reads; all reads together hold it for {} of {}",
            count(write),
            count(read.acquisitions()),
            time(read.hold().sum()),
            time(case.elapsed),
        ),
        "A `Mutex` is smaller and cheaper, and could make others wait for no longer than these \
         reads hold.",
    ))
}

/// Only ever read.
pub(super) fn never_written(case: &Case<'_>) -> Option<Advice> {
    let (read, write) = (case.lock.read().acquisitions(), case.lock.write());
    let others = attempts(write).saturating_add(attempts(case.lock.upgradable()));
    if !case.is_rwlock() || read < MANY || others > 0 {
        return None;
    }
    Some(case.advice(
        never_in(read),
        "It is an `RwLock` that nobody writes.",
        format!("{} reads, no writes", count(read)),
        "What is fixed after the start needs no lock: an `Arc`, a `OnceLock` or a `LazyLock`; what \
         is replaced as a whole now and then suits `arc-swap`.",
    ))
}

/// One thread at all acquisitions of each lock: then no two reads overlap.
pub(super) fn one_thread(case: &Case<'_>) -> Option<Advice> {
    let read = case.lock.read().acquisitions();
    if !case.is_rwlock() || read < MANY || case.lock.bounces() > 0 {
        return None;
    }
    let (finding, locks) = match case.lock.used() {
        0 | 1 => ("It is an `RwLock` that only one thread uses", String::new()),
        n => (
            "They are `RwLock`s that only one thread each uses",
            format!(" of {} locks", count(n)),
        ),
    };
    Some(case.advice(
        never_in(read),
        format!("{finding}, and so is never read concurrently."),
        format!(
            "{} acquisitions{locks}, {} of them reads, none by another thread than the last",
            count(case.acquisitions()),
            count(read)
        ),
        "If that is meant, a `RefCell` in the thread that owns it does without a lock, and a \
         `Mutex` costs less.",
    ))
}

/// Upgradable acquisitions, which exclude each other, for nothing.
pub(super) fn never_upgraded(case: &Case<'_>) -> Option<Advice> {
    let upgradable = case.lock.upgradable();
    // An upgrade is a write; which of the writes are upgrades is not recorded.
    let writes = attempts(case.lock.write());
    let at_most = share(writes, upgradable.acquisitions());
    if upgradable.acquisitions() < SOME || at_most > UPGRADED {
        return None;
    }
    let (confidence, finding) = if writes > 0 {
        (
            Confidence::Low,
            "Hardly any of its upgradable locks are upgraded.",
        )
    } else if upgradable.contended() >= WAITS {
        (
            Confidence::High,
            "Nobody upgrades its upgradable locks, and they wait for each other.",
        )
    } else {
        (Confidence::Medium, "Nobody upgrades its upgradable locks.")
    };
    Some(case.advice(
        confidence,
        finding,
        format!(
            "{} upgradable acquisitions, {} of them had to wait; {} writes, upgrades included",
            count(upgradable.acquisitions()),
            count(upgradable.contended()),
            count(writes)
        ),
        "Only one thread at a time can have it upgradably. Use `read()`; where a write turns out \
         to be needed, let go, take `write()` and look again.",
    ))
}
