//! Locks that a wrapper makes at one line are told apart by the first line outside of it, when asked.

#![cfg(feature = "stats")]

use instrumented_lock::{LockSnapshot, registry};
use wrapper::Wrapped;

#[path = "makers/wrapper.rs"]
mod wrapper;

// One test: the setting is the process's.
#[test]
fn locks_of_a_wrapper_are_told_apart_by_who_uses_them_first() {
    let names = || -> Vec<String> {
        let snapshot = registry::snapshot();
        let all = snapshot
            .locks()
            .iter()
            .filter(|lock| lock.write().acquisitions() > 0);
        all.map(|lock| lock.name().to_owned()).collect()
    };
    let before = Wrapped::new();
    *before.lock() += 1;
    assert_eq!(names().len(), 1, "not asked: {:?}", names());

    registry::set_makers(true);
    let (one, another) = (Wrapped::new(), [Wrapped::new(), Wrapped::new()]);
    let line = line!() + 1;
    *one.lock() += 1;
    for lock in &another {
        *lock.lock() += 1;
    }
    *another[0].lock() += 1;
    let found = |line: u32| -> LockSnapshot {
        let end = format!("makers.rs:{line}");
        let snapshot = registry::snapshot();
        let mut all = snapshot.locks().iter();
        let found = all.find(|lock| lock.name().contains(" from ") && lock.name().ends_with(&end));
        found
            .unwrap_or_else(|| panic!("no {end} in {:?}", names()))
            .clone()
    };
    assert_eq!(found(line).write().acquisitions(), 1);
    assert_eq!(
        (
            found(line + 2).write().acquisitions(),
            found(line + 2).used()
        ),
        (3, 2)
    );
    assert!(found(line).name().contains("wrapper.rs:"));
    assert_eq!(names().len(), 3);

    registry::set_makers(false);
    *Wrapped::new().lock() += 1;
    assert_eq!(names().len(), 3);
}
