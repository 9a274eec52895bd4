//! `cargo run --release --example hsm_coordinator -- [--slow|--fixed|--both] [--threads N] [--seconds S]`;
//! `examples/README.md` says what to look at. The system is
//! `instrumented_lock_examples::hsm_coordinator`.

use instrumented_lock_examples::hsm_coordinator::INCIDENT;
use std::process::ExitCode;

fn main() -> ExitCode {
    INCIDENT.main()
}
