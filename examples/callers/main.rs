//! `cargo run --release --example callers`: all take a lock in one helper; stacks say who called it.
//! `examples/README.md` says what to look at; the system is `instrumented_lock_examples::callers`.

use instrumented_lock_examples::callers::{assert_found, run};
use std::time::Duration;

fn main() {
    let snapshot = run(Duration::from_secs(1));
    println!("{snapshot}");
    print!("{}", assert_found(&snapshot));
}
