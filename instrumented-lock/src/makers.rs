//! Who has locks made by a wrapper: the first line outside of it, by the stack of a lock's first use.
//!
//! A constructor is `const` and has no stack to look at, so it is the first use that tells. Where the program
//! has no line tables nothing is found, and the lock keeps the name of the line that made it.

use crate::stats::{is_of_locks, without_machine};
use std::backtrace::Backtrace;
use std::panic::Location;

/// The line that first used a lock which was made at `made`, outside of the file of that: `file:line`.
pub(crate) fn first_outside(made: &Location<'_>) -> Option<String> {
    let stack = Backtrace::force_capture().to_string();
    let own = absent_dot(made.file());
    let outside = |place: &&str| {
        let file = absent_dot(file_of(place));
        !is_of_locks(file) && !is_same(file, own)
    };
    let place = places(&stack).find(outside)?;
    let line = place[file_of(place).len()..].split(':').nth(1)?;
    Some(format!(
        "{}:{line}",
        without_machine(absent_dot(file_of(place)))
    ))
}

/// Whether both are one file: one path may be relative to another folder than the other one.
fn is_same(one: &str, other: &str) -> bool {
    let (long, short) = if one.len() < other.len() {
        (other, one)
    } else {
        (one, other)
    };
    let before = long.strip_suffix(short);
    before.is_some_and(|before| before.is_empty() || before.ends_with(['/', '\\']))
}

/// The places of a stack as it is printed: `at FILE:LINE:COLUMN`.
fn places(stack: &str) -> impl Iterator<Item = &str> {
    stack
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("at "))
}

/// Without the line and the column.
fn file_of(place: &str) -> &str {
    let mut parts = place.rsplitn(3, ':');
    let (_, _, file) = (parts.next(), parts.next(), parts.next());
    file.unwrap_or(place)
}

/// Stacks have relative paths with a dot in front.
fn absent_dot(file: &str) -> &str {
    file.strip_prefix("./").unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_stack_are_its_files_with_their_lines() {
        let stack = "   0: a::b\n             at /home/me/.cargo/registry/src/x-1/tokio-1.54.1/src/sync/mpsc.rs:12:5\n   \
                     1: main\n             at ./src/main.rs:3:9\n   2: unknown\n";
        let all: Vec<_> = places(stack).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(absent_dot(file_of(all[1])), "src/main.rs");
        assert!(file_of(all[0]).ends_with("sync/mpsc.rs"));
    }
}
