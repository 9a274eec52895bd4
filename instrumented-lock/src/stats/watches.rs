//! The watches that no lock has.

use super::watch::Watch;
use crate::brief::{self, Inside};
use crate::fork::{self, Hooks, Whose};
use parking_lot::Mutex;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};

static RETIRED: Mutex<Vec<&'static Watch>> = Mutex::new(Vec::new());

/// Watches that locks have.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// As long as so few are in use, a lock keeps its watch for some time after the last waiter has left, in
/// ticks: a third of a millisecond at 3 GHz. Beyond that it loses it at once, so that locks which have
/// been waited for once keep no memory.
const FEW: usize = 1024;
const IDLE: u64 = 1 << 20;

/// A watch that is nobody's, retired.
pub(crate) fn take() -> &'static Watch {
    let _inside = Inside::enter();
    fork::call(
        Whose::Watches,
        Hooks {
            before: || mem::forget(brief::lock(&RETIRED)),
            // SAFETY: `before` has locked it and forgotten the guard, on this thread.
            after: |_| unsafe { RETIRED.force_unlock(brief::state()) },
        },
    );
    IN_USE.fetch_add(1, Ordering::Relaxed);
    let retired = brief::lock(&RETIRED).pop();
    retired.unwrap_or_else(|| Box::leak(Box::new(Watch::new())))
}

/// Takes back a watch, retired.
pub(crate) fn give_back(watch: &'static Watch) {
    let _inside = Inside::enter();
    IN_USE.fetch_sub(1, Ordering::Relaxed);
    brief::lock(&RETIRED).push(watch);
}

/// For how many ticks a lock keeps a watch that nobody uses.
pub(crate) fn kept_for() -> u64 {
    if IN_USE.load(Ordering::Relaxed) <= FEW {
        IDLE
    } else {
        0
    }
}
