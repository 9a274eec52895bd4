//! The service, with all its locks.
//!
//! # Lock order
//!
//! `sessions`, alone · `volumes` · `buckets` · `keys` (of two buckets, the lower address first) ·
//! `usage` (one at a time) · `journal`.
//!
//! `volumes` and `buckets` are left again once the next level is found. An edit keeps `keys` until
//! it is in the journal, so that the journal has the edits of a bucket in the order in which they
//! were made. The price is for the report to show: a hold of `keys` for writing contains the wait
//! for `journal`.

use super::journal::{Edit, Journal};
use super::request::{BucketPath, Entry, KeyPath, Name, Outcome, Request, Response};
use super::sessions::Sessions;
use instrumented_lock::{Mutex, RwLock, RwLockWriteGuard, instrumented};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::Bound;
use std::sync::Arc;

/// Keys that a bucket may have for each it was loaded with: enough that a request is turned down
/// only now and then.
const GROWTH: u64 = 4;

/// The service: volumes with buckets with keys, the clients' sessions, and a journal of edits.
#[instrumented(prefix = "namespace")]
#[derive(Default)]
pub struct Namespace {
    sessions: Mutex<Sessions>,
    volumes: RwLock<BTreeMap<Name, Arc<Volume>>>,
    journal: Mutex<Journal>,
}

#[instrumented(prefix = "namespace")]
#[derive(Default)]
struct Volume {
    buckets: RwLock<BTreeMap<Name, Arc<Bucket>>>,
}

#[instrumented(prefix = "namespace")]
#[derive(Default)]
struct Bucket {
    keys: RwLock<BTreeMap<Name, Entry>>,
    usage: Mutex<Usage>,
}

/// What a bucket holds, and may hold.
#[derive(Default)]
struct Usage {
    keys: u64,
    bytes: u64,
    most_keys: u64,
}

/// What [`Namespace::restore`] had to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The volume was not there yet.
    pub new_volume: bool,
    /// The bucket was not there yet.
    pub new_bucket: bool,
}

impl Namespace {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a key where it was before the service started, whatever the quota; makes its volume
    /// and bucket. No client's request, so neither session nor journal has to do with it.
    pub fn restore(&self, path: &KeyPath, entry: Entry) -> Restored {
        let BucketPath { volume, bucket } = &path.at;
        let found = self.volumes.read().get(volume).cloned();
        let new_volume = found.is_none();
        let volume = found.unwrap_or_else(|| {
            self.volumes
                .write()
                .entry(volume.clone())
                .or_default()
                .clone()
        });
        let found = volume.buckets.read().get(bucket).cloned();
        let new_bucket = found.is_none();
        let bucket = found.unwrap_or_else(|| {
            volume
                .buckets
                .write()
                .entry(bucket.clone())
                .or_default()
                .clone()
        });
        let mut keys = bucket.keys.write();
        let replaced = keys.insert(path.key.clone(), entry);
        bucket.usage.lock().restore(replaced, entry);
        Restored {
            new_volume,
            new_bucket,
        }
    }

    /// Answers a request of a client.
    pub fn handle(&self, client: u32, request: &Request) -> Response {
        self.sessions.lock().renew(client);
        match request {
            Request::LookUp(path) => self.look_up(path),
            Request::List { at, prefix, limit } => self.list(at, prefix, *limit),
            Request::Create(path, entry) => Response::Ended(self.create(path, *entry)),
            Request::Rename { from, to } if from.at == to.at => {
                Response::Ended(self.rename(from, to))
            }
            Request::Rename { from, to } => Response::Ended(self.move_between(from, to)),
            Request::Delete(path) => Response::Ended(self.delete(path)),
            Request::MakeBucket(at) => Response::Ended(self.make_bucket(at)),
        }
    }

    /// How many edits there were. Takes no lock: nobody else is there.
    pub fn edits(&mut self) -> u64 {
        self.journal.get_mut().edits()
    }

    fn look_up(&self, path: &KeyPath) -> Response {
        let Some(bucket) = self.bucket(&path.at) else {
            return Response::Ended(Outcome::NoBucket);
        };
        let found = bucket.keys.read().get(&path.key).copied();
        found.map_or(Response::Ended(Outcome::Missing), Response::Found)
    }

    fn list(&self, at: &BucketPath, prefix: &OsStr, limit: usize) -> Response {
        let Some(bucket) = self.bucket(at) else {
            return Response::Ended(Outcome::NoBucket);
        };
        let begins = |key: &OsStr| {
            key.as_encoded_bytes()
                .starts_with(prefix.as_encoded_bytes())
        };
        let keys = bucket.keys.read();
        let page = keys
            .range::<OsStr, _>((Bound::Included(prefix), Bound::Unbounded))
            .take_while(|(key, _)| begins(key))
            .take(limit)
            .map(|(key, entry)| (key.clone(), *entry))
            .collect();
        Response::Page(page)
    }

    fn create(&self, path: &KeyPath, entry: Entry) -> Outcome {
        let Some(bucket) = self.bucket(&path.at) else {
            return Outcome::NoBucket;
        };
        let mut keys = bucket.keys.write();
        if !bucket.usage.lock().admit(keys.get(&path.key), entry) {
            return Outcome::OverQuota;
        }
        keys.insert(path.key.clone(), entry);
        self.journal
            .lock()
            .append(Edit::Create(path.clone(), entry.size));
        Outcome::Done
    }

    fn rename(&self, from: &KeyPath, to: &KeyPath) -> Outcome {
        let Some(bucket) = self.bucket(&from.at) else {
            return Outcome::NoBucket;
        };
        let mut keys = bucket.keys.write();
        let Some(entry) = keys.get(&from.key).copied() else {
            return Outcome::Missing;
        };
        if keys.contains_key(&to.key) {
            return Outcome::Exists;
        }
        keys.remove(&from.key);
        keys.insert(to.key.clone(), entry);
        self.journal
            .lock()
            .append(Edit::Rename(from.clone(), to.clone()));
        Outcome::Done
    }

    /// A rename from one bucket to another one. The caller has seen that they are two: both are
    /// locked for writing.
    fn move_between(&self, from: &KeyPath, to: &KeyPath) -> Outcome {
        let (Some(source), Some(target)) = (self.bucket(&from.at), self.bucket(&to.at)) else {
            return Outcome::NoBucket;
        };
        let (mut source_keys, mut target_keys) = write_both(&source, &target);
        let Some(entry) = source_keys.get(&from.key).copied() else {
            return Outcome::Missing;
        };
        if target_keys.contains_key(&to.key) {
            return Outcome::Exists;
        }
        if !target.usage.lock().admit(None, entry) {
            return Outcome::OverQuota;
        }
        source.usage.lock().release(entry);
        source_keys.remove(&from.key);
        target_keys.insert(to.key.clone(), entry);
        self.journal
            .lock()
            .append(Edit::Rename(from.clone(), to.clone()));
        Outcome::Done
    }

    fn delete(&self, path: &KeyPath) -> Outcome {
        let Some(bucket) = self.bucket(&path.at) else {
            return Outcome::NoBucket;
        };
        let mut keys = bucket.keys.write();
        let Some(entry) = keys.remove(&path.key) else {
            return Outcome::Missing;
        };
        bucket.usage.lock().release(entry);
        self.journal.lock().append(Edit::Delete(path.clone()));
        Outcome::Done
    }

    fn make_bucket(&self, at: &BucketPath) -> Outcome {
        let Some(volume) = self.volume(&at.volume) else {
            return Outcome::NoBucket;
        };
        let mut buckets = volume.buckets.write();
        if buckets.contains_key(&at.bucket) {
            return Outcome::Exists;
        }
        buckets.insert(at.bucket.clone(), Arc::default());
        self.journal.lock().append(Edit::MakeBucket(at.clone()));
        Outcome::Done
    }

    fn volume(&self, name: &OsStr) -> Option<Arc<Volume>> {
        self.volumes.read().get(name).cloned()
    }

    fn bucket(&self, at: &BucketPath) -> Option<Arc<Bucket>> {
        self.volume(&at.volume)?
            .buckets
            .read()
            .get(&at.bucket)
            .cloned()
    }
}

type Keys<'a> = RwLockWriteGuard<'a, BTreeMap<Name, Entry>>;

/// Both buckets' keys, locked in the order of their addresses, so that two moves in opposite
/// directions do not wait for each other.
fn write_both<'a>(source: &'a Arc<Bucket>, target: &'a Arc<Bucket>) -> (Keys<'a>, Keys<'a>) {
    if Arc::as_ptr(source) < Arc::as_ptr(target) {
        let source = source.keys.write();
        (source, target.keys.write())
    } else {
        let target = target.keys.write();
        (source.keys.write(), target)
    }
}

impl Usage {
    /// Accounts for a key that takes the place of `replaced`, unless there would be too many.
    fn admit(&mut self, replaced: Option<&Entry>, entry: Entry) -> bool {
        if replaced.is_none() && self.keys >= self.most_keys {
            return false;
        }
        if let Some(&replaced) = replaced {
            self.release(replaced);
        }
        self.keys += 1;
        // File sizes are the file system's word, and a sparse file can claim any.
        self.bytes = self.bytes.saturating_add(entry.size);
        true
    }

    fn release(&mut self, entry: Entry) {
        self.keys -= 1;
        self.bytes = self.bytes.saturating_sub(entry.size);
    }

    /// Accounts for a key that was there before, and makes room for others.
    fn restore(&mut self, replaced: Option<Entry>, entry: Entry) {
        if replaced.is_none() {
            self.most_keys += GROWTH;
        }
        self.admit(replaced.as_ref(), entry);
    }
}
