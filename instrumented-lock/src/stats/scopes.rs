//! What a thread is doing while it uses locks: an operation, or what is being measured.
//!
//! Each record of a page belongs to the [`Scope`] in which it was published. Nothing is written for a record:
//! beside the page stands, for the records at which the scope has changed, which one it is from there on. A
//! page of a thread that has never had a scope has nothing beside it.
//!
//! | | by | read by |
//! |---|---|---|
//! | from which records on a scope is | the page's owner, before it publishes them | who has the page locked; who has a hold in it |
//! | shares that are not handed on yet | who has the page locked | the same |
//! | how often an operation was opened | the page's owner | anybody |
//!
//! When a window is opened the records that are still in flight each get their own mark, before the places
//! of others are used again. So the scope of a hold is found as long as it lasts.

use super::beside::Beside;
use super::log::{Bits, Locked, Page, Record, below};
use super::owner::PAGE_RECORDS;
use super::scope::{NUMBERS, Scope};
use super::shares::Shares;
use crate::brief;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// What stands beside a page.
pub(crate) struct Scopes {
    /// One bit for each record from which on `of` says what the scope is.
    changed: AtomicU64,
    of: [AtomicU64; PAGE_RECORDS],
    opened: [AtomicU64; NUMBERS],
    pub(super) shares: Mutex<Shares>,
}

static SCOPES: Beside<Scopes> = Beside::new();

/// Whether there has ever been a scope: if not, nobody has to look for any.
static ARE_USED: AtomicBool = AtomicBool::new(false);

#[inline(always)]
pub(crate) fn are_used() -> bool {
    // Relaxed: who folds a record of a scope has it from who has set this.
    ARE_USED.load(Ordering::Relaxed)
}

/// What stands beside the page, if anything does.
#[inline]
pub(crate) fn beside(page: &Page) -> Option<&'static Scopes> {
    if page.owner.has_scopes() {
        SCOPES.get(page)
    } else {
        None
    }
}

/// The same; made where there is none yet. For the owner of the page, before an attempt: may allocate.
#[cold]
pub(super) fn make(page: &Page) -> Option<&'static Scopes> {
    if let Some(scopes) = beside(page) {
        return Some(scopes);
    }
    ARE_USED.store(true, Ordering::Relaxed);
    SCOPES.make(page, Scopes::new);
    let made = SCOPES.get(page)?;
    page.owner.set_has_scopes();
    Some(made)
}

/// The number of the operation that a record belongs to, or is going to belong to; 0 for none. For who has a hold
/// in it, and for the owner of the page, where the record is the next one.
#[cold]
#[inline(never)]
pub(crate) fn operation_of(record: &Record) -> u8 {
    let (page, index) = Page::place_of(record);
    beside(page).map_or(0, |scopes| scopes.at(index).operation())
}

impl Scopes {
    fn new() -> Self {
        Scopes {
            changed: AtomicU64::new(0),
            of: [const { AtomicU64::new(0) }; PAGE_RECORDS],
            opened: [const { AtomicU64::new(0) }; NUMBERS],
            shares: Mutex::new(Shares::new()),
        }
    }

    /// From the next record of the page on the scope is this. For the owner.
    #[inline]
    pub(super) fn mark(&self, page: &Page, scope: Scope) {
        // Where no record is left, the next window begins with its own mark.
        if page.window().next().is_some() {
            self.mark_at(page.next_index(), scope);
        }
    }

    #[inline(always)]
    fn mark_at(&self, record: u32, scope: Scope) {
        if let Some(of) = self.of.get(record as usize) {
            // Release, both: see `at`.
            of.store(scope.to_bits(), Ordering::Release);
            let changed = self.changed.load(Ordering::Relaxed) | 1 << record;
            self.changed.store(changed, Ordering::Release);
        }
    }

    /// One more has opened this operation. For the owner of the page.
    #[inline(always)]
    pub(super) fn count(&self, operation: u8) {
        if let Some(opened) = self.opened.get(usize::from(operation)) {
            // Relaxed: nobody else adds to it.
            opened.store(opened.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// How often each operation was opened.
    pub(super) fn opened(&self) -> impl Iterator<Item = u64> {
        self.opened.iter().map(|of| of.load(Ordering::Relaxed))
    }

    /// The scope of a record that is published and not consumed, or the next one.
    pub(super) fn at(&self, record: u32) -> Scope {
        let up_to = below(record) | 1 << record;
        loop {
            // Acquire, both: what is marked here has been written before, and what overwrites a place that is
            // marked comes after the mark is gone.
            let changed = self.changed.load(Ordering::Acquire) & up_to;
            let Some(last) = changed.checked_ilog2() else {
                return Scope::NONE;
            };
            let scope = self.of[last as usize].load(Ordering::Acquire);
            fence(Ordering::Acquire);
            if self.changed.load(Ordering::Relaxed) & up_to == changed {
                return Scope::from_bits(scope);
            }
        }
    }

    /// The owner has opened a window, with these records in flight, and is in this scope. It has the page locked.
    pub(super) fn reopened(&self, page: &Page, in_flight: u64, scope: Scope) {
        let changed = self.changed.load(Ordering::Relaxed);
        for record in Bits(in_flight & !changed) {
            let own = self.at(record).to_bits();
            // Nobody looks here before the mark.
            self.of[record as usize].store(own, Ordering::Release);
        }
        // Release: who sees a mark sees what it marks.
        self.changed.store(in_flight, Ordering::Release);
        self.mark(page, scope);
    }

    /// The records of `records` by scope, one behind the other: those of each run, which has one scope. For who
    /// has the page locked.
    pub(super) fn runs(&self, records: u64) -> impl Iterator<Item = (Scope, u64)> {
        // Acquire: whatever is published has been marked before.
        let changed = self.changed.load(Ordering::Acquire);
        let mut begins = Bits(changed);
        let mut begin = begins.next();
        std::iter::from_fn(move || {
            let first = begin?;
            begin = begins.next();
            let end = begin.map_or(!0, below);
            let scope = self.of[first as usize].load(Ordering::Acquire);
            Some((Scope::from_bits(scope), records & end & !below(first)))
        })
    }

    /// Does `f` with the shares, which nobody else has meanwhile: the page is locked. May allocate; no other lock
    /// of the library is held.
    pub(super) fn with_shares<R>(&self, _: &Locked<'_>, f: impl FnOnce(&mut Shares) -> R) -> R {
        let mut shares = std::mem::take(&mut *brief::lock(&self.shares));
        let result = f(&mut shares);
        *brief::lock(&self.shares) = shares;
        result
    }
}
