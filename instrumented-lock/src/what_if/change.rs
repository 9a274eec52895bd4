//! [`Change`]: what might be changed; [`Unpredictable`]: why nothing is predicted of it.

use crate::snapshot::{Location, LockSnapshot};
use std::fmt;

/// What might be changed about the locks of a class.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Holds are so many times as long: 0.5 for half as long.
    Holds(f64),
    /// This part of each hold is done before or after it: 0.9 for nine tenths.
    Outside(f64),
    /// Each lock is so many, among which those who use it are evenly spread.
    Shards(u32),
    /// These lines only read, and share the lock, as readers of an `RwLock` do.
    Shared(Vec<Location>),
}

impl Change {
    /// Whether it is one that this lock can have.
    pub(super) fn is_one(&self, lock: &LockSnapshot) -> bool {
        let takes = |line: &Location| {
            let mut sites = lock.call_sites().iter();
            sites.any(|site| site.location() == line)
        };
        match self {
            Change::Holds(factor) => factor.is_finite() && *factor >= 0.0,
            Change::Outside(part) => (0.0..=1.0).contains(part),
            Change::Shards(n) => *n > 0,
            Change::Shared(lines) => !lines.is_empty() && lines.iter().all(takes),
        }
    }
}

/// `holds half as long`, `90 % of each hold outside of it`, `8 shards`, `shared by src/store.rs:40:20`.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Holds(factor) if (*factor - 0.5).abs() < 1e-9 => {
                f.write_str("holds half as long")
            }
            Change::Holds(factor) => write!(f, "holds {factor:.2} times as long"),
            Change::Outside(part) => write!(f, "{:.0} % of each hold outside of it", 100.0 * part),
            Change::Shards(n) => write!(f, "{n} shards"),
            Change::Shared(lines) => {
                f.write_str("shared by ")?;
                for (i, line) in lines.iter().enumerate() {
                    write!(
                        f,
                        "{}{}:{}",
                        if i > 0 { ", " } else { "" },
                        line.file(),
                        line.line()
                    )?;
                }
                Ok(())
            }
        }
    }
}

/// Why nothing is predicted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Unpredictable {
    /// No lock has this name, or several have.
    NoSuchLock,
    /// The change is none: a factor below 0 or not finite, a part that is not from 0 to 1, 0 shards, no line or one that does not take the lock.
    NoChange,
    /// Fewer than 100 acquisitions, or fewer than ten that waited.
    TooFew,
    /// The snapshot does not say how many threads there were, or there was one, or there were more than a thousand.
    Threads,
    /// So much of the processors' time was used. Where threads wait for processors as well as for locks, and waiting
    /// itself uses them, what a lock costs is not known.
    Busy(f64),
    /// The model comes to so many times the throughput that was measured.
    DoesNotFit(f64),
}

impl std::error::Error for Unpredictable {}

impl fmt::Display for Unpredictable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unpredictable::NoSuchLock => f.write_str("no lock has this name, or several have"),
            Unpredictable::NoChange => f.write_str(
                "the change is none; give a factor from 0 on, a part from 0 to 1, one shard or more, or lines that take \
                 the lock",
            ),
            Unpredictable::TooFew => {
                f.write_str("fewer than 100 acquisitions, or fewer than ten that had to wait")
            }
            Unpredictable::Threads => f.write_str(
                "there is one thread, or more than a thousand, or their number is not known",
            ),
            Unpredictable::Busy(part) => write!(
                f,
                "the processors are busy for {:.0} % of the time: threads wait for them too",
                100.0 * part
            ),
            Unpredictable::DoesNotFit(ratio) => write!(
                f,
                "a model of equal threads comes to {ratio:.2} times what was measured: they do not all do the same, \
                 or locks are held together"
            ),
        }
    }
}
