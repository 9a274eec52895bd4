//! What a page is put together from; text is escaped here and nowhere else.

use instrumented_lock::{Location, report};
use std::fmt::Write as _;
use std::time::Duration;

#[derive(Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Markup of our own.
    pub(super) fn raw(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    /// Text, which may stand between tags and inside a quoted attribute.
    pub(super) fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // What a page may not have in it.
                '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\x7f'..='\u{9f}' => {
                    self.0.push('\u{fffd}');
                }
                _ => self.0.push(c),
            }
        }
    }

    /// A cell of text.
    pub(super) fn cell(&mut self, text: &str) {
        self.raw("<td class=l>");
        self.text(text);
    }

    /// A cell of a number, which it is sorted by.
    pub(super) fn count(&mut self, n: u64) {
        if n == 0 {
            self.raw("<td data-v=0>");
        } else {
            let _ = write!(self.0, "<td data-v={n}>{}", report::count(n));
        }
    }

    /// A cell of a duration; empty where there is none.
    pub(super) fn time(&mut self, time: Option<Duration>) {
        match time.filter(|time| !time.is_zero()) {
            None => self.raw("<td data-v=0>"),
            Some(time) => {
                let _ = write!(self.0, "<td data-v={}>", time.as_nanos());
                self.raw(&report::time(time));
            }
        }
    }

    /// A cell of a line of the program.
    pub(super) fn place(&mut self, at: &Location) {
        self.cell(&place(at));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    pub(super) fn append(&mut self, other: &Markup) {
        self.0.push_str(&other.0);
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// A line without its column.
pub(super) fn place(at: &Location) -> String {
    if at.line() == 0 {
        return at.to_string();
    }
    let through = if at.is_through_pointer() {
        " (called through a function pointer)"
    } else {
        ""
    };
    format!("{}:{}{through}", at.file(), at.line())
}
