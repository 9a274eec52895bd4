//! Instrumented raw locks: any `lock_api` raw lock, observed.
//!
//! [`Instrumented`] delegates to the lock it wraps, stamps the clock when an acquisition is made,
//! and records after the real unlock. What an acquisition has to remember travels in its guard, as
//! [`Held`]; the lock itself only knows its class. The four operations below are all there is;
//! `mutex.rs` and `rwlock.rs` say which raw method each trait method stands for.

#[cfg_attr(not(feature = "stats"), path = "condvar_off.rs")]
mod condvar;
mod held;
mod mutex;
mod rwlock;
#[cfg_attr(not(feature = "stats"), path = "thread_id_off.rs")]
mod thread_id;

pub use condvar::RawCondvar;
pub use held::Held;
use held::Observed;
pub use thread_id::RawThreadId;
pub(crate) use thread_id::counting_nested;

use crate::class::{self, ClassCell, Declaration, LockKind};
use crate::clock;
use crate::stats::slot::{self, Thread};
use crate::stats::{
    Contention, Mark, NEVER, Row, Site, Timing, Verdict, Wait, acquired_fast, note, released_fast,
    released_untimed,
};
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};

/// The line that acquires.
type Line = &'static Location<'static>;

/// The raw mutex under [`Mutex`](crate::Mutex), and that of the outermost acquisition under
/// [`ReentrantMutex`](crate::ReentrantMutex).
pub type RawMutex = Observing<parking_lot::RawMutex>;

/// The raw mutex under [`FairMutex`](crate::FairMutex).
pub type RawFairMutex = Observing<parking_lot::RawFairMutex, kind::Fair>;

/// The raw lock under [`RwLock`](crate::RwLock), and with `true` under
/// [`RecursiveRwLock`](crate::RecursiveRwLock).
pub type RawRwLock<const RECURSIVE: bool = false> =
    Observing<parking_lot::RawRwLock<RECURSIVE>, kind::ReadersOf<RECURSIVE>>;

/// The raw lock under [`RecursiveRwLock`](crate::RecursiveRwLock).
pub type RawRwLockRecursive = RawRwLock<true>;

/// What the crate's own locks are made of: instrumented, or with the feature `stats` off the bare
/// lock.
#[cfg(feature = "stats")]
type Observing<R, K = kind::Plain> = Instrumented<R, K>;
#[cfg(not(feature = "stats"))]
type Observing<R, K = kind::Plain> = <K as Kinds>::Bare<R>;

/// A raw lock of type `R`, observed.
///
/// Implements the traits of `lock_api` that `R` implements, so a lock of another crate is
/// instrumented by putting its raw lock in here. Costs two words on top of `R`. `K` only says which
/// [`LockKind`] reports show. With the feature `stats` off it records nothing; the crate's own locks
/// then do without it.
///
/// ```
/// use instrumented_lock::{lock_api, raw::Instrumented, registry};
///
/// // Any raw mutex does in parking_lot's place.
/// type Mutex<T> = lock_api::Mutex<Instrumented<parking_lot::RawMutex>, T>;
///
/// static COUNTER: Mutex<u32> = Mutex::new(0);
/// *COUNTER.lock() += 1;
/// let locks = registry::snapshot();
/// assert!(locks.locks().iter().any(|lock| lock.write().acquisitions() == 1));
/// ```
pub struct Instrumented<R, K = kind::Plain> {
    class: ClassCell,
    raw: R,
    /// The id of the thread that had the lock last; 0 before the first.
    last: AtomicU32,
    kind: PhantomData<fn() -> K>,
}

impl<R, K: Kinds> Instrumented<R, K> {
    /// `raw`, which is unlocked, observed and named by the line that calls this. What `lock_api`
    /// makes of `INIT` has one class for all, because it does not say where it does so.
    ///
    /// ```
    /// use instrumented_lock::lock_api::{self, RawMutex};
    /// use instrumented_lock::{raw::Instrumented, registry};
    ///
    /// type Raw = parking_lot::RawMutex;
    /// static JOBS: lock_api::Mutex<Instrumented<Raw>, u32> =
    ///     lock_api::Mutex::from_raw(Instrumented::new(Raw::INIT), 0);
    ///
    /// *JOBS.lock() += 1;
    /// # if cfg!(feature = "stats") {
    /// assert_eq!(registry::snapshot().locks()[0].declared_at().file(), file!());
    /// # }
    /// ```
    #[inline]
    #[track_caller]
    pub const fn new(raw: R) -> Self {
        Self::at_site(Location::caller(), raw)
    }

    /// An unlocked lock of a declared class.
    pub(crate) const fn declared(declaration: &'static Declaration, raw: R) -> Self {
        Self::of(ClassCell::declared(declaration), raw)
    }

    /// An unlocked lock that is named by its creation site.
    pub(crate) const fn at_site(site: &'static Location<'static>, raw: R) -> Self {
        Self::of(ClassCell::site(site), raw)
    }

    const fn of(class: ClassCell, raw: R) -> Self {
        Instrumented {
            class,
            raw,
            last: AtomicU32::new(0),
            kind: PhantomData,
        }
    }
}

impl<R, K> Drop for Instrumented<R, K> {
    fn drop(&mut self) {
        if let Some(class) = self.class.resolved() {
            class.stats.remove_instance();
        }
    }
}

/// The [`LockKind`] that a raw lock reports, by the trait it is used through.
pub trait Kinds {
    /// The raw lock itself. Only a way to write a type alias that does not depend on the kind.
    #[doc(hidden)]
    type Bare<R>;
    /// As a mutex.
    const MUTEX: LockKind = LockKind::Mutex;
    /// As a reader-writer lock.
    const RWLOCK: LockKind = LockKind::RwLock;
}

/// The second parameter of [`Instrumented`].
pub mod kind {
    use super::{Kinds, LockKind};

    /// [`LockKind::Mutex`] or [`LockKind::RwLock`].
    #[derive(Debug)]
    pub enum Plain {}
    impl Kinds for Plain {
        type Bare<R> = R;
    }

    /// [`LockKind::FairMutex`].
    #[derive(Debug)]
    pub enum Fair {}
    impl Kinds for Fair {
        type Bare<R> = R;
        const MUTEX: LockKind = LockKind::FairMutex;
    }

    /// [`LockKind::RwLock`], or [`LockKind::RecursiveRwLock`].
    #[derive(Debug)]
    pub enum ReadersOf<const RECURSIVE: bool> {}
    impl<const RECURSIVE: bool> Kinds for ReadersOf<RECURSIVE> {
        type Bare<R> = R;
        const RWLOCK: LockKind = if RECURSIVE {
            LockKind::RecursiveRwLock
        } else {
            LockKind::RwLock
        };
    }
}

/// A wait in progress.
struct Waiting {
    start: u64,
    listed: Wait,
    /// Whether it can be blamed on anybody.
    is_blamed: bool,
}

// The fast paths of `acquire`, `try_acquire` and `release` belong into the caller; whatever is rarer
// or longer is a call.
impl<R, K: Kinds> Instrumented<R, K> {
    /// Where to record on the fast path, or `None` where that is not so easily said: before the
    /// first acquisition of a lock, a thread's first of a class or at a line, where recording is off
    /// or anything but exact, in a shared slot.
    #[inline(always)]
    fn observe_fast(&self, thread: &Thread, row: Row, location: Line) -> Option<&'static Site> {
        if cfg!(not(feature = "stats")) {
            return None;
        }
        let class = self.class.resolved()?;
        let state = class.state();
        if state != class::EXACT && state != class::WITHOUT_SITES {
            return None;
        }
        let stripe = class.stats.own_stripe(thread, row)?;
        stripe.row_of(location, state == class::EXACT)
    }

    /// Whether there is nothing to do but to acquire.
    #[inline(always)]
    fn is_off(&self) -> bool {
        let class = self.class.resolved();
        cfg!(not(feature = "stats")) || class.is_some_and(|class| class.state() == class::OFF)
    }

    /// Where to count an acquisition that is only counted, where that is as easily said: one of those
    /// that are passed over where not all holds are timed.
    #[inline(always)]
    fn observe_untimed(&self, thread: &Thread, row: Row, location: Line) -> Option<&'static Site> {
        if cfg!(not(feature = "stats")) {
            return None;
        }
        let class = self.class.resolved()?;
        let (shift, call_sites) = class.sampled()?;
        let site = class
            .stats
            .own_stripe(thread, row)?
            .row_of(location, call_sites)?;
        thread.sampling.passes_over(shift).then_some(site)
    }

    /// Where and how to record, or `None` where recording is off. Finds a lock's class, and makes
    /// room for a thread's first acquisition of a class or at a line.
    fn observe(&self, kind: LockKind, row: Row, location: Line) -> Option<(&'static Site, Timing)> {
        if cfg!(not(feature = "stats")) {
            return None;
        }
        let class = self.class.class(kind);
        let (timing, call_sites) = slot::here(|thread| class.recording(thread))?;
        let stripe = class.stats.stripe(class, row);
        let site = if call_sites {
            stripe.site(location)
        } else {
            stripe.others()
        };
        Some((site, timing))
    }

    /// Counts an acquisition that did not have to wait, on the fast path. `last` is who had the lock
    /// last, as a reader has seen it before.
    #[inline(always)]
    fn acquired_fast(
        &self,
        thread: &Thread,
        site: &'static Site,
        row: Row,
        last: u32,
        timing: Timing,
    ) -> Observed {
        let now = || match timing {
            Timing::Untimed => NEVER,
            _ => clock::counter_now(),
        };
        let bounced = |at| {
            if !matches!(row, Row::Read) {
                self.bounced(thread)
            } else if last == thread.id() {
                false
            } else {
                if at == NEVER || !site.is_herd(at) {
                    self.last.store(thread.id(), Ordering::Relaxed);
                }
                last != 0
            }
        };
        // An exclusive holder tells those that wait with its release, if it knows then since when.
        let is_told_later = matches!((row, timing), (Row::Write, Timing::Fast));
        if (is_told_later || !self.contention().is_any())
            && let Some(at) = acquired_fast(thread, site, now, bounced)
        {
            return Observed::new(site, timing, at);
        }
        self.acquired(site, timing)
    }

    /// Counts an acquisition that did not have to wait.
    #[inline(never)]
    fn acquired(&self, site: &'static Site, timing: Timing) -> Observed {
        let bounced = slot::here(|thread| self.bounced(thread));
        let is_waited_for = self.contention().is_any();
        let stripe = site.stripe();
        stripe.acquired(site, bounced);
        // Last, so that the hold has little in it that is not the caller's.
        let at = stripe.holds(site, || match timing {
            Timing::Untimed => NEVER,
            Timing::Fast | Timing::Exact | Timing::ForMany(_) => clock::now(),
        });
        if is_waited_for && (at == NEVER || !stripe.row().is_exclusive()) {
            self.overtook(site, at);
        }
        Observed::new(site, timing, at)
    }

    /// The lock has been taken past those that wait.
    #[cold]
    #[inline(never)]
    fn overtook(&self, site: &'static Site, at: u64) {
        let stripe = site.stripe();
        let now = if at == NEVER { clock::now() } else { at };
        let (hand_over, mark) = self.contention().overtake(stripe.row(), now);
        stripe.handed_over(hand_over);
        stripe.note_mark(site, at, mark);
    }

    /// What a hold that ends now is to be blamed for. Before the unlock: then nobody who waits can
    /// have taken the lock in between.
    #[cold]
    #[inline(never)]
    fn verdict(&self, site: &'static Site, at: u64, end: u64) -> Option<Verdict> {
        let stripe = site.stripe();
        let mark = if stripe.row().is_exclusive() {
            Mark::NONE
        } else {
            stripe.mark_of(site, at)
        };
        let end = if end == NEVER { clock::now() } else { end };
        self.contention().release(stripe.row(), mark, at, end)
    }

    /// Those who wait for this lock.
    #[inline(always)]
    fn contention(&self) -> Contention {
        Contention::of(&self.raw)
    }

    /// Whether another thread had the lock before; the calling one has it now.
    #[inline(always)]
    fn bounced(&self, thread: &Thread) -> bool {
        let me = thread.id();
        // Relaxed: who has the lock writes this after who had it before; of several readers any
        // may be the last.
        let last = self.last.load(Ordering::Relaxed);
        if last != me {
            self.last.store(me, Ordering::Relaxed);
        }
        last != me && last != 0
    }

    /// Acquires: `now` is the immediate attempt, `wait` waits if need be.
    #[inline(always)]
    #[track_caller]
    fn acquire<G>(
        &self,
        kind: LockKind,
        row: Row,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> G,
    ) -> Held<G> {
        let location = Location::caller();
        slot::here(|thread| {
            let Some(site) = self.observe_fast(thread, row, location) else {
                return self.acquire_lightly(thread, kind, row, location, now, wait);
            };
            self.acquire_at(thread, site, row, Timing::Fast, now, wait)
        })
    }

    /// Acquires, to be counted at `site`, a row of the thread's own stripe.
    #[inline(always)]
    fn acquire_at<G>(
        &self,
        thread: &Thread,
        site: &'static Site,
        row: Row,
        timing: Timing,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> G,
    ) -> Held<G> {
        let last = self.last.load(Ordering::Relaxed);
        match now(&self.raw) {
            Some(inner) => {
                let observed = self.acquired_fast(thread, site, row, last, timing);
                Held::observed(inner, observed)
            }
            None => self.acquire_waiting(site, timing, wait),
        }
    }

    // What these return fits two registers, so a fast acquisition need not meet a slow one in memory.

    /// Acquires where recording is off, or this acquisition is only counted.
    #[inline(never)]
    fn acquire_lightly<G>(
        &self,
        thread: &Thread,
        kind: LockKind,
        row: Row,
        location: Line,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> G,
    ) -> Held<G> {
        if self.is_off() {
            return Held::unobserved(wait(&self.raw));
        }
        let Some(site) = self.observe_untimed(thread, row, location) else {
            return self.acquire_otherwise(kind, row, location, now, wait);
        };
        self.acquire_at(thread, site, row, Timing::Untimed, now, wait)
    }

    #[inline(never)]
    fn acquire_otherwise<G>(
        &self,
        kind: LockKind,
        row: Row,
        location: Line,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> G,
    ) -> Held<G> {
        let held = self.acquire_unless(kind, row, location, now, |raw| Some(wait(raw)));
        held.unwrap_or_else(|| unreachable!("waiting without a limit does not give up"))
    }

    #[cold]
    #[inline(never)]
    fn acquire_waiting<G>(
        &self,
        site: &'static Site,
        timing: Timing,
        wait: impl FnOnce(&R) -> G,
    ) -> Held<G> {
        let held = self.acquire_blocking(site, timing, |raw| Some(wait(raw)));
        held.unwrap_or_else(|| unreachable!("waiting without a limit does not give up"))
    }

    /// Acquires, unless `wait` gives up.
    #[inline]
    #[track_caller]
    fn acquire_within<G>(
        &self,
        kind: LockKind,
        row: Row,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> Option<G>,
    ) -> Option<Held<G>> {
        self.acquire_unless(kind, row, Location::caller(), now, wait)
    }

    fn acquire_unless<G>(
        &self,
        kind: LockKind,
        row: Row,
        location: Line,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> Option<G>,
    ) -> Option<Held<G>> {
        let held = match self.observe(kind, row, location) {
            None => Held::unobserved(wait(&self.raw)?),
            Some((site, timing)) => match now(&self.raw) {
                Some(inner) => Held::observed(inner, self.acquired(site, timing)),
                None => self.acquire_blocking(site, timing, wait)?,
            },
        };
        self.note(row, location);
        Some(held)
    }

    /// Notes an acquisition while somebody measures. The fast path need not: it is none then.
    #[inline]
    fn note(&self, row: Row, location: Line) {
        if let Some(class) = self.class.resolved()
            && class.is_measured()
        {
            note(class, row, location);
        }
    }

    fn acquire_blocking<G>(
        &self,
        site: &'static Site,
        timing: Timing,
        wait: impl FnOnce(&R) -> Option<G>,
    ) -> Option<Held<G>> {
        let stripe = site.stripe();
        stripe.prepare_to_block();
        let start = clock::now();
        let waiting = self.begin_wait(site, start);
        let Some(inner) = wait(&self.raw) else {
            self.give_up(site, waiting);
            return None;
        };
        let at = clock::now();
        let bounced = || slot::here(|thread| self.bounced(thread));
        self.end_wait(site, waiting, at, bounced);
        Some(Held::observed(inner, Observed::new(site, timing, at)))
    }

    /// A wait that is to be counted at `site` begins. The stripe has been
    /// [prepared](crate::stats::Stripe::prepare_to_block).
    fn begin_wait(&self, site: &'static Site, start: u64) -> Waiting {
        Waiting {
            start,
            listed: site.stripe().waits(site, start),
            is_blamed: self.contention().arrive(site, start),
        }
    }

    /// The wait has ended without the lock.
    fn give_up(&self, site: &'static Site, waiting: Waiting) {
        if waiting.is_blamed {
            self.contention().give_up(site, clock::now());
        }
        site.stripe().gave_up(waiting.listed);
    }

    /// The wait has ended with the lock taken, at `at`.
    fn end_wait(
        &self,
        site: &'static Site,
        waiting: Waiting,
        at: u64,
        bounced: impl FnOnce() -> bool,
    ) {
        let stripe = site.stripe();
        let (hand_over, mark) = if waiting.is_blamed {
            self.contention().acquire(site, stripe.row(), at)
        } else {
            stripe.class().stats.unblamed();
            (0, Mark::NONE)
        };
        stripe.handed_over(hand_over);
        let wait = (waiting.listed, waiting.start);
        stripe.acquired_after(site, wait, (at, mark), bounced());
    }

    /// Attempts to acquire, without waiting.
    #[inline(always)]
    #[track_caller]
    fn try_acquire<G>(
        &self,
        kind: LockKind,
        row: Row,
        now: impl FnOnce(&R) -> Option<G>,
    ) -> Option<Held<G>> {
        let location = Location::caller();
        slot::here(|thread| {
            let Some(site) = self.observe_fast(thread, row, location) else {
                return self.try_acquire_otherwise(kind, row, location, now);
            };
            let last = self.last.load(Ordering::Relaxed);
            let Some(inner) = now(&self.raw) else {
                site.stripe().try_failed();
                return None;
            };
            let observed = self.acquired_fast(thread, site, row, last, Timing::Fast);
            Some(Held::observed(inner, observed))
        })
    }

    #[inline(never)]
    fn try_acquire_otherwise<G>(
        &self,
        kind: LockKind,
        row: Row,
        location: Line,
        now: impl FnOnce(&R) -> Option<G>,
    ) -> Option<Held<G>> {
        let observe = self.observe(kind, row, location);
        let held = match (now(&self.raw), observe) {
            (None, None) => return None,
            (None, Some((site, _))) => {
                site.stripe().try_failed();
                return None;
            }
            (Some(inner), None) => Held::unobserved(inner),
            (Some(inner), Some((site, timing))) => {
                Held::observed(inner, self.acquired(site, timing))
            }
        };
        self.note(row, location);
        Some(held)
    }

    /// Releases with `unlock`, then records the hold. After the unlock the lock may be gone:
    /// another thread may have freed it.
    #[inline(always)]
    fn release<G>(&self, held: Held<G>, unlock: impl FnOnce(&R, G)) {
        let Some(observed) = held.observed else {
            let class = self.class.resolved();
            unlock(&self.raw, held.inner);
            if let Some(class) = class.filter(|class| class.is_on()) {
                class.stats.unmatched();
            }
            return;
        };
        let (site, at) = (observed.site(), observed.at());
        if observed.is_fast() && !self.contention().is_any() {
            slot::here(|thread| {
                let end = clock::counter_now();
                unlock(&self.raw, held.inner);
                released_fast(thread, site, at, end);
            });
        } else {
            self.release_lightly(observed, held.inner, unlock);
        }
    }

    /// Releases where the hold is only counted.
    #[inline(never)]
    fn release_lightly<G>(&self, observed: Observed, inner: G, unlock: impl FnOnce(&R, G)) {
        if observed.is_untimed() && !self.contention().is_any() {
            unlock(&self.raw, inner);
            let (site, at) = (observed.site(), observed.at());
            slot::here(|thread| released_untimed(thread, site, at));
        } else {
            self.release_otherwise(observed, inner, unlock);
        }
    }

    /// Releases a lock that somebody waits for, or by a clock that is not the plain counter.
    #[inline(never)]
    fn release_otherwise<G>(&self, observed: Observed, inner: G, unlock: impl FnOnce(&R, G)) {
        let (site, at) = (observed.site(), observed.at());
        let end = observed.end();
        let verdict = if self.contention().is_any() {
            self.verdict(site, at, end)
        } else {
            None
        };
        unlock(&self.raw, inner);
        if let Some(verdict) = verdict {
            site.stripe().blamed(site, &verdict);
        }
        if observed.is_fast() {
            slot::here(|thread| released_fast(thread, site, at, end));
        } else {
            observed.ended(end);
        }
    }

    /// Turns an acquisition into one of another mode without letting go of the lock: one hold ends
    /// and another starts at the same moment. `convert` must not wait.
    #[inline]
    #[track_caller]
    fn convert<G, H>(&self, held: Held<G>, to: Row, convert: impl FnOnce(&R, G) -> H) -> Held<H> {
        self.note(to, Location::caller());
        let Some(observed) = held.observed else {
            return Held::unobserved(convert(&self.raw, held.inner));
        };
        let now = clock::now();
        self.settle(observed, now);
        let inner = convert(&self.raw, held.inner);
        Held::observed(inner, observed.succeed(now, to, Location::caller()))
    }

    /// Deals out the blame of a hold that ends while the lock stays taken, in another mode.
    #[inline]
    fn settle(&self, observed: Observed, end: u64) {
        if self.contention().is_any() {
            let site = observed.site();
            if let Some(verdict) = self.verdict(site, observed.at(), end) {
                site.stripe().blamed(site, &verdict);
            }
        }
    }
}
