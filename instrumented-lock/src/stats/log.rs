//! The log of a thread: what it has done with locks and not yet added to any figures, and what it holds.
//!
//! A log is made of [`Page`]s of some sixty records. The thread that owns a page takes a free record for
//! each acquisition and publishes it with the start of the hold; whoever ends the hold writes the end.
//! That is all that a lock and unlock writes. A record without an end is a hold in flight.
//!
//! Who may change what:
//!
//! | | by | read by |
//! |---|---|---|
//! | a record that is not published | the page's owner | nobody |
//! | a published record's end | the one who ends the hold, once | who has the page [locked](Locked) |
//! | which records are published | the owner, in one store: several are published at once | anybody |
//! | which records are consumed: added to their class's figures | who has the page locked, and the class | who has either locked |
//!
//! A published record is consumed at most once, and its place is used again only after that. So whoever
//! has a class locked sees each of its records either here or in the figures.
//!
//! This file knows `super::sync` and `super::owner` only: `tests/models` compiles it against
//! loom's atomics and pages of a few records.

use super::owner::{PAGE_NUMBERS, PAGE_RECORDS, PageOwner};
use super::sync::{
    AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence, spin_loop, yield_now,
};
use std::ptr;

/// What a record says: two words that say what it is about, two stamps.
#[repr(C, align(32))]
pub(crate) struct Record {
    /// Whose figures it belongs to, and tags: [`super::record`] says which.
    pub(super) what: AtomicUsize,
    /// The line.
    pub(super) site: AtomicUsize,
    pub(super) start: AtomicU64,
    /// 0 as long as it has not ended.
    pub(super) end: AtomicU64,
}

/// What is written into a free record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) what: usize,
    pub(crate) site: usize,
    pub(crate) start: u64,
    /// 0 for a hold that begins.
    pub(crate) end: u64,
}

impl Record {
    fn new() -> Self {
        Record {
            what: AtomicUsize::new(0),
            site: AtomicUsize::new(0),
            start: AtomicU64::new(0),
            end: AtomicU64::new(0),
        }
    }

    /// Ends the hold, at a stamp that is not 0. For the one who ends it, on any thread.
    #[inline(always)]
    pub(crate) fn finish(&self, end: u64) {
        // Release: who sees the end sees all that led to it, what is said below included.
        self.end.store(end, Ordering::Release);
    }

    // Relaxed, here and below: the record has been published, and does not change before it is
    // consumed.

    #[inline(always)]
    pub(crate) fn what(&self) -> usize {
        self.what.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn site(&self) -> usize {
        self.site.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn start(&self) -> u64 {
        self.start.load(Ordering::Relaxed)
    }

    /// The end, once there is one.
    #[inline(always)]
    pub(crate) fn end(&self) -> Option<u64> {
        // Acquire: pairs with `finish`.
        let end = self.end.load(Ordering::Acquire);
        (end != 0).then_some(end)
    }

    /// Changes tags of a hold in flight. For the one who has it.
    pub(crate) fn set_what(&self, what: usize) {
        self.what.store(what, Ordering::Relaxed);
    }
}

const _: () = assert!(PAGE_RECORDS <= PAGE_NUMBERS as usize);

/// As indices are written.
#[expect(clippy::cast_possible_truncation, reason = "at most 64")]
const RECORDS: u32 = PAGE_RECORDS as u32;

/// One bit for each record of a page.
const ALL: u64 = !0 >> (64 - PAGE_RECORDS);

/// A page of a log.
///
/// Records are taken one after the other from a window of free ones. When it is used up the owner frees
/// what has been consumed and opens the largest window that there is then.
// Aligned so that the page of a record is found from the record's address.
#[repr(C, align(2048))]
pub(crate) struct Page {
    window: Window,
    /// One bit for each record outside of the window that is published. Written by the owner, between two steps of
    /// `epoch`, as is where the window begins.
    outside: AtomicU64,
    /// Odd while the owner opens a window.
    epoch: AtomicU32,
    /// 1 while somebody has the page locked.
    lock: AtomicU32,
    /// One bit for each record that is consumed.
    consumed: AtomicU64,
    pub(crate) owner: PageOwner,
    waiting: WaitingCell,
    /// For holds that stand for several: the binary logarithm of how many.
    shifts: [AtomicU8; PAGE_RECORDS],
    records: [Record; PAGE_RECORDS],
}

/// The free records that are taken next.
pub(crate) struct Window {
    /// The first one that is not published yet. Written by the owner.
    pub(super) next: AtomicPtr<Record>,
    /// Where it ends. Owner only.
    pub(super) limit: AtomicPtr<Record>,
    /// The number of the first one, among all records of the process. Owner only.
    pub(super) next_number: AtomicU32,
    /// The place of its first one.
    pub(super) first: AtomicU32,
}

impl Window {
    /// The record that is taken next, if there is one left. For the owner.
    #[inline(always)]
    pub(crate) fn next(&self) -> Option<&'static Record> {
        // Relaxed, both: nobody else writes them.
        let next = self.next.load(Ordering::Relaxed);
        if next == self.limit.load(Ordering::Relaxed) {
            return None;
        }
        // SAFETY: the window lies within the records of a page, or is empty, and pages are leaked.
        Some(unsafe { &*next })
    }

    /// Writes a hold that begins into `next`, which is the next record, and publishes it. `now` is asked
    /// as late as can be, and `before` is called with that when all is written and nothing published. For
    /// the owner.
    #[inline(always)]
    pub(crate) fn begin_hold(
        &self,
        next: &Record,
        (what, site): (usize, usize),
        now: impl FnOnce() -> u64,
        before: impl FnOnce(u64),
    ) {
        next.what.store(what, Ordering::Relaxed);
        next.site.store(site, Ordering::Relaxed);
        next.end.store(0, Ordering::Relaxed);
        let start = now();
        next.start.store(start, Ordering::Relaxed);
        before(start);
        self.publish(ptr::from_ref(next), 1);
    }

    /// The number of the record that is taken next. For the owner.
    #[inline(always)]
    pub(crate) fn next_number(&self) -> u32 {
        self.next_number.load(Ordering::Relaxed)
    }

    /// Publishes so many records from `next` on.
    #[inline(always)]
    fn publish(&self, next: *const Record, count: u32) {
        let number = self.next_number().wrapping_add(count);
        self.next_number.store(number, Ordering::Relaxed);
        let next = next.wrapping_add(count as usize);
        // Release: who sees that a record is published sees what it says.
        self.next.store(next.cast_mut(), Ordering::Release);
    }
}

impl Page {
    /// A page with no window: it has to be [opened](Locked::open).
    pub(crate) fn new(owner: PageOwner) -> Self {
        Page {
            window: Window {
                next: AtomicPtr::new(ptr::null_mut()),
                limit: AtomicPtr::new(ptr::null_mut()),
                next_number: AtomicU32::new(0),
                first: AtomicU32::new(0),
            },
            outside: AtomicU64::new(0),
            epoch: AtomicU32::new(0),
            lock: AtomicU32::new(0),
            consumed: AtomicU64::new(0),
            owner,
            waiting: WaitingCell::new(),
            shifts: std::array::from_fn(|_| AtomicU8::new(0)),
            records: std::array::from_fn(|_| Record::new()),
        }
    }

    /// The page and the index of a record.
    pub(crate) fn place_of(record: &Record) -> (&Page, u32) {
        let page = ptr::from_ref(record).map_addr(|addr| addr & !(size_of::<Page>() - 1));
        #[expect(clippy::cast_ptr_alignment, reason = "masked to that alignment")]
        let page = page.cast::<Page>();
        // SAFETY: records are parts of pages, which are aligned to their size; pages are leaked, so that a
        // reference to a part of one may be widened.
        let page = unsafe { &*page };
        (page, page.index_of(record))
    }

    fn index_of(&self, record: *const Record) -> u32 {
        let offset = record.addr().saturating_sub(self.records.as_ptr().addr());
        u32::try_from(offset / size_of::<Record>()).unwrap_or(0)
    }

    fn record_at(&self, index: u32) -> *const Record {
        self.records.as_ptr().wrapping_add(index as usize)
    }

    /// The record with this index: the place of a bit in one of the masks here.
    #[inline(always)]
    pub(crate) fn record(&self, index: u32) -> &Record {
        debug_assert!((index as usize) < PAGE_RECORDS);
        // SAFETY: masks have bits for the records of a page only.
        unsafe { self.records.get_unchecked(index as usize) }
    }

    /// `count` records from this index on, which are records of the page.
    pub(crate) fn run(&self, first: u32, count: u32) -> &[Record] {
        let first = first as usize;
        &self.records[first..first + count as usize]
    }

    /// The free records that are taken next.
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// How many records are left in the window. For the owner.
    pub(crate) fn room(&self) -> usize {
        let Window { next, limit, .. } = &self.window;
        let left = limit.load(Ordering::Relaxed).addr() - next.load(Ordering::Relaxed).addr();
        left / size_of::<Record>()
    }

    /// The index of the record that is taken next. For the owner.
    pub(crate) fn next_index(&self) -> u32 {
        self.index_of(self.window.next.load(Ordering::Relaxed))
    }

    /// Several records that are going to be published at once: nobody sees one without the others. For
    /// the owner, where there is room for them.
    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch {
            page: self,
            first: self.next_index(),
            count: 0,
        }
    }

    /// Publishes a record that stands by itself. For the owner, where there is room.
    pub(crate) fn publish(&self, entry: &Entry) -> &Record {
        let mut batch = self.batch();
        let record = batch.push(entry);
        batch.publish();
        record
    }

    /// The next record is going to stand for so many holds, as a binary logarithm. For the owner.
    pub(crate) fn set_next_shift(&self, shift: u8) {
        self.shifts[self.next_index() as usize].store(shift, Ordering::Relaxed);
    }

    /// The binary logarithm of how many holds a record stands for, where its tags say that it is more
    /// than one.
    pub(crate) fn shift(&self, index: u32) -> u8 {
        self.shifts[index as usize].load(Ordering::Relaxed)
    }

    /// Locks the page, if that is soon done.
    pub(crate) fn try_lock(&self, tries: usize) -> Option<Locked<'_>> {
        for _ in 0..tries {
            // Acquire: pairs with the release in `unlock`.
            if self.lock.load(Ordering::Relaxed) == 0 && self.lock.swap(1, Ordering::Acquire) == 0 {
                return Some(Locked { page: self });
            }
            spin_loop();
        }
        None
    }

    /// Locks the page.
    pub(crate) fn lock(&self) -> Locked<'_> {
        loop {
            if let Some(locked) = self.try_lock(100) {
                return locked;
            }
            // Who has it is folding some sixty records, or has been descheduled meanwhile.
            yield_now();
        }
    }

    /// Undoes a [`lock`](Self::lock) whose result has been forgotten.
    ///
    /// # Safety
    ///
    /// There was one, and nobody uses its result.
    pub(crate) unsafe fn force_unlock(&self) {
        drop(Locked { page: self });
    }

    /// The records that are published, and those of them that are consumed, one bit for each.
    fn published(&self) -> (u64, u64) {
        loop {
            // Acquire: everything before the last step to an even number is seen below.
            let epoch = self.epoch.load(Ordering::Acquire);
            let outside = self.outside.load(Ordering::Relaxed);
            let first = self.window.first.load(Ordering::Relaxed);
            let consumed = self.consumed.load(Ordering::Relaxed);
            // Acquire: pairs with `Window::publish`.
            let next = self.index_of(self.window.next.load(Ordering::Acquire));
            // The loads above stay above; pairs with the fence in `open`.
            fence(Ordering::Acquire);
            if epoch.is_multiple_of(2) && self.epoch.load(Ordering::Relaxed) == epoch {
                return (outside | below(next) & !below(first), consumed);
            }
            // The owner may have been descheduled in the middle of it.
            yield_now();
        }
    }

    /// The records that are published and not consumed, one bit for each. For who has the class locked
    /// that it asks for: those of that class stay as they are.
    pub(crate) fn unconsumed(&self) -> u64 {
        let (published, consumed) = self.published();
        published & !consumed
    }

    /// Announces a wait that begins. For the owner.
    pub(crate) fn begin_wait(&self, what: usize, site: usize, since: u64, watch: usize) {
        self.waiting.set(Waiting {
            what,
            site,
            since,
            watch,
            record: self.next_index(),
        });
    }

    /// What the owner had announced before, to be announced again once another wait has ended.
    pub(crate) fn outer_wait(&self) -> Waiting {
        self.waiting.get()
    }

    /// The wait is over, or was one within `outer`. For the owner.
    pub(crate) fn end_wait(&self, outer: Waiting) {
        if outer.what == 0 {
            self.waiting.clear();
        } else {
            self.begin_wait(outer.what, outer.site, outer.since, outer.watch);
        }
    }

    /// The owner waits for nothing any more. For who has its place.
    pub(crate) fn end_all_waits(&self) {
        self.waiting.clear();
    }

    /// What the owner waits for, if it does, and the records that are [not consumed](Self::unconsumed) at
    /// that moment: among them those of the wait once it is over.
    pub(crate) fn in_flight(&self) -> (Option<Waiting>, u64) {
        let waiting = self.waiting.get_whole();
        let (published, consumed) = self.published();
        // The wait is over as soon as its acquisition is published.
        let is_over = |waiting: &Waiting| published >> waiting.record & 1 == 1;
        let waiting = waiting.filter(|waiting| !is_over(waiting));
        (waiting, published & !consumed)
    }
}

/// Records that are written and not published.
pub(crate) struct Batch<'a> {
    page: &'a Page,
    first: u32,
    count: u32,
}

impl<'a> Batch<'a> {
    /// Writes one more; the first one is that which [`begin_wait`](Page::begin_wait) has announced.
    pub(crate) fn push(&mut self, entry: &Entry) -> &'a Record {
        let record = self.page.record(self.first + self.count);
        record.what.store(entry.what, Ordering::Relaxed);
        record.site.store(entry.site, Ordering::Relaxed);
        record.start.store(entry.start, Ordering::Relaxed);
        record.end.store(entry.end, Ordering::Relaxed);
        self.count += 1;
        record
    }

    /// Publishes them all.
    pub(crate) fn publish(self) {
        let first = self.page.record_at(self.first);
        self.page.window.publish(first, self.count);
    }
}

/// A page that nobody else has locked meanwhile: no record of it is consumed otherwise.
pub(crate) struct Locked<'a> {
    pub(crate) page: &'a Page,
}

impl Locked<'_> {
    /// The records that are not consumed, one bit for each.
    pub(crate) fn unconsumed(&self) -> u64 {
        self.page.unconsumed()
    }

    /// The records, whose ends have been taken, have been added to the figures of their class, which is
    /// still locked.
    pub(crate) fn consume(&self, records: u64) {
        let consumed = self.page.consumed.load(Ordering::Relaxed) | records;
        // Relaxed: who looks has the class locked, or the page.
        self.page.consumed.store(consumed, Ordering::Relaxed);
    }

    /// Frees what has been consumed and opens the largest window of free records. Returns the others, one bit for
    /// each. For the owner.
    pub(crate) fn open(&self) -> u64 {
        let page = self.page;
        let in_flight = page.unconsumed();
        let (first, end) = largest_gap(in_flight);
        let at = |index: u32| {
            page.records
                .as_ptr()
                .wrapping_add(index as usize)
                .cast_mut()
        };
        let epoch = page.epoch.load(Ordering::Relaxed);
        page.epoch.store(epoch.wrapping_add(1), Ordering::Relaxed);
        // Who sees any store below also sees the odd number: its fence pairs with this one.
        fence(Ordering::Release);
        page.outside.store(in_flight, Ordering::Relaxed);
        page.window.first.store(first, Ordering::Relaxed);
        page.consumed.store(0, Ordering::Relaxed);
        page.window.next.store(at(first), Ordering::Relaxed);
        page.window.limit.store(at(end), Ordering::Relaxed);
        let number = page.owner.first_number() + first;
        page.window.next_number.store(number, Ordering::Relaxed);
        // Release: who sees this even number sees all of the above.
        page.epoch.store(epoch.wrapping_add(2), Ordering::Release);
        in_flight
    }
}

/// One bit for each record below `index`.
pub(crate) fn below(index: u32) -> u64 {
    !(!0 << index)
}

/// The longest run of records that are not `taken`: its first, and the one behind its last.
fn largest_gap(taken: u64) -> (u32, u32) {
    let (mut first, mut end) = (0, 0);
    let mut start = 0;
    let borders = Bits(taken & ALL).chain([RECORDS]);
    for border in borders {
        if border - start > end - first {
            (first, end) = (start, border);
        }
        start = border + 1;
    }
    (first, end)
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Release: pairs with the acquire in `try_lock`.
        self.page.lock.store(0, Ordering::Release);
    }
}

/// The places of the bits that are set, lowest first.
pub(crate) struct Bits(pub(crate) u64);

impl Iterator for Bits {
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        let lowest = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (lowest < u64::BITS).then_some(lowest)
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) what: usize,
    pub(crate) site: usize,
    pub(crate) since: u64,
    /// The address of the watch of the lock.
    pub(crate) watch: usize,
    /// The record that the acquisition is going to have.
    pub(crate) record: u32,
}

/// How often a reader looks for a wait that does not change meanwhile.
const TRIES: usize = 2;

/// Written by the owner of a page, read by anybody.
struct WaitingCell {
    /// 0 where it does not wait.
    what: AtomicUsize,
    site: AtomicUsize,
    since: AtomicU64,
    watch: AtomicUsize,
    record: AtomicU32,
}

impl WaitingCell {
    fn new() -> Self {
        WaitingCell {
            what: AtomicUsize::new(0),
            site: AtomicUsize::new(0),
            since: AtomicU64::new(0),
            watch: AtomicUsize::new(0),
            record: AtomicU32::new(0),
        }
    }

    fn set(&self, waiting: Waiting) {
        self.clear();
        self.site.store(waiting.site, Ordering::Release);
        self.since.store(waiting.since, Ordering::Release);
        self.watch.store(waiting.watch, Ordering::Release);
        self.record.store(waiting.record, Ordering::Release);
        // Release: who sees the wait sees the rest, or that of a later one.
        self.what.store(waiting.what, Ordering::Release);
    }

    /// Release: who sees that a wait is over, and another one in its place, sees the latter whole.
    fn clear(&self) {
        self.what.store(0, Ordering::Release);
    }

    /// What has been set, if it is not being changed all the time.
    fn get_whole(&self) -> Option<Waiting> {
        for _ in 0..TRIES {
            let waiting = self.get();
            if waiting.what == 0 {
                return None;
            }
            if self.get() == waiting {
                return Some(waiting);
            }
        }
        // Waits that are over so soon have not waited.
        None
    }

    fn get(&self) -> Waiting {
        // Acquire: see `set`.
        let what = self.what.load(Ordering::Acquire);
        Waiting {
            what,
            site: self.site.load(Ordering::Acquire),
            since: self.since.load(Ordering::Acquire),
            watch: self.watch.load(Ordering::Acquire),
            record: self.record.load(Ordering::Acquire),
        }
    }
}
