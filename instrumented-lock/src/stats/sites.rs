//! Call sites: what each acquiring line does with a lock.
//!
//! A stripe has room for [`SITES`] lines. When one more comes, the one that has cost least so far,
//! and of which nothing is in flight, is added to the row of the others and makes room: the
//! expensive ones stay. Every acquisition is in exactly one row.

use super::samples::{Tally, ones};
use super::stripe::Stripe;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Lines that a thread keeps apart for a class and mode, besides the row of all others.
pub(super) const SITES: usize = 10;

/// Rows among which a line has its place if that is free: a power of two.
const HOMES: usize = 8;

/// One line, in one stripe. Written by the stripe's owner; totals are nanoseconds.
#[repr(C, align(32))]
pub(crate) struct Site {
    /// Null for a row that is free, and for that of the others.
    location: AtomicPtr<Location<'static>>,
    stripe: AtomicPtr<Stripe>,
    pub(super) acquisitions: AtomicU64,
    pub(super) releases: AtomicU64,
    /// Releases by threads that are not the stripe's owner, which have them in a row of their own.
    released_elsewhere: AtomicU64,
    pub(super) hold: Tally,
    pub(super) contended: AtomicU64,
    pub(super) blocked: Tally,
    pub(super) blame: AtomicU64,
    /// When a reader last said in its lock that it had it; ticks.
    said: AtomicU64,
}

/// How long a reader that has just said in its lock that it had it need not say so again, in ticks:
/// some microseconds, longer where the counter is slow.
const HERD: u64 = 8192;

impl Site {
    fn new() -> Self {
        Site {
            location: AtomicPtr::new(ptr::null_mut()),
            stripe: AtomicPtr::new(ptr::null_mut()),
            acquisitions: AtomicU64::new(0),
            releases: AtomicU64::new(0),
            released_elsewhere: AtomicU64::new(0),
            hold: Tally::new(),
            contended: AtomicU64::new(0),
            blocked: Tally::new(),
            blame: AtomicU64::new(0),
            said: AtomicU64::new(0),
        }
    }

    /// Whether a reader that finds at `at` that another thread had the lock before has found so a
    /// moment ago. Then the readers take turns, and the next one finds the same whatever it reads
    /// there, while each store would take the lock's cache line from all others.
    #[inline(always)]
    pub(crate) fn is_herd(&self, at: u64) -> bool {
        // Relaxed: nothing hangs on it, and in a shared slot any thread's will do.
        let is_herd = at.wrapping_sub(self.said.load(Ordering::Relaxed)) < HERD;
        if !is_herd {
            self.said.store(at, Ordering::Relaxed);
        }
        is_herd
    }

    /// The stripe that the row is part of.
    #[inline(always)]
    pub(crate) fn stripe(&self) -> &'static Stripe {
        // SAFETY: set by `Sites::belong_to` before anybody sees the row; stripes are never freed.
        unsafe { &*self.stripe.load(Ordering::Relaxed) }
    }

    /// The line; `None` for the row of the others.
    pub(crate) fn location(&self) -> Option<&'static Location<'static>> {
        // SAFETY: null, or the `&'static Location` that `claim` stored.
        unsafe { self.location.load(Ordering::Relaxed).as_ref() }
    }

    /// A hold of this row has ended on another thread.
    pub(super) fn released_elsewhere(&self) {
        self.released_elsewhere.fetch_add(1, Ordering::Relaxed);
    }

    fn is_in_flight(&self) -> bool {
        let ended =
            self.releases.load(Ordering::Relaxed) + self.released_elsewhere.load(Ordering::Relaxed);
        self.acquisitions.load(Ordering::Relaxed) != ended
    }

    fn cost(&self) -> u64 {
        let blame = self.blame.load(Ordering::Relaxed);
        let (held, blocked) = (self.hold.get().0, self.blocked.get().0);
        blame.saturating_add(held).saturating_add(blocked)
    }

    fn counters(&self) -> [&AtomicU64; 5] {
        [
            &self.acquisitions,
            &self.releases,
            &self.released_elsewhere,
            &self.contended,
            &self.blame,
        ]
    }

    /// Moves all figures to `other`, and leaves none.
    fn fold_into(&self, other: &Site) {
        for (from, to) in self.counters().into_iter().zip(other.counters()) {
            let sum = to.load(Ordering::Relaxed) + from.load(Ordering::Relaxed);
            to.store(sum, Ordering::Relaxed);
            from.store(0, Ordering::Relaxed);
        }
        for (from, to) in [(&self.hold, &other.hold), (&self.blocked, &other.blocked)] {
            let (total, max) = from.get();
            to.add(total, max);
            from.clear();
        }
    }

    fn copy(&self) -> SiteTotals {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (hold_total, hold_max) = self.hold.get();
        let (blocked_total, blocked_max) = self.blocked.get();
        SiteTotals {
            acquisitions: load(&self.acquisitions),
            releases: load(&self.releases),
            hold_total,
            hold_max,
            contended: load(&self.contended),
            blocked_total,
            blocked_max,
            blame: load(&self.blame),
        }
    }
}

/// Which rows of a stripe have ever been used, a bit for each: a stripe is longer than what is used of
/// it, and a snapshot costs what it has to fetch from memory. Apart from the rows, next to what else
/// a snapshot reads of every stripe.
pub(super) struct Used(AtomicU32);

impl Used {
    pub(super) fn new() -> Self {
        Used(AtomicU32::new(0))
    }

    fn mark(&self, row: usize) {
        // Relaxed: a reader that looks in between finds what was there before.
        if !self.is_marked(row) {
            self.0.fetch_or(1 << row, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn is_marked(&self, row: usize) -> bool {
        self.0.load(Ordering::Relaxed) & 1 << row != 0
    }

    fn rows(&self) -> impl Iterator<Item = usize> {
        ones(u64::from(self.0.load(Ordering::Relaxed)))
    }
}

/// The rows of a stripe: of lines, and as the last one that of all others.
pub(super) struct Sites([Site; SITES + 1]);

const OTHERS: usize = SITES;
const _: () = assert!(HOMES <= SITES && OTHERS < 32);

impl Sites {
    pub(super) fn new() -> Self {
        Sites(std::array::from_fn(|_| Site::new()))
    }

    pub(super) fn belong_to(&self, stripe: &'static Stripe) {
        for site in &self.0 {
            site.stripe
                .store(ptr::from_ref(stripe).cast_mut(), Ordering::Relaxed);
        }
    }

    fn lines(&self) -> &[Site] {
        &self.0[..OTHERS]
    }

    /// The row of `location` if it is in its place.
    #[inline(always)]
    pub(super) fn home(&self, location: &'static Location<'static>) -> Option<&Site> {
        let site = &self.0[home(location)];
        ptr::eq(site.location.load(Ordering::Relaxed), location).then_some(site)
    }

    /// The row of `location`, wherever it is.
    pub(super) fn find(&self, location: &'static Location<'static>) -> Option<&Site> {
        self.lines()
            .iter()
            .find(|site| ptr::eq(site.location.load(Ordering::Relaxed), location))
    }

    /// A row for `location`, which has none: a free one, or with `may_replace` that of another
    /// line, else that of the others. The caller is the only writer, and what happens here a reader
    /// sees whole or not at all.
    pub(super) fn claim(
        &self,
        used: &Used,
        location: &'static Location<'static>,
        may_replace: bool,
    ) -> &Site {
        let lines = self.lines();
        let is_free = |i: &usize| lines[*i].location.load(Ordering::Relaxed).is_null();
        let free = Some(home(location))
            .filter(is_free)
            .or_else(|| (0..SITES).find(is_free));
        let replaced = || {
            let is_idle = |i: &usize| may_replace && !lines[*i].is_in_flight();
            let idle = (0..SITES).filter(is_idle);
            let cheapest = idle.min_by_key(|&i| lines[i].cost())?;
            lines[cheapest].fold_into(self.others(used));
            Some(cheapest)
        };
        let Some(i) = free.or_else(replaced) else {
            return self.others(used);
        };
        used.mark(i);
        let location = ptr::from_ref(location).cast_mut();
        lines[i].location.store(location, Ordering::Relaxed);
        &lines[i]
    }

    /// The row of the others.
    pub(super) fn others(&self, used: &Used) -> &Site {
        used.mark(OTHERS);
        &self.0[OTHERS]
    }

    /// The same, if it has been used before.
    #[inline(always)]
    pub(super) fn others_again(&self, used: &Used) -> Option<&Site> {
        used.is_marked(OTHERS).then_some(&self.0[OTHERS])
    }

    fn used(&self, used: &Used) -> impl Iterator<Item = &Site> {
        used.rows().map(|i| &self.0[i])
    }

    /// Acquisitions in all rows.
    pub(super) fn acquisitions(&self, used: &Used) -> u64 {
        let count = |site: &Site| site.acquisitions.load(Ordering::Relaxed);
        self.used(used).map(count).sum()
    }

    /// Has the processor fetch what [`copy`](Self::copy) is most likely going to look at.
    pub(super) fn fetch(&self, used: &Used) -> u64 {
        let first = used.rows().next().unwrap_or(0);
        let site = &self.0[first];
        site.acquisitions.load(Ordering::Relaxed) ^ site.blame.load(Ordering::Relaxed)
    }

    /// Copies every row that has been used, and returns total and maximum of all holds.
    pub(super) fn copy(
        &self,
        used: &Used,
        to: &mut Vec<(Option<&'static Location<'static>>, SiteTotals)>,
    ) -> (u64, u64) {
        to.clear();
        let mut all = (0u64, 0);
        for site in self.used(used) {
            let totals = site.copy();
            all.0 = all.0.saturating_add(totals.hold_total);
            all.1 = all.1.max(totals.hold_max);
            if totals.acquisitions + totals.releases > 0 {
                to.push((site.location(), totals));
            }
        }
        all
    }
}

/// Locations lie 24 bytes apart, so lines of one function get different places.
#[inline(always)]
fn home(location: &'static Location<'static>) -> usize {
    ptr::from_ref(location).addr() >> 3 & (HOMES - 1)
}

/// What one row, or all rows of a line, add up to. Nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SiteTotals {
    pub(crate) acquisitions: u64,
    pub(crate) releases: u64,
    pub(crate) hold_total: u64,
    pub(crate) hold_max: u64,
    pub(crate) contended: u64,
    pub(crate) blocked_total: u64,
    pub(crate) blocked_max: u64,
    pub(crate) blame: u64,
}

impl SiteTotals {
    pub(super) fn add(&mut self, other: &SiteTotals) {
        self.acquisitions += other.acquisitions;
        self.releases += other.releases;
        self.hold_total = self.hold_total.saturating_add(other.hold_total);
        self.hold_max = self.hold_max.max(other.hold_max);
        self.contended += other.contended;
        self.blocked_total = self.blocked_total.saturating_add(other.blocked_total);
        self.blocked_max = self.blocked_max.max(other.blocked_max);
        self.blame = self.blame.saturating_add(other.blame);
    }
}
