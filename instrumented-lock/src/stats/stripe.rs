//! A stripe: one lock class, one mode, one thread slot.

use super::contention::Mark;
use super::flight::{self, Wait};
use super::pairs::{Owed, Pair, Verdict};
use super::samples::{Samples, Scratch, Tally, Totals, add};
use super::sites::{Site, SiteTotals, Sites, Used};
use super::slot::{self, Thread};
use super::{find, leak_once};
use crate::class::LockClass;
use crate::clock;
use std::fmt;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// How a lock is acquired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Mode {
    /// Exclusively: every acquisition of a mutex, and the writers of a reader-writer lock.
    Write,
    /// Shared with other readers.
    Read,
    /// Shared with readers, and able to become exclusive; one at a time.
    Upgradable,
}

/// `write`, `read` or `upgradable`.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Mode::Write => "write",
            Mode::Read => "read",
            Mode::Upgradable => "upgradable",
        })
    }
}

/// Adds one to a counter of the calling thread's slot.
pub(super) fn count(slot: usize, counter: &AtomicU64) {
    if slot >= slot::EXCLUSIVE {
        counter.fetch_add(1, Ordering::Release);
    } else {
        count_here(counter);
    }
}

/// Adds one to a counter that only the calling thread writes: no locked instruction.
#[inline(always)]
fn count_here(counter: &AtomicU64) {
    // Release: a reader that has seen a release counted also sees its acquisition, which came
    // before.
    let n = counter.load(Ordering::Relaxed).wrapping_add(1);
    counter.store(n, Ordering::Release);
}

/// Whether the line is not the user's: in `MutexGuard::unlocked` and its like `lock_api` locks in a
/// closure, which has a line of its own.
pub(super) fn is_inside_lock_api(location: &Location<'_>) -> bool {
    let file = location.file();
    file.contains("lock_api")
        && ["mutex.rs", "rwlock.rs", "remutex.rs"]
            .iter()
            .any(|name| file.ends_with(name))
}

/// A stamp that no clock reaches, of a hold that is not timed: no age, no duration.
pub(crate) const NEVER: u64 = u64::MAX;

/// How a hold is recorded. Decided when it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timing {
    /// Its time is measured by the plain counter, and recorded in the stripe of the thread's own
    /// slot: the fast path.
    Fast,
    /// Its time is measured.
    Exact,
    /// Its time is measured and stands for 2^this holds.
    ForMany(u8),
    /// It is counted only.
    Untimed,
}

/// What a stripe is about: a mode of a lock, or the sleep of a condition variable, where an
/// "acquisition" is a wait that begins and a "hold" the time asleep.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Row {
    Write,
    Read,
    Upgradable,
    Sleep,
}

impl Row {
    /// Whether nobody else has the lock meanwhile.
    pub(crate) fn is_exclusive(self) -> bool {
        matches!(self, Row::Write)
    }

    pub(super) fn mode(self) -> Mode {
        match self {
            Row::Read => Mode::Read,
            Row::Upgradable => Mode::Upgradable,
            // Nothing acquires in the row of sleeps.
            Row::Write | Row::Sleep => Mode::Write,
        }
    }
}

pub(super) const ROWS: [Row; 4] = [Row::Write, Row::Read, Row::Upgradable, Row::Sleep];

impl Site {
    /// Records a hold of this row. For the only writer.
    fn record_hold(&self, ns: u64) {
        let also = || add(&self.releases, 1);
        self.stripe().hold.record(ns, &self.hold, also);
    }
}

/// How long acquisitions had to wait.
pub(super) struct Waits {
    samples: Samples,
    tally: Tally,
}

impl Waits {
    fn new() -> Self {
        Waits {
            samples: Samples::new(),
            tally: Tally::new(),
        }
    }
}

/// The statistics of one row of a class that one slot keeps.
///
/// The owner of the slot is the only writer. In a shared slot several threads are: there the
/// counters take atomic adds and the distributions a lock among their writers.
///
/// Aligned so that its neighbours in memory, which belong to other threads, share no cache line
/// with it.
#[repr(C, align(64))]
pub(crate) struct Stripe {
    // What a snapshot costs is fetching what it reads, so that lies together: of most stripes a line
    // here, a row, and of the distribution its head and the buckets in use.
    class: &'static LockClass,
    /// Acquisitions by another thread than the last one that had the lock, and how many of those
    /// had to block.
    bounces: AtomicU64,
    contended_bounces: AtomicU64,
    try_failures: AtomicU64,
    timeouts: AtomicU64,
    /// What acquisitions of this stripe ended by taking a lock that nobody had; nanoseconds.
    hand_over: AtomicU64,
    /// Made before the first wait.
    blocked: AtomicPtr<Waits>,
    used: Used,
    row: Row,
    writers: parking_lot::Mutex<()>,
    /// Whether there has ever been anything in `owed`.
    has_owed: AtomicBool,
    hold: Samples,
    slot: usize,
    owed: Owed,
    sites: Sites,
}

impl Stripe {
    pub(super) fn new(class: &'static LockClass, row: Row, slot: usize) -> Self {
        Stripe {
            hold: Samples::new(),
            class,
            row,
            slot,
            bounces: AtomicU64::new(0),
            contended_bounces: AtomicU64::new(0),
            try_failures: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            blocked: AtomicPtr::new(ptr::null_mut()),
            writers: parking_lot::Mutex::new(()),
            used: Used::new(),
            has_owed: AtomicBool::new(false),
            owed: Owed::new(),
            hand_over: AtomicU64::new(0),
            sites: Sites::new(),
        }
    }

    /// Called once the stripe is where it stays, before anybody uses a row of it.
    pub(super) fn settle(&'static self) {
        self.sites.belong_to(self);
    }

    pub(crate) fn class(&self) -> &'static LockClass {
        self.class
    }

    /// How the lock is acquired that is counted here.
    pub(crate) fn mode(&self) -> Mode {
        self.row.mode()
    }

    /// The row of the line that acquires, if it is in its place; with `call_sites` off that of all
    /// lines. In a stripe of the thread's own slot.
    #[inline(always)]
    pub(crate) fn row_of(
        &'static self,
        location: &'static Location<'static>,
        call_sites: bool,
    ) -> Option<&'static Site> {
        if call_sites {
            self.sites.home(location)
        } else {
            self.sites.others_again(&self.used)
        }
    }

    /// The row of the line that acquires.
    pub(crate) fn site(&'static self, location: &'static Location<'static>) -> &'static Site {
        self.sites
            .home(location)
            .unwrap_or_else(|| self.site_elsewhere(location))
    }

    /// The row of all lines that have none of their own.
    pub(crate) fn others(&'static self) -> &'static Site {
        self.sites.others(&self.used)
    }

    #[inline(never)]
    fn site_elsewhere(&'static self, location: &'static Location<'static>) -> &'static Site {
        if let Some(site) = self.sites.find(location) {
            return site;
        }
        if is_inside_lock_api(location)
            && let Some(last) = slot::here(|thread| thread.last_released.get())
            && ptr::eq(last.stripe(), self)
        {
            return last;
        }
        let mut site = None;
        self.alone(|| {
            // In a shared slot another thread may be about to count in the row that is replaced,
            // or may have made the row meanwhile.
            let made = self.sites.find(location).filter(|_| self.is_shared());
            self.hold.write(|| {
                site = Some(made.unwrap_or_else(|| {
                    let may_replace = !self.is_shared();
                    self.sites.claim(&self.used, location, may_replace)
                }));
            });
        });
        match site {
            Some(site) => site,
            None => unreachable!("`alone` calls what it is given"),
        }
    }

    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.slot >= slot::EXCLUSIVE
    }

    #[inline]
    fn count(&self, counter: &AtomicU64) {
        count(self.slot, counter);
    }

    #[inline(always)]
    fn nanoseconds(&self, start: u64, end: u64) -> u64 {
        clock::nanoseconds(start, end).unwrap_or_else(|| self.class.stats.clock_ran_back())
    }

    /// Calls `record` as the only writer.
    fn alone(&self, record: impl FnOnce()) {
        if self.is_shared() {
            let _writers = self.writers.lock();
            record();
        } else {
            record();
        }
    }

    /// An acquisition at `site` of this stripe. `bounced`: another thread had the lock before.
    pub(crate) fn acquired(&self, site: &'static Site, bounced: bool) {
        self.count(&site.acquisitions);
        if bounced {
            self.count(&self.bounces);
        }
    }

    /// Lists a hold at `site` as in flight since what `now` says, asked last.
    #[inline]
    pub(crate) fn holds(&self, site: &'static Site, now: impl FnOnce() -> u64) -> u64 {
        flight::hold(self.slot, site, now)
    }

    pub(crate) fn try_failed(&self) {
        self.count(&self.try_failures);
    }

    /// Everything that recording a wait needs, got ready before the wait: nothing is allocated or
    /// calibrated once the lock is held.
    pub(crate) fn prepare_to_block(&self) {
        clock::calibrate();
        if self.blocked().is_some() {
            return;
        }
        if self.is_shared() || self.class.stats.reserve(size_of::<Waits>()) {
            leak_once(&self.blocked, Waits::new, |_| ());
        } else {
            self.shared().prepare_to_block();
        }
    }

    /// Calls `record` as the only writer of the distribution of waits that acquisitions here go to:
    /// the stripe's own, or where the class had no room for it, that of a shared stripe.
    fn with_blocked(&self, record: impl FnOnce(&Waits)) {
        if let Some(blocked) = self.blocked() {
            self.alone(|| record(blocked));
        } else {
            let shared = self.shared();
            if let Some(blocked) = shared.blocked() {
                shared.alone(|| record(blocked));
            }
        }
    }

    /// The stripe that takes what this one has no room for.
    fn shared(&self) -> &'static Stripe {
        let stats = &self.class.stats;
        stats.shared_stripe(self.class, self.row, self.slot)
    }

    fn blocked(&self) -> Option<&Waits> {
        find(&self.blocked)
    }

    pub(crate) fn row(&self) -> Row {
        self.row
    }

    /// What was waited, in ticks, between a release and the acquisition that is recorded here.
    pub(crate) fn handed_over(&self, ticks: u64) {
        if ticks > 0 {
            let ns = clock::nanoseconds(0, ticks).unwrap_or(0);
            if self.is_shared() {
                self.hand_over.fetch_add(ns, Ordering::Relaxed);
            } else {
                add(&self.hand_over, ns);
            }
        }
    }

    /// Notes with the hold just listed, since `at`, where its episode stood.
    pub(crate) fn note_mark(&self, site: &'static Site, at: u64, mark: Mark) {
        flight::note_mark(self.slot, site, at, mark);
    }

    /// Where the episode stood when a hold began; nothing where nobody waited then.
    pub(crate) fn mark_of(&self, site: &'static Site, at: u64) -> Mark {
        flight::mark_of(self.slot, site, at)
    }

    /// Records what a hold of `site` is blamed for, once the lock is unlocked. The calling thread
    /// ends the hold.
    pub(crate) fn blamed(&self, site: &'static Site, verdict: &Verdict) {
        let ns = |ticks| clock::nanoseconds(0, ticks).unwrap_or(0);
        let stripe = self.of(self.row);
        let here = stripe.same_line(site);
        stripe.handed_over(verdict.hand_over);
        stripe.alone(|| add(&here.blame, ns(verdict.total)));
        let holder = site.location();
        if stripe.is_shared() {
            verdict.add_to(&mut self.class.stats.pairs().lock(), holder, ns);
            return;
        }
        stripe.has_owed.store(true, Ordering::Relaxed);
        if !stripe.owed.add(verdict, holder, ns) {
            let mut pairs = self.class.stats.pairs().lock();
            stripe.owed.move_to(&mut pairs);
            if !stripe.owed.add(verdict, holder, ns) {
                verdict.add_to(&mut pairs, holder, ns);
            }
        }
    }

    /// Adds what has not been added to them yet to the pairs of the class, which are locked.
    pub(super) fn copy_owed(&self, pairs: &mut Vec<Pair>) {
        // Relaxed: what is added in this moment the next snapshot sees.
        if self.has_owed.load(Ordering::Relaxed) {
            self.owed.copy_to(pairs);
        }
    }

    /// The row here of the line that `site` is about in the stripe of some thread.
    fn same_line(&'static self, site: &'static Site) -> &'static Site {
        match site.location() {
            _ if ptr::eq(site.stripe(), self) => site,
            Some(location) => self.site(location),
            None => self.others(),
        }
    }

    /// Lists a wait at `site` that begins.
    pub(crate) fn waits(&self, site: &'static Site, start: u64) -> Wait {
        flight::wait(self.slot, site, start)
    }

    /// The end of a wait that gave up.
    pub(crate) fn gave_up(&self, wait: Wait) {
        wait.gave_up();
        self.count(&self.timeouts);
    }

    /// An acquisition that waited from `start` to `end`, where its episode stood at `mark`.
    pub(crate) fn acquired_after(
        &self,
        site: &'static Site,
        (wait, start): (Wait, u64),
        (end, mark): (u64, Mark),
        bounced: bool,
    ) {
        wait.ended(site, end, mark);
        self.acquired(site, bounced);
        if bounced {
            self.count(&self.contended_bounces);
        }
        let ns = self.nanoseconds(start, end);
        self.with_blocked(|blocked| {
            blocked.samples.record(ns, &blocked.tally, || {
                add(&site.contended, 1);
                site.blocked.add(ns, ns);
            });
        });
    }

    /// A sleep that begins: no line, nothing in flight.
    pub(crate) fn fell_asleep(&self) {
        self.count(&self.sites.others(&self.used).acquisitions);
    }

    /// The end of a sleep.
    pub(crate) fn woke(&self, start: u64, end: u64, timed_out: bool) {
        if timed_out {
            self.count(&self.timeouts);
        }
        let ns = self.nanoseconds(start, end);
        let others = self.sites.others(&self.used);
        self.alone(|| self.hold.record(ns, &others.hold, || ()));
    }

    /// The end of any hold, on any thread.
    #[cold]
    #[inline(never)]
    pub(crate) fn released(&self, site: &'static Site, start: u64, end: u64, timing: Timing) {
        slot::here(|thread| thread.has_released(site));
        let stripe = self.of(self.row);
        flight::released(self.slot, site, start);
        // Found before the row may be replaced.
        let here = stripe.same_line(site);
        if !ptr::eq(here, site) {
            site.released_elsewhere();
        }
        match timing {
            Timing::Fast | Timing::Exact => {
                let ns = stripe.nanoseconds(start, end);
                stripe.alone(|| here.record_hold(ns));
            }
            Timing::ForMany(shift) => {
                let ns = stripe.nanoseconds(start, end);
                let also = || add(&here.releases, 1);
                let tally = &here.hold;
                stripe.alone(|| stripe.hold.record_for_many(ns, shift, tally, also));
            }
            Timing::Untimed => stripe.alone(|| count_here(&here.releases)),
        }
    }

    /// The calling thread's stripe of the same class for another row.
    pub(crate) fn of(&self, row: Row) -> &'static Stripe {
        self.class.stats.stripe(self.class, row)
    }

    /// Has the processor fetch what a snapshot is going to look at. Nothing here is decided by what
    /// has to be fetched, so the processor goes on to the next stripe meanwhile.
    pub(super) fn fetch(&self) -> u64 {
        self.sites.fetch(&self.used) ^ self.hold.fetch()
    }

    pub(super) fn read_distributions(&self, totals: &mut RowTotals, scratch: &mut Scratch) {
        let mut sites = std::mem::take(&mut totals.scratch);
        self.hold.read(&mut totals.hold, scratch, || {
            self.sites.copy(&self.used, &mut sites)
        });
        for (location, site) in &sites {
            totals.add_site(*location, site);
        }
        totals.scratch = sites;
        if let Some(Waits { samples, tally }) = self.blocked() {
            samples.read(&mut totals.blocked, scratch, || tally.get());
        }
    }

    pub(super) fn read_counters(&self, totals: &mut RowTotals) {
        totals.acquisitions += self.hold.whole(|| self.sites.acquisitions(&self.used));
        totals.try_failures += self.try_failures.load(Ordering::Relaxed);
        totals.timeouts += self.timeouts.load(Ordering::Relaxed);
        totals.hand_over += self.hand_over.load(Ordering::Relaxed);
        totals.bounces += self.bounces.load(Ordering::Relaxed);
        totals.contended_bounces += self.contended_bounces.load(Ordering::Relaxed);
    }
}

/// Counts an acquisition at `site`, a row of the calling thread's own stripe, in flight since what
/// `now` says; `bounced` says whether another thread had the lock before. `None` where that cannot be
/// done without a call, and nothing has been.
#[inline(always)]
pub(crate) fn acquired_fast(
    thread: &Thread,
    site: &'static Site,
    now: impl FnOnce() -> u64,
    bounced: impl FnOnce(u64) -> bool,
) -> Option<u64> {
    let entry = flight::free(thread.table.get()?)?;
    let at = now();
    if bounced(at) {
        count_here(&site.stripe().bounces);
    }
    entry.hold(site, at);
    count_here(&site.acquisitions);
    Some(at)
}

/// The end of a hold at `site` that is only counted. It is listed as in flight since `start`.
pub(crate) fn released_untimed(thread: &Thread, site: &'static Site, start: u64) {
    let table = thread.table.get();
    let Some(entry) = table.and_then(|table| flight::find_near(table, site, start)) else {
        let stripe = site.stripe();
        return stripe.released(site, start, NEVER, Timing::Untimed);
    };
    entry.strike();
    thread.has_released(site);
    count_here(&site.releases);
}

/// The end of a hold at `site` that was fast to acquire. It is recorded in the stripe of the thread
/// that makes it.
///
/// What is not as usual is found out before anything is written, and left to calls that do not come
/// back here: so nothing needs saving, and a program pays for what it does usually.
pub(crate) fn released_fast(thread: &Thread, site: &'static Site, start: u64, end: u64) {
    // What the thread has listed is a row of its own stripe.
    let entry = thread
        .table
        .get()
        .and_then(|table| flight::find_near(table, site, start));
    let (Some(entry), Some(ticks)) = (entry, end.checked_sub(start)) else {
        return released(site, start, end);
    };
    let hold = &site.stripe().hold;
    let Some(previous) = hold.pending() else {
        // This may be the first hold of all, and the clock not calibrated.
        return released(site, start, end);
    };
    entry.strike();
    thread.has_released(site);
    let ns = clock::to_nanoseconds(ticks);
    if !hold.record_fast(previous, ns, &site.hold, || add(&site.releases, 1)) {
        record(site, ns);
    }
}

#[cold]
#[inline(never)]
fn released(site: &'static Site, start: u64, end: u64) {
    site.stripe().released(site, start, end, Timing::Exact);
}

#[cold]
#[inline(never)]
fn record(site: &'static Site, ns: u64) {
    site.record_hold(ns);
}

/// All stripes of a class and row, added up.
pub(crate) struct RowTotals {
    pub(crate) acquisitions: u64,
    pub(crate) try_failures: u64,
    pub(crate) timeouts: u64,
    pub(crate) bounces: u64,
    pub(crate) contended_bounces: u64,
    /// Nanoseconds.
    pub(crate) hand_over: u64,
    /// By line; the compiler may keep several locations for one.
    pub(crate) sites: Vec<(Option<&'static Location<'static>>, SiteTotals)>,
    scratch: Vec<(Option<&'static Location<'static>>, SiteTotals)>,
    pub(crate) hold: Totals,
    pub(crate) blocked: Totals,
}

impl RowTotals {
    pub(super) fn new() -> Self {
        RowTotals {
            acquisitions: 0,
            try_failures: 0,
            timeouts: 0,
            bounces: 0,
            contended_bounces: 0,
            hand_over: 0,
            sites: Vec::new(),
            scratch: Vec::new(),
            hold: Totals::new(),
            blocked: Totals::new(),
        }
    }

    fn add_site(&mut self, location: Option<&'static Location<'static>>, totals: &SiteTotals) {
        match self.sites.iter_mut().find(|(found, _)| *found == location) {
            Some((_, sum)) => sum.add(totals),
            None => self.sites.push((location, *totals)),
        }
    }

    /// All releases, however they were timed.
    pub(crate) fn releases(&self) -> u64 {
        self.sites.iter().map(|(_, site)| site.releases).sum()
    }
}
