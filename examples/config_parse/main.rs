//! `cargo run --release --example config_parse -- [--slow|--fixed|--both] [--threads N] [--seconds S]`;
//! `examples/README.md` says what to look at. The system is
//! `instrumented_lock_examples::config_parse`.

use instrumented_lock_examples::config_parse::INCIDENT;
use std::process::ExitCode;

fn main() -> ExitCode {
    INCIDENT.main()
}
