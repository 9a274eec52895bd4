//! What is said of a lock: where it is, and how it is taken.

/// How a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    /// Does not queue behind a waiting writer.
    RecursiveRead,
    Upgradable,
    Write,
}

impl Mode {
    /// Whether a thread that holds `self` deadlocks, or may, in taking `next`.
    pub(super) fn excludes(self, next: Mode) -> bool {
        !(next == Mode::RecursiveRead && self != Mode::Write)
    }
}

/// A lock, as the source writes it.
#[derive(Clone, PartialEq)]
pub(super) struct Place {
    /// As shown: `self.index`, `self.shards[..]`.
    pub(super) text: String,
    /// Two places with the same key are the same lock. `None` where an index is computed.
    pub(super) key: Option<String>,
    /// The field of `self` that it is, or is an element of.
    pub(super) field: Option<String>,
}
