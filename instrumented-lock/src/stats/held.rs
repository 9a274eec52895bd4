//! What a thread holds, and where the locks are: noted only while the [order](crate::order) of locks is
//! followed.
//!
//! Nothing is taken out when a lock is let go: a hold that has ended says so itself. What has ended is
//! forgotten when the owner looks, and before its record may be used again.

use super::log::Record;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Locks that a thread may hold at once and have them all noted. A power of two.
const MOST: usize = 32;

/// The list of one thread. Written by it alone, read by anybody.
pub(crate) struct HeldLocks {
    count: AtomicUsize,
    locks: [HeldLock; MOST],
}

struct HeldLock {
    /// The address of the lock.
    lock: AtomicUsize,
    /// Where nothing has been noted yet, one that has ended.
    record: AtomicPtr<Record>,
}

static ENDED: Record = Record {
    what: AtomicUsize::new(0),
    site: AtomicUsize::new(0),
    start: AtomicU64::new(0),
    end: AtomicU64::new(1),
};

impl HeldLocks {
    pub(super) fn new() -> Self {
        HeldLocks {
            count: AtomicUsize::new(0),
            locks: std::array::from_fn(|_| HeldLock {
                lock: AtomicUsize::new(0),
                record: AtomicPtr::new(ptr::from_ref(&ENDED).cast_mut()),
            }),
        }
    }

    /// How many are noted and not known to have ended: what was acquired last is asked. For the owner.
    #[inline(always)]
    pub(crate) fn depth(&self) -> usize {
        let mut depth = self.count.load(Ordering::Relaxed);
        while depth > 0 && self.record(depth - 1).end().is_some() {
            depth -= 1;
        }
        depth
    }

    /// Notes one more, above so many. For the owner, where that is the [`depth`](Self::depth), and less than
    /// there is room for.
    #[inline(always)]
    pub(crate) fn note(&self, depth: usize, lock: usize, record: &'static Record) {
        let place = &self.locks[depth % MOST];
        place.lock.store(lock, Ordering::Relaxed);
        let record = ptr::from_ref(record).cast_mut();
        place.record.store(record, Ordering::Relaxed);
        // Release: who sees the count sees what is counted.
        self.count.store(depth + 1, Ordering::Release);
    }

    /// Notes one more. Returns whether there was room. For the owner.
    #[inline]
    pub(crate) fn push(&self, lock: usize, record: &'static Record) -> bool {
        let mut depth = self.depth();
        if depth == MOST {
            self.forget_ended();
            depth = self.depth();
        }
        let has_room = depth < MOST;
        if has_room {
            self.note(depth, lock, record);
        }
        has_room
    }

    /// Forgets all that has ended. For the owner.
    pub(super) fn forget_ended(&self) {
        let mut kept = 0;
        for place in 0..self.count.load(Ordering::Relaxed) {
            if let Some((lock, record)) = self.get(place) {
                let to = &self.locks[kept];
                to.lock.store(lock, Ordering::Relaxed);
                let record = ptr::from_ref(record).cast_mut();
                to.record.store(record, Ordering::Release);
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
        let count = self.count.load(Ordering::Acquire);
        (0..count).filter_map(|place| self.get(place))
    }

    /// What was acquired first, unless it has ended.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<(usize, &'static Record)> {
        self.get(0)
    }

    /// What is at this place, unless it has ended.
    #[inline(always)]
    fn get(&self, place: usize) -> Option<(usize, &'static Record)> {
        let lock = self.locks[place % MOST].lock.load(Ordering::Relaxed);
        let record = self.record(place);
        record.end().is_none().then_some((lock, record))
    }

    #[inline(always)]
    fn record(&self, place: usize) -> &'static Record {
        // Acquire: others than the owner see what the record says.
        let record = self.locks[place % MOST].record.load(Ordering::Acquire);
        // SAFETY: `ENDED`, or what `note` was given; both live as long as the process.
        unsafe { &*record }
    }
}
