//! Locks behind handles have the names of the fields that they become: `#[instrumented]` on the code that
//! makes them says so, and their types do not.
//!
//! Each shape has a module, so that the module path tells its classes from all others.

#![cfg(feature = "stats")]
#![allow(
    clippy::all,
    clippy::pedantic,
    unused_qualifications,
    unreachable_pub,
    dead_code,
    reason = "code as people write it"
)]

#[path = "handles/fields.rs"]
mod fields;
#[path = "handles/functions.rs"]
mod functions;
#[path = "handles/hints.rs"]
mod hints;
#[path = "handles/lines.rs"]
mod lines;
#[path = "handles/modules.rs"]
mod modules;
#[path = "handles/structs.rs"]
mod structs;

use instrumented_lock::{LockKind, registry};

/// The kind of the used class of that name, below this program's name.
fn kind(name: &str) -> Option<LockKind> {
    let whole = format!("{}::{name}", module_path!());
    let snapshot = registry::snapshot();
    let found: Vec<_> = snapshot
        .locks()
        .iter()
        .filter(|lock| lock.name() == whole)
        .collect();
    assert!(found.len() <= 1, "{found:?}");
    found.first().map(|lock| lock.kind())
}

/// Whether a lock of that name has been taken so often, by whom does not matter.
#[track_caller]
fn taken(name: &str, times: u64) {
    let whole = format!("{}::{name}", module_path!());
    let snapshot = registry::snapshot();
    let all = || snapshot.locks().iter();
    let found: Vec<_> = all().filter(|lock| lock.name() == whole).collect();
    let below: Vec<_> = all()
        .filter(|lock| lock.write().acquisitions() + lock.read().acquisitions() > 0)
        .map(instrumented_lock::LockSnapshot::name)
        .collect();
    assert_eq!(found.len(), 1, "{name}: {below:#?}");
    let taken = found[0].write().acquisitions() + found[0].read().acquisitions();
    assert_eq!(taken, times, "{name}: {below:#?}");
}
