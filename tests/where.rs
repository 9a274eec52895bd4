//! The examples that say where exactly, in a small size: each asserts what it finds.

use instrumented_lock_examples::hot_shard::{self, Hash};
use instrumented_lock_examples::{callers, slow_request};
use std::time::Duration;

#[test]
fn slow_request_is_found_by_its_operation() {
    let snapshot = slow_request::run(Duration::from_millis(500));
    slow_request::assert_found(&snapshot);
}

#[test]
fn who_calls_a_helper_is_found_by_its_stack() {
    let snapshot = callers::run(Duration::from_millis(500));
    callers::assert_found(&snapshot);
}

#[test]
fn hot_shard_is_found_by_its_label() {
    let time = Duration::from_millis(500);
    hot_shard::assert_found(&hot_shard::run(Hash::LastBits, time));
    hot_shard::assert_not_found(&hot_shard::run(Hash::Mixed, time));
}
