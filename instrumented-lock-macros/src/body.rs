//! Finds the lock mistakes in a function's body, by walking through it once as the program would:
//! statement by statement, with the guards that are certainly alive.
//!
//! What it cannot see it says nothing about. A lock is a field of `self`, a static, or a local
//! binding that is visibly a lock; a guard is what such a lock's method returns, as long as it
//! stays in the binding that it was put in, or as a temporary. Where branches meet, a guard is
//! alive if it is in all of them that go on; a guard that moves leaves the view. Closures and
//! `async` blocks are walked on their own: they run later, or never.
//!
//! `walker` is who walks, and what it knows at one point; `bind`, `scrutinee` and `report` look at
//! that point; `walk` is the way from one to the next.

mod bind;
mod chain;
mod finding;
mod lock;
mod loops;
mod macros;
mod other_locks;
mod place;
mod report;
mod scrutinee;
mod state;
mod walk;
mod walker;

use crate::rule::Rules;
pub(crate) use finding::{Finding, Site, Unless};
pub(crate) use other_locks::{in_body, in_impl};
use std::collections::HashSet;
use syn::{Block, FnArg, PatType, Signature};
pub(crate) use walker::Settings;
use walker::Walker;

pub(crate) fn check(sig: &Signature, body: &Block, settings: Settings<'_>) -> Vec<Finding> {
    let mut walker = Walker::new(settings);
    for argument in &sig.inputs {
        if let FnArg::Typed(PatType { pat, ty, .. }) = argument {
            walker.bind_argument(pat, ty);
        }
    }
    walker.block(body);
    walker.findings
}

/// Whether the body visibly takes a lock, and which methods of `self` it calls.
pub(crate) fn locking(body: &Block, others: &HashSet<String>) -> (bool, HashSet<String>) {
    let none = HashSet::new();
    let settings = Settings {
        allowed: Rules::default(),
        denied: Rules::default(),
        locking: &none,
        others,
        is_poisoning: false,
    };
    let mut walker = Walker::new(settings);
    walker.block(body);
    (walker.has_locked, walker.calls)
}
