//! [`Location`]: a place in the source.

use std::fmt;

/// What stands for the file of lines that are not told apart.
const OTHER: &str = "(other)";

/// A place in the source: of a declaration, of a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Location {
    file: String,
    line: u32,
    column: u32,
}

impl Location {
    /// The line of a row; `None` is the row of all others.
    pub(crate) fn of_site(location: Option<&std::panic::Location<'_>>) -> Self {
        location.map_or_else(
            || Location {
                file: OTHER.to_owned(),
                line: 0,
                column: 0,
            },
            Location::from,
        )
    }

    /// Whether this is no place but stands for several.
    pub(crate) fn is_other(&self) -> bool {
        self.line == 0 && self.file == OTHER
    }

    /// The source file, as the compiler was given it: usually relative to the workspace.
    pub fn file(&self) -> &str {
        &self.file
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
            file: location.file().to_owned(),
            line: location.line(),
            column: location.column(),
        }
    }
}

/// `file:line:column`.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_other() {
            return f.write_str(OTHER);
        }
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
