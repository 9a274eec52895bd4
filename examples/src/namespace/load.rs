//! From a directory tree to keys: the first level of directories are volumes, the second buckets,
//! and the rest of a file's path is its key.

use super::failure::Failure;
use super::request::{BucketPath, Entry, KeyPath};
use super::store::Namespace;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

/// The volume and the bucket of files that lie above their level. No entry of a directory is named
/// like this.
const ABOVE: &str = ".";

/// Unreadable entries whose path and reason are kept.
const REASONS: usize = 5;

/// What was found.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Every key, in the order of the directory walk.
    pub keys: Vec<KeyPath>,
    /// Volumes that have a key.
    pub volumes: u64,
    /// Buckets that have a key.
    pub buckets: u64,
    /// Symbolic links, sockets and the like: they are no keys, and links are not followed, since
    /// they can lead around in a circle.
    pub special: u64,
    /// Files and directories that could not be read, and were skipped.
    pub unreadable: u64,
    /// The first few of those.
    pub reasons: Vec<Unreadable>,
}

/// An entry that could not be read.
#[derive(Debug)]
pub struct Unreadable {
    /// The entry; the directory, where the entry has no name yet.
    pub path: PathBuf,
    /// What the operating system says.
    pub reason: io::Error,
}

/// A directory that is still to be read.
struct Directory {
    path: PathBuf,
    /// Above the volumes is 0.
    depth: usize,
    /// Where its files go.
    at: BucketPath,
    /// What their keys begin with: empty, or the rest of the path with a `/` at its end.
    prefix: OsString,
}

/// Walks through the tree below `root` and restores every regular file as a key. `progress` is
/// called with what was found so far, once for each directory.
///
/// # Errors
///
/// Where `root` is not a directory that can be read, or no file at all is below it. An unreadable
/// entry below `root` is no error: it is skipped and counted.
pub fn load(
    root: &Path,
    namespace: &Namespace,
    mut progress: impl FnMut(&Loaded),
) -> Result<Loaded, Failure> {
    fs::read_dir(root).map_err(|reason| Failure::Root {
        path: root.to_owned(),
        reason,
    })?;
    let mut loaded = Loaded::default();
    let mut open = vec![Directory::root(root)];
    while let Some(directory) = open.pop() {
        progress(&loaded);
        let entries = match fs::read_dir(&directory.path) {
            Ok(entries) => entries,
            Err(reason) => {
                loaded.skip(directory.path, reason);
                continue;
            }
        };
        for entry in entries {
            match entry {
                Ok(entry) => {
                    if let Err(reason) = directory.add(&entry, namespace, &mut loaded, &mut open) {
                        loaded.skip(entry.path(), reason);
                    }
                }
                Err(reason) => loaded.skip(directory.path.clone(), reason),
            }
        }
    }
    if loaded.keys.is_empty() {
        return Err(Failure::Empty {
            path: root.to_owned(),
            unreadable: loaded.reasons,
        });
    }
    Ok(loaded)
}

impl Directory {
    fn root(path: &Path) -> Self {
        let above = || OsStr::new(ABOVE).into();
        Directory {
            path: path.to_owned(),
            depth: 0,
            at: BucketPath {
                volume: above(),
                bucket: above(),
            },
            prefix: OsString::new(),
        }
    }

    fn child(&self, path: PathBuf, name: &OsStr) -> Self {
        let mut at = self.at.clone();
        let mut prefix = self.prefix.clone();
        match self.depth {
            0 => at.volume = name.into(),
            1 => at.bucket = name.into(),
            _ => {
                prefix.push(name);
                prefix.push("/");
            }
        }
        Directory {
            path,
            depth: self.depth + 1,
            at,
            prefix,
        }
    }

    /// Restores a file, puts a directory on the list, counts anything else.
    fn add(
        &self,
        entry: &DirEntry,
        namespace: &Namespace,
        loaded: &mut Loaded,
        open: &mut Vec<Directory>,
    ) -> io::Result<()> {
        let kind = entry.file_type()?;
        let name = entry.file_name();
        if kind.is_dir() {
            open.push(self.child(entry.path(), &name));
        } else if kind.is_file() {
            let metadata = entry.metadata()?;
            let value = Entry {
                size: metadata.len(),
                modified: metadata.modified().ok(),
            };
            let mut key = self.prefix.clone();
            key.push(&name);
            let key = KeyPath {
                at: self.at.clone(),
                key: key.into(),
            };
            let restored = namespace.restore(&key, value);
            loaded.volumes += u64::from(restored.new_volume);
            loaded.buckets += u64::from(restored.new_bucket);
            loaded.keys.push(key);
        } else {
            loaded.special += 1;
        }
        Ok(())
    }
}

impl Loaded {
    fn skip(&mut self, path: PathBuf, reason: io::Error) {
        self.unreadable += 1;
        if self.reasons.len() < REASONS {
            self.reasons.push(Unreadable { path, reason });
        }
    }
}
