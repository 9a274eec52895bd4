//! The clients: who asks for what. Random, from a seed.

use super::request::{BucketPath, Entry, KeyPath, Name, Request};
use fastrand::Rng;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::SystemTime;

/// Entries on the page of a listing.
const PAGE: usize = 200;

/// Names for new keys in each directory, and for new buckets in each volume. Few, so that requests
/// of different clients meet: a name is taken, a key is gone.
const NAMES: u32 = 16;

/// Different clients.
const CLIENTS: u32 = 1024;

/// A stream of requests about some keys.
pub(super) struct Requests<'a> {
    random: Rng,
    keys: &'a [KeyPath],
}

impl<'a> Requests<'a> {
    pub(super) fn new(keys: &'a [KeyPath], seed: u64) -> Self {
        Requests {
            random: Rng::with_seed(seed),
            keys,
        }
    }

    /// The client, and what it asks. `None` where there is no key to ask about.
    pub(super) fn next(&mut self) -> Option<(u32, Request)> {
        // A key at random makes a bucket, a directory, as busy as it is big.
        let key = self.any_key()?;
        // Mostly reads, as object stores have it; as many creates as deletes, so that the namespace
        // does not grow with time.
        let request = match self.random.u32(..1000) {
            0..600 => Request::LookUp(key.clone()),
            600..700 => Request::List {
                at: key.at.clone(),
                prefix: directory(&key.key).into(),
                limit: PAGE,
            },
            700..810 => Request::Create(self.beside(key), self.entry()),
            810..920 => Request::Delete(self.beside(key)),
            920..999 => {
                let other = if self.random.bool() {
                    key
                } else {
                    self.any_key()?
                };
                Request::Rename {
                    from: self.beside(key),
                    to: self.beside(other),
                }
            }
            _ => Request::MakeBucket(BucketPath {
                volume: key.at.volume.clone(),
                bucket: self.name("scratch-".into()),
            }),
        };
        Some((self.random.u32(..CLIENTS), request))
    }

    fn any_key(&mut self) -> Option<&'a KeyPath> {
        self.random.choice(self.keys)
    }

    /// A key of the client's own, in the directory of a loaded one: those stay.
    fn beside(&mut self, key: &KeyPath) -> KeyPath {
        let mut name = directory(&key.key);
        name.push("upload-");
        KeyPath {
            at: key.at.clone(),
            key: self.name(name),
        }
    }

    fn name(&mut self, mut name: OsString) -> Name {
        name.push(self.random.u32(..NAMES).to_string());
        name.into()
    }

    fn entry(&mut self) -> Entry {
        Entry {
            size: self.random.u64(..1 << 20),
            modified: Some(SystemTime::now()),
        }
    }
}

/// Up to the last `/`, that included.
fn directory(key: &OsStr) -> OsString {
    let mut directory = Path::new(key)
        .parent()
        .map(OsString::from)
        .unwrap_or_default();
    if !directory.is_empty() {
        directory.push("/");
    }
    directory
}
