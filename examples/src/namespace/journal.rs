//! The journal: every edit has a number, and the latest are kept in their encoded form for whoever
//! follows the service.

use super::request::{BucketPath, KeyPath};
use std::collections::VecDeque;

/// Edits that are encoded at one time.
const BATCH: usize = 128;

/// Encoded batches that are kept; a follower that is further behind starts from a full copy.
const SEGMENTS: usize = 64;

/// A change of the namespace.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    Create(KeyPath, u64),
    Rename(KeyPath, KeyPath),
    Delete(KeyPath),
    MakeBucket(BucketPath),
}

/// Memory is bounded: one open batch and a ring of encoded ones.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// The number of the next edit.
    next: u64,
    open: Vec<Edit>,
    /// Encoded batches, the latest last.
    segments: VecDeque<Vec<u8>>,
}

impl Journal {
    /// Numbers the edit. Every [`BATCH`]th also encodes its batch, and makes whoever waits for the
    /// journal wait for that.
    pub(super) fn append(&mut self, edit: Edit) {
        self.open.push(edit);
        self.next += 1;
        if self.open.len() == BATCH {
            self.flush();
        }
    }

    /// How many edits there were.
    pub(super) fn edits(&self) -> u64 {
        self.next
    }

    /// Encodes the open batch: the number of its first edit, the edits, a checksum.
    fn flush(&mut self) {
        let first = self.next - self.open.len() as u64;
        let mut bytes = first.to_le_bytes().to_vec();
        for edit in self.open.drain(..) {
            edit.encode(&mut bytes);
        }
        bytes.extend(checksum(&bytes).to_le_bytes());
        if self.segments.len() == SEGMENTS {
            self.segments.pop_front();
        }
        self.segments.push_back(bytes);
    }
}

impl Edit {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Edit::Create(key, size) => {
                out.push(b'c');
                encode_key(key, out);
                out.extend(size.to_le_bytes());
            }
            Edit::Rename(from, to) => {
                out.push(b'r');
                encode_key(from, out);
                encode_key(to, out);
            }
            Edit::Delete(key) => {
                out.push(b'd');
                encode_key(key, out);
            }
            Edit::MakeBucket(at) => {
                out.push(b'b');
                encode_bucket(at, out);
            }
        }
    }
}

fn encode_bucket(at: &BucketPath, out: &mut Vec<u8>) {
    // A file name has no zero byte.
    for name in [&at.volume, &at.bucket] {
        out.extend(name.as_encoded_bytes());
        out.push(0);
    }
}

fn encode_key(key: &KeyPath, out: &mut Vec<u8>) {
    encode_bucket(&key.at, out);
    out.extend(key.key.as_encoded_bytes());
    out.push(0);
}

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn the_latest_edits_are_kept_in_order_and_older_ones_are_not() {
        let mut journal = Journal::default();
        let at = BucketPath {
            volume: OsStr::new("v").into(),
            bucket: OsStr::new("b").into(),
        };
        let edits = (SEGMENTS + 3) * BATCH + 5;
        for _ in 0..edits {
            journal.append(Edit::MakeBucket(at.clone()));
        }
        assert_eq!((journal.edits(), journal.open.len()), (edits as u64, 5));
        assert_eq!(journal.segments.len(), SEGMENTS);
        for (n, segment) in (3..).zip(&journal.segments) {
            let (content, sum) = segment.split_at(segment.len() - 8);
            let first = (n * BATCH as u64).to_le_bytes();
            assert_eq!(content, [&first[..], &b"bv\0b\0".repeat(BATCH)].concat());
            assert_eq!(sum, checksum(content).to_le_bytes());
        }
    }
}
