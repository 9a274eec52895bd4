//! The instructions of a pair, as the guard in CI has them: they are counted with the feature `stats`
//! off too, which this binary is not.

use crate::output::{Output, Table};

/// One line each: mode, kind, instructions. `.ci/instructions --bless` writes it.
const FIGURES: &str = include_str!("../instructions.txt");

const MODES: [(&str, &str); 6] = [
    ("bare", "bare parking_lot"),
    ("compiled-out", "compiled out"),
    ("off", "off at run time"),
    ("sampled", "1 hold in 64 timed"),
    ("without-sites", "exact, no call sites"),
    ("exact", "exact, everything"),
];
const KINDS: [&str; 3] = ["mutex", "read", "write"];

pub(crate) fn show(output: &mut Output) {
    let figure = |mode: &str, kind: &str| {
        let start = format!("{mode} {kind} ");
        let line = FIGURES
            .lines()
            .find_map(|line| line.strip_prefix(start.as_str()));
        line.and_then(|figure| figure.parse().ok())
            .unwrap_or(f64::NAN)
    };
    let mut table = Table::new(["instructions of a pair", "Mutex", "read", "write", "bar"]);
    for (mode, name) in MODES {
        let figures = KINDS.map(|kind| figure(mode, kind));
        let mut bar = String::new();
        if mode == "compiled-out" {
            let more = KINDS.map(|kind| figure(mode, kind) - figure("bare", kind));
            let most = more.into_iter().fold(f64::MIN, f64::max);
            let what = "instructions of a pair, compiled out, more than bare";
            bar = output.at_most(what, most, 0.0, " more than bare");
        }
        let [mutex, read, write] = figures.map(|figure| format!("{figure:.1}"));
        table.row([name.to_owned(), mutex, read, write, bar]);
    }
    let with = FIGURES.lines().next().unwrap_or_default();
    table.print(&format!(
        "instructions, from benches/instructions.txt ({})",
        with.trim_start_matches("# ")
    ));
}
