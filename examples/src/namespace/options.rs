//! The command line.

use super::failure::Failure;
use lexopt::{Arg, Parser, ValueExt};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What `--help` prints.
pub const USAGE: &str = "\
usage: cargo run --release --example namespace -- [OPTIONS] [DIR]

Serves the files of a directory tree as the keys of an object store and reports on its locks.

  DIR            the tree; default: the repository that this example is part of
  --threads N    handler threads, 1 to 1024; default: 8
  --seconds S    how long they serve, decimals allowed; default: 3
  --wide         the report with one line for each lock and mode, in 300 columns
  --json         the report as JSON on standard output, everything else on standard error
  -h, --help     this text";

/// More would measure the scheduler.
const MOST_THREADS: usize = 1024;

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Invocation {
    /// The [`USAGE`].
    Help,
    /// The service and its report.
    Run(Options),
}

/// How to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The directory tree; `None` for the repository.
    pub root: Option<PathBuf>,
    /// Handler threads.
    pub threads: usize,
    /// How long they serve.
    pub duration: Duration,
    /// The wide report.
    pub wide: bool,
    /// JSON instead of a table.
    pub json: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            root: None,
            threads: 8,
            duration: Duration::from_secs(3),
            wide: false,
            json: false,
        }
    }
}

impl Options {
    /// Reads the command line, without the name of the program.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] for anything that [`USAGE`] does not allow.
    pub fn parse<I>(arguments: I) -> Result<Invocation, Failure>
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
        I::IntoIter: Clone,
    {
        let mut parser = Parser::from_args(arguments);
        let mut options = Options::default();
        while let Some(argument) = parser.next().map_err(usage)? {
            match argument {
                Arg::Short('h') | Arg::Long("help") => return Ok(Invocation::Help),
                Arg::Long("threads") => {
                    let text = text(&mut parser)?;
                    options.threads = threads(&text)?;
                }
                Arg::Long("seconds") => {
                    let text = text(&mut parser)?;
                    options.duration = seconds(&text)?;
                }
                Arg::Long("wide") => options.wide = true,
                Arg::Long("json") => options.json = true,
                Arg::Value(root) if options.root.is_none() => options.root = Some(root.into()),
                other => return Err(usage(other.unexpected())),
            }
        }
        if options.wide && options.json {
            return Err(Failure::Usage(
                "--wide and --json exclude each other".to_owned(),
            ));
        }
        Ok(Invocation::Run(options))
    }
}

fn text(parser: &mut Parser) -> Result<String, Failure> {
    parser.value().and_then(ValueExt::string).map_err(usage)
}

fn threads(text: &str) -> Result<usize, Failure> {
    text.parse()
        .ok()
        .filter(|n| (1..=MOST_THREADS).contains(n))
        .ok_or_else(|| {
            let wanted = format!("a whole number from 1 to {MOST_THREADS}");
            Failure::Usage(format!("--threads must be {wanted}, not `{text}`"))
        })
}

fn seconds(text: &str) -> Result<Duration, Failure> {
    let duration = text
        .parse()
        .ok()
        .and_then(|s| Duration::try_from_secs_f64(s).ok());
    duration
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| Failure::Usage(format!("--seconds must be a number above 0, not `{text}`")))
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn usage(error: lexopt::Error) -> Failure {
    Failure::Usage(error.to_string())
}
