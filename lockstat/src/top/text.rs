//! Figures and columns of text, for any width.

use instrumented_lock::report;
use ratatui::text::Span;
use std::time::Duration;

/// A column: its head, how wide it is, and whether it is text, which begins at the left.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) name: &'static str,
    pub(super) width: usize,
    pub(super) is_text: bool,
}

/// The first column takes what the others leave, and is never narrower than this.
pub(super) const FIRST: usize = 22;

/// Which columns there is room for: so many of them, from the left.
pub(super) fn fitting(heads: &[Head], width: usize) -> usize {
    let mut left = width.saturating_sub(FIRST);
    let rest = heads.iter().skip(1);
    1 + rest
        .take_while(|head| {
            let room = left.checked_sub(head.width + 1);
            left = room.unwrap_or(0);
            room.is_some()
        })
        .count()
}

/// A line of a table: the columns that there is room for, the first one cut where it is too long.
pub(super) fn line<'a>(
    heads: &[Head],
    cells: impl Iterator<Item = &'a str>,
    width: usize,
) -> String {
    marked(heads, cells, width, None)
}

/// The same with a mark before one of the cells, which takes no room from it.
pub(super) fn marked<'a>(
    heads: &[Head],
    cells: impl Iterator<Item = &'a str>,
    width: usize,
    mark: Option<(usize, char)>,
) -> String {
    let shown = fitting(heads, width);
    let rest: usize = heads[1..shown].iter().map(|head| head.width + 1).sum();
    let mut out = String::new();
    for (i, (head, cell)) in heads.iter().zip(cells).take(shown).enumerate() {
        let mark = mark.and_then(|(at, mark)| (at == i).then_some(mark));
        // The space between two columns, of which the first has none.
        let room = match i {
            0 => width.saturating_sub(rest + usize::from(mark.is_some())),
            _ => head.width,
        };
        let cell = tail(cell, room);
        let pad = " ".repeat(room - width_of(&cell));
        let mark = mark.map(String::from);
        let mark = mark.unwrap_or_else(|| " ".repeat(usize::from(i > 0)));
        if head.is_text {
            out.extend([mark, cell, pad]);
        } else {
            out.extend([pad, mark, cell]);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// The end of what is too long, which tells more than its beginning. What is no letter for a terminal is `?`.
pub(super) fn tail(text: &str, width: usize) -> String {
    let text = text.replace(char::is_control, "?");
    if width_of(&text) <= width {
        return text;
    }
    let ends = text.char_indices().map(|(at, _)| &text[at..]);
    let mut ends = ends.chain([""]);
    let end = ends.find(|end| width_of(end) < width).unwrap_or_default();
    if width == 0 {
        String::new()
    } else {
        format!("…{end}")
    }
}

pub(super) fn width_of(text: &str) -> usize {
    Span::raw(text).width()
}

/// So many a second.
pub(super) fn rate(per_second: f64) -> String {
    if per_second < 0.05 {
        let some = if per_second > 0.0 { "<0.1" } else { "0" };
        return some.to_owned();
    }
    if per_second < 9.95 {
        return format!("{per_second:.1}");
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and nothing here is negative"
    )]
    report::count(per_second.round() as u64)
}

/// A share of 1, in percent.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0%".to_owned(),
        n if n < 0.05 => "<0.1%".to_owned(),
        n if n < 9.95 => format!("{n:.1}%"),
        n => format!("{n:.0}%"),
    }
}

/// A duration; nothing is `0`.
pub(super) fn time(duration: Duration) -> String {
    if duration.is_zero() {
        "0".to_owned()
    } else {
        report::time(duration)
    }
}

/// A duration that there may not be.
pub(super) fn maybe(duration: Option<Duration>) -> String {
    duration.map_or_else(|| "-".to_owned(), time)
}

/// So much time in each second.
pub(super) fn share(duration: Duration, seconds: f64) -> String {
    let share = duration.as_secs_f64() / seconds;
    time(Duration::try_from_secs_f64(share).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn head(name: &'static str, is_text: bool) -> Head {
        Head {
            name,
            width: 6,
            is_text,
        }
    }

    const HEADS: [Head; 3] = [
        head("lock", true),
        head("mode", true),
        head("waited", false),
    ];

    #[test]
    fn columns_that_do_not_fit_are_left_out_and_names_are_cut_at_their_beginning() {
        let cells = ["app::store::Store::index", "write", "12 ms"];
        for (width, expected) in [
            (40, "app::store::Store::index   write   12 ms"),
            (36, "…::store::Store::index write   12 ms"),
            (30, "…p::store::Store::index write"),
            (12, "…tore::index"),
            (0, ""),
        ] {
            let line = line(&HEADS, cells.into_iter(), width);
            assert!(width_of(&line) <= width, "{line}");
            assert_eq!(line, expected);
        }
        let heads = HEADS.iter().map(|head| head.name);
        let marked = marked(&HEADS, heads, 40, Some((2, '▼')));
        assert_eq!(marked, "lock                       mode  ▼waited");
    }

    #[test]
    fn what_would_move_the_cursor_is_not_written() {
        assert_eq!(tail("a\u{1b}[2Jb\n", 20), "a?[2Jb?");
        assert_eq!(tail("abc", 0), "");
        assert_eq!(tail("漢字漢字", 5), "…漢字");
    }

    #[test]
    fn rates_have_a_digit_where_they_are_small() {
        let rates = [0.0, 0.01, 0.5, 9.96, 1234.4, 2.5e7].map(rate);
        assert_eq!(rates, ["0", "<0.1", "0.5", "10", "1,234", "25 M"]);
        assert_eq!(
            [0.0, 0.0001, 0.034, 0.5, 1.0].map(percent),
            ["0%", "<0.1%", "3.4%", "50%", "100%"]
        );
    }
}
