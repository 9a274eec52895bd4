//! The instructions of a pair, as the guard in CI has them: they are counted with the feature `stats`
//! off too, which this binary is not.

use crate::output::{Output, Table};

/// One line each: mode, kind, instructions. `.ci/instructions --bless` writes it.
const FIGURES: &str = include_str!("../instructions.txt");

/// As the file has it and as the table has it; the bars of the first kinds.
type Mode = (&'static str, &'static str, &'static [f64]);

const MODES: [Mode; 7] = [
    ("bare", "bare parking_lot", &[]),
    ("compiled-out", "compiled out", &[]),
    ("off", "off at run time", &[40.0, 50.0, 40.0]),
    ("sampled", "1 hold in 64 timed", &[110.0; 3]),
    ("without-sites", "exact, no call sites", &[]),
    ("exact", "exact, everything", &[115.0, 130.0, 115.0]),
    ("in-order", "exact, order followed", &[]),
];

/// As the file has it and as the table has it. The last two are of a raw lock that is told when to
/// be taken, bare and instrumented.
const KINDS: [(&str, &str); 6] = [
    ("mutex", "Mutex"),
    ("read", "read"),
    ("write", "write"),
    ("nested", "two nested"),
    ("waits", "that waits"),
    ("waited-for", "that is waited for"),
];

pub(crate) fn show(output: &mut Output) {
    let figure = |mode: &str, kind: &str| {
        let start = format!("{mode} {kind} ");
        let line = FIGURES
            .lines()
            .find_map(|line| line.strip_prefix(start.as_str()));
        line.and_then(|figure| figure.parse().ok())
            .unwrap_or(f64::NAN)
    };
    let head = KINDS.map(|(_, name)| name);
    let mut table = Table::new(["instructions of a pair"].into_iter().chain(head));
    for (mode, name, bars) in MODES {
        let figures = KINDS.map(|(kind, _)| format!("{:.1}", figure(mode, kind)));
        table.row([name.to_owned()].into_iter().chain(figures));

        // Compiled out, a lock is the bare lock.
        let of_bare = KINDS.map(|(kind, _)| figure("bare", kind));
        let bars = match mode {
            "compiled-out" => &of_bare[..3],
            _ => bars,
        };
        if !bars.is_empty() {
            let mut bar = |(&bar, (kind, of)): (&f64, (&str, &str))| {
                let what = format!("instructions of a pair, {name}, {of}");
                output.at_most(what, figure(mode, kind), bar, "")
            };
            let bars: Vec<_> = bars.iter().zip(KINDS).map(&mut bar).collect();
            table.row(["  bar".to_owned()].into_iter().chain(bars));
        }
    }
    let with = FIGURES.lines().next().unwrap_or_default();
    table.print(&format!(
        "instructions, from benches/instructions.txt ({})",
        with.trim_start_matches("# ")
    ));
}
