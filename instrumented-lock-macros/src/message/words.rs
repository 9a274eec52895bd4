//! Words that several messages need.

use crate::attr::Place;

impl Place {
    pub(super) fn attribute(self) -> &'static str {
        match self {
            Place::Field | Place::Statement => "lock",
            _ => "instrumented",
        }
    }

    pub(super) fn with_article(self) -> &'static str {
        match self {
            Place::Enum => "an enum",
            Place::Impl => "an impl",
            Place::Struct => "a struct",
            Place::Static => "a static",
            Place::Field => "a field",
            Place::Function => "a function",
            Place::Module => "a module",
            Place::Statement => "a statement",
        }
    }

    pub(super) fn noun(self) -> &'static str {
        match self {
            Place::Struct => "struct",
            Place::Enum => "enum",
            Place::Static => "static",
            Place::Field => "field",
            Place::Impl => "impl",
            Place::Function => "function",
            Place::Module => "module",
            Place::Statement => "statement",
        }
    }
}

/// `` `a`, `b` and `c` ``
pub(super) fn list(words: &[&str], conjunction: &str) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() && conjunction != "," => {
            format!("{} {conjunction} {last}", rest.join(", "))
        }
        _ => quoted.join(", "),
    }
}
