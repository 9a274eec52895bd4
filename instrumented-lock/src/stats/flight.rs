//! In flight: what each thread holds and waits for right now.
//!
//! Every exclusive slot has a small table that its thread writes with plain stores and anybody
//! reads. An entry is found again by what it says, the site and the stamp, so a guard need not
//! remember where it is listed, and a guard that ends on another thread is struck out there.
//! What does not fit, or belongs to a thread with a shared slot, is not listed; a snapshot says how
//! much that is.

use super::contention::Mark;
use super::sites::Site;
use super::slot::EXCLUSIVE;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// Locks that one thread can be listed with at a time.
const DEPTH: usize = 16;

struct Entry {
    /// Null where nothing is listed. In the low bits, which the alignment leaves free: [`WAITING`],
    /// [`ENDED`].
    site: AtomicPtr<Site>,
    /// The clock when the thread began to wait or to hold, in ticks.
    since: AtomicU64,
    /// Of a hold that began while somebody waited, where; owner only. Another hold's, unless it is
    /// of the same stamp.
    mark: Cell<(u64, Mark)>,
}

// SAFETY: `mark` is touched by the slot's owner only, the rest is atomic.
unsafe impl Sync for Entry {}

const WAITING: usize = 1;
/// The thread that is listed has ended: it has forgotten the guard.
const ENDED: usize = 2;
const TAGS: usize = WAITING | ENDED;
const _: () = assert!(align_of::<Site>() > TAGS);

/// Aligned so that no other thread's table shares a cache line or pair of lines with it.
#[repr(align(128))]
struct Table {
    /// Entries in use: those below may have been struck out, the others are null. Written by the
    /// owner only.
    depth: AtomicUsize,
    entries: [Entry; DEPTH],
    /// The owner's name, for reports.
    name: parking_lot::Mutex<Option<Box<str>>>,
}

static TABLES: [Table; EXCLUSIVE] = [const {
    Table {
        depth: AtomicUsize::new(0),
        entries: [const {
            Entry {
                site: AtomicPtr::new(ptr::null_mut()),
                since: AtomicU64::new(0),
                mark: Cell::new((0, Mark::NONE)),
            }
        }; DEPTH],
        name: parking_lot::Mutex::new(None),
    }
}; EXCLUSIVE];

/// The calling thread has been given the slot.
pub(super) fn new_owner(slot: usize) {
    let table = &TABLES[slot];
    *table.name.lock() = std::thread::current().name().map(Box::from);
    for entry in &table.entries {
        let _ = entry
            .site
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |site| {
                (!site.is_null()).then(|| site.map_addr(|addr| addr | ENDED))
            });
    }
}

fn of(site: &'static Site) -> *mut Site {
    ptr::from_ref(site).cast_mut()
}

/// Lists an acquisition of the calling thread, which owns the slot. `since` is its stamp.
#[inline(always)]
pub(crate) fn hold(slot: usize, site: &'static Site, since: u64) {
    list(slot, of(site), since);
}

/// Lists a wait of the calling thread.
pub(crate) fn wait(slot: usize, site: &'static Site, since: u64) {
    list(slot, of(site).map_addr(|addr| addr | WAITING), since);
}

#[inline(always)]
fn list(slot: usize, site: *mut Site, since: u64) {
    if slot >= EXCLUSIVE {
        return;
    }
    let table = &TABLES[slot];
    let depth = table.depth.load(Ordering::Relaxed);
    if let Some(entry) = table.entries.get(depth) {
        entry.since.store(since, Ordering::Relaxed);
        // Release: who sees the site sees its stamp.
        entry.site.store(site, Ordering::Release);
        table.depth.store(depth + 1, Ordering::Relaxed);
    } else {
        shrink(table);
    }
}

/// Gives up entries at the top that others have struck out.
#[cold]
#[inline(never)]
fn shrink(table: &Table) {
    let mut depth = table.depth.load(Ordering::Relaxed);
    let is_free = |i: usize| table.entries[i].site.load(Ordering::Relaxed).is_null();
    while depth > 0 && is_free(depth - 1) {
        depth -= 1;
    }
    table.depth.store(depth, Ordering::Relaxed);
}

/// Notes with the hold that the calling thread has just listed where its episode stood.
pub(crate) fn note_mark(slot: usize, since: u64, mark: Mark) {
    if slot < EXCLUSIVE {
        let table = &TABLES[slot];
        let top = table.depth.load(Ordering::Relaxed).wrapping_sub(1);
        if let Some(entry) = table.entries.get(top) {
            entry.mark.set((since, mark));
        }
    }
}

/// Where its episode stood when a hold of the calling thread began; nothing where nobody waited.
pub(crate) fn mark_of(slot: usize, site: &'static Site, since: u64) -> Mark {
    if slot >= EXCLUSIVE || super::slot::current().slot != slot {
        return Mark::NONE;
    }
    let is_it = |entry: &&Entry| {
        entry.site.load(Ordering::Relaxed) == of(site) && entry.mark.get().0 == since
    };
    let entry = TABLES[slot].entries.iter().rev().find(is_it);
    entry.map_or(Mark::NONE, |entry| entry.mark.get().1)
}

/// Strikes out a hold that was listed for `slot`, whoever ends it. `is_owner`: the calling thread
/// owns the slot.
#[inline(always)]
pub(crate) fn released(slot: usize, is_owner: bool, site: &'static Site, since: u64) {
    strike(slot, is_owner, of(site), since);
}

/// Strikes out a wait of the calling thread.
pub(crate) fn waited(slot: usize, site: &'static Site, since: u64) {
    strike(slot, true, of(site).map_addr(|addr| addr | WAITING), since);
}

#[inline(always)]
fn strike(slot: usize, is_owner: bool, site: *mut Site, since: u64) {
    if slot >= EXCLUSIVE {
        return;
    }
    let table = &TABLES[slot];
    // The last one that was listed is nearly always the first to end.
    let top = table.depth.load(Ordering::Relaxed).wrapping_sub(1);
    if is_owner && let Some(entry) = table.entries.get(top) {
        let is_it = entry.site.load(Ordering::Relaxed) == site;
        if is_it && entry.since.load(Ordering::Relaxed) == since {
            entry.site.store(ptr::null_mut(), Ordering::Relaxed);
            table.depth.store(top, Ordering::Relaxed);
            return;
        }
    }
    strike_slowly(table, is_owner, site, since);
}

#[inline(never)]
fn strike_slowly(table: &Table, is_owner: bool, site: *mut Site, since: u64) {
    let is_it = |entry: &&Entry| {
        let listed = entry.site.load(Ordering::Acquire);
        listed.map_addr(|addr| addr & !ENDED) == site
            && entry.since.load(Ordering::Relaxed) == since
    };
    if let Some(entry) = table.entries.iter().rev().find(is_it) {
        entry.site.store(ptr::null_mut(), Ordering::Relaxed);
    }
    if is_owner {
        shrink(table);
    }
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
            let listed = entry.site.load(Ordering::Acquire);
            let since = entry.since.load(Ordering::Acquire);
            // Another one may have been listed in between, with the other stamp.
            if listed.is_null() || entry.site.load(Ordering::Relaxed) != listed {
                continue;
            }
            let site = listed.map_addr(|addr| addr & !TAGS);
            let has_ended = listed.addr() & ENDED != 0;
            let name = name.get_or_insert_with(|| table.name.lock().as_deref().map(str::to_owned));
            all.push(Listed {
                // SAFETY: only `list` stores sites, and they are never freed.
                site: unsafe { &*site },
                is_waiting: listed.addr() & WAITING != 0,
                since,
                thread: if has_ended { None } else { name.clone() },
            });
        }
    }
    all
}
