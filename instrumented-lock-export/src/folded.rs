//! Folded stacks: a line for each stack, frames from the outside in with `;` between them, and a number.
//! What `inferno-flamegraph` and `flamegraph.pl` draw; numbers are nanoseconds.
//!
//! The frames are the lock, the line with its mode and, where it is known who waited for whom, the other line. Where
//! [stacks](instrumented_lock::LockSnapshot::stacks) have been captured, they stand in place of lines: the lock, then
//! who called whom. They are estimates; what they do not come to is left with the lines.

use crate::stacks::{self, Stack};
use instrumented_lock::Snapshot;
use std::fmt::Write as _;

/// Where threads waited: lock, then the line that waited.
pub fn waits(snapshot: &Snapshot) -> String {
    folded(&stacks::waits(snapshot))
}

/// What they waited for: lock, then the line that held it meanwhile, then the line that waited; the time in
/// which the lock was free is a frame of its own.
pub fn blame(snapshot: &Snapshot) -> String {
    folded(&stacks::blame(snapshot))
}

fn folded(stacks: &[Stack<'_>]) -> String {
    let mut out = String::new();
    for stack in stacks {
        let ns = stack.delay.as_nanos();
        if ns == 0 {
            continue;
        }
        let name = frame(stack.lock.name());
        if name.trim_start().starts_with('#') {
            // Those that draw it would take the line for a comment.
            out.push('\\');
        }
        out.push_str(&name);
        for line in &stack.lines {
            let _ = write!(out, ";{}", frame(&line.text));
        }
        let _ = writeln!(out, " {ns}");
    }
    out
}

/// A frame has no `;` and no end of a line in it.
fn frame(text: &str) -> String {
    text.replace(';', ":")
        .replace(|c: char| c.is_control(), " ")
}
