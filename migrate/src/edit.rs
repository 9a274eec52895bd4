//! Changes of a text, by byte ranges.

use std::ops::Range;

/// What stands in a range becomes something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

impl Edit {
    pub(crate) fn insert(at: usize, text: String) -> Self {
        Edit {
            range: at..at,
            text,
        }
    }
}

/// The text with the changes. Of two that overlap the first one is made.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<_> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let (mut changed, mut done) = (String::with_capacity(text.len()), 0);
    for edit in edits {
        if edit.range.start < done {
            continue;
        }
        changed.push_str(&text[done..edit.range.start]);
        changed.push_str(&edit.text);
        done = edit.range.end;
    }
    changed.push_str(&text[done..]);
    changed
}

/// The white space before the first other character of the line.
pub(crate) fn indentation(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The number of the line, from 1.
pub(crate) fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apply_makes_changes_in_any_order() {
        let edits = [
            Edit {
                range: 4..5,
                text: "E".to_owned(),
            },
            Edit::insert(0, "> ".to_owned()),
            Edit {
                range: 4..6,
                text: "lost".to_owned(),
            },
            Edit {
                range: 1..2,
                text: String::new(),
            },
        ];
        assert_eq!(apply("abcdefg", &edits), "> acdEfg");
    }
}
