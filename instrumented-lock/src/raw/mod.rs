//! Instrumented raw locks: any `lock_api` raw lock, observed.
//!
//! [`Instrumented`] delegates to the lock it wraps. An acquisition is written into the thread's log when
//! it is made; its end is added after the real unlock. Where the record is travels in the guard, as
//! [`Held`]; the lock itself knows its class and who had it last. The operations below are all there
//! is, and `wait.rs` what they do where an acquisition has to wait; `mutex.rs` and `rwlock.rs` say which
//! raw method each trait method stands for.

#![allow(
    clippy::similar_names,
    reason = "a guard has `held`, and in it the `hold`"
)]

mod caller;
#[cfg_attr(not(feature = "stats"), path = "condvar_off.rs")]
mod condvar;
mod held;
#[cfg(feature = "lock_api_04")]
mod lock_api_04;
mod mutex;
#[cfg(feature = "tokio")]
mod of_tasks;
mod poisoning;
mod read_again;
mod rwlock;
#[cfg_attr(not(feature = "stats"), path = "thread_id_off.rs")]
mod thread_id;
mod wait;

use caller::Caller;
pub use condvar::RawCondvar;
pub use held::Held;
use held::Hold;
#[cfg(not(feature = "stats"))]
pub(crate) use poisoning::PoisoningCondvar;
pub(crate) use poisoning::{LookAtRwLock, OwnMutex, Poisonable};
pub use poisoning::{Poison, Poisoning};
pub use read_again::{ReadAgain, ReadAgainTimed};
pub use thread_id::RawThreadId;
pub(crate) use thread_id::{acquire_reentrant, look_at_reentrant};

use crate::brief::{self, Inside};
use crate::cell::ClassCell;
use crate::class::{Declaration, LockClass, Timing};
use crate::classes;
use crate::clock;
use crate::lock_kind::LockKind;
use crate::mode::Activity;
use crate::nesting::{self, Request};
use crate::notes::{self, note};
use crate::stacks;
use crate::stats::{
    self, Entry, HeldLocks, Holder, Instance, Kind, Page, Place, Record, Room, Site, Thread, Watch,
};
use std::cell::Cell;
use std::convert::Infallible;
use std::hint::cold_path;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::{mem, ptr};

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

/// The raw mutex under [`std_sync::Mutex`](crate::std_sync::Mutex).
pub type RawPoisoningMutex = Observing<Poisoning<parking_lot::RawMutex>>;

/// The raw lock under [`std_sync::RwLock`](crate::std_sync::RwLock).
pub type RawPoisoningRwLock = Observing<Poisoning<parking_lot::RawRwLock>, kind::ReadersOf<false>>;

/// What the crate's own locks are made of: instrumented, or with the feature `stats` off the bare
/// lock.
#[cfg(feature = "stats")]
type Observing<R, K = kind::Plain> = Instrumented<R, K>;
#[cfg(not(feature = "stats"))]
type Observing<R, K = kind::Plain> = <K as Kinds>::Bare<R>;

/// A raw lock of type `R`, observed.
///
/// Implements the traits of `lock_api` that `R` implements, so a lock of another crate is
/// instrumented by putting its raw lock in here. Costs a word and four bytes on top of `R`. `K` only says which
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
    /// Who had the lock last, and in which record: a [`Holder`].
    holder: AtomicU32,
    /// Which lock of its class it is, once it has been waited for or has a label: an [`Instance`].
    instance: AtomicU16,
    kind: PhantomData<fn() -> K>,
}

impl<R, K: Kinds> Instrumented<R, K> {
    /// `raw`, which is unlocked, observed and named by the line that calls this. What `lock_api`
    /// makes of `INIT` has one class for all, `(Mutex created at an unknown line)` or the like, because it does
    /// not say where it does so.
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
    /// let snapshot = registry::snapshot();
    /// // Relative to a package, wherever that lies.
    /// assert!(file!().ends_with(snapshot.locks()[0].declared_at().file()));
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

    /// An unlocked lock of the class that has this name.
    #[track_caller]
    pub(crate) fn named(name: &str, kind: LockKind, raw: R) -> Self {
        let class = classes::of_name(name, kind, Location::caller());
        Self::of(ClassCell::named(class), raw)
    }

    /// Gives the lock a label, by which reports tell it from others of its class. `kind` is what it is.
    pub(crate) fn label(&self, kind: LockKind, label: Arc<str>) {
        if brief::is_inside() {
            return;
        }
        let class = self.class.class(kind);
        let _inside = Inside::enter();
        let instances = class.stats.instances();
        let room = stats::this_thread().room_for_one();
        // Who forks has every page locked.
        let _locked = room.page.lock();
        let known = Instance::from_bits(self.instance.load(Ordering::Relaxed));
        let instance = instances.set_label(known, self.address(), label);
        self.instance.store(instance.to_bits(), Ordering::Relaxed);
    }

    const fn of(class: ClassCell, raw: R) -> Self {
        Instrumented {
            class,
            raw,
            holder: AtomicU32::new(0),
            instance: AtomicU16::new(0),
            kind: PhantomData,
        }
    }
}

impl<R, K> Drop for Instrumented<R, K> {
    fn drop(&mut self) {
        if *self.instance.get_mut() != 0 {
            self.leave_place();
        }
        self.class.drop_instance();
    }
}

impl<R, K> Instrumented<R, K> {
    /// The lock is told apart from others, and about to be dropped.
    #[cold]
    fn leave_place(&self) {
        let instances = self.class.resolved();
        let instances = instances.and_then(|class| class.stats.known_instances());
        // What an allocator drops while this thread has a page locked stays in its place.
        if let Some(instances) = instances
            && !brief::is_inside()
        {
            let _inside = Inside::enter();
            let room = stats::this_thread().room_for_one();
            // Who forks has every page locked.
            let _locked = room.page.lock();
            let known = Instance::from_bits(self.instance.load(Ordering::Relaxed));
            instances.is_gone(known);
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

/// Where a hold can be recorded without any further question, and how.
// In a cell because what is in one may be anything, as far as the compiler knows, and so is what is in
// `Place`. An `Option` of this has a flag of its own then, which costs nothing where it is made and looked
// at in one function; hidden in a reference it would have to be put there first.
struct Ready {
    class: Cell<&'static LockClass>,
    place: Place,
    site: Option<Site>,
    /// By the plain counter; or else the hold is only counted.
    is_timed: bool,
}

impl Ready {
    fn timing(&self) -> Timing {
        if self.is_timed {
            Timing::Exact
        } else {
            Timing::Untimed
        }
    }
}

/// Why a hold cannot be recorded without any further question.
enum Unready {
    /// There is nothing to do but to acquire.
    Off,
    /// All there is to find out is in which order locks are taken.
    InOrder(&'static LockClass),
    /// It takes more.
    Otherwise,
}

/// What `wait` returns that does not give up.
#[expect(clippy::unnecessary_wraps, reason = "what `wait` returns")]
fn always<G>(inner: G) -> Result<G, Infallible> {
    Ok(inner)
}

// The fast paths of `acquire`, `try_acquire` and `release` belong into the caller; whatever is rarer
// or longer is a call.
impl<R, K: Kinds> Instrumented<R, K> {
    /// The fast path: the hold is timed by the plain counter, or only counted, and its line is told from
    /// others; nobody waits for this lock, which has been used before; and the thread's log has room.
    #[inline(always)]
    fn ready(&self, thread: &Thread, location: Site) -> Result<Ready, Unready> {
        if cfg!(not(feature = "stats")) {
            return Err(Unready::Off);
        }
        let class = self.class.unwatched().ok_or(Unready::Otherwise)?;
        let state = class.state();
        let (site, is_timed) = if state.is_exact() {
            (Some(location), true)
        } else if state.may_pass_over() {
            (Some(location), false)
        } else if state.is_off() {
            return Err(Unready::Off);
        } else {
            cold_path();
            if state.is_exact_without_lines() {
                (None, true)
            } else if state.is_in_order() {
                return Err(Unready::InOrder(class));
            } else {
                return Err(Unready::Otherwise);
            }
        };
        let place = thread.place().ok_or(Unready::Otherwise)?;
        // Last: who is passed over is not asked again.
        if !is_timed && !state.passes_over(thread) {
            return Err(Unready::Otherwise);
        }
        Ok(Ready {
            class: Cell::new(class),
            place,
            site,
            is_timed,
        })
    }

    /// Records a hold that begins, where all is ready for it.
    #[inline(always)]
    fn begin_ready(&self, ready: &Ready, activity: Activity) -> Hold {
        if self
            .last()
            .is_same_page(Holder::next(ready.place.window.get()))
        {
            self.begin_as(ready, activity, false)
        } else {
            cold_path();
            let (class, next) = (ready.class.get(), ready.place.next.get());
            self.begin_on_new_page(next, class, ready.site, activity, ready.is_timed)
        }
    }

    /// The same, where the one who had the lock before was of another page.
    // With all it has to know in registers, so that the fast path needs no memory for it.
    #[inline(never)]
    fn begin_on_new_page(
        &self,
        next: &'static Record,
        class: &'static LockClass,
        site: Option<Site>,
        activity: Activity,
        is_timed: bool,
    ) -> Hold {
        let place = Place {
            window: Cell::new(Page::place_of(next).0.window()),
            next: Cell::new(next),
        };
        let ready = Ready {
            class: Cell::new(class),
            place,
            site,
            is_timed,
        };
        self.begin_as(&ready, activity, true)
    }

    /// The same; `is_new` says that the one who had the lock before was of another page.
    #[inline(always)]
    fn begin_as(&self, ready: &Ready, activity: Activity, is_new: bool) -> Hold {
        let (window, next) = (ready.place.window.get(), ready.place.next.get());
        let mut what = stats::hold(&ready.class.get().stats, activity);
        if is_new && stats::this_thread().is_other(self.last()) {
            what |= stats::BOUNCED;
        }
        let now = || {
            if ready.is_timed {
                clock::counter_now()
            } else {
                stats::UNTIMED_START
            }
        };
        window.begin_hold(next, (what, stats::site(ready.site)), now, |at| {
            if self.leaves_word(activity, is_new, next, at) {
                // Looked up again, which is less to do than to remember it.
                self.set_last(Holder::next(window));
            }
        });
        if ready.is_timed {
            Hold::plain(next)
        } else {
            Hold::untimed(next)
        }
    }

    /// Whether the holder leaves word in the lock that it had it last: `is_new` says that the one before was of
    /// another page.
    #[inline(always)]
    fn leaves_word(&self, activity: Activity, is_new: bool, record: &Record, at: u64) -> bool {
        activity != Activity::Read || is_new && !self.is_herd(record, at)
    }

    /// Whether the readers take turns so fast that this one need not leave word.
    #[inline(never)]
    fn is_herd(&self, record: &Record, at: u64) -> bool {
        Page::place_of(record).0.owner.is_herd(self.address(), at)
    }

    #[inline(always)]
    fn last(&self) -> Holder {
        // Relaxed: who has the lock writes this after who had it before; of several readers any may be
        // the last.
        Holder::from_bits(self.holder.load(Ordering::Relaxed))
    }

    #[inline(always)]
    fn set_last(&self, me: Holder) {
        // Release: who finds the record finds what it says.
        self.holder.store(me.to_bits(), Ordering::Release);
    }

    /// Who asks for the lock at `location`, and `waits` for it if need be.
    #[inline(always)]
    fn caller(&self, activity: Activity, location: Site, waits: bool) -> Caller {
        if cfg!(not(feature = "stats")) {
            return Caller::Uses(location);
        }
        caller::caller(self.address(), activity, location, waits)
    }

    /// `held` is let go at `location`.
    #[inline(always)]
    fn lets_go<G>(&self, held: &Held<G>, activity: Activity, location: Site) {
        if cfg!(feature = "stats") {
            caller::lets_go(self.address(), activity, || held.line(), location);
        }
    }

    /// `held` is let go fairly at `location`: as [`lets_go`](Self::lets_go), but `bump`, which is among what
    /// `lock_api` itself does so for, asks for it again.
    fn lets_go_fairly<G>(&self, held: &Held<G>, activity: Activity, location: Site) {
        if cfg!(feature = "stats") {
            let line = held.line().unwrap_or(location);
            caller::may_ask_again(self.address(), activity, line);
        }
    }

    /// What tells this lock from all others that there are now.
    #[inline(always)]
    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// Acquires: `now` is the immediate attempt, `wait` waits if need be, and may give up.
    #[inline(always)]
    #[track_caller]
    fn acquire<G, E>(
        &self,
        kind: LockKind,
        activity: Activity,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<Held<G>, E> {
        let Caller::Uses(location) = self.caller(activity, Location::caller(), true) else {
            return wait(&self.raw).map(Held::looked_at);
        };
        self.acquire_at(kind, activity, location, now, wait)
    }

    /// Acquires for a line that uses the lock.
    // Where a crate has many lines that do, the compiler may decide to call this: so it is a function with few
    // arguments, and what the compiler knows of the line has been asked before.
    #[inline]
    fn acquire_at<G, E>(
        &self,
        kind: LockKind,
        activity: Activity,
        location: Site,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<Held<G>, E> {
        let thread = stats::this_thread();
        match self.ready(thread, location) {
            Ok(ready) => self.acquire_ready(thread, &ready, activity, now, wait),
            Err(Unready::Off) => {
                cold_path();
                wait(&self.raw).map(Held::unobserved)
            }
            Err(Unready::InOrder(class)) => {
                cold_path();
                self.acquire_in_order(thread, class, activity, location, now, wait)
            }
            Err(Unready::Otherwise) => {
                cold_path();
                self.acquire_special(thread, kind, activity, location, now, wait)
            }
        }
    }

    /// Acquires where all is ready for the record of the hold.
    #[inline(always)]
    fn acquire_ready<G, E>(
        &self,
        thread: &Thread,
        ready: &Ready,
        activity: Activity,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<Held<G>, E> {
        if let Some(inner) = now(&self.raw) {
            return Ok(Held::observed(inner, self.begin_ready(ready, activity)));
        }
        let how = (ready.site, ready.timing());
        self.wait_fast(thread, ready.class.get(), activity, how, wait)
    }

    /// Acquires where all else is as on the fast path, but it is followed what else the thread holds.
    // As it is most of the time: it holds nothing. Whatever is rarer, here and in the next, is a call with which
    // this ends, so that it needs no memory of its own.
    #[inline(never)]
    fn acquire_in_order<G, E>(
        &self,
        thread: &Thread,
        class: &'static LockClass,
        activity: Activity,
        location: Site,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<Held<G>, E> {
        let held = thread.held().filter(|held| held.depth() == 0);
        let (Some(held), Some(place)) = (held, thread.place()) else {
            return self.acquire_inside(thread, class, activity, location, now, wait);
        };
        let Some(inner) = now(&self.raw) else {
            return self.wait_in_order(thread, class, activity, location, wait);
        };
        let hold = self.begin_in_order(class, (held, 0), place, activity, location);
        Ok(Held::observed(inner, hold))
    }

    /// The same, most of the time: where the thread holds one other lock, with which it has asked for this one
    /// before.
    #[inline(never)]
    fn acquire_inside<G, E>(
        &self,
        thread: &Thread,
        class: &'static LockClass,
        activity: Activity,
        location: Site,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<Held<G>, E> {
        let request = self.request(class, activity, location);
        let knows_it = |held: &&HeldLocks| held.depth() == 1 && nesting::knows_edge(held, &request);
        let held = thread.held().filter(knows_it);
        let (Some(held), Some(place)) = (held, thread.place()) else {
            return self.acquire_nested(thread, class, activity, location, now, wait);
        };
        let Some(inner) = now(&self.raw) else {
            return self.wait_in_order(thread, class, activity, location, wait);
        };
        let hold = self.begin_in_order(class, (held, 1), place, activity, location);
        Ok(Held::observed(inner, hold))
    }

    /// Records a hold that begins, and notes it at this depth of what the thread holds.
    #[inline(always)]
    fn begin_in_order(
        &self,
        class: &'static LockClass,
        (held, depth): (&HeldLocks, usize),
        place: Place,
        activity: Activity,
        location: Site,
    ) -> Hold {
        let next = place.next.get();
        if !self.last().is_same_page(Holder::next(place.window.get())) {
            cold_path();
            return self.begin_in_order_on_new_page(next, class, location, activity);
        }
        let ready = Ready {
            class: Cell::new(class),
            place,
            site: Some(location),
            is_timed: true,
        };
        held.note(depth, self.address(), next);
        self.begin_as(&ready, activity, false)
    }

    #[inline(never)]
    fn begin_in_order_on_new_page(
        &self,
        next: &'static Record,
        class: &'static LockClass,
        location: Site,
        activity: Activity,
    ) -> Hold {
        let hold = self.begin_on_new_page(next, class, Some(location), activity, true);
        nesting::has_acquired(stats::this_thread(), self.address(), hold.record());
        hold
    }

    /// The same where there may be something to learn.
    #[inline(never)]
    fn acquire_nested<G, E>(
        &self,
        thread: &Thread,
        class: &'static LockClass,
        activity: Activity,
        location: Site,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<Held<G>, E> {
        if thread.place().is_none() {
            return self.acquire_special(thread, class.kind(), activity, location, now, wait);
        }
        let request = self.request(class, activity, location);
        nesting::is_about_to_acquire(thread, &request);
        // What has been learnt may have taken the last place.
        thread.open_window();
        let Some(place) = thread.place() else {
            return self.acquire_general(thread, class.kind(), activity, location, now, wait);
        };
        let Some(inner) = now(&self.raw) else {
            return self.wait_in_order(thread, class, activity, location, wait);
        };
        let ready = Ready {
            class: Cell::new(class),
            place,
            site: Some(location),
            is_timed: true,
        };
        let hold = self.begin_ready(&ready, activity);
        nesting::has_acquired(thread, self.address(), hold.record());
        Ok(Held::observed(inner, hold))
    }

    /// Waits where the order of locks is followed.
    #[inline(never)]
    fn wait_in_order<G, E>(
        &self,
        thread: &Thread,
        class: &'static LockClass,
        activity: Activity,
        location: Site,
        wait: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<Held<G>, E> {
        nesting::is_about_to_wait(thread, &self.request(class, activity, location));
        let how = (Some(location), Timing::Exact);
        let held = self.wait_fast(thread, class, activity, how, wait)?;
        if let Some(hold) = held.hold {
            nesting::has_acquired(thread, self.address(), hold.record());
        }
        Ok(held)
    }

    /// Acquires where one thing is not as on the fast path: it is the lock's first use, the lock is watched, or
    /// lines are not told apart.
    #[inline(never)]
    fn acquire_special<G, E>(
        &self,
        thread: &Thread,
        kind: LockKind,
        activity: Activity,
        location: Site,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<Held<G>, E> {
        if cfg!(not(feature = "stats")) || brief::is_inside() {
            return wait(&self.raw).map(Held::unobserved);
        }
        let class = self.class.class(kind);
        let ready = thread.place().and_then(|place| {
            let state = class.state();
            let (site, is_timed) = if self.class.is_watched() {
                // Those who wait are told of an exclusive hold when it ends, and of a shared one that
                // began before they came.
                let is_waited_for = || self.class.watch().is_some_and(Watch::is_waited_for);
                let is_late = activity.is_exclusive() || !is_waited_for();
                (state.is_exact() && is_late).then_some((Some(location), true))?
            } else if state.is_exact() {
                (Some(location), true)
            } else if state.is_exact_without_lines() {
                (None, true)
            } else {
                let is_passed_over = state.passes_over_without_lines(thread);
                is_passed_over.then_some((None, false))?
            };
            Some(Ready {
                class: Cell::new(class),
                place,
                site,
                is_timed,
            })
        });
        match ready {
            Some(ready) => {
                let held = self.acquire_ready(thread, &ready, activity, now, wait)?;
                self.says_who_has_it(activity);
                Ok(held)
            }
            None => self.acquire_general(thread, kind, activity, location, now, wait),
        }
    }

    /// Acquires with whatever is to be found out, and done, before.
    #[inline(never)]
    fn acquire_general<G, E>(
        &self,
        thread: &Thread,
        kind: LockKind,
        activity: Activity,
        location: Site,
        now: impl FnOnce(&R) -> Option<G>,
        wait: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<Held<G>, E> {
        // The thread's window may just have been used up.
        thread.open_window();
        if let Ok(ready) = self.ready(thread, location) {
            return self.acquire_ready(thread, &ready, activity, now, wait);
        }
        let observed = self.observe(thread, kind, Some(activity), location);
        let held = match observed {
            None => Held::unobserved(wait(&self.raw)?),
            Some(observed) => {
                if let Some(inner) = now(&self.raw) {
                    Held::observed(inner, self.begin(thread, &observed, activity))
                } else {
                    if observed.class.has_order() {
                        let request = self.request(observed.class, activity, location);
                        nesting::is_about_to_wait(thread, &request);
                    }
                    self.wait(thread, &observed, activity, wait)?
                }
            }
        };
        self.has_acquired(thread, held.hold);
        self.note(activity, location);
        Ok(held)
    }

    /// Attempts to acquire, without waiting.
    #[inline(always)]
    #[track_caller]
    fn try_acquire<G>(
        &self,
        kind: LockKind,
        activity: Activity,
        now: impl FnOnce(&R) -> Option<G>,
    ) -> Option<Held<G>> {
        let Caller::Uses(location) = self.caller(activity, Location::caller(), false) else {
            return now(&self.raw).map(Held::looked_at);
        };
        self.try_acquire_at(kind, activity, location, now)
    }

    /// Attempts to acquire for a line that uses the lock.
    #[inline]
    fn try_acquire_at<G>(
        &self,
        kind: LockKind,
        activity: Activity,
        location: Site,
        now: impl FnOnce(&R) -> Option<G>,
    ) -> Option<Held<G>> {
        let thread = stats::this_thread();
        let Ok(ready) = self.ready(thread, location) else {
            return self.try_acquire_general(thread, kind, activity, location, now);
        };
        let Some(inner) = now(&self.raw) else {
            failed(
                Page::place_of(ready.place.next.get()).0,
                ready.class.get(),
                activity,
            );
            return None;
        };
        let hold = self.begin_ready(&ready, activity);
        Some(Held::observed(inner, hold))
    }

    #[inline(never)]
    fn try_acquire_general<G>(
        &self,
        thread: &Thread,
        kind: LockKind,
        activity: Activity,
        location: Site,
        now: impl FnOnce(&R) -> Option<G>,
    ) -> Option<Held<G>> {
        if self.is_off() || brief::is_inside() {
            return now(&self.raw).map(Held::unobserved);
        }
        let observed = self.observe(thread, kind, None, location);
        let held = match (now(&self.raw), observed) {
            (None, None) => return None,
            (None, Some(observed)) => {
                failed(observed.room.page, observed.class, activity);
                return None;
            }
            (Some(inner), None) => Held::unobserved(inner),
            (Some(inner), Some(observed)) => {
                Held::observed(inner, self.begin(thread, &observed, activity))
            }
        };
        self.has_acquired(thread, held.hold);
        self.note(activity, location);
        Some(held)
    }

    /// Whether there is nothing to do but to acquire.
    #[inline(always)]
    fn is_off(&self) -> bool {
        let class = self.class.unwatched();
        cfg!(not(feature = "stats")) || class.is_some_and(|class| class.state().is_off())
    }

    /// Where and how to record, or `None` where recording is off. Finds a lock's class, and makes room in the
    /// thread's log.
    /// `waits_for` says what the lock is asked for, if that may have to wait.
    #[inline]
    fn observe(
        &self,
        thread: &Thread,
        kind: LockKind,
        waits_for: Option<Activity>,
        location: Site,
    ) -> Option<Observed> {
        let class = self.class.class(kind);
        if class.state().is_followed() {
            notes::reserve();
        }
        if class.has_order() && !brief::is_inside() {
            match waits_for {
                Some(activity) => {
                    let request = self.request(class, activity, location);
                    nesting::is_about_to_acquire(thread, &request);
                }
                None => _ = nesting::held(thread),
            }
        }
        let (timing, call_sites) = class.state().recording(thread)?;
        Some(Observed {
            class,
            room: thread.room_for_one(),
            timing,
            site: call_sites.then_some(location),
        })
    }

    /// Tells who waits that somebody else has it now.
    fn says_who_has_it(&self, activity: Activity) {
        // Of several that have it none may be sure that the watch is still this lock's.
        if activity.is_exclusive()
            && let Some(watch) = self.class.watch()
        {
            watch.set_holder(self.last().to_bits());
        }
    }

    fn request(&self, class: &'static LockClass, activity: Activity, at: Site) -> Request {
        Request {
            class,
            lock: self.address(),
            activity,
            at,
        }
    }

    /// An acquisition has been made: its hold is noted while the order of locks is followed.
    #[inline]
    fn has_acquired(&self, thread: &Thread, hold: Option<Hold>) {
        if let Some(hold) = hold
            && self.class.resolved().is_some_and(LockClass::has_order)
        {
            nesting::has_acquired(thread, self.address(), hold.record());
        }
    }

    /// Notes an acquisition while somebody measures. The fast path need not: it is none then.
    #[inline]
    fn note(&self, activity: Activity, line: Site) {
        if let Some(class) = self.class.resolved()
            && class.state().is_followed()
            && !brief::is_inside()
            && let Some(mode) = activity.mode()
        {
            note(class, mode, line);
        }
    }

    /// Records a hold that begins.
    fn begin(&self, thread: &Thread, observed: &Observed, activity: Activity) -> Hold {
        let Observed {
            class,
            ref room,
            timing,
            site,
        } = *observed;
        let next = room.page.record(room.page.next_index());
        let (me, last) = (Holder::next(room.page.window()), self.last());
        let is_new = !last.is_same_page(me);
        // Late, so that the hold has little in it that is not the caller's.
        let at = stamp(timing);
        let is_bounce = is_new && thread.is_other(last);
        let hold = self.publish(room, class, activity, site, (timing, at), is_bounce);
        if self.leaves_word(activity, is_new, next, at) {
            self.set_last(me);
        }
        self.says_who_has_it(activity);
        hold
    }

    /// Writes a hold that begins at `at` into the log, and tells those who wait.
    #[inline]
    fn publish(
        &self,
        room: &Room,
        class: &'static LockClass,
        activity: Activity,
        site: Option<Site>,
        (timing, at): (Timing, u64),
        is_bounce: bool,
    ) -> Hold {
        let (site, mut what) = (stats::site(site), stats::hold(&class.stats, activity));
        if is_bounce {
            what |= stats::BOUNCED;
        }
        if self.class.is_watched() && self.tell_begin_of_next(room.page, site, activity, at) {
            what |= stats::WATCHED;
        }
        let entry = hold_entry(room.page, what, site, timing, at);
        Hold::new(room.page.publish(&entry), timing)
    }

    /// Releases with `unlock`, then records the end. After the unlock the lock may be gone: another
    /// thread may have freed it.
    #[inline(always)]
    fn release<G>(&self, held: Held<G>, unlock: impl FnOnce(&R, G)) {
        let Some(hold) = held.hold else {
            return self.release_unobserved(held.inner, unlock);
        };
        if hold.is_plain() && !self.class.is_watched() {
            let end = clock::counter_now();
            let _ends = Ends(hold.record(), end);
            unlock(&self.raw, held.inner);
            return;
        }
        cold_path();
        if hold.is_untimed() && !self.class.is_watched() {
            hold.record().finish(stats::UNTIMED_END);
            unlock(&self.raw, held.inner);
        } else {
            self.release_general(hold, held.inner, unlock);
        }
    }

    /// Whether [`release`](Self::release) has nothing to find out but that the hold has ended.
    #[inline(always)]
    fn is_released_fast<G>(&self, held: &Held<G>) -> bool {
        held.hold.is_some_and(Hold::is_plain) && !self.class.is_watched()
    }

    /// The same as [`release`](Self::release), where that is so.
    #[inline(always)]
    fn release_fast<G>(&self, held: Held<G>, unlock: impl FnOnce(&R, G)) {
        let _ends = held
            .hold
            .map(|hold| Ends(hold.record(), clock::counter_now()));
        unlock(&self.raw, held.inner);
    }

    /// Releases what was acquired while recording was off.
    #[inline]
    fn release_unobserved<G>(&self, inner: G, unlock: impl FnOnce(&R, G)) {
        if self.is_off() {
            unlock(&self.raw, inner);
        } else {
            self.release_unmatched(inner, unlock);
        }
    }

    #[inline(never)]
    fn release_unmatched<G>(&self, inner: G, unlock: impl FnOnce(&R, G)) {
        // Before the unlock: after it the lock may be gone.
        self.class.unmatched();
        unlock(&self.raw, inner);
    }

    /// Releases a lock that is waited for, or where the end is not read from the plain counter.
    #[inline(never)]
    fn release_general<G>(&self, hold: Hold, inner: G, unlock: impl FnOnce(&R, G)) {
        if hold.is_look() {
            return unlock(&self.raw, inner);
        }
        let end = hold.end();
        let kept_waiting = stacks::is_on().then(|| self.kept_waiting(hold.record(), end));
        // Before the unlock, which may take long: who comes meanwhile finds that the hold has ended.
        let unused = self.end(hold.record(), end, !brief::is_inside());
        let _gives_back = GivesBack(unused);
        unlock(&self.raw, inner);
        if let Some((class, activity, ticks)) = kept_waiting.flatten() {
            stacks::choose_holder(stats::this_thread(), class, activity, ticks);
        }
    }

    /// For how many ticks a hold that ends has kept those waiting who were chosen to have their stacks looked at.
    /// `None` where there are none.
    #[cold]
    fn kept_waiting(
        &self,
        record: &Record,
        end: u64,
    ) -> Option<(&'static LockClass, Activity, u64)> {
        let what = record.what();
        let activity = stats::activity_of(what);
        let holder = stats::holder_word_of(record, record.site(), activity);
        let watch = self.pin_watch(holder)?;
        let start = match record.start() {
            stats::UNTIMED_START => watch.alone_since().unwrap_or(0),
            start => start,
        };
        let at = if end == stats::UNTIMED_END {
            clock::now()
        } else {
            end
        };
        let ticks = watch.chosen_have_waited(at, start);
        unpin_watch(watch, holder);
        (ticks > 0).then(|| (LockClass::of_record(what), activity, ticks))
    }

    /// Turns an acquisition into one of another mode without letting go of the lock: one hold ends
    /// and another starts at the same moment. `convert` must not wait.
    #[inline]
    #[track_caller]
    fn convert<G, H>(
        &self,
        held: Held<G>,
        to: Activity,
        convert: impl FnOnce(&R, G) -> H,
    ) -> Held<H> {
        let location = Location::caller();
        self.note(to, location);
        let hold = held
            .hold
            .and_then(|hold| self.succeed(hold, to, location, hold.end()));
        let inner = self.or_ends(hold, || convert(&self.raw, held.inner));
        Held { inner, hold }
    }

    /// Does `f` with the lock, which takes the guard's state. Where it unwinds it has let go of the lock before:
    /// then the hold ends.
    #[inline]
    fn or_ends<T>(&self, hold: Option<Hold>, f: impl FnOnce() -> T) -> T {
        let ends = hold.map(|hold| EndsUnwinding { lock: self, hold });
        let done = f();
        mem::forget(ends);
        done
    }

    /// Ends a hold and starts one of another mode at `location`, both at `end`. For who has the lock
    /// exclusively before or after. Inside the library, where there is no room, none is started.
    #[inline(never)]
    fn succeed(&self, hold: Hold, to: Activity, location: Site, end: u64) -> Option<Hold> {
        let record = hold.record();
        if brief::is_inside() {
            self.end(record, end, false);
            return None;
        }
        let class = self.class.class(LockKind::Unknown);
        let thread = stats::this_thread();
        let room = thread.room_for_one();
        let me = Holder::next(room.page.window());
        self.tell_end(record, end, false);
        let site = class.state().tells_lines().then_some(location);
        let start = hold.start_of_next(end);
        let next = self.publish(&room, class, to, site, (hold.timing(), start), false);
        self.set_last(me);
        self.has_acquired(thread, Some(next));
        // Listed before the other one is not any more: whoever looks finds the lock held.
        record.finish(end);
        Some(next)
    }

    /// Records an upgrade that did not wait and failed.
    fn failed_to_upgrade(&self) {
        if brief::is_inside() {
            return;
        }
        let class = self.class.class(LockKind::Unknown);
        let room = stats::this_thread().room_for_one();
        failed(room.page, class, Activity::Write);
    }

    // What those who wait are told. `tell_begin` and `tell_end` are for the holder.

    /// Tells that a hold begins, in the next record of the page. Returns whether its end has to be told too.
    #[cold]
    #[inline(never)]
    fn tell_begin_of_next(&self, page: &Page, site: usize, activity: Activity, at: u64) -> bool {
        let next = page.window().next();
        next.is_some_and(|next| self.tell_begin(stats::holder_word_of(next, site, activity), at))
    }

    /// Tells that a hold begins, if anybody waits. Returns whether its end has to be told too.
    #[inline]
    fn tell_begin(&self, holder: usize, at: u64) -> bool {
        let is_untimed = at == stats::UNTIMED_START;
        let at = if is_untimed { clock::now() } else { at };
        let Some(watch) = self.pin_watch(holder) else {
            return false;
        };
        if is_alone(holder) {
            if is_untimed {
                watch.set_alone_since(at);
            }
            return false;
        }
        let is_waited_for = watch.is_waited_for();
        if is_waited_for {
            watch.begin_hold(holder, at);
        }
        unpin_watch(watch, holder);
        is_waited_for
    }

    /// Ends a hold, and [tells](Self::tell_end) those who wait.
    #[inline]
    fn end(&self, record: &Record, end: u64, may_unwatch: bool) -> Option<&'static Watch> {
        let unused = self.tell_end(record, end, may_unwatch);
        record.finish(end);
        unused
    }

    /// Tells that a hold ends, if anybody has to know. Where nobody has waited for a while, and it `may`,
    /// takes the watch from the lock and returns it, to be given back after the unlock.
    #[cold]
    #[inline(never)]
    fn tell_end(&self, record: &Record, end: u64, may_unwatch: bool) -> Option<&'static Watch> {
        let watch = self.class.watch()?;
        let at = if end == stats::UNTIMED_END {
            clock::now()
        } else {
            end
        };
        let what = record.what();
        let holder = stats::holder_word_of(record, record.site(), stats::activity_of(what));
        if is_alone(holder) {
            return self.tell_alone(watch, record, holder, at, may_unwatch);
        }
        let was_told = what & stats::WATCHED != 0;
        if was_told {
            watch.end_hold(holder, at);
        }
        let is_missed = !was_told && watch.is_waited_for();
        let may_unwatch = may_unwatch && watch.is_idle(at, stats::kept_for());
        if !is_missed && !may_unwatch {
            return None;
        }
        let watch = self.pin_watch(holder)?;
        if is_missed {
            watch.end_untold_hold(holder, at);
        }
        if may_unwatch && watch.retire(is_alone(holder)) {
            self.class.unwatch(watch);
            return Some(watch);
        }
        unpin_watch(watch, holder);
        None
    }

    /// The same for an exclusive hold: nobody else has the lock.
    fn tell_alone(
        &self,
        watch: &'static Watch,
        record: &Record,
        holder: usize,
        at: u64,
        may_unwatch: bool,
    ) -> Option<&'static Watch> {
        let start = match record.start() {
            stats::UNTIMED_START => watch.alone_since(),
            start => Some(start),
        };
        if let Some(start) = start {
            watch.add_alone(holder, at.saturating_sub(start));
            watch.set_alone_since(0);
        }
        // What this looks at all that wait write, so a look now and then is enough.
        let is_time = may_unwatch && self.last().to_bits().is_multiple_of(LOOKS);
        if is_time && watch.is_idle(at, stats::kept_for()) && watch.retire(true) {
            self.class.unwatch(watch);
            return Some(watch);
        }
        None
    }

    /// A hold goes on that had been told to have ended.
    #[cold]
    fn tell_again(&self, record: &Record) {
        let what = record.what();
        let holder = stats::holder_word_of(record, record.site(), stats::activity_of(what));
        if self.tell_begin(holder, clock::now()) {
            record.set_what(what | stats::WATCHED);
        }
    }

    /// The watch, which stays this lock's until it is unpinned.
    fn pin_watch(&self, holder: usize) -> Option<&'static Watch> {
        let watch = self.class.watch()?;
        if is_alone(holder) {
            return Some(watch);
        }
        if !watch.pin() {
            return None;
        }
        if self.class.watch().is_some_and(|its| ptr::eq(its, watch)) {
            return Some(watch);
        }
        watch.unpin();
        None
    }
}

/// A hold that ends when this is dropped, also where the unlock unwinds: it has let go of the lock then.
struct Ends(&'static Record, u64);

impl Drop for Ends {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.finish(self.1);
    }
}

/// A watch that is given back when this is dropped, likewise.
struct GivesBack(Option<&'static Watch>);

impl Drop for GivesBack {
    #[inline]
    fn drop(&mut self) {
        if let Some(watch) = self.0 {
            stats::give_back(watch);
        }
    }
}

/// A hold that ends when this is dropped, which only unwinding does.
struct EndsUnwinding<'a, R, K: Kinds> {
    lock: &'a Instrumented<R, K>,
    hold: Hold,
}

impl<R, K: Kinds> Drop for EndsUnwinding<'_, R, K> {
    #[cold]
    fn drop(&mut self) {
        self.lock.end(self.hold.record(), self.hold.end(), false);
    }
}

/// One exclusive holder in so many looks whether its lock still needs its watch.
const LOOKS: u32 = 8;

/// Whether nobody else has the lock: then nobody else can take its watch away.
fn is_alone(holder: usize) -> bool {
    stats::activity_of(holder).is_exclusive()
}

fn unpin_watch(watch: &Watch, holder: usize) {
    if !is_alone(holder) {
        watch.unpin();
    }
}

/// Where and how to record an acquisition.
struct Observed {
    class: &'static LockClass,
    room: Room,
    timing: Timing,
    site: Option<Site>,
}

/// The clock at the start of a hold, if it is timed.
fn stamp(timing: Timing) -> u64 {
    match timing {
        Timing::Untimed => stats::UNTIMED_START,
        Timing::Exact | Timing::ForMany(_) => clock::now(),
    }
}

/// What the log says of a hold that begins, in the next record of the page.
fn hold_entry(page: &Page, mut what: usize, site: usize, timing: Timing, start: u64) -> Entry {
    if let Timing::ForMany(shift) = timing {
        what |= stats::SAMPLED;
        page.set_next_shift(shift);
    }
    Entry {
        what,
        site,
        start,
        end: 0,
    }
}

/// Records an attempt that did not wait and failed.
#[inline(never)]
fn failed(page: &Page, class: &'static LockClass, activity: Activity) {
    page.publish(&stats::event(&class.stats, activity, Kind::TryFailed));
}
