//! [`Location`]: a place in the source.

use crate::stats::{is_nobodys, without_machine};
use std::fmt;

/// What stands for the file of lines that are not told apart.
const OTHER: &str = "(other)";

/// What is said of a line that was called from nobody knows where.
pub(crate) const THROUGH_POINTER: &str = "(called through a function pointer)";

/// What stands for the file where the compiler knew no line of the user's.
const UNKNOWN: &str = "(unknown)";

/// A place in the source: of a declaration, of a call.
///
/// A function that is called through a pointer does not know the line that calls. So where a method of a lock
/// was given away as a function, as in `locks.iter().map(Mutex::lock)`, the place is where the lock is
/// declared, and [says so](Self::is_through_pointer). It is `(unknown)`, line 0, where the lock itself was
/// created in that way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Location {
    file: String,
    line: u32,
    column: u32,
    #[cfg_attr(
        feature = "serde",
        serde(
            rename = "called_through_pointer",
            default,
            skip_serializing_if = "std::ops::Not::not"
        )
    )]
    through_pointer: bool,
}

impl Location {
    /// The line of a row of a lock that is declared at `declared_at`; `None` is the row of all others.
    pub(crate) fn of_site(
        location: Option<&std::panic::Location<'_>>,
        declared_at: &std::panic::Location<'_>,
    ) -> Self {
        match location {
            None => Self::no_place(OTHER),
            Some(location) if is_nobodys(location.file()) => Location {
                through_pointer: true,
                ..Self::of_declaration(declared_at)
            },
            Some(location) => Location::from(location),
        }
    }

    /// Where a lock is declared or created.
    pub(crate) fn of_declaration(location: &std::panic::Location<'_>) -> Self {
        if is_nobodys(location.file()) {
            Self::no_place(UNKNOWN)
        } else {
            Location::from(location)
        }
    }

    fn no_place(file: &str) -> Self {
        Location {
            file: file.to_owned(),
            line: 0,
            column: 0,
            through_pointer: false,
        }
    }

    /// Whether there is a line to show.
    pub(crate) fn is_place(&self) -> bool {
        self.line > 0
    }

    /// Whether this is where the lock is declared, in place of a line that is not known: see
    /// [above](Self).
    pub fn is_through_pointer(&self) -> bool {
        self.through_pointer
    }

    /// Whether this is no place but stands for several.
    pub(crate) fn is_other(&self) -> bool {
        self.line == 0 && self.file == OTHER
    }

    /// The source file, as the compiler was given it: usually relative to the workspace. Of an absolute
    /// path, as those of dependencies are, what begins with the crate's folder: `r2d2-0.8.10/src/lib.rs`.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The folder of the crate that the file is of, where its path says which that is: the one that `src` and
    /// its like lie in.
    pub(super) fn crate_folder(&self) -> Option<&str> {
        let is_separator = |c: char| c == '/' || c == '\\';
        let mut before = None;
        for part in self.file.split(is_separator) {
            if ["src", "tests", "examples", "benches"].contains(&part) {
                return before;
            }
            before = Some(part);
        }
        // A build script, or a program without a folder for its sources.
        let (folder, _) = self.file.split_once(is_separator)?;
        Some(folder)
    }

    /// The line, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The column, from 1.
    pub fn column(&self) -> u32 {
        self.column
    }
}

impl From<&std::panic::Location<'_>> for Location {
    fn from(location: &std::panic::Location<'_>) -> Self {
        Location {
            file: without_machine(location.file()).to_owned(),
            line: location.line(),
            column: location.column(),
            through_pointer: false,
        }
    }
}

/// `file:line:column`, and `(called through a function pointer)` where that is so.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.is_place() {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if self.through_pointer {
            write!(f, " {THROUGH_POINTER}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_of_a_file_is_the_folder_that_its_sources_lie_in() {
        for (file, expected) in [
            ("r2d2-0.8.10/src/lib.rs", Some("r2d2-0.8.10")),
            ("r2d2-0.8.10\\src\\a\\src\\lib.rs", Some("r2d2-0.8.10")),
            ("examples/src/namespace/store.rs", None),
            ("crates/store/src/lib.rs", Some("store")),
            ("store/tests/all.rs", Some("store")),
            ("src/main.rs", None),
            ("store/build.rs", Some("store")),
            ("main.rs", None),
        ] {
            assert_eq!(Location::no_place(file).crate_folder(), expected, "{file}");
        }
    }
}
