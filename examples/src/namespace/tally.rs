//! Operations done, counted apart from the locks, and the acquisitions that follow from them.

use super::load::Loaded;
use super::request::{Operation, Outcome};
use Operation::{Create, Delete, List, LookUp, MakeBucket, Move, Rename};
use Outcome::{Done, Exists, Missing, OverQuota};
use instrumented_lock::Mode;

/// Acquisitions of one lock class in one mode.
pub type Acquisitions = (&'static str, Mode, u64);

/// Every lock class of the service with the modes in which it is used: the columns of the table below.
pub const LOCKS: [(&str, Mode); 9] = [
    ("namespace::Namespace::sessions", Mode::Write),
    ("namespace::Namespace::volumes", Mode::Read),
    ("namespace::Namespace::volumes", Mode::Write),
    ("namespace::Volume::buckets", Mode::Read),
    ("namespace::Volume::buckets", Mode::Write),
    ("namespace::Bucket::keys", Mode::Read),
    ("namespace::Bucket::keys", Mode::Write),
    ("namespace::Bucket::usage", Mode::Write),
    ("namespace::Namespace::journal", Mode::Write),
];

/// How often each lock is taken by one operation that ends in this way. What is not listed does not
/// happen; neither does [`Outcome::NoBucket`] under [`serve`](super::serve()), which asks for
/// buckets that are there, and none is ever removed.
#[rustfmt::skip]
const TAKEN: [(Operation, Outcome, [u64; LOCKS.len()]); 16] = [
    //               sessions     volumes   buckets   keys         usage     journal
    //                            r    w    r    w    r    w
    (LookUp, Done,         [1,    1,   0,   1,   0,   1,   0,      0,        0]),
    (LookUp, Missing,      [1,    1,   0,   1,   0,   1,   0,      0,        0]),
    (List, Done,           [1,    1,   0,   1,   0,   1,   0,      0,        0]),
    (Create, Done,         [1,    1,   0,   1,   0,   0,   1,      1,        1]),
    (Create, OverQuota,    [1,    1,   0,   1,   0,   0,   1,      1,        0]),
    (Rename, Done,         [1,    1,   0,   1,   0,   0,   1,      0,        1]),
    (Rename, Missing,      [1,    1,   0,   1,   0,   0,   1,      0,        0]),
    (Rename, Exists,       [1,    1,   0,   1,   0,   0,   1,      0,        0]),
    (Move, Done,           [1,    2,   0,   2,   0,   0,   2,      2,        1]),
    (Move, Missing,        [1,    2,   0,   2,   0,   0,   2,      0,        0]),
    (Move, Exists,         [1,    2,   0,   2,   0,   0,   2,      0,        0]),
    (Move, OverQuota,      [1,    2,   0,   2,   0,   0,   2,      1,        0]),
    (Delete, Done,         [1,    1,   0,   1,   0,   0,   1,      1,        1]),
    (Delete, Missing,      [1,    1,   0,   1,   0,   0,   1,      0,        0]),
    (MakeBucket, Done,     [1,    1,   0,   0,   1,   0,   0,      0,        1]),
    (MakeBucket, Exists,   [1,    1,   0,   0,   1,   0,   0,      0,        0]),
];

/// How many operations of each kind ended in which way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: [[u64; Outcome::ALL.len()]; Operation::ALL.len()],
}

impl Tally {
    /// One more.
    pub fn add(&mut self, operation: Operation, outcome: Outcome) {
        self.counts[operation as usize][outcome as usize] += 1;
    }

    /// Those of another thread.
    pub fn merge(&mut self, other: &Tally) {
        let theirs = other.counts.iter().flatten();
        for (ours, theirs) in self.counts.iter_mut().flatten().zip(theirs) {
            *ours += theirs;
        }
    }

    /// Operations of this kind that ended in this way.
    pub fn count(&self, operation: Operation, outcome: Outcome) -> u64 {
        self.counts[operation as usize][outcome as usize]
    }

    /// Operations of this kind.
    pub fn of(&self, operation: Operation) -> u64 {
        self.counts[operation as usize].iter().sum()
    }

    /// All operations.
    pub fn total(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }
}

/// The acquisitions that must have been made, for each of [`LOCKS`]: those of loading, which takes
/// each level once for reading and, where it has to make something, for writing; and those of the
/// operations since.
pub fn acquisitions(loaded: &Loaded, tally: &Tally) -> [Acquisitions; LOCKS.len()] {
    let (keys, volumes, buckets) = (loaded.keys.len() as u64, loaded.volumes, loaded.buckets);
    let mut counts = [0, keys, volumes, keys, buckets, 0, keys, keys, 0];
    for (operation, outcome, taken) in TAKEN {
        let times = tally.count(operation, outcome);
        for (count, taken) in counts.iter_mut().zip(taken) {
            *count += times * taken;
        }
    }
    std::array::from_fn(|i| (LOCKS[i].0, LOCKS[i].1, counts[i]))
}
