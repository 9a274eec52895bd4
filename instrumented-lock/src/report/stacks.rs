//! The rows of the table about stacks: who called the lines that waited, and those that made others wait.

use super::units::time;
use super::who::{plural, shorten};
use crate::snapshot::{Frame, LockSnapshot, StackRole};
use std::fmt::Write as _;

/// Stacks that are listed of either role: those with the longest time; and frames of each: the innermost.
const STACKS: usize = 3;
const FRAMES: usize = 6;

const WIDTH: usize = 100;
const INDENT: usize = 15;

/// The stacks of a lock, where they are captured.
pub(super) fn stacks(out: &mut String, lock: &LockSnapshot) {
    of_role(out, lock, StackRole::Waiter, "waiters", "wait");
    of_role(out, lock, StackRole::Holder, "holders", "hold");
}

fn of_role(out: &mut String, lock: &LockSnapshot, role: StackRole, label: &str, what: &str) {
    let of_role = || lock.stacks().iter().filter(|stack| stack.role() == role);
    for (i, stack) in of_role().take(STACKS).enumerate() {
        let label = if i == 0 { label } else { "" };
        let total = time(stack.total());
        let n = plural(stack.count(), what);
        let taken = stack.mode();
        let _ = writeln!(
            out,
            "  {label:<10} about {total} in {n}, {taken}, called by"
        );
        for frame in stack.frames().iter().take(FRAMES) {
            let _ = writeln!(out, "{:INDENT$}{}", "", written(frame, WIDTH - INDENT));
        }
        let more = stack.frames().len().saturating_sub(FRAMES);
        if more > 0 {
            let _ = writeln!(out, "{:INDENT$}and {more} more", "");
        }
    }
    let more = of_role().count().saturating_sub(STACKS);
    if more > 0 {
        let _ = writeln!(out, "  {:<10} and {more} more stacks", "");
    }
}

/// The function with its place; a name that is too long loses its start.
fn written(frame: &Frame, width: usize) -> String {
    let place = match (frame.file(), frame.line()) {
        (Some(file), Some(line)) => format!("  {file}:{line}"),
        _ => String::new(),
    };
    let left = width.saturating_sub(place.chars().count()).max(20);
    shorten(
        &format!("{}{place}", shorten(frame.function(), left)),
        width,
    )
}
