//! What several test programs share: locks that are declared in another crate, and the mock clock.

use instrumented_lock::clock::Mock;
use instrumented_lock::{LockSnapshot, RwLock, Snapshot, instrumented, registry};

/// A lock of another crate than the test program that looks for it.
#[instrumented]
pub static ELSEWHERE: RwLock<u32> = RwLock::new(0);

/// The mock clock, in a process whose tests all use it.
///
/// # Panics
///
/// Where a test of the process has used a lock with the real clock.
pub fn mock_clock() -> Mock {
    Mock::install().expect("every test of this program installs the mock clock first")
}

/// The figures of the lock named `name` so far.
///
/// # Panics
///
/// Where there is no such lock, or more than one.
#[must_use]
pub fn figures(name: &str) -> LockSnapshot {
    figures_in(&registry::snapshot(), name)
}

/// The figures of the lock named `name` in `snapshot`.
///
/// # Panics
///
/// Where there is no such lock, or more than one.
#[must_use]
pub fn figures_in(snapshot: &Snapshot, name: &str) -> LockSnapshot {
    let names = || {
        snapshot
            .locks()
            .iter()
            .map(LockSnapshot::name)
            .collect::<Vec<_>>()
    };
    snapshot
        .lock(name)
        .unwrap_or_else(|| panic!("no `{name}` in {:?}", names()))
        .clone()
}
