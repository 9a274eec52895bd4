//! Where reports go, and what is said where something is wrong.

use crate::arguments::Form;
use instrumented_lock::report::TableOptions;
use instrumented_lock::{Snapshot, report};
use std::fs;
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// Why there is no report.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for is wrong, or cannot be read.
    Input(String),
    /// It cannot be written.
    Output(String),
    /// Nobody reads any further, which is their right.
    Closed,
}

impl Failure {
    /// One line on standard error.
    pub(crate) fn say(&self) -> ExitCode {
        let (why, status) = match self {
            Failure::Input(why) => (why, 2),
            Failure::Output(why) => (why, 1),
            Failure::Closed => return ExitCode::SUCCESS,
        };
        // Where that cannot be written the status still says it.
        let _ = writeln!(io::stderr(), "lockstat: {}", why.replace(['\n', '\r'], " "));
        ExitCode::from(status)
    }
}

/// A snapshot as text for standard output.
pub(crate) fn form(snapshot: &Snapshot, form: Form, wide: bool) -> String {
    match form {
        Form::Table => {
            let options = TableOptions {
                wide,
                ..TableOptions::for_stdout()
            };
            report::table_with(snapshot, options)
        }
        Form::LockStat => report::lock_stat(snapshot),
        Form::Json => report::json(snapshot) + "\n",
    }
}

/// To the file, or to standard output.
pub(crate) fn text(file: Option<&Path>, text: &str) -> Result<(), Failure> {
    write(file, text.as_bytes())
}

/// The same for what is no text, and does not go to a terminal.
pub(crate) fn bytes(file: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    if file.is_none() && io::stdout().is_terminal() {
        let why = "a profile is no text for a terminal; name a file with --output";
        return Err(Failure::Input(why.to_owned()));
    }
    write(file, bytes)
}

/// To the file.
pub(crate) fn file(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(file, bytes).map_err(|error| Failure::Output(format!("{}: {error}", file.display())))
}

fn write(to: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    if let Some(to) = to {
        return file(to, bytes);
    }
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Output(format!("standard output: {error}")),
    })
}
