//! What has to happen in a process of its own: the binary runs itself, and the child prints figures.

use crate::{first, many, memory, order, snapshots};
use std::process::{Command, ExitCode};

/// The argument before the name of what the child does.
pub(crate) const FLAG: &str = "--child";

/// What a child can do: prints a figure a line.
const ACTS: [(&str, fn()); 6] = [
    ("first", first::act),
    ("many", many::act),
    ("memory", memory::act),
    ("order", order::act),
    ("snapshots", snapshots::act),
    ("load", snapshots::act_under_load),
];

/// Does it, as the child.
pub(crate) fn act(name: &str) -> ExitCode {
    match ACTS.iter().find(|(act, _)| *act == name) {
        Some((_, act)) => {
            act();
            ExitCode::SUCCESS
        }
        None => ExitCode::FAILURE,
    }
}

/// The figures of a child, in the order in which it prints them.
pub(crate) fn figures(name: &str) -> Vec<f64> {
    let program = std::env::current_exe().expect("a running program has a name");
    let output = Command::new(program).args([FLAG, name]).output();
    let output = output.expect("the program can be run again");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.parse().ok()).collect()
}
