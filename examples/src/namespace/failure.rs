//! What can go wrong for good, in words, with its exit status.

use super::load::Unreadable;
use super::options::USAGE;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why there is no report.
#[derive(Debug)]
pub enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// The directory is missing, or no directory, or not to be read.
    Root {
        /// As given.
        path: PathBuf,
        /// What the operating system says.
        reason: io::Error,
    },
    /// There is no file to serve.
    Empty {
        /// As given.
        path: PathBuf,
        /// Entries that could not be read: perhaps the files are in there.
        unreadable: Vec<Unreadable>,
    },
    /// The operating system has no more threads.
    Thread(io::Error),
    /// The report cannot be written.
    Output(io::Error),
}

impl Failure {
    /// The exit status: 2 where the command line is wrong, else 1.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            _ => 1,
        }
    }
}

/// The message for the user; the usage, where the command line is wrong.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(what) => write!(f, "{what}\n\n{USAGE}"),
            Failure::Root { path, reason } => {
                write!(
                    f,
                    "cannot read the directory `{}`: {reason}",
                    path.display()
                )
            }
            Failure::Empty { path, unreadable } => {
                write!(
                    f,
                    "nothing to serve: no file that can be read in `{}`",
                    path.display()
                )?;
                unreadable
                    .iter()
                    .try_for_each(|entry| write!(f, "\n  {entry}"))
            }
            Failure::Thread(reason) => write!(f, "cannot start a handler thread: {reason}"),
            Failure::Output(reason) => write!(f, "cannot write the report: {reason}"),
        }
    }
}

impl std::error::Error for Failure {}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}
