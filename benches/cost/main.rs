//! `cargo run --release -p instrumented-lock-benches --bin cost`: what the instrumented locks cost
//! on this machine, in some minutes. `benches/README.md` says how each figure comes about.

mod accuracy;
mod alone;
mod child;
mod first;
mod instructions;
mod many;
mod memory;
mod order;
mod output;
mod processor;
mod program;
mod recording;
mod snapshots;
mod threads;

use output::Output;
use processor::Processor;
use std::process::ExitCode;
use std::time::Instant;

/// What `--only` calls it, and what shows it.
type Show = (&'static str, fn(&mut Output));

/// Every table, in the order in which they are shown.
const TABLES: [Show; 12] = [
    ("instructions", instructions::show),
    ("alone", alone::show),
    ("threads", threads::show),
    ("many", many::show),
    ("program", program::show),
    ("recording", recording::show),
    ("lifecycle", alone::lifecycle),
    ("snapshots", snapshots::show),
    ("memory", memory::show),
    ("order", order::show),
    ("first", first::show),
    ("accuracy", accuracy::show),
];

const USAGE: &str = "usage: cost [--quick] [--only TABLE]";

fn main() -> ExitCode {
    #[cfg(feature = "peers")]
    instrumented_lock_benches::peers::quieten();

    let (mut only, mut is_quick) = (None, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match (arg.as_str(), args.len()) {
            ("--quick", _) => is_quick = true,
            ("--only", 1..) => only = args.next(),
            // How it runs itself, for what has to happen in a process of its own.
            (child::FLAG, 1..) => return child::act(&args.next().unwrap_or_default()),
            _ => return usage(),
        }
    }
    let mut tables = TABLES.to_vec();
    tables.retain(|(name, _)| only.as_deref().is_none_or(|only| only == *name));
    if tables.is_empty() {
        return usage();
    }

    let start = Instant::now();
    let mut output = Output::new(is_quick);
    println!("{}", Processor::of_this_machine());
    println!(
        "{}",
        env!("CARGO_PKG_NAME").replace("-benches", " ") + env!("CARGO_PKG_VERSION")
    );
    for (_, show) in tables {
        show(&mut output);
    }
    output.conclude();
    println!("{:.0} s", start.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    let names: Vec<_> = TABLES.iter().map(|(name, _)| *name).collect();
    eprintln!("{USAGE}\n  TABLE: {}", names.join(", "));
    ExitCode::FAILURE
}
