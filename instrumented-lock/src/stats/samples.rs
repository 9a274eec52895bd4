//! A distribution with one writer, and how a reader sees it whole.
//!
//! Recording is plain loads and stores; a sequence number lets any reader take a consistent copy
//! without stopping the writer.
//!
//! This file knows `super::sync` and `super::histogram` only: `tests/samples_model.rs` compiles it
//! against loom's atomics and a histogram of a few buckets and explores every interleaving.

use super::histogram::{BUCKETS, bucket_of, place_of};
use super::sync::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence, yield_now};

/// No sample is pending. Samples are clamped below it.
const NONE: u64 = u64::MAX;

/// A distribution of nanoseconds with a single writer.
///
/// The newest sample stays `pending` until the next one arrives, and only then finds its bucket:
/// working out the bucket of a value that was just read from the clock would wait for the clock.
/// A reader folds the pending sample in, so nothing is missing from what it sees.
#[repr(C)]
pub(crate) struct Samples {
    /// Even: at rest. Odd: the writer is in the middle of a record.
    sequence: AtomicU64,
    pending: AtomicU64,
    /// The sum of squares, 128 bits in two halves, saturating.
    squares_low: AtomicU64,
    squares_high: AtomicU64,
    min: AtomicU64,
    /// How much of what is in the buckets are weights of samples that stand for several.
    weights: AtomicU64,
    /// How often each bucket has passed 2^32; null until one does (after 4 · 10^9 samples).
    wraps: AtomicPtr<Buckets<AtomicU32>>,
    /// One bit for each group of buckets that are not all zero: a reader looks at those only.
    filled: AtomicU64,
    buckets: Buckets<AtomicU32>,
}

/// What samples add up to, the pending one included: of a whole distribution, or of a part of it that
/// is told apart. Written with the samples it belongs to.
pub(crate) struct Tally {
    /// Nanoseconds, saturating (584 years of one thread's time).
    total: AtomicU64,
    max: AtomicU64,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Tally {
            total: AtomicU64::new(0),
            max: AtomicU64::new(0),
        }
    }

    /// Total and maximum.
    pub(crate) fn get(&self) -> (u64, u64) {
        (
            self.total.load(Ordering::Relaxed),
            self.max.load(Ordering::Relaxed),
        )
    }

    pub(crate) fn add(&self, total: u64, max: u64) {
        let (old, longest) = self.get();
        self.total
            .store(old.saturating_add(total), Ordering::Relaxed);
        self.max.store(longest.max(max), Ordering::Relaxed);
    }

    pub(crate) fn clear(&self) {
        self.total.store(0, Ordering::Relaxed);
        self.max.store(0, Ordering::Relaxed);
    }

    /// Whether `ns` may be added without a look at more than the total: it is not a new maximum, and
    /// that is less than 292 years, so no sum of a thread's time overflows.
    #[inline(always)]
    fn is_usual(&self, ns: u64) -> bool {
        self.max
            .load(Ordering::Relaxed)
            .wrapping_sub(ns)
            .cast_signed()
            >= 0
    }
}

/// In groups that a reader looks at together; past the last bucket there is nothing.
type Buckets<T> = [[T; GROUP]; GROUPS];

/// An octave.
const GROUP: usize = 8;
const GROUPS: usize = BUCKETS.div_ceil(GROUP);
const _: () = assert!(GROUPS <= 64);

fn zeroed() -> Buckets<AtomicU32> {
    std::array::from_fn(|_| std::array::from_fn(|_| AtomicU32::new(0)))
}

/// The places of the bits that are set.
pub(crate) fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (lowest < u64::BITS).then_some(lowest as usize)
    })
}

/// Where a reader copies to before it knows that the copy is consistent. One serves a whole
/// snapshot.
pub(crate) struct Scratch {
    squares: u128,
    min: u64,
    weights: u64,
    pending: u64,
    filled: u64,
    /// Valid in the groups that are filled.
    buckets: Box<Buckets<u64>>,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Scratch {
            squares: 0,
            min: u64::MAX,
            weights: 0,
            pending: NONE,
            filled: 0,
            buckets: Box::new([[0; GROUP]; GROUPS]),
        }
    }
}

/// The sum of several [`Samples`], each seen whole.
#[derive(Debug, PartialEq)]
pub(crate) struct Totals {
    pub(crate) count: u64,
    pub(crate) sum: u128,
    pub(crate) squares: u128,
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// How much of `count` are weights of samples that stand for several.
    pub(crate) weights: u64,
    /// Empty as long as nothing is in them; zeros past the last bucket.
    pub(crate) buckets: Vec<u64>,
}

impl Totals {
    pub(crate) fn new() -> Self {
        Totals {
            count: 0,
            sum: 0,
            squares: 0,
            min: u64::MAX,
            max: 0,
            weights: 0,
            buckets: Vec::new(),
        }
    }

    /// Adds what a reader has copied, the pending sample included, and what the samples add up to.
    fn add(&mut self, copy: &Scratch, (total, max): (u64, u64)) {
        self.sum += u128::from(total);
        self.max = self.max.max(max);
        self.squares = self.squares.saturating_add(copy.squares);
        self.min = self.min.min(copy.min);
        self.weights += copy.weights;
        if self.buckets.is_empty() && copy.filled != 0 {
            self.buckets.resize(GROUPS * GROUP, 0);
        }
        let (sums, _) = self.buckets.as_chunks_mut::<GROUP>();
        for i in ones(copy.filled) {
            for (sum, n) in sums[i].iter_mut().zip(&copy.buckets[i]) {
                *sum += n;
            }
            self.count += copy.buckets[i].iter().sum::<u64>();
        }
        if copy.pending != NONE {
            self.count(copy.pending);
        }
    }

    /// Adds one sample.
    #[cfg(test)]
    pub(crate) fn fold(&mut self, ns: u64) {
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
        self.count(ns);
    }

    fn count(&mut self, ns: u64) {
        self.count += 1;
        self.squares = self.squares.saturating_add(square(ns));
        self.min = self.min.min(ns);
        self.buckets.resize(GROUPS * GROUP, 0);
        self.buckets[bucket_of(ns)] += 1;
    }
}

fn square(ns: u64) -> u128 {
    u128::from(ns) * u128::from(ns)
}

/// Adds to a counter that only the calling thread writes.
#[inline(always)]
pub(crate) fn add(counter: &AtomicU64, n: u64) {
    // Relaxed: the sequence number orders what a reader must see together.
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_add(n),
        Ordering::Relaxed,
    );
}

impl Samples {
    pub(crate) fn new() -> Self {
        Samples {
            sequence: AtomicU64::new(0),
            pending: AtomicU64::new(NONE),
            squares_low: AtomicU64::new(0),
            squares_high: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            weights: AtomicU64::new(0),
            filled: AtomicU64::new(0),
            buckets: zeroed(),
            wraps: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Records one sample, in `tally` too, and with it what `also` stores, so that a reader sees all
    /// or nothing. Only one thread at a time may call this; the others read.
    pub(crate) fn record(&self, ns: u64, tally: &Tally, also: impl FnOnce()) {
        let ns = ns.min(NONE - 1);
        self.write(|| {
            also();
            tally.add(ns, ns);
            if let Some(previous) = self.pending() {
                self.keep(previous, 0);
            }
            self.pending.store(ns, Ordering::Relaxed);
        });
    }

    /// The sample that is pending. For the writer.
    #[inline(always)]
    pub(crate) fn pending(&self) -> Option<u64> {
        let pending = self.pending.load(Ordering::Relaxed);
        (pending != NONE).then_some(pending)
    }

    /// Records one sample after the one that is pending where nothing is special, and no call is
    /// needed; else returns false and leaves everything as it was.
    #[inline(always)]
    pub(crate) fn record_fast(
        &self,
        previous: u64,
        ns: u64,
        tally: &Tally,
        also: impl FnOnce(),
    ) -> bool {
        let Some(bucket) = self.buckets.as_flattened()[..BUCKETS].get(place_of(previous)) else {
            return false;
        };
        let n = bucket.load(Ordering::Relaxed);
        // Its first sample fills a group, and one too many is carried.
        if n == 0 || n == u32::MAX || !tally.is_usual(ns) {
            return false;
        }
        // Of up to four seconds, which the lower half of the sum has room for.
        let squares = self.squares_low.load(Ordering::Relaxed);
        let Some(squares) = u32::try_from(previous)
            .ok()
            .and_then(|ns| squares.checked_add(u64::from(ns) * u64::from(ns)))
        else {
            return false;
        };
        self.write(|| {
            also();
            add(&tally.total, ns);
            self.squares_low.store(squares, Ordering::Relaxed);
            self.lower(previous);
            bucket.store(n + 1, Ordering::Relaxed);
            self.pending.store(ns, Ordering::Relaxed);
        });
        true
    }

    /// Records one sample that stands for 2^`shift`. Only one thread at a time may call this or
    /// [`record`](Self::record).
    pub(crate) fn record_for_many(&self, ns: u64, shift: u8, tally: &Tally, also: impl FnOnce()) {
        let ns = ns.min(NONE - 1);
        self.write(|| {
            also();
            tally.add(ns.saturating_mul(1 << shift), ns);
            self.keep(ns, shift);
            add(&self.weights, 1 << shift);
        });
    }

    /// Runs `change` so that a reader sees all of it or none.
    #[inline(always)]
    pub(crate) fn write(&self, change: impl FnOnce()) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence
            .store(sequence.wrapping_add(1), Ordering::Relaxed);
        // A reader that sees any store below also sees the odd sequence: its acquire fence, after
        // its loads, pairs with this one.
        fence(Ordering::Release);
        change();
        // Release: a reader that sees this even sequence sees everything stored above.
        self.sequence
            .store(sequence.wrapping_add(2), Ordering::Release);
    }

    /// Puts 2^`shift` samples of `ns` where they belong.
    fn keep(&self, ns: u64, shift: u8) {
        let weight = 1u32 << shift;
        let squares = square(ns).saturating_mul(u128::from(weight));
        self.set_squares(self.squares().saturating_add(squares));
        self.lower(ns);
        let bucket = bucket_of(ns);
        let place = &self.buckets.as_flattened()[bucket];
        let (n, wrapped) = place.load(Ordering::Relaxed).overflowing_add(weight);
        place.store(n, Ordering::Relaxed);
        let filled = self.filled.load(Ordering::Relaxed) | 1 << (bucket / GROUP);
        self.filled.store(filled, Ordering::Relaxed);
        if wrapped {
            self.wrap(bucket);
        }
    }

    #[inline(always)]
    fn squares(&self) -> u128 {
        u128::from(self.squares_high.load(Ordering::Relaxed)) << 64
            | u128::from(self.squares_low.load(Ordering::Relaxed))
    }

    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the two halves of 128 bits"
    )]
    fn set_squares(&self, squares: u128) {
        self.squares_low.store(squares as u64, Ordering::Relaxed);
        self.squares_high
            .store((squares >> 64) as u64, Ordering::Relaxed);
    }

    /// Lowers the minimum to `ns`.
    #[inline(always)]
    fn lower(&self, ns: u64) {
        if ns < self.min.load(Ordering::Relaxed) {
            self.min.store(ns, Ordering::Relaxed);
        }
    }

    /// A bucket passed 2^32: keep the carry, in a table made when the first one does.
    #[cold]
    #[inline(never)]
    fn wrap(&self, bucket: usize) {
        let mut wraps = self.wraps.load(Ordering::Relaxed);
        if wraps.is_null() {
            wraps = Box::into_raw(Box::new(zeroed()));
            // Release: a reader that finds the table finds it zeroed.
            self.wraps.store(wraps, Ordering::Release);
        }
        // SAFETY: the table was leaked by this very function and is never freed.
        let carry = unsafe { &(&*wraps).as_flattened()[bucket] };
        carry.store(
            carry.load(Ordering::Relaxed).saturating_add(1),
            Ordering::Relaxed,
        );
    }

    /// Adds a consistent copy of these samples to `totals`. Never stops the writer; tries again
    /// while the writer is in the middle of a record, a few nanoseconds.
    ///
    /// `tally` says what the samples add up to, and copies what else is written together with them;
    /// it is called again after a try that came to nothing.
    pub(crate) fn read(
        &self,
        totals: &mut Totals,
        scratch: &mut Scratch,
        mut tally: impl FnMut() -> (u64, u64),
    ) {
        let tally = self.whole(|| {
            self.copy(scratch);
            tally()
        });
        totals.add(scratch, tally);
    }

    /// Has the processor fetch what [`read`](Self::read) is most likely going to look at.
    pub(crate) fn fetch(&self) -> u64 {
        let filled = self.filled.load(Ordering::Relaxed);
        let ends = [filled.trailing_zeros(), filled.checked_ilog2().unwrap_or(0)];
        let group = |i: u32| self.buckets.get(i as usize).unwrap_or(&self.buckets[0]);
        let groups = ends.map(group);
        let buckets = groups.map(|group| u64::from(group[0].load(Ordering::Relaxed)));
        self.sequence.load(Ordering::Relaxed) ^ buckets[0] ^ buckets[1]
    }

    /// What `look` finds while the writer is not in the middle of a record. It is called again
    /// after a try that came to nothing.
    pub(crate) fn whole<T>(&self, mut look: impl FnMut() -> T) -> T {
        loop {
            // Acquire: everything stored before this even sequence is visible below.
            let before = self.sequence.load(Ordering::Acquire);
            if before.is_multiple_of(2) {
                let found = look();
                // The loads above stay above; pairs with the writer's release fence.
                fence(Ordering::Acquire);
                if self.sequence.load(Ordering::Relaxed) == before {
                    return found;
                }
            }
            // The writer may have been descheduled in mid-record.
            yield_now();
        }
    }

    /// Everything as it stands; whether it belongs together the caller finds out.
    fn copy(&self, to: &mut Scratch) {
        to.squares = self.squares();
        to.min = self.min.load(Ordering::Relaxed);
        to.weights = self.weights.load(Ordering::Relaxed);
        to.pending = self.pending.load(Ordering::Relaxed);
        to.filled = self.filled.load(Ordering::Relaxed);
        for i in ones(to.filled) {
            for (to, from) in to.buckets[i].iter_mut().zip(&self.buckets[i]) {
                *to = u64::from(from.load(Ordering::Relaxed));
            }
        }
        // Acquire: pairs with the store in `wrap`; the table is found zeroed.
        let wraps = self.wraps.load(Ordering::Acquire);
        if !wraps.is_null() {
            // SAFETY: `wrap` leaked the table and nothing frees it.
            let wraps = unsafe { &*wraps };
            for i in ones(to.filled) {
                for (to, from) in to.buckets[i].iter_mut().zip(&wraps[i]) {
                    *to += u64::from(from.load(Ordering::Relaxed)) << 32;
                }
            }
        }
    }
}
