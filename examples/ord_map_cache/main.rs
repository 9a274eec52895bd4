//! `cargo run --release --example ord_map_cache -- [--slow|--fixed|--both] [--threads N] [--seconds S]`;
//! `examples/README.md` says what to look at. The system is
//! `instrumented_lock_examples::ord_map_cache`.

use instrumented_lock_examples::ord_map_cache::INCIDENT;
use std::process::ExitCode;

fn main() -> ExitCode {
    INCIDENT.main()
}
