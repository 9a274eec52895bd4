//! Tables in Markdown, with their columns in line, and the bars: what a figure has to be.

use std::fmt::Display;

/// What is shown, and the bars that were missed.
pub(crate) struct Output {
    is_quick: bool,
    bars: usize,
    missed: Vec<String>,
}

impl Output {
    pub(crate) fn new(is_quick: bool) -> Self {
        Output {
            is_quick,
            bars: 0,
            missed: Vec::new(),
        }
    }

    /// How often to measure: so often, or less where somebody is in a hurry.
    pub(crate) fn rounds(&self, rounds: usize) -> usize {
        if self.is_quick {
            rounds.div_ceil(4)
        } else {
            rounds
        }
    }

    /// A bar that the figure must not exceed, as the table shows it.
    pub(crate) fn at_most(
        &mut self,
        what: impl Display,
        figure: f64,
        bar: f64,
        unit: &str,
    ) -> String {
        self.judge(&what, figure, &format!("≤ {bar}{unit}"), figure <= bar)
    }

    /// A bar that the figure must reach.
    pub(crate) fn at_least(
        &mut self,
        what: impl Display,
        figure: f64,
        bar: f64,
        unit: &str,
    ) -> String {
        self.judge(&what, figure, &format!("≥ {bar}{unit}"), figure >= bar)
    }

    fn judge(&mut self, what: &dyn Display, figure: f64, bar: &str, is_met: bool) -> String {
        self.bars += 1;
        if !is_met {
            self.missed
                .push(format!("{what}: {}, should be {bar}", short(figure)));
        }
        format!("{bar} {}", if is_met { "met" } else { "MISSED" })
    }

    /// The bars, all in one place.
    pub(crate) fn conclude(&self) {
        let met = self.bars - self.missed.len();
        println!("\n{met} of {} bars met", self.bars);
        for missed in &self.missed {
            println!("MISSED  {missed}");
        }
    }
}

/// A figure with as many places as mean something.
pub(crate) fn short(figure: f64) -> String {
    match figure.abs() {
        0.0..1.0 => format!("{figure:.3}"),
        1.0..10.0 => format!("{figure:.2}"),
        10.0..1000.0 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    }
}

/// A table; the first column is text, the others are figures.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<S: ToString>(head: impl IntoIterator<Item = S>) -> Self {
        Table {
            rows: vec![head.into_iter().map(|cell| cell.to_string()).collect()],
        }
    }

    pub(crate) fn row<S: ToString>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells = cells.into_iter().map(|cell| cell.to_string()).collect();
        self.rows.push(cells);
    }

    pub(crate) fn print(&self, title: &str) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        let widths: Vec<_> = (0..columns)
            .map(|column| {
                self.rows
                    .iter()
                    .map(|row| cell(row, column).chars().count())
                    .max()
            })
            .map(|width| width.unwrap_or(0))
            .collect();
        println!("\n{title}\n");
        for (number, row) in self.rows.iter().enumerate() {
            let cells = widths.iter().enumerate().map(|(column, &width)| {
                let cell = cell(row, column);
                if column == 0 {
                    format!(" {cell:<width$} ")
                } else {
                    format!(" {cell:>width$} ")
                }
            });
            println!("|{}|", cells.collect::<Vec<_>>().join("|"));
            if number == 0 {
                let line = |(column, width): (usize, &usize)| match column {
                    0 => "-".repeat(width + 2),
                    _ => "-".repeat(width + 1) + ":",
                };
                let lines: Vec<_> = widths.iter().enumerate().map(line).collect();
                println!("|{}|", lines.join("|"));
            }
        }
    }
}
