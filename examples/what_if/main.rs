//! `cargo run --release --example what_if`: what would come of shorter holds, shards, readers that share; and what
//! then does. `examples/README.md` says what to look at; the systems are in `instrumented_lock_examples::what_if`.

use instrumented_lock_examples::what_if::{SYSTEMS, check};
use std::time::Duration;

fn main() {
    for system in &SYSTEMS {
        let checked = check(system, Duration::from_secs(1));
        println!("{}", system.name);
        match &checked.prediction {
            Ok(prediction) => println!("  predicted: {prediction}"),
            Err(reason) => println!("  nothing predicted: {reason}"),
        }
        println!("  then:      {:.2} times as many", checked.gain);
    }
}
