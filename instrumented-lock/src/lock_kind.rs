//! [`LockKind`]: what kind of lock a class is made of.

use std::fmt;

/// What kind of lock a class is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
#[repr(u8)]
pub enum LockKind {
    /// Declared through a type alias, and none of its locks has been used yet.
    Unknown = 0,
    /// [`Mutex`](crate::Mutex).
    Mutex = 1,
    /// [`RwLock`](crate::RwLock).
    RwLock = 2,
    /// [`FairMutex`](crate::FairMutex).
    FairMutex = 3,
    /// [`ReentrantMutex`](crate::ReentrantMutex).
    ReentrantMutex = 4,
    /// [`RecursiveRwLock`](crate::RecursiveRwLock).
    RecursiveRwLock = 5,
    /// [`Condvar`](crate::Condvar).
    Condvar = 6,
    /// A mutex of tasks: that of the module `tokio`.
    AsyncMutex = 7,
    /// A reader-writer lock of tasks: that of the module `tokio`.
    AsyncRwLock = 8,
    /// A semaphore of tasks: that of the module `tokio`.
    Semaphore = 9,
}

impl LockKind {
    /// Whether tasks wait for it, and not threads: a hold may go on while its thread does something else.
    pub(crate) fn is_async(self) -> bool {
        matches!(
            self,
            LockKind::AsyncMutex | LockKind::AsyncRwLock | LockKind::Semaphore
        )
    }

    pub(crate) fn from_u8(kind: u8) -> Self {
        match kind {
            1 => LockKind::Mutex,
            2 => LockKind::RwLock,
            3 => LockKind::FairMutex,
            4 => LockKind::ReentrantMutex,
            5 => LockKind::RecursiveRwLock,
            6 => LockKind::Condvar,
            7 => LockKind::AsyncMutex,
            8 => LockKind::AsyncRwLock,
            9 => LockKind::Semaphore,
            _ => LockKind::Unknown,
        }
    }
}

impl fmt::Display for LockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LockKind::Unknown => "unused",
            LockKind::Mutex => "Mutex",
            LockKind::RwLock => "RwLock",
            LockKind::FairMutex => "FairMutex",
            LockKind::ReentrantMutex => "ReentrantMutex",
            LockKind::RecursiveRwLock => "RecursiveRwLock",
            LockKind::Condvar => "Condvar",
            LockKind::AsyncMutex => "AsyncMutex",
            LockKind::AsyncRwLock => "AsyncRwLock",
            LockKind::Semaphore => "Semaphore",
        })
    }
}
