//! `cargo run --release --example hot_shard`: 64 shards, and all wait for one of them; then the same with a better
//! hash. `examples/README.md` says what to look at; the system is `instrumented_lock_examples::hot_shard`.

use instrumented_lock_examples::hot_shard::{Hash, assert_found, assert_not_found, run};
use std::time::Duration;

fn main() {
    let snapshot = run(Hash::LastBits, Duration::from_secs(1));
    println!("{snapshot}");
    println!("{}\n", assert_found(&snapshot));
    let snapshot = run(Hash::Mixed, Duration::from_secs(1));
    println!("with a better hash: {snapshot}");
    assert_not_found(&snapshot);
}
