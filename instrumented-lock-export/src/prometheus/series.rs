//! [`Series`]: which lines, operations and locks of a class are series of their own.

use instrumented_lock::{
    CallSite, InstanceSnapshot, Location, LockSnapshot, OperationLock, OperationSnapshot, Snapshot,
};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::hash::Hash;
use std::time::Duration;

/// What the label of everything that is not told apart says.
pub(super) const OTHER: &str = "other";

/// What is told apart: the lines of the program, the operations, and the locks of a class that cost most. All
/// others are one series of a lock, whose label says `other`.
///
/// Keep it from one scrape to the next and [`add`](Self::add) to it: what is told apart once stays so.
/// Otherwise the counter of `other` goes down whenever a line rises among those that cost most, which
/// Prometheus takes for a restart.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// By the lock's name, file, line and column.
    lines: Told<(String, Location)>,
    operations: Told<String>,
    /// By the operation's name and the lock's.
    locks_of_operations: Told<(String, String)>,
    /// By the lock's name and the label or address.
    instances: Told<(String, String)>,
}

impl Series {
    /// How many are told apart where nobody says otherwise: 100.
    pub const DEFAULT: usize = 100;

    /// At most `most` of each: lines, operations, pairs of an operation and a lock, and locks of a class; those
    /// that cost most in the snapshot.
    pub fn of(snapshot: &Snapshot, most: usize) -> Self {
        let mut series = Series {
            lines: Told::at_most(most),
            operations: Told::at_most(most),
            locks_of_operations: Told::at_most(most),
            instances: Told::at_most(most),
        };
        series.add(snapshot);
        series
    }

    /// Tells further ones of a later snapshot apart as long as there is room, those that cost most first.
    pub fn add(&mut self, snapshot: &Snapshot) {
        self.lines.add(|| {
            let of_lock = |lock| lines(lock).map(|site| (cost(site), line_key(lock, site)));
            snapshot.locks().iter().flat_map(of_lock).collect()
        });
        let operations = || snapshot.operations().iter().filter(|it| is_named(it));
        self.operations.add(|| {
            let one =
                |it: &OperationSnapshot| ((of_operation(it), it.held()), it.name().to_owned());
            operations().map(one).collect()
        });
        self.locks_of_operations.add(|| {
            let of_one = |it| {
                OperationSnapshot::locks(it)
                    .iter()
                    .map(move |lock| (it, lock))
            };
            let one = |(it, lock): (&OperationSnapshot, &OperationLock)| {
                let cost = (lock.waited() + lock.blame(), lock.held());
                (cost, (it.name().to_owned(), lock.lock().to_owned()))
            };
            operations().flat_map(of_one).map(one).collect()
        });
        self.instances.add(|| {
            let of_lock = |lock| {
                let told = LockSnapshot::waited_for(lock)
                    .iter()
                    .filter(|it| !it.is_others());
                told.map(move |it| (it.blocked() + it.blame(), instance_key(lock, it)))
            };
            snapshot.locks().iter().flat_map(of_lock).collect()
        });
    }

    /// The label of a line; `None` where it is one of the others.
    pub(super) fn line(&self, lock: &LockSnapshot, site: &CallSite) -> Option<String> {
        self.lines
            .has(&line_key(lock, site))
            .then(|| site.location().to_string())
    }

    /// The label of an operation.
    pub(super) fn operation<'a>(&self, operation: &'a OperationSnapshot) -> &'a str {
        let name = operation.name();
        if self.operations.chosen.contains(name) {
            name
        } else {
            OTHER
        }
    }

    /// The label of an operation in what it has had of a lock.
    pub(super) fn operation_of<'a>(
        &self,
        operation: &'a OperationSnapshot,
        lock: &OperationLock,
    ) -> &'a str {
        let key = (operation.name().to_owned(), lock.lock().to_owned());
        if self.locks_of_operations.has(&key) {
            operation.name()
        } else {
            OTHER
        }
    }

    /// The label of a lock of a class.
    pub(super) fn instance(&self, lock: &LockSnapshot, instance: &InstanceSnapshot) -> String {
        let key = instance_key(lock, instance);
        if !instance.is_others() && self.instances.has(&key) {
            key.1
        } else {
            OTHER.to_owned()
        }
    }
}

/// What has been chosen, and how much may be.
#[derive(Clone, Debug)]
struct Told<K> {
    most: usize,
    chosen: HashSet<K>,
}

impl<K> Default for Told<K> {
    fn default() -> Self {
        Told {
            most: 0,
            chosen: HashSet::new(),
        }
    }
}

impl<K: Clone + Eq + Hash + Ord> Told<K> {
    fn at_most(most: usize) -> Self {
        Told {
            most,
            ..Told::default()
        }
    }

    fn has(&self, key: &K) -> bool {
        self.chosen.contains(key)
    }

    /// Those that cost most first; nobody is asked where there is no room.
    fn add<C: Ord>(&mut self, all: impl FnOnce() -> Vec<(C, K)>) {
        if self.chosen.len() >= self.most {
            return;
        }
        let mut new = all();
        new.retain(|(_, key)| !self.has(key));
        new.sort_by(|a, b| (Reverse(&a.0), &a.1).cmp(&(Reverse(&b.0), &b.1)));
        for (_, key) in new {
            if self.chosen.len() >= self.most {
                break;
            }
            self.chosen.insert(key);
        }
    }
}

fn line_key(lock: &LockSnapshot, site: &CallSite) -> (String, Location) {
    (lock.name().to_owned(), site.location().clone())
}

fn instance_key(lock: &LockSnapshot, instance: &InstanceSnapshot) -> (String, String) {
    (lock.name().to_owned(), instance.name())
}

/// The lines that have waited or made others wait, but for those that the snapshot does not tell apart.
fn lines(lock: &LockSnapshot) -> impl Iterator<Item = &CallSite> {
    let told = |site: &&CallSite| !site.is_other() && !cost(site).is_zero();
    lock.call_sites().iter().filter(told)
}

/// What waiting a line has had and caused.
fn cost(site: &CallSite) -> Duration {
    site.blocked_total() + site.blame()
}

fn of_operation(operation: &OperationSnapshot) -> Duration {
    operation.waited().saturating_add(operation.blame())
}

/// Whether it is one operation, not all that the snapshot does not tell apart.
fn is_named(operation: &OperationSnapshot) -> bool {
    operation.name() != "(other)"
}
