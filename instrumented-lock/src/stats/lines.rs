//! What each acquiring line does with the locks of a class, in one mode.
//!
//! There is room for [`LINES`] lines. When one more comes, the one that has cost least so far is added
//! to the row of all others and makes room: the expensive ones stay. Everything is in exactly one row.

use super::site::Site;
use std::ptr;

/// Lines that are told apart, besides the row of all others.
pub(super) const LINES: usize = 10;

/// The figures of one line. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineFigures {
    pub(crate) releases: u64,
    pub(crate) hold_total: u64,
    pub(crate) hold_max: u64,
    pub(crate) contended: u64,
    pub(crate) blocked_total: u64,
    pub(crate) blocked_max: u64,
    pub(crate) blame: u64,
}

impl LineFigures {
    /// Adds holds: how many, how long in all, and the longest.
    pub(super) fn add_holds(&mut self, count: u64, total: u64, longest: u64) {
        self.releases += count;
        self.hold_total = self.hold_total.saturating_add(total);
        self.hold_max = self.hold_max.max(longest);
    }

    /// Adds one wait.
    pub(super) fn add_wait(&mut self, ns: u64) {
        self.contended += 1;
        self.blocked_total = self.blocked_total.saturating_add(ns);
        self.blocked_max = self.blocked_max.max(ns);
    }

    pub(super) fn add_blame(&mut self, ns: u64) {
        self.blame = self.blame.saturating_add(ns);
    }

    /// Adds all that another row of the line has.
    pub(crate) fn add(&mut self, other: &LineFigures) {
        self.add_holds(other.releases, other.hold_total, other.hold_max);
        self.contended += other.contended;
        self.blocked_total = self.blocked_total.saturating_add(other.blocked_total);
        self.blocked_max = self.blocked_max.max(other.blocked_max);
        self.add_blame(other.blame);
    }

    fn cost(&self) -> u64 {
        let waited = self.blame.saturating_add(self.blocked_total);
        waited.saturating_add(self.hold_total)
    }
}

/// The rows of the lines, and that of all others.
pub(super) struct Lines {
    /// Apart, so that looking one up touches few cache lines.
    sites: Vec<Site>,
    /// Of each site.
    figures: Vec<LineFigures>,
    others: LineFigures,
}

impl Lines {
    pub(super) fn new() -> Self {
        Lines {
            sites: Vec::new(),
            figures: Vec::new(),
            others: LineFigures::default(),
        }
    }

    fn position(&self, site: Site) -> Option<usize> {
        self.sites.iter().position(|of| ptr::eq(*of, site))
    }

    /// The row of `site`, which is made if need be; that of the others for none.
    pub(super) fn of(&mut self, site: Option<Site>) -> &mut LineFigures {
        let Some(site) = site else {
            return &mut self.others;
        };
        let row = self.position(site).unwrap_or_else(|| self.make(site));
        &mut self.figures[row]
    }

    /// One row more, or that of the cheapest line.
    fn make(&mut self, site: Site) -> usize {
        if self.sites.len() == LINES
            && let Some(cheapest) = (0..LINES).min_by_key(|&row| self.figures[row].cost())
        {
            self.sites.swap_remove(cheapest);
            let figures = self.figures.swap_remove(cheapest);
            self.others.add(&figures);
        }
        // Few lines acquire most locks: the first allocation is of two.
        let row = self.sites.len();
        if row == self.sites.capacity() {
            self.sites.reserve_exact(row.max(2));
            self.figures.reserve_exact(row.max(2));
        }
        self.sites.push(site);
        self.figures.push(LineFigures::default());
        row
    }

    /// Every row; `None` is that of the others, which may be empty.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Option<Site>, &LineFigures)> {
        let sites = self.sites.iter().copied().map(Some);
        let rows = sites.zip(&self.figures);
        rows.chain([(None, &self.others)])
    }
}
