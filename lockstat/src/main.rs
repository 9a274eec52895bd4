//! `lockstat`: shows, compares and exports what programs with `instrumented_lock` have recorded, and runs
//! them so that they leave a report.
//!
//! Exit status: 0; 1 where writing fails; 2 where a command line, a file or a URL is wrong, with a line that
//! says why; of `run` that of the program, 128 and its number where a signal ended it, 127 and 126 where it
//! cannot be started, as shells have it.

mod arguments;
mod input;
mod output;
#[cfg(unix)]
mod run;
mod top;

use arguments::{Arguments, Command, Profile};
use clap::{CommandFactory as _, Parser as _};
use instrumented_lock::{Snapshot, report};
use instrumented_lock_export::{folded, html, pprof, prometheus};
use output::Failure;
use std::fmt::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        #[cfg(unix)]
        Command::Run(arguments) => run::run(&arguments),
        #[cfg(not(unix))]
        Command::Run(_) => Err(Failure::Input("`run` needs a Unix".to_owned())),
        Command::Top { url, every } => top::run(&url, every),
        command => act(command).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|failure| failure.say())
}

fn act(command: Command) -> Result<(), Failure> {
    match command {
        Command::Show { source, wide, form } => {
            let snapshot = input::read(&source)?;
            output::text(None, &output::form(&snapshot, form, wide))
        }
        Command::Diff {
            before,
            after,
            wide,
            form,
        } => {
            let (before, after) = (input::read(&before)?, input::read(&after)?);
            output::text(None, &output::form(&after.since(&before), form, wide))
        }
        Command::Merge { sources, output } => {
            let mut all = sources.iter().map(|source| input::read(source));
            let first = all.next().unwrap_or_else(|| input::read("-"))?;
            let merged = all.try_fold(first, |sum, next| Ok(sum.merge(&next?)))?;
            output::text(output.as_deref(), &(report::json(&merged) + "\n"))
        }
        Command::Advice { source, since } => {
            let snapshot = input::read(&source)?;
            let advice = match since {
                Some(earlier) => snapshot.advice_since(&input::read(&earlier)?),
                None => snapshot.advice(),
            };
            let mut text: String = String::new();
            for one in advice {
                let _ = writeln!(text, "{one}");
            }
            if text.is_empty() {
                "no advice: the figures do not say anything, which is no certificate\n"
                    .clone_into(&mut text);
            }
            output::text(None, &text)
        }
        Command::Html { source, output } => {
            output::text(output.as_deref(), &html::page(&input::read(&source)?))
        }
        Command::Pprof { source, of, output } => {
            let snapshot = input::read(&source)?;
            let profile = match of {
                Profile::Mutex => pprof::mutex(&snapshot),
                Profile::Block => pprof::block(&snapshot),
                Profile::Operations => pprof::operations(&snapshot),
                Profile::Instances => pprof::instances(&snapshot),
            };
            output::bytes(output.as_deref(), &profile)
        }
        Command::Folded { source, of, output } => {
            let snapshot = input::read(&source)?;
            let stacks = match of {
                Profile::Mutex => folded::blame(&snapshot),
                Profile::Block => folded::waits(&snapshot),
                Profile::Operations => folded::operations(&snapshot),
                Profile::Instances => folded::instances(&snapshot),
            };
            output::text(output.as_deref(), &stacks)
        }
        Command::Metrics { source } => output::text(None, &metrics(&input::read(&source)?)),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "lockstat", &mut script);
            output::text(None, &String::from_utf8_lossy(&script))
        }
        Command::Run(_) | Command::Top { .. } => Ok(()),
    }
}

fn metrics(snapshot: &Snapshot) -> String {
    let series = prometheus::Series::of(snapshot, prometheus::Series::DEFAULT);
    prometheus::text(snapshot, &series, prometheus::Format::Text)
}
