//! What a client may ask, and what it hears.

use std::ffi::OsStr;
use std::sync::Arc;
use std::time::SystemTime;

/// The name of a volume, bucket or key. Shared, so that a listing copies no text under a lock. An
/// [`OsStr`], because file names need not be UTF-8.
pub type Name = Arc<OsStr>;

/// Where a bucket is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketPath {
    /// The volume it is in.
    pub volume: Name,
    /// Its name there.
    pub bucket: Name,
}

/// Where a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPath {
    /// The bucket it is in.
    pub at: BucketPath,
    /// Its name there: a path with `/` between its parts.
    pub key: Name,
}

/// What is known about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Bytes.
    pub size: u64,
    /// When it was last written; `None` where the file system does not say.
    pub modified: Option<SystemTime>,
}

/// What a client may ask.
#[derive(Clone, Debug)]
pub enum Request {
    /// The entry of a key.
    LookUp(KeyPath),
    /// The keys that begin with `prefix`, in order, the first `limit` of them.
    List {
        /// The bucket to list.
        at: BucketPath,
        /// What the keys begin with.
        prefix: Name,
        /// How many to answer at most.
        limit: usize,
    },
    /// Writes a key, new or not.
    Create(KeyPath, Entry),
    /// Gives a key another name, in its bucket or another.
    Rename {
        /// The key that is there.
        from: KeyPath,
        /// The key that is to be there, and is not yet.
        to: KeyPath,
    },
    /// Removes a key.
    Delete(KeyPath),
    /// Makes an empty bucket in a volume.
    MakeBucket(BucketPath),
}

/// What was done, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// [`Request::LookUp`].
    LookUp,
    /// [`Request::List`].
    List,
    /// [`Request::Create`].
    Create,
    /// [`Request::Rename`] inside a bucket.
    Rename,
    /// [`Request::Rename`] from one bucket to another.
    Move,
    /// [`Request::Delete`].
    Delete,
    /// [`Request::MakeBucket`].
    MakeBucket,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As asked.
    Done,
    /// There is no such key.
    Missing,
    /// There already is one of that name.
    Exists,
    /// The bucket may not have more keys.
    OverQuota,
    /// There is no such volume or bucket.
    NoBucket,
}

/// What the client hears.
#[derive(Clone, Debug)]
pub enum Response {
    /// The entry that was looked up.
    Found(Entry),
    /// The keys that were listed.
    Page(Vec<(Name, Entry)>),
    /// Nothing but how it ended.
    Ended(Outcome),
}

impl Operation {
    /// All of them, in the order of their declaration.
    pub const ALL: [Operation; 7] = [
        Operation::LookUp,
        Operation::List,
        Operation::Create,
        Operation::Rename,
        Operation::Move,
        Operation::Delete,
        Operation::MakeBucket,
    ];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Operation::LookUp => "look up",
            Operation::List => "list",
            Operation::Create => "create",
            Operation::Rename => "rename",
            Operation::Move => "move",
            Operation::Delete => "delete",
            Operation::MakeBucket => "make bucket",
        }
    }
}

impl Outcome {
    /// All of them, in the order of their declaration.
    pub const ALL: [Outcome; 5] = [
        Outcome::Done,
        Outcome::Missing,
        Outcome::Exists,
        Outcome::OverQuota,
        Outcome::NoBucket,
    ];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Missing => "missing",
            Outcome::Exists => "name taken",
            Outcome::OverQuota => "over quota",
            Outcome::NoBucket => "no such bucket",
        }
    }
}

impl Request {
    /// The kind of operation that answers it.
    pub fn operation(&self) -> Operation {
        match self {
            Request::LookUp(_) => Operation::LookUp,
            Request::List { .. } => Operation::List,
            Request::Create(..) => Operation::Create,
            Request::Rename { from, to } if from.at == to.at => Operation::Rename,
            Request::Rename { .. } => Operation::Move,
            Request::Delete(_) => Operation::Delete,
            Request::MakeBucket(_) => Operation::MakeBucket,
        }
    }
}

impl Response {
    /// How it ended.
    pub fn outcome(&self) -> Outcome {
        match self {
            Response::Found(_) | Response::Page(_) => Outcome::Done,
            Response::Ended(outcome) => *outcome,
        }
    }

    /// Appends the answer as it would go over the wire: the work of a handler outside all locks.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.outcome() as u8);
        match self {
            Response::Found(entry) => out.extend(entry.size.to_le_bytes()),
            Response::Page(page) => {
                for (key, entry) in page {
                    out.extend(key.as_encoded_bytes());
                    out.push(0);
                    out.extend(entry.size.to_le_bytes());
                }
            }
            Response::Ended(_) => {}
        }
    }
}
