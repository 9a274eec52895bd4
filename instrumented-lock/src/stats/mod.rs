//! The statistics of a class: stripes by thread slot and mode, made at first touch.
//!
//! `slot` says which stripe a thread may write, `stripe` what it keeps, `sites` that by line,
//! `samples` how a distribution is written and read, `histogram` where the bucket boundaries lie,
//! `sampling` which holds are timed where not all are, `flight` what is in progress. `contention` works
//! out who waited for which hold, `pairs` keeps it. `notes` are no statistics: they are what budgets
//! measure.

mod contention;
pub(crate) mod flight;
mod histogram;
mod notes;
mod pairs;
mod samples;
mod sampling;
mod sites;
pub(crate) mod slot;
mod stripe;
mod sync;

pub(crate) use contention::{Contention, Mark};
pub(crate) use flight::Wait;
pub(crate) use histogram::{BUCKETS, bucket_of, middle, upper_bound};
pub(crate) use notes::{Note, Notes, Taking, note};
pub(crate) use pairs::{Pair, Verdict};
pub(crate) use samples::{Samples, Scratch, Tally, Totals};
pub(crate) use sites::{Site, SiteTotals};
pub use stripe::Mode;
pub(crate) use stripe::{
    NEVER, Row, RowTotals, Stripe, Timing, acquired_fast, released_fast, released_untimed,
};

use crate::class::LockClass;
use crossbeam_utils::CachePadded;
use slot::{EXCLUSIVE, SHARED, Thread};
use std::hint::black_box;
use std::panic::RefUnwindSafe;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use stripe::{ROWS, Waits};

/// What one slot keeps of a class: a stripe for each row it has used.
struct Block {
    stripes: [AtomicPtr<Stripe>; ROWS.len()],
    /// Acquisitions of a reentrant mutex by the thread that holds it.
    nested: AtomicU64,
}

/// The statistics of a class.
///
/// Memory: 8 bytes a slot before the first use; then, for each thread slot and mode in use, a stripe
/// of 2.5 KiB, and 1.4 KiB more once an acquisition has blocked, up to [`OWN_MOST`]. After that,
/// threads that have no stripe of their own yet use those of the shared slots.
pub(crate) struct ClassStats {
    /// Of the exclusive slots.
    own: [AtomicPtr<Block>; EXCLUSIVE],
    /// Of the shared slots. Apart, so that the fast path finds no block there.
    shared: [AtomicPtr<Block>; SHARED],
    /// Padded: several threads write these, while all read the pointers above.
    rare: CachePadded<Rare>,
}

/// Counters of what is not on the hot path.
struct Rare {
    instances: AtomicI64,
    unmatched: AtomicU64,
    clock_anomalies: AtomicU64,
    unblamed: AtomicU64,
    /// Bytes of the stripes of exclusive slots.
    reserved: AtomicUsize,
    /// Whom holds have kept waiting.
    pairs: parking_lot::Mutex<Vec<Pair>>,
}

// Statistics are whole after a panic: nothing unwinds while they are written.
impl RefUnwindSafe for Rare {}

/// What a class may take in all, at any number of threads.
const CLASS_MOST: usize = 256 * 1024;

/// What is left of that for the stripes of exclusive slots, once every shared slot has all three
/// modes and has waited in each.
const OWN_MOST: usize = CLASS_MOST
    - size_of::<LockClass>()
    - (EXCLUSIVE + SHARED) * size_of::<Block>()
    - SHARED * 3 * (size_of::<Stripe>() + size_of::<Waits>())
    - pairs::PAIRS * size_of::<Pair>();

impl Block {
    #[inline(always)]
    fn stripe(&self, row: Row) -> Option<&'static Stripe> {
        find(&self.stripes[row as usize])
    }
}

impl ClassStats {
    pub(crate) const fn new() -> Self {
        ClassStats {
            own: [const { AtomicPtr::new(ptr::null_mut()) }; EXCLUSIVE],
            shared: [const { AtomicPtr::new(ptr::null_mut()) }; SHARED],
            rare: CachePadded::new(Rare {
                instances: AtomicI64::new(0),
                unmatched: AtomicU64::new(0),
                clock_anomalies: AtomicU64::new(0),
                unblamed: AtomicU64::new(0),
                reserved: AtomicUsize::new(0),
                pairs: parking_lot::Mutex::new(Vec::new()),
            }),
        }
    }

    pub(crate) fn add_instance(&self) {
        self.rare.instances.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove_instance(&self) {
        self.rare.instances.fetch_sub(1, Ordering::Relaxed);
    }

    /// A release whose acquisition was not observed.
    pub(crate) fn unmatched(&self) {
        self.rare.unmatched.fetch_add(1, Ordering::Relaxed);
    }

    /// A wait that could not be blamed on anybody.
    pub(crate) fn unblamed(&self) {
        self.rare.unblamed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the anomaly; the duration that stands for it is 0.
    #[cold]
    #[inline(never)]
    pub(crate) fn clock_ran_back(&self) -> u64 {
        self.rare.clock_anomalies.fetch_add(1, Ordering::Relaxed);
        0
    }

    /// The stripe of the calling thread, if it has an exclusive slot and has been here before.
    #[inline(always)]
    pub(crate) fn own_stripe(&self, thread: &Thread, row: Row) -> Option<&'static Stripe> {
        let block = self.own.get(thread.slot())?;
        find(block)?.stripe(row)
    }

    /// The calling thread's stripe. `class` is the one these statistics belong to.
    pub(crate) fn stripe(&self, class: &'static LockClass, row: Row) -> &'static Stripe {
        self.stripe_of(class, row, slot::current())
    }

    fn stripe_of(&self, class: &'static LockClass, row: Row, slot: usize) -> &'static Stripe {
        let found = find(self.block(slot)).and_then(|block| block.stripe(row));
        found.unwrap_or_else(|| self.grow(class, row, slot))
    }

    fn block(&self, slot: usize) -> &AtomicPtr<Block> {
        if slot < EXCLUSIVE {
            &self.own[slot]
        } else {
            &self.shared[slot - EXCLUSIVE]
        }
    }

    /// First touch: the only place that allocates.
    #[cold]
    #[inline(never)]
    fn grow(&self, class: &'static LockClass, row: Row, slot: usize) -> &'static Stripe {
        let new = || Block {
            stripes: [const { AtomicPtr::new(ptr::null_mut()) }; ROWS.len()],
            nested: AtomicU64::new(0),
        };
        let block = leak_once(self.block(slot), new, |_| ());
        if slot < EXCLUSIVE && !self.reserve(size_of::<Stripe>()) {
            return self.shared_stripe(class, row, slot);
        }
        let new = || Stripe::new(class, row, slot);
        leak_once(&block.stripes[row as usize], new, Stripe::settle)
    }

    /// The shared stripe for a thread whose slot has none of its own.
    fn shared_stripe(&self, class: &'static LockClass, row: Row, slot: usize) -> &'static Stripe {
        self.stripe_of(class, row, EXCLUSIVE + slot % SHARED)
    }

    /// Whether the stripes of exclusive slots may take so many bytes more.
    fn reserve(&self, bytes: usize) -> bool {
        let add = |reserved: usize| Some(reserved + bytes).filter(|&sum| sum <= OWN_MOST);
        let reserved = &self.rare.reserved;
        reserved
            .try_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .is_ok()
    }

    /// Whom holds have kept waiting, pair by pair.
    fn pairs(&self) -> &parking_lot::Mutex<Vec<Pair>> {
        &self.rare.pairs
    }

    /// The same, with what stripes have not added yet.
    fn all_pairs(&self) -> Vec<Pair> {
        // Locked all the time: what a stripe adds meanwhile would be there twice.
        let pairs = self.pairs().lock();
        let mut all = pairs.clone();
        for stripe in ROWS.into_iter().flat_map(|row| self.stripes(row)) {
            stripe.copy_owed(&mut all);
        }
        all
    }

    fn blocks(&self) -> impl Iterator<Item = &'static Block> {
        self.own.iter().chain(&self.shared).filter_map(find)
    }

    fn stripes(&self, row: Row) -> impl Iterator<Item = &'static Stripe> {
        self.blocks().filter_map(move |block| block.stripe(row))
    }

    /// An acquisition of a reentrant mutex by the thread that holds it, which has a stripe.
    pub(crate) fn nested(&self) {
        let slot = slot::current();
        if let Some(block) = find(self.block(slot)) {
            stripe::count(slot, &block.nested);
        }
    }

    /// Adds up what all slots keep. Releases and waits are read before acquisitions, so an
    /// acquisition is never missing whose release or wait is there.
    pub(crate) fn read(&self, scratch: &mut Scratch) -> ClassTotals {
        let rows = ROWS.map(|row| {
            let mut totals = RowTotals::new();
            // Other threads' memory is far away. Asked for at once it comes in a third of the time.
            let fetched = self
                .stripes(row)
                .fold(0, |all, stripe| all ^ stripe.fetch());
            black_box(fetched);
            for stripe in self.stripes(row) {
                stripe.read_distributions(&mut totals, scratch);
            }
            for stripe in self.stripes(row) {
                stripe.read_counters(&mut totals);
            }
            totals
        });
        let nested = self
            .blocks()
            .map(|block| block.nested.load(Ordering::Relaxed))
            .sum();
        ClassTotals {
            rows,
            nested,
            instances: u64::try_from(self.rare.instances.load(Ordering::Relaxed)).unwrap_or(0),
            unmatched: self.rare.unmatched.load(Ordering::Relaxed),
            clock_anomalies: self.rare.clock_anomalies.load(Ordering::Relaxed),
            unblamed: self.rare.unblamed.load(Ordering::Relaxed),
            pairs: self.all_pairs(),
        }
    }
}

/// What [`leak_once`] has put there.
#[inline(always)]
fn find<T>(place: &AtomicPtr<T>) -> Option<&'static T> {
    // SAFETY: null, or what `leak_once` made, which nothing frees. Acquire: pairs with its release;
    // what is found is complete.
    unsafe { place.load(Ordering::Acquire).as_ref() }
}

/// Puts a new value where there is none; it is never freed. `settle` is called with the value in its
/// place, before anybody else sees it. Where two threads of a shared slot get here at the same time,
/// both find the first one's.
fn leak_once<T>(
    place: &AtomicPtr<T>,
    make: impl FnOnce() -> T,
    settle: impl FnOnce(&'static T),
) -> &'static T {
    let mut found = place.load(Ordering::Acquire);
    if found.is_null() {
        let new = Box::into_raw(Box::new(make()));
        // SAFETY: made above; freed below only if nobody keeps it, and what `settle` keeps of it is
        // in itself.
        settle(unsafe { &*new });
        // Release: whoever finds the value finds it complete.
        let put = place.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
        found = put.map_or_else(
            |theirs| {
                // SAFETY: made above and not shared, since the exchange failed.
                drop(unsafe { Box::from_raw(new) });
                theirs
            },
            |_| new,
        );
    }
    // SAFETY: not null, made by `Box::into_raw` here or in an earlier call, and never freed.
    unsafe { &*found }
}

/// What all slots of a class add up to.
pub(crate) struct ClassTotals {
    /// By [`Row`].
    pub(crate) rows: [RowTotals; ROWS.len()],
    pub(crate) nested: u64,
    pub(crate) instances: u64,
    pub(crate) unmatched: u64,
    pub(crate) clock_anomalies: u64,
    pub(crate) unblamed: u64,
    pub(crate) pairs: Vec<Pair>,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Recorded {
        samples: Samples,
        tally: Tally,
    }

    impl Recorded {
        fn new() -> Self {
            Recorded {
                samples: Samples::new(),
                tally: Tally::new(),
            }
        }

        fn slowly(&self, ns: u64) {
            self.samples.record(ns, &self.tally, || ());
        }

        /// What a thread does with each sample of its own.
        fn record(&self, ns: u64) {
            let Recorded { samples, tally } = self;
            let fast = |previous| samples.record_fast(previous, ns, tally, || ());
            if !samples.pending().is_some_and(fast) {
                self.slowly(ns);
            }
        }

        fn totals(&self) -> Totals {
            let mut totals = Totals::new();
            let tally = || self.tally.get();
            self.samples.read(&mut totals, &mut Scratch::new(), tally);
            totals
        }
    }

    #[test]
    fn the_fast_way_to_record_and_the_other_one_agree() {
        let edges = [
            0,
            1,
            2,
            1 << 20,
            1 << 40,
            (1 << 40) + 1,
            1 << 50,
            u64::MAX - 1,
        ];
        let (fast, slow) = (Recorded::new(), Recorded::new());
        for ns in edges
            .into_iter()
            .flat_map(|edge| [edge, 100, edge, edge / 3])
        {
            fast.record(ns);
            slow.slowly(ns);
            assert_eq!(fast.totals(), slow.totals());
        }
    }

    #[test]
    fn what_does_not_fit_is_carried_or_saturates() {
        let recorded = Recorded::new();
        // All but one that fit a bucket.
        for shift in 0..32 {
            let Recorded { samples, tally } = &recorded;
            samples.record_for_many(100, shift, tally, || ());
        }
        recorded.slowly(100);
        recorded.record(100);
        recorded.record(100);
        let full = recorded.totals();
        assert_eq!(full.count, (1 << 32) + 2);
        assert_eq!(full.buckets[bucket_of(100)], full.count);
        assert_eq!(full.sum, 100 * u128::from(full.count));

        let recorded = Recorded::new();
        for _ in 0..3 {
            recorded.record(u64::MAX - 1);
            recorded.record(5);
        }
        let full = recorded.totals();
        assert_eq!((full.count, full.sum), (6, u128::from(u64::MAX)));
        assert_eq!((full.min, full.max), (5, u64::MAX - 1));
    }

    #[test]
    fn memory_is_as_documented() {
        assert!(
            size_of::<LockClass>() <= 1024,
            "an untouched class: {}",
            size_of::<LockClass>()
        );
        let stripe = size_of::<Stripe>();
        assert!(stripe <= 2560, "a slot and mode in use: {stripe}");
        // And what the class allocates for its first pair of lines.
        let blocked = stripe + size_of::<Waits>() + size_of::<Block>() + size_of::<Pair>();
        assert!(blocked <= 4096, "the same once blocked: {blocked}");
        let own = OWN_MOST / stripe;
        assert!(
            own >= 64,
            "slots and modes in use, one for each slot: {own}"
        );
    }
}
