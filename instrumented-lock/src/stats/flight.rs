//! In flight: what each thread holds and waits for right now.
//!
//! Every exclusive slot has a small table that its thread writes with plain stores and anybody
//! reads. An entry is found again by what it says, the site and the stamp, so a guard need not
//! remember where it is listed, and a guard that ends on another thread is struck out there.
//! What does not fit, or belongs to a thread with a shared slot, is not listed; a snapshot says how
//! much that is.

use super::NEVER;
use super::contention::Mark;
use super::sites::Site;
use super::slot::EXCLUSIVE;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Locks that one thread can be listed with at a time.
const DEPTH: usize = 16;

/// One lock that a thread waits for or holds.
pub(super) struct Entry {
    /// Where; of what was listed last, where nothing is. In the low bits, which the alignment leaves
    /// free: [`WAITING`], [`ENDED`].
    site: AtomicPtr<Site>,
    /// The clock when the thread began to wait or to hold, in ticks; [`FREE`] where nothing is listed.
    since: AtomicU64,
    /// Of a hold that began while somebody waited, where; owner only. Another hold's, unless it is
    /// of the same stamp.
    mark: Cell<(u64, Mark)>,
}

// SAFETY: `mark` is touched by the slot's owner only, the rest is atomic.
unsafe impl Sync for Entry {}

/// A stamp that no clock reaches, nor is [`NEVER`].
const FREE: u64 = NEVER - 1;

const WAITING: usize = 1;
/// The thread that is listed has ended: it has forgotten the guard.
const ENDED: usize = 2;
const TAGS: usize = WAITING | ENDED;
const _: () = assert!(align_of::<Site>() > TAGS);

/// Aligned so that no other thread's table shares a cache line or pair of lines with it.
#[repr(align(128))]
pub(super) struct Table {
    /// Filled by the owner only, from the front; the ones in use may have gaps.
    entries: [Entry; DEPTH],
    /// The owner's name, for reports.
    name: parking_lot::Mutex<Option<Box<str>>>,
}

static TABLES: [Table; EXCLUSIVE] = [const {
    Table {
        entries: [const {
            Entry {
                site: AtomicPtr::new(ptr::null_mut()),
                since: AtomicU64::new(FREE),
                mark: Cell::new((0, Mark::NONE)),
            }
        }; DEPTH],
        name: parking_lot::Mutex::new(None),
    }
}; EXCLUSIVE];

/// The table of a slot that the calling thread has been given; a shared slot has none.
pub(super) fn new_owner(slot: usize) -> Option<&'static Table> {
    let table = TABLES.get(slot)?;
    *table.name.lock() = std::thread::current().name().map(Box::from);
    for entry in table.entries.iter().filter(|entry| !entry.is_free()) {
        let listed = entry.site.load(Ordering::Relaxed);
        let ended = listed.map_addr(|addr| addr | ENDED);
        entry.site.store(ended, Ordering::Relaxed);
    }
    Some(table)
}

fn of(site: &'static Site) -> *mut Site {
    ptr::from_ref(site).cast_mut()
}

/// Few threads have more locks than this at a time: on the fast path these entries are looked at in
/// place, all of them in a call.
const NEAR: usize = 2;

/// Where the calling thread, whose table this is, can list an acquisition with [`Entry::hold`], if
/// that is soon found.
#[inline(always)]
pub(super) fn free(table: &'static Table) -> Option<&'static Entry> {
    table.entries[..NEAR].iter().find(|entry| entry.is_free())
}

/// Lists an acquisition of the calling thread since what `now` says, asked last.
#[inline]
pub(super) fn hold(slot: usize, site: &'static Site, now: impl FnOnce() -> u64) -> u64 {
    let entry = TABLES.get(slot).and_then(Table::free_entry);
    let since = now();
    if let Some(entry) = entry {
        entry.fill(of(site), since);
    }
    since
}

/// A wait of the calling thread, listed if there was room.
pub(crate) struct Wait(Option<&'static Entry>);

/// Lists a wait of the calling thread.
pub(super) fn wait(slot: usize, site: &'static Site, since: u64) -> Wait {
    let entry = TABLES.get(slot).and_then(Table::free_entry);
    if let Some(entry) = entry {
        entry.fill(of(site).map_addr(|addr| addr | WAITING), since);
    }
    Wait(entry)
}

impl Wait {
    /// It ends with the lock taken at `since`: the entry is that hold's. `mark` says where its
    /// episode stood.
    pub(super) fn ended(self, site: &'static Site, since: u64, mark: Mark) {
        if let Some(entry) = self.0 {
            entry.mark.set((since, mark));
            // Free in between: a wait and a hold differ in site and stamp.
            entry.strike();
            entry.fill(of(site), since);
        }
    }

    /// It ends without the lock.
    pub(super) fn gave_up(self) {
        if let Some(entry) = self.0 {
            entry.strike();
        }
    }
}

impl Table {
    fn free_entry(&self) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.is_free())
    }
}

impl Entry {
    #[inline(always)]
    fn is_free(&self) -> bool {
        self.since.load(Ordering::Relaxed) == FREE
    }

    #[inline(always)]
    fn fill(&self, site: *mut Site, since: u64) {
        // Mostly it is the same: a store less before the next locked instruction. Release: who sees
        // this site does not see the stamp of the last one any more.
        if self.site.load(Ordering::Relaxed) != site {
            self.site.store(site, Ordering::Release);
        }
        // Release: who sees the stamp sees the site.
        self.since.store(since, Ordering::Release);
    }

    /// Lists a hold. For its owner.
    #[inline(always)]
    pub(super) fn hold(&self, site: &'static Site, since: u64) {
        self.fill(of(site), since);
    }

    /// Strikes it out. For its owner.
    #[inline(always)]
    pub(super) fn strike(&self) {
        self.since.store(FREE, Ordering::Relaxed);
    }

    fn is(&self, site: *mut Site, since: u64) -> bool {
        self.since.load(Ordering::Acquire) == since
            && self
                .site
                .load(Ordering::Relaxed)
                .map_addr(|addr| addr & !ENDED)
                == site
    }
}

/// Notes with the hold that the calling thread has just listed where its episode stood.
pub(crate) fn note_mark(slot: usize, site: &'static Site, since: u64, mark: Mark) {
    if let Some(entry) = find(slot, of(site), since) {
        entry.mark.set((since, mark));
    }
}

/// Where its episode stood when a hold of the calling thread began; nothing where nobody waited.
pub(crate) fn mark_of(slot: usize, site: &'static Site, since: u64) -> Mark {
    if super::slot::current() != slot {
        return Mark::NONE;
    }
    let marked = find(slot, of(site), since).map(|entry| entry.mark.get());
    marked.map_or(
        Mark::NONE,
        |(at, mark)| if at == since { mark } else { Mark::NONE },
    )
}

fn find(slot: usize, site: *mut Site, since: u64) -> Option<&'static Entry> {
    let entries = &TABLES.get(slot)?.entries;
    entries.iter().find(|entry| entry.is(site, since))
}

/// Where a hold of the calling thread is listed, whose table this is, if that is soon found. No other
/// entry has both its site and its stamp.
#[inline(always)]
pub(super) fn find_near(
    table: &'static Table,
    site: &'static Site,
    since: u64,
) -> Option<&'static Entry> {
    table.entries[..NEAR].iter().find(|entry| {
        entry.site.load(Ordering::Relaxed) == of(site)
            && entry.since.load(Ordering::Relaxed) == since
    })
}

/// Strikes out a hold that was listed for `slot`, whoever ends it.
pub(crate) fn released(slot: usize, site: &'static Site, since: u64) {
    strike(slot, of(site), since);
}

#[inline(never)]
fn strike(slot: usize, site: *mut Site, since: u64) {
    let entries = TABLES
        .get(slot)
        .into_iter()
        .flat_map(|table| &table.entries);
    // Of two threads that end holds which look the same, one takes the next entry.
    let struck = |entry: &Entry| {
        let (ok, failed) = (Ordering::Relaxed, Ordering::Relaxed);
        entry
            .since
            .compare_exchange(since, FREE, ok, failed)
            .is_ok()
    };
    let _ = entries.filter(|entry| entry.is(site, since)).any(struck);
}

/// One entry, as a snapshot finds it.
pub(crate) struct Listed {
    pub(crate) site: &'static Site,
    pub(crate) is_waiting: bool,
    pub(crate) since: u64,
    /// The name of the thread, where it has one and has not ended.
    pub(crate) thread: Option<String>,
}

/// What all threads hold and wait for.
pub(crate) fn listed() -> Vec<Listed> {
    let mut all = Vec::new();
    for table in &TABLES {
        let mut name: Option<Option<String>> = None;
        for entry in &table.entries {
            let since = entry.since.load(Ordering::Acquire);
            let listed = entry.site.load(Ordering::Acquire);
            // Another one may have been listed in between, with another stamp.
            if since == FREE || entry.since.load(Ordering::Relaxed) != since {
                continue;
            }
            let site = listed.map_addr(|addr| addr & !TAGS);
            let has_ended = listed.addr() & ENDED != 0;
            let name = name.get_or_insert_with(|| table.name.lock().as_deref().map(str::to_owned));
            all.push(Listed {
                // SAFETY: only `fill` stores sites, and they are never freed.
                site: unsafe { &*site },
                is_waiting: listed.addr() & WAITING != 0,
                since,
                thread: if has_ended { None } else { name.clone() },
            });
        }
    }
    all
}
