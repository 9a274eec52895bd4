//! What a thread holds, and where the locks are: noted only while the [order](crate::order) of locks is
//! followed.
//!
//! Nothing is taken out when a lock is let go: a hold that has ended says so itself. What has ended is
//! forgotten when the owner looks, and before its record may be used again.

use super::log::Record;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Locks that a thread may hold at once and have them all noted.
const MOST: usize = 32;

/// The list of one thread. Written by it alone, read by anybody.
pub(crate) struct HeldLocks {
    count: AtomicUsize,
    locks: [HeldLock; MOST],
}

struct HeldLock {
    /// The address of the lock.
    lock: AtomicUsize,
    record: AtomicPtr<Record>,
}

impl HeldLocks {
    pub(super) fn new() -> Self {
        HeldLocks {
            count: AtomicUsize::new(0),
            locks: std::array::from_fn(|_| HeldLock {
                lock: AtomicUsize::new(0),
                record: AtomicPtr::new(ptr::null_mut()),
            }),
        }
    }

    /// Notes one more. Returns whether there was room. For the owner.
    #[inline]
    pub(crate) fn push(&self, lock: usize, record: &'static Record) -> bool {
        let mut count = self.count.load(Ordering::Relaxed);
        if count == MOST {
            self.forget_ended();
            count = self.count.load(Ordering::Relaxed);
        }
        let Some(place) = self.locks.get(count) else {
            return false;
        };
        place.lock.store(lock, Ordering::Relaxed);
        place
            .record
            .store(ptr::from_ref(record).cast_mut(), Ordering::Relaxed);
        // Release: who sees the count sees what is counted.
        self.count.store(count + 1, Ordering::Release);
        true
    }

    /// Whether the owner holds nothing. Forgets what was acquired last and has ended. For the owner.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        let mut count = self.count.load(Ordering::Relaxed);
        while count > 0 && self.get(count - 1).is_none() {
            count -= 1;
            self.count.store(count, Ordering::Relaxed);
        }
        count == 0
    }

    /// Forgets all that has ended. For the owner.
    pub(super) fn forget_ended(&self) {
        let mut kept = 0;
        for place in 0..self.count.load(Ordering::Relaxed) {
            if let Some((lock, record)) = self.get(place) {
                let to = &self.locks[kept];
                to.lock.store(lock, Ordering::Relaxed);
                to.record
                    .store(ptr::from_ref(record).cast_mut(), Ordering::Release);
                kept += 1;
            }
        }
        self.count.store(kept, Ordering::Release);
    }

    /// The owner has ended, or does not exist in this process.
    pub(super) fn clear(&self) {
        self.count.store(0, Ordering::Relaxed);
    }

    /// Where the locks are that are held, and the records of the holds, oldest first. Others than the owner
    /// may see one that has just ended, or a lock with the record of another one, and look twice.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &'static Record)> {
        let count = self.count.load(Ordering::Acquire).min(MOST);
        (0..count).filter_map(|place| self.get(place))
    }

    /// What is at this place, unless it has ended.
    #[inline]
    fn get(&self, place: usize) -> Option<(usize, &'static Record)> {
        let place = self.locks.get(place)?;
        let lock = place.lock.load(Ordering::Relaxed);
        // SAFETY: null, or what `push` was given.
        let record = unsafe { place.record.load(Ordering::Acquire).as_ref() }?;
        record.end().is_none().then_some((lock, record))
    }
}
