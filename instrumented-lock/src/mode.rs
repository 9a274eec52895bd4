//! [`Mode`]: how a lock is acquired.

use std::fmt;

/// How a lock is acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Mode {
    /// Exclusively: every acquisition of a mutex, and the writers of a reader-writer lock.
    Write,
    /// Shared with other readers.
    Read,
    /// Shared with readers, and able to become exclusive; one at a time.
    Upgradable,
}

/// `write`, `read` or `upgradable`.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Mode::Write => "write",
            Mode::Read => "read",
            Mode::Upgradable => "upgradable",
        })
    }
}

/// What a record is about: an acquisition in some mode, or the sleep of a condition variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Activity {
    Write = 0,
    Read = 1,
    Upgradable = 2,
    /// An "acquisition" is a sleep that begins, a "hold" the time asleep.
    Sleep = 3,
}

impl Activity {
    /// In the order of their numbers.
    pub(crate) const ALL: [Activity; 4] = [
        Activity::Write,
        Activity::Read,
        Activity::Upgradable,
        Activity::Sleep,
    ];

    /// The one with this number; only the two lowest bits count.
    #[inline(always)]
    pub(crate) fn from_bits(bits: usize) -> Activity {
        Self::ALL[bits & 3]
    }

    /// The mode of an acquisition; `None` for a sleep.
    pub(crate) fn mode(self) -> Option<Mode> {
        match self {
            Activity::Write => Some(Mode::Write),
            Activity::Read => Some(Mode::Read),
            Activity::Upgradable => Some(Mode::Upgradable),
            Activity::Sleep => None,
        }
    }

    /// Whether nobody else has the lock meanwhile.
    #[inline(always)]
    pub(crate) fn is_exclusive(self) -> bool {
        matches!(self, Activity::Write)
    }
}

impl From<Mode> for Activity {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Write => Activity::Write,
            Mode::Read => Activity::Read,
            Mode::Upgradable => Activity::Upgradable,
        }
    }
}
