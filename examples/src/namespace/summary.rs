//! What was loaded and done, for people: above the report of the locks.

use super::load::Loaded;
use super::request::{Operation, Outcome};
use super::serve::Served;
use std::fmt::Write as _;
use std::path::Path;

/// Some lines of text: keys loaded and entries left out, operations by kind and by second.
pub fn summary(root: &Path, loaded: &Loaded, threads: usize, served: &Served) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {} keys in {} volumes and {} buckets",
        root.display(),
        grouped(loaded.keys.len() as u64),
        grouped(loaded.volumes),
        grouped(loaded.buckets),
    );
    let _ = writeln!(
        out,
        "left out: {} links and special files, {} unreadable entries",
        grouped(loaded.special),
        grouped(loaded.unreadable),
    );
    let _ = writeln!(
        out,
        "{threads} handler threads, {:.1} s: {} operations, {} a second\n",
        served.elapsed.as_secs_f64(),
        grouped(served.tally.total()),
        grouped(rate(served.tally.total(), served)),
    );
    let _ = writeln!(
        out,
        "  {:<12}{:>12}{:>12}   turned down",
        "operation", "count", "a second"
    );
    for operation in Operation::ALL {
        let n = served.tally.of(operation);
        let said = Outcome::ALL
            .into_iter()
            .filter(|&outcome| outcome != Outcome::Done)
            .map(|outcome| (served.tally.count(operation, outcome), outcome.name()))
            .filter(|&(n, _)| n > 0)
            .map(|(n, name)| format!("{} {name}", grouped(n)));
        let said: Vec<_> = said.collect();
        let _ = writeln!(
            out,
            "  {:<12}{:>12}{:>12}   {}",
            operation.name(),
            grouped(n),
            grouped(rate(n, served)),
            if said.is_empty() {
                "-".to_owned()
            } else {
                said.join(", ")
            },
        );
    }
    out
}

fn rate(n: u64, served: &Served) -> u64 {
    let per_second = u128::from(n) * 1_000_000_000 / served.elapsed.as_nanos().max(1);
    u64::try_from(per_second).unwrap_or(u64::MAX)
}

/// `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let groups = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grouped_separates_thousands() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ];
        for (n, text) in cases {
            assert_eq!(grouped(n), text);
        }
    }
}
