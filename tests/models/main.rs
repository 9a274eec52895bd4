//! What the library does without locks, under every interleaving that loom finds. One program, so that the
//! longest of each file run side by side.

#![allow(
    dead_code,
    unexpected_cfgs,
    unreachable_pub,
    missing_docs,
    clippy::pedantic
)]

mod log_model;
#[path = "../../instrumented-lock/src/mode.rs"]
mod mode;
mod watch_model;

/// Every interleaving, or those of so many preemptions where that would take minutes.
pub fn model(preemptions: impl Into<Option<usize>>, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemptions.into();
    model.max_branches = 10_000;
    model.check(f);
}
