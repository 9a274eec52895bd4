//! `cargo run --release --example slow_request`: three kinds of request share a lock, all wait for it, and one of
//! them is why. `examples/README.md` says what to look at; the system is
//! `instrumented_lock_examples::slow_request`.

use instrumented_lock_examples::slow_request::{assert_found, run};
use std::time::Duration;

fn main() {
    let snapshot = run(Duration::from_secs(1));
    println!("{snapshot}");
    let culprit = assert_found(&snapshot);
    println!(
        "{culprit} is one request in a hundred, and what the others wait for: collect the keys in pieces."
    );
}
