//! The figures of a class: what its locks have done, as far as logs have been folded.
//!
//! A thread folds its log once in some sixty acquisitions, so all threads share a few stripes, each
//! behind a lock of its own. Plain data: whoever has a stripe's lock may change everything in it, and
//! whoever has the locks of all stripes sees the class stand still.

use super::durations::{Durations, Totals};
use super::instances::{Instances, MOST_BYTES, Place, WaitedFor};
use super::lines::{LINES, LineFigures, Lines};
use super::pairs::{PAIRS, Pair};
use super::site::Site;
use crate::brief::{self, Inside};
use crate::mode::Activity;
use crossbeam_utils::CachePadded;
use parking_lot::{Mutex, MutexGuard};
use std::num::NonZero;
use std::panic::RefUnwindSafe;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::thread::available_parallelism;

/// Stripes that a class has at most, however many processors there are.
const STRIPES: usize = 8;

/// What a class may take in all, at any number of threads.
const CLASS_MOST: usize = 64 * 1024;

/// What is left of that for stripes beyond the first, which may have everything.
const FURTHER_MOST: usize = CLASS_MOST
    - 1024
    - MOST_BYTES
    - size_of::<Stripe>()
    - PAIRS_MOST
    - Activity::ALL.len() * ROW_MOST;

/// The most that one activity of a stripe takes.
const ROW_MOST: usize = size_of::<ActivityFigures>()
    + size_of::<Durations>()
    + LINES * 2 * size_of::<(Site, LineFigures)>();

/// The most that the pairs of a stripe take.
const PAIRS_MOST: usize = PAIRS * size_of::<Pair>();

/// What is recorded of a lock class, or of a [`Statistic`](crate::Statistic).
///
/// Aligned so that the low bits of its address are free: records say more in them.
#[repr(align(256))]
pub(crate) struct ClassStats {
    rare: CachePadded<Rare>,
    first: Stripe,
    /// Made when they are needed, with the first one locked.
    further: [AtomicPtr<Stripe>; STRIPES - 1],
    /// Which of the locks are waited for. Made by the first wait.
    instances: AtomicPtr<Instances>,
}

/// What is counted where it happens, because it is rare, and by any thread.
struct Rare {
    instances: AtomicI64,
    /// Of all that were ever used.
    used: AtomicU64,
    unmatched: AtomicU64,
    clock_anomalies: AtomicU64,
    /// Bytes that stripes beyond the first may take.
    reserved: AtomicUsize,
}

/// Aligned so that no other stripe shares a cache line or pair of lines with it.
#[repr(align(128))]
struct Stripe(Mutex<Figures>);

/// What a stripe keeps.
pub(super) struct Figures {
    activities: [Option<Box<ActivityFigures>>; Activity::ALL.len()],
    pairs: Vec<Pair>,
    /// Whether each activity has to be paid for.
    is_first: bool,
}

// Figures are whole after a panic: nothing unwinds while they are written.
impl RefUnwindSafe for Stripe {}
impl RefUnwindSafe for Rare {}

/// The figures of one mode, or of sleeping.
pub(super) struct ActivityFigures {
    pub(super) bounces: u64,
    pub(super) contended_bounces: u64,
    pub(super) try_failures: u64,
    pub(super) timeouts: u64,
    /// How long those had waited; nanoseconds.
    pub(super) gave_up_after: u64,
    pub(super) nested: u64,
    /// What was waited while the lock was free; nanoseconds.
    pub(super) hand_over: u64,
    pub(super) hold: Durations,
    /// Made by the first wait.
    blocked: Option<Box<Durations>>,
    pub(super) lines: Lines,
}

impl ActivityFigures {
    fn new() -> Self {
        ActivityFigures {
            bounces: 0,
            contended_bounces: 0,
            try_failures: 0,
            timeouts: 0,
            gave_up_after: 0,
            nested: 0,
            hand_over: 0,
            hold: Durations::new(),
            blocked: None,
            lines: Lines::new(),
        }
    }

    /// How long acquisitions had to wait.
    pub(super) fn blocked(&mut self) -> &mut Durations {
        self.blocked
            .get_or_insert_with(|| Box::new(Durations::new()))
    }
}

/// There is no memory left for it outside the first stripe.
pub(super) struct NoRoom;

impl Figures {
    const fn new(is_first: bool) -> Self {
        Figures {
            activities: [const { None }; Activity::ALL.len()],
            pairs: Vec::new(),
            is_first,
        }
    }

    /// The figures of one activity of the class with these `stats`.
    #[inline]
    pub(super) fn of(
        &mut self,
        activity: Activity,
        stats: &ClassStats,
    ) -> Result<&mut ActivityFigures, NoRoom> {
        let figures = &mut self.activities[activity as usize];
        if figures.is_none() && !self.is_first && !stats.reserve(ROW_MOST) {
            return Err(NoRoom);
        }
        Ok(figures.get_or_insert_with(|| Box::new(ActivityFigures::new())))
    }

    pub(super) fn add_pair(&mut self, pair: Pair) {
        pair.add_to(&mut self.pairs, PAIRS);
    }
}

/// How many stripes there may be: as many as threads can fold at the same time.
fn stripes() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| available_parallelism().map_or(1, NonZero::get).min(STRIPES))
}

impl ClassStats {
    pub(crate) const fn new() -> Self {
        ClassStats {
            first: Stripe(Mutex::new(Figures::new(true))),
            further: [const { AtomicPtr::new(ptr::null_mut()) }; STRIPES - 1],
            instances: AtomicPtr::new(ptr::null_mut()),
            rare: CachePadded::new(Rare {
                instances: AtomicI64::new(0),
                used: AtomicU64::new(0),
                unmatched: AtomicU64::new(0),
                clock_anomalies: AtomicU64::new(0),
                reserved: AtomicUsize::new(0),
            }),
        }
    }

    pub(crate) fn add_instance(&self) {
        self.rare.instances.fetch_add(1, Ordering::Relaxed);
        self.rare.used.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove_instance(&self) {
        self.rare.instances.fetch_sub(1, Ordering::Relaxed);
    }

    /// Which of the locks are waited for. May allocate.
    #[inline]
    pub(crate) fn instances(&self) -> &Instances {
        match self.known_instances() {
            Some(instances) => instances,
            None => self.make_instances(),
        }
    }

    /// The same, once one has been waited for or has a label.
    #[inline]
    pub(crate) fn known_instances(&self) -> Option<&Instances> {
        // SAFETY: null, or what `make_instances` put there, which lives as long as `self`. Acquire: pairs with
        // its release; what is found is complete.
        unsafe { self.instances.load(Ordering::Acquire).as_ref() }
    }

    #[cold]
    #[inline(never)]
    fn make_instances(&self) -> &Instances {
        let _inside = Inside::enter();
        let new = Box::into_raw(Box::new(Instances::new()));
        // Release: whoever finds it finds it complete.
        let (null, place) = (ptr::null_mut(), &self.instances);
        let made = place.compare_exchange(null, new, Ordering::AcqRel, Ordering::Acquire);
        if made.is_err() {
            // SAFETY: made above; nobody else has it.
            drop(unsafe { Box::from_raw(new) });
        }
        // SAFETY: not null any more, made by `Box::into_raw`, and freed by `drop` only.
        unsafe { &*place.load(Ordering::Acquire) }
    }

    /// So many releases whose acquisitions were not observed.
    pub(crate) fn unmatched(&self, count: u64) {
        self.rare.unmatched.fetch_add(count, Ordering::Relaxed);
    }

    /// A duration that came out negative.
    pub(super) fn clock_ran_back(&self) {
        self.rare.clock_anomalies.fetch_add(1, Ordering::Relaxed);
    }

    /// Locks the stripe of those who are dealt number `home`, or another one that is free.
    pub(super) fn stripe(&self, home: usize) -> MutexGuard<'_, Figures> {
        let home = self.made(home % stripes());
        if let Some(figures) = home.0.try_lock() {
            return figures;
        }
        let free = self.all().find_map(|other| other.0.try_lock());
        free.unwrap_or_else(|| brief::lock(&home.0))
    }

    /// Locks the first stripe, which has room for everything.
    pub(super) fn first_stripe(&self) -> MutexGuard<'_, Figures> {
        brief::lock(&self.first.0)
    }

    fn made(&self, index: usize) -> &Stripe {
        let Some(place) = index.checked_sub(1).map(|i| &self.further[i]) else {
            return &self.first;
        };
        // SAFETY: null, or what `make` put there, which lives as long as `self`. Acquire: pairs with
        // its release; what is found is complete.
        let found = unsafe { place.load(Ordering::Acquire).as_ref() };
        found.unwrap_or_else(|| self.make(place))
    }

    #[cold]
    #[inline(never)]
    fn make(&self, place: &AtomicPtr<Stripe>) -> &Stripe {
        // One at a time, and none while somebody has them all stand still.
        let _first = brief::lock(&self.first.0);
        if place.load(Ordering::Acquire).is_null() {
            if !self.reserve(size_of::<Stripe>() + PAIRS_MOST) {
                return &self.first;
            }
            let new = Box::into_raw(Box::new(Stripe(Mutex::new(Figures::new(false)))));
            // Release: whoever finds the stripe finds it complete.
            place.store(new, Ordering::Release);
        }
        // SAFETY: not null, made by `Box::into_raw`, and freed by `drop` only.
        unsafe { &*place.load(Ordering::Acquire) }
    }

    /// Whether stripes beyond the first may take so many bytes more.
    fn reserve(&self, bytes: usize) -> bool {
        let add = |reserved: usize| Some(reserved + bytes).filter(|&sum| sum <= FURTHER_MOST);
        let reserved = &self.rare.reserved;
        reserved
            .try_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .is_ok()
    }

    fn all(&self) -> impl Iterator<Item = &Stripe> {
        // SAFETY: as in `made`: null, or complete and alive as long as `self`.
        let stripe = |place: &AtomicPtr<Stripe>| unsafe { place.load(Ordering::Acquire).as_ref() };
        std::iter::once(&self.first).chain(self.further.iter().filter_map(stripe))
    }

    /// Locks all stripes: nothing is folded into the class as long as this lives.
    pub(crate) fn stand_still(&self) -> StandStill<'_> {
        // The first one comes first: from then on no further one is made.
        StandStill {
            stats: self,
            figures: self.all().map(|stripe| brief::lock(&stripe.0)).collect(),
        }
    }
}

impl Drop for ClassStats {
    fn drop(&mut self) {
        for place in &mut self.further {
            let stripe = *place.get_mut();
            if !stripe.is_null() {
                // SAFETY: made by `Box::into_raw`; nobody else has `self` any more.
                drop(unsafe { Box::from_raw(stripe) });
            }
        }
        let instances = *self.instances.get_mut();
        if !instances.is_null() {
            // SAFETY: made by `Box::into_raw`; nobody else has `self` any more.
            drop(unsafe { Box::from_raw(instances) });
        }
    }
}

/// The figures of a class to which nothing is added meanwhile.
pub(crate) struct StandStill<'a> {
    stats: &'a ClassStats,
    figures: Vec<MutexGuard<'a, Figures>>,
}

impl StandStill<'_> {
    pub(crate) fn instances(&self) -> u64 {
        u64::try_from(self.stats.rare.instances.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Locks that were used and are gone.
    pub(crate) fn gone(&self) -> u64 {
        let used = self.stats.rare.used.load(Ordering::Relaxed);
        used.saturating_sub(self.instances())
    }

    pub(crate) fn unmatched(&self) -> u64 {
        self.stats.rare.unmatched.load(Ordering::Relaxed)
    }

    pub(crate) fn clock_anomalies(&self) -> u64 {
        self.stats.rare.clock_anomalies.load(Ordering::Relaxed)
    }

    /// Which locks have been waited for, and what all others have been.
    pub(crate) fn waited_for(&self) -> (Vec<Place>, WaitedFor) {
        let instances = self.stats.known_instances();
        instances.map_or_else(Default::default, Instances::read)
    }

    /// Whom holds have kept waiting.
    pub(crate) fn pairs(&self) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for pair in self.figures.iter().flat_map(|figures| &figures.pairs) {
            pair.add_to(&mut pairs, PAIRS);
        }
        pairs
    }

    /// What all stripes have of one activity.
    pub(crate) fn of(&self, activity: Activity, scratch: &mut Scratch) -> ActivityTotals {
        let mut totals = ActivityTotals::default();
        scratch.hold.clear();
        scratch.blocked.clear();
        let figures = self.figures.iter();
        for of_stripe in figures.filter_map(|all| all.activities[activity as usize].as_deref()) {
            totals.bounces += of_stripe.bounces;
            totals.contended_bounces += of_stripe.contended_bounces;
            totals.try_failures += of_stripe.try_failures;
            totals.timeouts += of_stripe.timeouts;
            totals.gave_up_after = totals.gave_up_after.saturating_add(of_stripe.gave_up_after);
            totals.nested += of_stripe.nested;
            totals.hand_over = totals.hand_over.saturating_add(of_stripe.hand_over);
            of_stripe.hold.add_to(&mut scratch.hold);
            if let Some(blocked) = &of_stripe.blocked {
                blocked.add_to(&mut scratch.blocked);
            }
            for (site, figures) in of_stripe.lines.rows() {
                totals.line(site).add(figures);
            }
        }
        totals
    }
}

/// Where distributions are added up. One serves a whole snapshot.
pub(crate) struct Scratch {
    pub(crate) hold: Totals,
    pub(crate) blocked: Totals,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Scratch {
            hold: Totals::new(),
            blocked: Totals::new(),
        }
    }
}

/// What all stripes of a class have of one activity; the distributions are in the [`Scratch`].
#[derive(Default)]
pub(crate) struct ActivityTotals {
    pub(crate) bounces: u64,
    pub(crate) contended_bounces: u64,
    pub(crate) try_failures: u64,
    pub(crate) timeouts: u64,
    /// Nanoseconds.
    pub(crate) gave_up_after: u64,
    pub(crate) nested: u64,
    /// Nanoseconds.
    pub(crate) hand_over: u64,
    /// By line; the compiler may keep several locations for one.
    pub(crate) lines: Vec<(Option<Site>, LineFigures)>,
}

impl ActivityTotals {
    fn line(&mut self, site: Option<Site>) -> &mut LineFigures {
        let is_it = |(of, _): &(Option<Site>, LineFigures)| {
            of.map(ptr::from_ref) == site.map(ptr::from_ref)
        };
        match self.lines.iter().position(is_it) {
            Some(i) => &mut self.lines[i].1,
            None => &mut self.lines.push_mut((site, LineFigures::default())).1,
        }
    }

    /// Holds that have ended.
    pub(crate) fn releases(&self) -> u64 {
        self.lines.iter().map(|(_, line)| line.releases).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_beyond_the_first_are_bounded() {
        let further = size_of::<Stripe>() + PAIRS_MOST + ROW_MOST;
        assert!(FURTHER_MOST >= 4 * further, "a mutex has five stripes");
        assert!(
            size_of::<ClassStats>() <= 512,
            "{}",
            size_of::<ClassStats>()
        );
        let stats = ClassStats::new();
        let taken = (0..100).take_while(|_| stats.reserve(ROW_MOST)).count();
        assert!(taken * ROW_MOST <= FURTHER_MOST, "{taken}");
    }
}
