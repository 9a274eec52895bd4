//! The difference of two texts, as `diff -u` shows it.

use std::fmt::Write as _;
use std::path::Path;

/// Lines around a change.
const CONTEXT: usize = 2;

/// One line of both texts, or of one.
#[derive(Clone, Copy)]
enum Line<'a> {
    Both(&'a str),
    Old(&'a str),
    New(&'a str),
}

pub(crate) fn unified(path: &Path, old: &str, new: &str) -> String {
    let lines = compared(
        &old.lines().collect::<Vec<_>>(),
        &new.lines().collect::<Vec<_>>(),
    );
    let mut shown = format!("--- {0}\n+++ {0}\n", path.display());
    let is_change = |line: &Line<'_>| !matches!(line, Line::Both(_));
    let mut at = 0;
    while let Some(first) = lines[at..].iter().position(is_change) {
        let begin = (at + first).saturating_sub(CONTEXT).max(at);
        let mut end = at + first;
        // Changes with little between them are shown as one.
        while let Some(next) = lines[end..].iter().position(is_change) {
            if next > 2 * CONTEXT {
                break;
            }
            end += next + 1;
        }
        let end = (end + CONTEXT).min(lines.len());
        hunk(&mut shown, &lines[..begin], &lines[begin..end]);
        at = end;
    }
    shown
}

fn hunk(shown: &mut String, before: &[Line<'_>], lines: &[Line<'_>]) {
    let old = |lines: &[Line<'_>]| count(lines, |line| !matches!(line, Line::New(_)));
    let new = |lines: &[Line<'_>]| count(lines, |line| !matches!(line, Line::Old(_)));
    let _ = writeln!(
        shown,
        "@@ -{},{} +{},{} @@",
        old(before) + 1,
        old(lines),
        new(before) + 1,
        new(lines)
    );
    for line in lines {
        let _ = match line {
            Line::Both(line) => writeln!(shown, " {line}"),
            Line::Old(line) => writeln!(shown, "-{line}"),
            Line::New(line) => writeln!(shown, "+{line}"),
        };
    }
}

fn count(lines: &[Line<'_>], is_counted: fn(&Line<'_>) -> bool) -> usize {
    lines.iter().filter(|line| is_counted(line)).count()
}

/// Walks both at once; where they differ, the nearest lines that are the same again end the difference.
fn compared<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let (mut lines, mut o, mut n) = (Vec::new(), 0, 0);
    while o < old.len() || n < new.len() {
        if o < old.len() && n < new.len() && old[o] == new[n] {
            lines.push(Line::Both(old[o]));
            (o, n) = (o + 1, n + 1);
            continue;
        }
        let (skip_old, skip_new) = resynchronised(&old[o..], &new[n..]);
        lines.extend(old[o..o + skip_old].iter().map(|line| Line::Old(line)));
        lines.extend(new[n..n + skip_new].iter().map(|line| Line::New(line)));
        (o, n) = (o + skip_old, n + skip_new);
    }
    lines
}

/// How many lines of each differ.
fn resynchronised(old: &[&str], new: &[&str]) -> (usize, usize) {
    for distance in 1..=old.len() + new.len() {
        for skip_old in 0..=distance.min(old.len()) {
            let skip_new = distance - skip_old;
            let Some(new) = new.get(skip_new..) else {
                continue;
            };
            let old = &old[skip_old..];
            // Two lines, for one may be a brace.
            let is_second = old.len() < 2 || new.len() < 2 || old[1] == new[1];
            if old.first() == new.first() && is_second {
                return (skip_old, skip_new);
            }
        }
    }
    (old.len(), new.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unified_shows_changes_with_what_is_around_them() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n";
        let new = "a\nb\nc\nNEW\nd\ne\nf\ng\nh\ni\nJ\nk\nl\n";
        let shown = unified(Path::new("x.rs"), old, new);
        let expected = "--- x.rs\n+++ x.rs\n@@ -2,4 +2,5 @@\n b\n c\n+NEW\n d\n e\n\
                        @@ -8,4 +9,5 @@\n h\n i\n-j\n+J\n k\n+l\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn unified_of_equal_texts_has_no_hunk() {
        assert!(!unified(Path::new("x.rs"), "a\nb\n", "a\nb\n").contains("@@"));
    }
}
