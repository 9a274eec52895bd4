//! The condition variable: how long threads sleep, and what they wait for when they are woken.
//!
//! `parking_lot`'s moves the threads that it wakes straight into the queue of the mutex; from
//! outside, the sleep and the wait for the mutex are one. Here a waiter sleeps with a gate of its
//! own in the mutex's place, and asks for the mutex itself once it is awake, like everybody else.
//! So the sleep ends where the thread wakes, and a convoy after `notify_all` shows as contended
//! acquisitions.
//!
//! No notification is lost: a waiter takes the gate before it lets go of the mutex and gives it up
//! by falling asleep; who notifies takes the gate too. Nobody asks for the mutex with the gate held.
//!
//! A thread sleeps until it is notified or its time is up, though it may take it a while to wake. As long as
//! any does, they all have to have come with the same mutex, as in `parking_lot`.

use super::{Instrumented, Kinds, RawMutex};
use crate::cell::ClassCell;
use crate::class::{Declaration, LockClass};
use crate::classes;
use crate::clock;
use crate::lock_kind::LockKind;
use crate::mode::Activity;
use crate::nesting::{self, Request};
use crate::stats::{self, Entry, Kind, Record};
use lock_api::MutexGuard;
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many threads sleep.
type Gate = parking_lot::Mutex<u32>;
type GateGuard<'a> = parking_lot::MutexGuard<'a, u32>;

/// The condition variable under [`Condvar`](crate::Condvar).
pub struct RawCondvar {
    class: ClassCell,
    gate: Gate,
    /// Where the mutex is of those that sleep or are about to; 0 where nobody does. Changed with the gate
    /// held, and set before the mutex is let go, so that whoever changes under the mutex what they wait for
    /// finds them.
    mutex: AtomicUsize,
    condvar: parking_lot::Condvar,
}

impl RawCondvar {
    pub(crate) const fn declared(declaration: &'static Declaration) -> Self {
        Self::new(ClassCell::declared(declaration))
    }

    pub(crate) const fn at_site(site: &'static Location<'static>) -> Self {
        Self::new(ClassCell::site(site))
    }

    #[track_caller]
    pub(crate) fn named(name: &str) -> Self {
        let class = classes::of_name(name, LockKind::Condvar, Location::caller());
        Self::new(ClassCell::named(class))
    }

    const fn new(class: ClassCell) -> Self {
        RawCondvar {
            class,
            gate: Gate::new(0),
            mutex: AtomicUsize::new(0),
            condvar: parking_lot::Condvar::new(),
        }
    }

    /// Calls `notify` with the gate held, so that no waiter is between its mutex and its sleep.
    /// Where nobody waits there is nothing to do. `count` says how many are notified.
    #[inline]
    pub(crate) fn notify<T: Copy + Default>(
        &self,
        notify: impl FnOnce(&parking_lot::Condvar) -> T,
        count: impl FnOnce(T) -> usize,
    ) -> T {
        // SeqCst: who notifies without the mutex at least sees the waiters that came before in the
        // one order of these operations.
        if self.mutex.load(Ordering::SeqCst) == 0 {
            return T::default();
        }
        let mut gate = self.gate.lock();
        let notified = notify(&self.condvar);
        self.wake(&mut gate, count(notified));
        notified
    }

    /// So many threads sleep no longer.
    fn wake(&self, gate: &mut GateGuard<'_>, count: usize) {
        **gate -= u32::try_from(count).unwrap_or(**gate);
        if **gate == 0 {
            self.mutex.store(0, Ordering::SeqCst);
        }
    }

    /// One more thread is going to sleep, which came with the mutex at this address.
    ///
    /// # Panics
    ///
    /// Where one sleeps that came with another one.
    #[track_caller]
    fn fall_asleep(&self, gate: &mut GateGuard<'_>, mutex: usize) {
        let others = self.mutex.load(Ordering::Relaxed);
        assert!(
            others == 0 || others == mutex,
            "attempted to use a condition variable with more than one mutex"
        );
        **gate += 1;
        self.mutex.store(mutex, Ordering::SeqCst);
    }

    /// Lets go of the mutex, sleeps, takes the mutex again. `timed_out` says whether the time was up.
    ///
    /// # Panics
    ///
    /// Where another thread sleeps that came with another mutex.
    #[track_caller]
    pub(crate) fn sleep<T: ?Sized, W>(
        &self,
        guard: &mut MutexGuard<'_, RawMutex, T>,
        sleep: impl FnOnce(&parking_lot::Condvar, &mut GateGuard<'_>) -> W,
        timed_out: impl Fn(&W) -> bool,
    ) -> W {
        // SAFETY: only the class is looked at.
        let raw = unsafe { MutexGuard::mutex(guard).raw() };
        let unlocked = |sleep: &mut dyn FnMut()| MutexGuard::unlocked(guard, sleep);
        self.sleep_unlocked(raw, unlocked, sleep, timed_out)
    }

    /// The same with a mutex that `unlocked` lets go, to do what it is given, and takes again.
    ///
    /// # Panics
    ///
    /// Where another thread sleeps that came with another mutex.
    #[track_caller]
    pub(crate) fn sleep_unlocked<R, K: Kinds, W>(
        &self,
        raw: &Instrumented<R, K>,
        unlocked: impl FnOnce(&mut dyn FnMut()),
        sleep: impl FnOnce(&parking_lot::Condvar, &mut GateGuard<'_>) -> W,
        timed_out: impl Fn(&W) -> bool,
    ) -> W {
        let mutex = raw.class.resolved();
        if mutex.is_some_and(LockClass::has_order) {
            let own = self.class.class(LockKind::Condvar);
            let request = Request {
                class: own,
                lock: ptr::from_ref(self).addr(),
                activity: Activity::Write,
                at: Location::caller(),
            };
            nesting::is_about_to_sleep(stats::this_thread(), raw.address(), &request);
        }
        let mut gate = self.gate.lock();
        self.fall_asleep(&mut gate, raw.address());
        let mut asleep = Some((sleep, gate));
        let mut woken_up = None;
        unlocked(&mut || {
            let Some((sleep, mut gate)) = asleep.take() else {
                return;
            };
            let classes = [mutex, Some(self.class.class(LockKind::Condvar))];
            let observed = classes.map(|class| class.filter(|class| class.state().is_on()));
            let start = clock::now();
            let sleeps = observed.map(|class| Some((class?, begin_sleep(class?, start))));
            let woken = sleep(&self.condvar, &mut gate);
            let end = clock::now();
            if timed_out(&woken) {
                self.wake(&mut gate, 1);
            }
            drop(gate);
            for (class, sleep) in sleeps.into_iter().flatten() {
                sleep.finish(end);
                if timed_out(&woken) {
                    record(class, Kind::TimedOut);
                }
            }
            woken_up = Some(woken);
        });
        woken_up.expect("what is given to `unlocked` is done")
    }
}

/// Records a sleep that begins.
fn begin_sleep(class: &'static LockClass, start: u64) -> &'static Record {
    let sleep = Entry {
        what: stats::hold(&class.stats, Activity::Sleep),
        site: 0,
        start,
        end: 0,
    };
    let room = stats::this_thread().room_for_one();
    room.page.publish(&sleep)
}

fn record(class: &'static LockClass, kind: Kind) {
    let event = stats::event(&class.stats, Activity::Sleep, kind);
    let room = stats::this_thread().room_for_one();
    room.page.publish(&event);
}

// As `parking_lot`'s: the gate protects nothing that could be left half done.
impl std::panic::RefUnwindSafe for RawCondvar {}

impl Drop for RawCondvar {
    fn drop(&mut self) {
        self.class.drop_instance();
    }
}
