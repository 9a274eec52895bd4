//! `cargo run --release --example ozone_lock_metrics -- [--slow|--fixed|--both] [--threads N] [--seconds S]`;
//! `examples/README.md` says what to look at. The system is
//! `instrumented_lock_examples::ozone_lock_metrics`.

use instrumented_lock_examples::ozone_lock_metrics::INCIDENT;
use std::process::ExitCode;

fn main() -> ExitCode {
    INCIDENT.main()
}
