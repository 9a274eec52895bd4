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

use super::RawMutex;
use crate::cell::ClassCell;
use crate::class::{Declaration, LockClass};
use crate::clock;
use crate::lock_kind::LockKind;
use crate::mode::Activity;
use crate::stats::{self, Entry, Kind, Record};
use lock_api::MutexGuard;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};

type GateGuard<'a> = parking_lot::MutexGuard<'a, ()>;

/// The condition variable under [`Condvar`](crate::Condvar).
pub struct RawCondvar {
    class: ClassCell,
    gate: parking_lot::Mutex<()>,
    /// Threads that sleep or are about to. Raised before the mutex is let go, so that whoever
    /// changes under the mutex what they wait for finds them.
    waiters: AtomicUsize,
    condvar: parking_lot::Condvar,
}

impl RawCondvar {
    pub(crate) const fn declared(declaration: &'static Declaration) -> Self {
        Self::new(ClassCell::declared(declaration))
    }

    pub(crate) const fn at_site(site: &'static Location<'static>) -> Self {
        Self::new(ClassCell::site(site))
    }

    const fn new(class: ClassCell) -> Self {
        RawCondvar {
            class,
            gate: parking_lot::Mutex::new(()),
            waiters: AtomicUsize::new(0),
            condvar: parking_lot::Condvar::new(),
        }
    }

    /// Calls `notify` with the gate held, so that no waiter is between its mutex and its sleep.
    /// Where nobody waits there is nothing to do.
    #[inline]
    pub(crate) fn notify<T: Default>(&self, notify: impl FnOnce(&parking_lot::Condvar) -> T) -> T {
        // SeqCst: who notifies without the mutex at least sees the waiters that came before in the
        // one order of these operations.
        if self.waiters.load(Ordering::SeqCst) == 0 {
            return T::default();
        }
        let _gate = self.gate.lock();
        notify(&self.condvar)
    }

    /// Lets go of the mutex, sleeps, takes the mutex again. `sleep` says whether the time was up.
    #[track_caller]
    pub(crate) fn sleep<T: ?Sized, W>(
        &self,
        guard: &mut MutexGuard<'_, RawMutex, T>,
        sleep: impl FnOnce(&parking_lot::Condvar, &mut GateGuard<'_>) -> W,
        timed_out: impl Fn(&W) -> bool,
    ) -> W {
        // SAFETY: only the class is looked at.
        let mutex = unsafe { MutexGuard::mutex(guard).raw() }.class.resolved();
        let mut gate = self.gate.lock();
        self.waiters.fetch_add(1, Ordering::SeqCst);
        MutexGuard::unlocked(guard, || {
            let classes = [mutex, Some(self.class.class(LockKind::Condvar))];
            let observed = classes.map(|class| class.filter(|class| class.state().is_on()));
            let start = clock::now();
            let sleeps = observed.map(|class| Some((class?, fall_asleep(class?, start))));
            let woken = sleep(&self.condvar, &mut gate);
            let end = clock::now();
            self.waiters.fetch_sub(1, Ordering::SeqCst);
            drop(gate);
            for (class, sleep) in sleeps.into_iter().flatten() {
                sleep.finish(end);
                if timed_out(&woken) {
                    record(class, Kind::TimedOut);
                }
            }
            woken
        })
    }
}

/// Records a sleep that begins.
fn fall_asleep(class: &'static LockClass, start: u64) -> &'static Record {
    let sleep = Entry {
        what: stats::hold(&class.stats, Activity::Sleep),
        site: 0,
        start,
        end: 0,
    };
    stats::here(|thread| thread.room_for_one().page.publish(&sleep))
}

fn record(class: &'static LockClass, kind: Kind) {
    let event = stats::event(&class.stats, Activity::Sleep, kind);
    stats::here(|thread| _ = thread.room_for_one().page.publish(&event));
}

// As `parking_lot`'s: the gate protects nothing that could be left half done.
impl std::panic::RefUnwindSafe for RawCondvar {}

impl Drop for RawCondvar {
    fn drop(&mut self) {
        self.class.drop_instance();
    }
}
