//! Folded stacks: a line for each stack, frames from the outside in with `;` between them, and a number.
//! What `inferno-flamegraph` and `flamegraph.pl` draw; numbers are nanoseconds.
//!
//! The frames are the lock, the line with its mode and, where it is known who waited for whom, the other line. Where
//! [stacks](instrumented_lock::LockSnapshot::stacks) have been captured, they stand in place of lines: the lock, then
//! who called whom. They are estimates; what they do not come to is left with the lines.
//!
//! [`operations`] and [`instances`] say of the same waiting for what it was, and for which lock of its class.

use crate::parts::{self, Part};
use crate::stacks::{self, Stack};
use instrumented_lock::Snapshot;
use std::fmt::Write as _;
use std::time::Duration;

/// Where threads waited: lock, then the line that waited.
pub fn waits(snapshot: &Snapshot) -> String {
    folded(&stacks::waits(snapshot))
}

/// What they waited for: lock, then the line that held it meanwhile, then the line that waited; the time in
/// which the lock was free is a frame of its own.
pub fn blame(snapshot: &Snapshot) -> String {
    folded(&stacks::blame(snapshot))
}

/// How long [operations](mod@instrumented_lock::operation) waited: lock, then the operation that waited for it, or
/// `(no operation)`.
pub fn operations(snapshot: &Snapshot) -> String {
    of_parts(&parts::operations(snapshot))
}

/// Which lock of a class was [waited for](instrumented_lock::LockSnapshot::waited_for): the class, then the lock's
/// label or address.
pub fn instances(snapshot: &Snapshot) -> String {
    of_parts(&parts::instances(snapshot))
}

fn of_parts(parts: &[Part<'_>]) -> String {
    let mut out = String::new();
    for part in parts {
        let frames = [part.lock.name(), &part.whose].into_iter();
        write(&mut out, frames, part.waited);
    }
    out
}

fn folded(stacks: &[Stack<'_>]) -> String {
    let mut out = String::new();
    for stack in stacks {
        let lines = stack.lines.iter().map(|line| line.text.as_str());
        let frames = std::iter::once(stack.lock.name()).chain(lines);
        write(&mut out, frames, stack.delay);
    }
    out
}

/// A line of frames, the outermost first, if they took any time.
fn write<'a>(out: &mut String, frames: impl Iterator<Item = &'a str>, time: Duration) {
    let ns = time.as_nanos();
    if ns == 0 {
        return;
    }
    for (i, text) in frames.enumerate() {
        let text = frame(text);
        if i > 0 {
            out.push(';');
        } else if text.trim_start().starts_with('#') {
            // Those that draw it would take the line for a comment.
            out.push('\\');
        }
        out.push_str(&text);
    }
    let _ = writeln!(out, " {ns}");
}

/// A frame has no `;` and no end of a line in it.
fn frame(text: &str) -> String {
    text.replace(';', ":")
        .replace(|c: char| c.is_control(), " ")
}
