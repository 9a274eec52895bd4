//! [`CrateSnapshot`]: the sums of what a crate makes.

use super::{LockSnapshot, ModeSnapshot, Snapshot};
use std::fmt;
use std::time::Duration;

/// What all locks come to that one crate makes: see [`Snapshot::by_crate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrateSnapshot {
    name: Option<String>,
    classes: usize,
    locks: u64,
    acquisitions: u64,
    contended: u64,
    waited: Duration,
    held: Duration,
}

impl CrateSnapshot {
    /// The crate, as the path of its source says: `r2d2-0.8.10` of one from a registry, the folder of a member
    /// of the workspace or of another one by path, and none for what lies in the workspace's own `src`.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Lock classes that have been used.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Locks that have been [used](LockSnapshot::used), those that are gone included.
    pub fn locks(&self) -> u64 {
        self.locks
    }

    /// Acquisitions in all modes.
    pub fn acquisitions(&self) -> u64 {
        self.acquisitions
    }

    /// Those that had to wait.
    pub fn contended(&self) -> u64 {
        self.contended
    }

    /// What was [waited](ModeSnapshot::waited), by all who waited: of several that wait at the same time the
    /// sum.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// What was held, by all who held: likewise a sum, which says nothing about any one lock.
    pub fn held(&self) -> Duration {
        self.held
    }

    fn new(name: Option<String>) -> Self {
        CrateSnapshot {
            name,
            classes: 0,
            locks: 0,
            acquisitions: 0,
            contended: 0,
            waited: Duration::ZERO,
            held: Duration::ZERO,
        }
    }

    fn add(&mut self, lock: &LockSnapshot) {
        let modes = || lock.modes().map(|(_, mode)| mode);
        let acquisitions: u64 = modes().map(ModeSnapshot::acquisitions).sum();
        self.classes += usize::from(acquisitions > 0);
        self.locks += lock.used();
        self.acquisitions += acquisitions;
        self.contended += modes().map(ModeSnapshot::contended).sum::<u64>();
        self.waited = modes().fold(self.waited, |sum, mode| sum.saturating_add(mode.waited()));
        self.held = modes().fold(self.held, |sum, mode| sum.saturating_add(mode.hold().sum()));
    }
}

/// One line.
impl fmt::Display for CrateSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} classes, {} locks, {} acquisitions, {} of them waited {:.1?}, held {:.1?}",
            self.name().unwrap_or("this program"),
            self.classes,
            self.locks,
            self.acquisitions,
            self.contended,
            self.waited,
            self.held,
        )
    }
}

impl Snapshot {
    /// The sums of each crate that makes locks, in which threads waited most first: what a dependency costs as a
    /// whole. A lock is its crate's where it is declared or made, whoever uses it.
    ///
    /// ```
    /// use instrumented_lock::{drop_in, registry};
    ///
    /// let lock = drop_in::Mutex::new(0);
    /// *lock.lock() += 1;
    /// for of_crate in registry::snapshot().by_crate() {
    ///     println!("{of_crate}");
    /// }
    /// ```
    pub fn by_crate(&self) -> Vec<CrateSnapshot> {
        let mut all: Vec<CrateSnapshot> = Vec::new();
        for lock in self.locks() {
            let name = lock.declared_at().crate_folder();
            let known = all.iter().position(|of_crate| of_crate.name() == name);
            let place = known.unwrap_or_else(|| {
                all.push(CrateSnapshot::new(name.map(str::to_owned)));
                all.len() - 1
            });
            all[place].add(lock);
        }
        all.retain(|of_crate| of_crate.classes > 0);
        all.sort_by(|a, b| {
            let key = |of: &CrateSnapshot| (of.waited, of.held);
            key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name))
        });
        all
    }
}
