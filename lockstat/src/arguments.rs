//! The command line. What is said of it is what `--help` says.

#![allow(clippy::doc_markdown, reason = "a terminal shows it as it is")]

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Shows, compares and exports what programs with instrumented-lock have recorded, and runs them so that they
/// leave a report.
///
/// A SOURCE is a file of JSON (a snapshot, or a line for each interval, as INSTRUMENTED_LOCK=report=FILE.json
/// and every=10s leave them), `-` for standard input, or an http:// address of a program that serves
/// /locks.json.
#[derive(Debug, Parser)]
#[command(name = "lockstat", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prints a snapshot as a table.
    Show {
        /// What to show.
        #[arg(default_value = "-")]
        source: String,
        /// One line for a lock and mode, with everything in it.
        #[arg(long, conflicts_with = "form")]
        wide: bool,
        /// What to print.
        #[arg(long = "as", value_enum, default_value_t)]
        form: Form,
    },
    /// Prints what came between two snapshots of one process.
    Diff {
        /// The earlier one.
        before: String,
        /// The later one.
        after: String,
        /// One line for a lock and mode, with everything in it.
        #[arg(long, conflicts_with = "form")]
        wide: bool,
        /// What to print.
        #[arg(long = "as", value_enum, default_value_t)]
        form: Form,
    },
    /// Adds snapshots of several processes up, as JSON.
    Merge {
        /// What to add up.
        #[arg(required = true)]
        sources: Vec<String>,
        /// The file to write, in place of standard output.
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
    /// Says what the figures mean and what people do about it.
    Advice {
        /// What to look at.
        #[arg(default_value = "-")]
        source: String,
        /// An earlier snapshot of the same process: the advice is on the time since then.
        #[arg(long)]
        since: Option<String>,
    },
    /// Makes a page for a browser, with nothing to load from anywhere.
    Html {
        /// What to show.
        #[arg(default_value = "-")]
        source: String,
        /// The file to write, in place of standard output.
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
    /// Makes a profile for `go tool pprof`.
    Pprof {
        /// What to show.
        #[arg(default_value = "-")]
        source: String,
        /// Of what.
        #[arg(long, value_enum, default_value_t)]
        of: Profile,
        /// The file to write, in place of standard output.
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
    /// Makes folded stacks for `inferno-flamegraph`; numbers are nanoseconds.
    Folded {
        /// What to show.
        #[arg(default_value = "-")]
        source: String,
        /// Of what.
        #[arg(long, value_enum, default_value_t)]
        of: Profile,
        /// The file to write, in place of standard output.
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
    /// Prints metrics in Prometheus' text format.
    Metrics {
        /// What to show.
        #[arg(default_value = "-")]
        source: String,
    },
    /// Shows what the locks of a running program do, live: `?` says what the keys are.
    ///
    /// Figures are of the time between the last two answers. Takes at most 5 % of a processor: where there
    /// are very many locks it asks less often.
    Top {
        /// The http:// address of a program that serves /locks.json.
        url: String,
        /// How often to ask, in seconds, from 0.2 to 3600.
        #[arg(long, default_value = "2", value_parser = seconds)]
        every: Duration,
    },
    /// Runs a program and shows its report afterwards, on standard error.
    ///
    /// Signals are passed on, and the exit status is the program's. Each process that it starts has a report
    /// of its own.
    Run(RunArguments),
    /// Prints what completes this command in a shell.
    Completions {
        /// Which one.
        shell: clap_complete::Shell,
    },
}

/// How to run a program.
#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    /// A file for the report too; what it is, its ending says: .txt, .json, .html, .lock_stat, .folded,
    /// .pb.gz.
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    /// So often the program also writes down what has happened since the last time, as 10s: what is left
    /// where it is killed, and some kilobytes each time.
    #[arg(long)]
    pub(crate) every: Option<String>,
    /// Further words for INSTRUMENTED_LOCK, as in `1/64,no-call-sites`.
    #[arg(long, default_value = "")]
    pub(crate) set: String,
    /// The program and its arguments.
    #[arg(required = true, last = true)]
    pub(crate) program: Vec<OsString>,
}

/// What a snapshot is printed as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// The table.
    #[default]
    Table,
    /// The format of /proc/lock_stat.
    #[value(name = "lock_stat")]
    LockStat,
    /// JSON.
    Json,
}

/// What a profile is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// What was waited for: the lines that held locks.
    #[default]
    Mutex,
    /// Where it was waited: the lines that asked for locks.
    Block,
    /// For what it was waited: the operations that asked for locks.
    Operations,
    /// Which lock of a class was waited for.
    Instances,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.trim_end_matches('s').parse().ok();
    let seconds = seconds.filter(|seconds| (0.2..=3600.0).contains(seconds));
    let seconds = seconds.ok_or("a number of seconds from 0.2 to 3600")?;
    Ok(Duration::from_secs_f64(seconds))
}
