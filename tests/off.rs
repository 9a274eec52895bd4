//! With the feature `stats` off nothing is left: `parking_lot`'s sizes, and a snapshot that says so.
//! `.ci/off` runs this, and compares the machine code.

#![cfg(not(feature = "stats"))]

use instrumented_lock::{
    Condvar, FairMutex, Mutex, MutexGuard, RecursiveRwLock, ReentrantMutex, RwLock,
    RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard, budget, instrumented, registry,
    timeline,
};
use std::mem::{align_of, size_of};
use std::time::Duration;

#[instrumented]
#[derive(Default)]
struct Annotated {
    mutex: Mutex<u64>,
    fair: FairMutex<u8>,
    reentrant: ReentrantMutex<u64>,
    rwlock: RwLock<u64>,
    recursive: RecursiveRwLock<u16>,
    condvar: Condvar,
}

/// The same struct as somebody would write it with `parking_lot`.
#[derive(Default)]
struct Plain {
    _mutex: parking_lot::Mutex<u64>,
    _fair: parking_lot::FairMutex<u8>,
    _reentrant: parking_lot::ReentrantMutex<u64>,
    _rwlock: parking_lot::RwLock<u64>,
    _recursive: parking_lot::RecursiveRwLock<u16>,
    _condvar: parking_lot::Condvar,
}

macro_rules! assert_same_layout {
    ($($Ours:ty, $Theirs:ty;)*) => {
        $(
            assert_eq!(size_of::<$Ours>(), size_of::<$Theirs>(), stringify!($Ours));
            assert_eq!(align_of::<$Ours>(), align_of::<$Theirs>(), stringify!($Ours));
        )*
    };
}

#[test]
fn locks_and_guards_have_the_layout_of_parking_lots() {
    assert_same_layout! {
        Mutex<u64>, parking_lot::Mutex<u64>;
        Mutex<()>, parking_lot::Mutex<()>;
        FairMutex<u8>, parking_lot::FairMutex<u8>;
        ReentrantMutex<u64>, parking_lot::ReentrantMutex<u64>;
        RwLock<u64>, parking_lot::RwLock<u64>;
        RecursiveRwLock<u16>, parking_lot::RecursiveRwLock<u16>;
        Condvar, parking_lot::Condvar;
        MutexGuard<'_, u64>, parking_lot::MutexGuard<'_, u64>;
        RwLockReadGuard<'_, u64>, parking_lot::RwLockReadGuard<'_, u64>;
        RwLockWriteGuard<'_, u64>, parking_lot::RwLockWriteGuard<'_, u64>;
        RwLockUpgradableReadGuard<'_, u64>, parking_lot::RwLockUpgradableReadGuard<'_, u64>;
        Annotated, Plain;
    }
}

#[test]
fn a_snapshot_is_empty_and_says_why() {
    let annotated = Annotated::default();
    *annotated.mutex.lock() += 1;
    *annotated.fair.lock() += 1;
    drop((annotated.reentrant.lock(), annotated.reentrant.lock()));
    *annotated.rwlock.write() += 1;
    *annotated.recursive.write() += 1;
    assert!(!annotated.condvar.notify_one());

    registry::set_enabled(true);
    assert!(!registry::is_enabled());
    assert!(registry::classes().is_empty());
    let snapshot = registry::snapshot();
    assert!(!snapshot.is_enabled() && snapshot.locks().is_empty());
    let table = snapshot.to_string();
    assert!(
        table.contains("recording is off") && table.contains("feature `stats`"),
        "{table}"
    );
}

#[test]
fn a_budget_counts_nothing_and_holds() {
    let annotated = Annotated::default();
    let add = || budget::handle().run(|| *annotated.mutex.lock() += 1);
    let used = budget::measure(add);
    assert_eq!(
        (used.acquisitions("Annotated::mutex"), used.total()),
        (0, 0)
    );
    budget::assert_at_most!(0, "Annotated::mutex", || add());
    budget::assert_at_most!(used, { "Annotated::mutex" => 0, "nobody's" => 0 });
    assert_eq!(*annotated.mutex.lock(), 2);
}

#[test]
fn a_timeline_is_empty_and_there_may_be_several() {
    let lock = instrumented_lock::drop_in::Mutex::new(0);
    let recording = timeline::start().unwrap();
    let timeline = timeline::record(Duration::from_millis(1)).unwrap();
    *lock.lock() += 1;
    for timeline in [timeline, recording.stop()] {
        assert_eq!((timeline.holds(), timeline.events().len()), (0, 0));
        let trace: serde_json::Value = serde_json::from_str(&timeline.to_trace()).unwrap();
        assert!(trace["traceEvents"].is_array());
    }
}
