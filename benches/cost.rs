//! `cargo run --release -p instrumented-lock-benches --bin cost`: what an uncontended lock and
//! unlock costs on this machine, in some seconds: medians over rounds in which all cases take
//! turns, and the ratio to the floor of the same run.

use instrumented_lock::registry;
use instrumented_lock_benches::{Case, FLOORS, OFF, OURS, time};

const ROUNDS: usize = 61;
const PAIRS: u64 = 100_000;

fn main() {
    let floors = FLOORS.into_iter().map(|case| (case, None, true));
    let ours = OURS
        .into_iter()
        .map(|(case, floor)| (case, Some(floor), true));
    let cases: Vec<_> = floors
        .chain(ours)
        .chain([(OFF.0, Some(OFF.1), false)])
        .collect();

    let mut samples = vec![Vec::with_capacity(ROUNDS); cases.len()];
    for _ in 0..ROUNDS {
        for ((case, _, enabled), samples) in cases.iter().zip(&mut samples) {
            registry::set_enabled(*enabled);
            samples.push(time(case.run, PAIRS));
        }
    }
    registry::set_enabled(true);
    let medians: Vec<f64> = samples.into_iter().map(median).collect();
    let of = |name: &str| {
        cases
            .iter()
            .zip(&medians)
            .find(|((case, ..), _)| case.name == name)
            .map(|(_, ns)| *ns)
    };

    println!("{}", machine());
    println!("median of {ROUNDS} interleaved rounds of {PAIRS}, one thread\n");
    println!("| ns for one lock and unlock | median | ratio |\n|---|---|---|");
    for ((Case { name, .. }, floor, _), ns) in cases.iter().zip(&medians) {
        let ratio = floor.and_then(|floor| Some((ns / of(floor)?, floor)));
        let ratio = ratio.map_or(String::new(), |(ratio, floor)| {
            format!("{ratio:.2} × ({floor})")
        });
        println!("| {name} | {ns:.1} | {ratio} |");
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// The processor's name, as far as the system tells.
fn machine() -> String {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = name.map_or(std::env::consts::ARCH, |(_, name)| name);
    format!("{name}, {cpus} processors, {}", std::env::consts::OS)
}
