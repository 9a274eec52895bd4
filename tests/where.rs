//! The examples that say where exactly, in a small size: each asserts what it finds.

use instrumented_lock_examples::slow_request;
use std::time::Duration;

#[test]
fn slow_request_is_found_by_its_operation() {
    let snapshot = slow_request::run(Duration::from_millis(500));
    slow_request::assert_found(&snapshot);
}
