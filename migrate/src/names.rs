//! Which names are locks, of which library, and what they are called afterwards.

/// Where a lock comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    Std,
    ParkingLot,
}

/// Lock types.
pub(crate) const LOCKS: [&str; 5] = ["Mutex", "RwLock", "FairMutex", "ReentrantMutex", "Condvar"];

/// What else goes with the locks of std: it is no other type than the guards of these locks.
const OF_STD: [&str; 9] = [
    "Mutex",
    "RwLock",
    "Condvar",
    "MutexGuard",
    "RwLockReadGuard",
    "RwLockWriteGuard",
    "MappedMutexGuard",
    "MappedRwLockReadGuard",
    "MappedRwLockWriteGuard",
];

/// What the library has under the names that `parking_lot` has.
const OF_PARKING_LOT: [&str; 24] = [
    "Mutex",
    "RwLock",
    "FairMutex",
    "ReentrantMutex",
    "Condvar",
    "MutexGuard",
    "MappedMutexGuard",
    "FairMutexGuard",
    "MappedFairMutexGuard",
    "ReentrantMutexGuard",
    "MappedReentrantMutexGuard",
    "RwLockReadGuard",
    "RwLockWriteGuard",
    "RwLockUpgradableReadGuard",
    "MappedRwLockReadGuard",
    "MappedRwLockWriteGuard",
    "WaitTimeoutResult",
    "Once",
    "OnceState",
    "RawMutex",
    "RawFairMutex",
    "RawRwLock",
    "RawThreadId",
    "lock_api",
];

impl Library {
    /// The path before its names.
    pub(crate) fn path(self) -> &'static [&'static str] {
        match self {
            Library::Std => &["std", "sync"],
            Library::ParkingLot => &["parking_lot"],
        }
    }

    /// Whether the name means something else afterwards.
    pub(crate) fn has(self, name: &str) -> bool {
        match self {
            Library::Std => OF_STD.contains(&name),
            Library::ParkingLot => OF_PARKING_LOT.contains(&name),
        }
    }

    /// The path that stands for it, in a file where fields have classes in their types, or in another one.
    pub(crate) fn replacement(self, has_classes: bool) -> &'static str {
        match (self, has_classes) {
            (Library::Std, true) => "instrumented_lock::std_sync::annotated",
            (Library::Std, false) => "instrumented_lock::std_sync",
            (Library::ParkingLot, true) => "instrumented_lock",
            (Library::ParkingLot, false) => "instrumented_lock::drop_in",
        }
    }
}

/// The library whose path these names begin with.
pub(crate) fn library_of(path: &[String]) -> Option<Library> {
    let libraries = [Library::Std, Library::ParkingLot];
    libraries.into_iter().find(|library| {
        let prefix = library.path();
        path.len() > prefix.len() && path.iter().zip(prefix).all(|(name, known)| name == known)
    })
}
