//! What `#[instrumented]` accepts, one rule a file, all in one crate: it compiles, and it runs. What has
//! to be a crate of its own is beside it: `code.rs`, `strict_lints.rs` and `without_imports.rs`.

#![allow(
    clippy::all,
    clippy::pedantic,
    dead_code,
    unused_assignments,
    reason = "what is accepted need not be good style"
)]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

macro_rules! accepted {
    ($($name:ident: $path:literal;)*) => {$(
        #[path = $path]
        mod $name;

        #[test]
        fn $name() {
            within_a_minute($name::main);
        }
    )*};
}

/// What is accepted must not wait for itself.
fn within_a_minute(run: fn()) {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        run();
        sender.send(()).expect("somebody waits");
    });
    let ended = receiver.recv_timeout(Duration::from_secs(60));
    ended.expect("it neither hangs nor panics");
}

accepted! {
    bad_rank: "pass/bad_rank/silent.rs";
    discarded_guard_kept: "pass/discarded_guard/kept.rs";
    discarded_guard: "pass/discarded_guard/silent.rs";
    duplicate_name: "pass/duplicate_name/silent.rs";
    foreign_lock: "pass/foreign_lock/silent.rs";
    guard_across_await_async_locks: "pass/guard_across_await/async_locks.rs";
    guard_across_await: "pass/guard_across_await/silent.rs";
    guard_across_call: "pass/guard_across_call/silent.rs";
    handles: "pass/handles/silent.rs";
    lock_of_atomic: "pass/lock_of_atomic/silent.rs";
    nested_lock: "pass/nested_lock/silent.rs";
    poisoning: "pass/poisoning/silent.rs";
    rank_order: "pass/rank_order/silent.rs";
    relock_closures: "pass/relock/closures.rs";
    relock_more: "pass/relock/more.rs";
    relock_not_a_lock: "pass/relock/not_a_lock.rs";
    relock: "pass/relock/silent.rs";
    relock_values: "pass/relock/values.rs";
    scrutinee_guard_needed: "pass/scrutinee_guard/needed.rs";
    scrutinee_guard: "pass/scrutinee_guard/silent.rs";
    stored_guard: "pass/stored_guard/silent.rs";
    unshared_lock: "pass/unshared_lock/silent.rs";
    unwind_and_send: "pass/unwind_and_send.rs";
}
