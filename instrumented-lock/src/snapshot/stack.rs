//! [`StackSnapshot`]: a stack of those that waited for a lock, or that made others wait.

use crate::mode::Mode;
use std::cmp::Reverse;
use std::fmt;
use std::time::Duration;

/// A stack that has been seen while somebody waited: from [`LockSnapshot::stacks`](super::LockSnapshot::stacks).
///
/// Only some waits are chosen to have their stacks looked at: see
/// [`registry::set_stacks`](crate::registry::set_stacks). Each stands for as many as it was chosen from, so
/// [`count`](Self::count) and [`total`](Self::total) are estimates without bias of what all have had. They are read
/// one after the other, while threads add to them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StackSnapshot {
    pub(crate) role: StackRole,
    pub(crate) mode: Mode,
    pub(crate) count: u64,
    pub(crate) total_ns: u64,
    pub(crate) frames: Vec<Frame>,
}

/// Whose stack it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum StackRole {
    /// One who waited, where it asked for the lock.
    Waiter,
    /// One who held the lock while others waited, where it let go of it.
    Holder,
}

/// `waiter` or `holder`.
impl fmt::Display for StackRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StackRole::Waiter => "waiter",
            StackRole::Holder => "holder",
        })
    }
}

impl StackSnapshot {
    /// Whose stack it is.
    pub fn role(&self) -> StackRole {
        self.role
    }

    /// What the lock was waited for, or held for.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// How many waited with this stack, or made others wait with it. An estimate.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How long they waited, those that gave up too; of a holder, how long others waited while it held the lock.
    /// An estimate. Holders that have the lock together all count in full.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.total_ns)
    }

    /// The functions, the innermost first: from the one that used the lock to `main`, or the function of the thread.
    /// At most 64 are looked at, what is inside of locks among them.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.role, self.mode, &self.frames) == (other.role, other.mode, &other.frames)
    }
}

/// A function in a [stack](StackSnapshot).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frame {
    pub(crate) function: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

impl Frame {
    /// Its name without type parameters, as `app::store::Store::get`; where the program has line tables only, as with
    /// `debug = "line-tables-only"`, no more than `get`, and the file says where. Its address where the program does
    /// not say what is there.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// The file that it is in, if the program has line tables: those of cargo's profile `dev`, or
    /// `debug = "line-tables-only"`.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The line that called the next function, likewise.
    pub fn line(&self) -> Option<u32> {
        self.line
    }
}

/// The function, and where it is if that is known.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, " {file}:{line}"),
            _ => Ok(()),
        }
    }
}

/// Those with the longest time first; those with the same functions are one.
pub(crate) fn sorted(stacks: &[StackSnapshot]) -> Vec<StackSnapshot> {
    merge(&[], stacks)
}

pub(super) fn merge(a: &[StackSnapshot], b: &[StackSnapshot]) -> Vec<StackSnapshot> {
    let mut merged = a.to_vec();
    for also in b {
        match merged.iter_mut().find(|known| known.is_same(also)) {
            Some(known) => {
                known.count = known.count.saturating_add(also.count);
                known.total_ns = known.total_ns.saturating_add(also.total_ns);
            }
            None => merged.push(also.clone()),
        }
    }
    merged.retain(|stack| stack.total_ns > 0 || stack.count > 0);
    merged.sort_by_key(|stack| (Reverse(stack.total_ns), stack.role, stack.mode as usize));
    merged
}

pub(super) fn since(later: &[StackSnapshot], earlier: &[StackSnapshot]) -> Vec<StackSnapshot> {
    let interval = later.iter().map(|stack| {
        let before = earlier.iter().find(|before| before.is_same(stack));
        let (count, total_ns) = before.map_or((0, 0), |before| (before.count, before.total_ns));
        StackSnapshot {
            count: stack.count.saturating_sub(count),
            total_ns: stack.total_ns.saturating_sub(total_ns),
            ..stack.clone()
        }
    });
    sorted(&interval.collect::<Vec<_>>())
}
