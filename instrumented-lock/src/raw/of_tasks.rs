//! Acquisitions of tasks: they wait without their thread, and what they hold may go from thread to thread.
//!
//! What a lock does is the same as in `mod.rs` and `wait.rs`, in other pieces, because between them lie
//! polls: [`prepare`](Instrumented::prepare) before the first poll, then either
//! [`begin_hold`](Instrumented::begin_hold), in the log of the thread that polls, or a [`TaskWait`], in a page of
//! its own. That is needed because a thread has one place to say what it waits for, and may run a thousand tasks
//! that wait.
//!
//! The order in which tasks take locks is not followed.

use super::wait::Wait;
use super::{Held, Hold, Instrumented, Kinds, failed};
use crate::brief;
use crate::class::Timing;
use crate::clock;
use crate::lock_kind::LockKind;
use crate::mode::Activity;
use crate::stacks;
use crate::stats::{self, Holder, Page, PageOfTask, Place, Site, Thread, tasks};
use std::hash::{Hash as _, Hasher};
use std::panic::Location;

/// The number of the task that is polled, as tokio shows it; 0 outside of any.
pub(crate) fn task() -> u64 {
    /// An id gives its number to nobody but who hashes it, and in letters.
    struct Number(u64);

    impl Hasher for Number {
        fn write(&mut self, bytes: &[u8]) {
            for byte in bytes {
                self.0 = self.0 << 8 | u64::from(*byte);
            }
        }

        fn write_u64(&mut self, number: u64) {
            self.0 = number;
        }

        fn finish(&self) -> u64 {
            self.0
        }
    }

    let Some(id) = ::tokio::task::try_id() else {
        return 0;
    };
    let mut number = Number(0);
    id.hash(&mut number);
    number.0
}

impl<R, K: Kinds> Instrumented<R, K> {
    /// The caller is about to attempt to acquire: whatever may fold or allocate is done now.
    #[inline]
    pub(crate) fn prepare(&self, kind: LockKind) {
        let class = self.class.unwatched();
        let has_room = |place: Place| tasks::has_room(place.next.get());
        let is_ready = class.is_some_and(|class| class.state().is_exact())
            && stats::this_thread().place().is_some_and(has_room);
        if !is_ready {
            self.prepare_slowly(kind);
        }
    }

    #[cold]
    #[inline(never)]
    fn prepare_slowly(&self, kind: LockKind) {
        if self.is_off() || brief::is_inside() || self.class.class(kind).state().is_off() {
            return;
        }
        let thread = stats::this_thread();
        thread.open_window();
        tasks::make_room(thread.room_for_one().page);
    }

    /// The lock was to be had at once: a hold begins.
    #[inline]
    pub(crate) fn begin_hold(&self, kind: LockKind, activity: Activity, site: Site) -> Held<()> {
        let thread = stats::this_thread();
        let hold = match self.ready(thread, site) {
            Ok(ready) => {
                tasks::set(ready.place.next.get(), task());
                Some(self.begin_ready(&ready, activity))
            }
            Err(_) => self.begin_hold_slowly(thread, kind, activity, site),
        };
        Held { inner: (), hold }
    }

    #[cold]
    #[inline(never)]
    fn begin_hold_slowly(
        &self,
        thread: &Thread,
        kind: LockKind,
        activity: Activity,
        site: Site,
    ) -> Option<Hold> {
        if self.is_off() || brief::is_inside() {
            return None;
        }
        let observed = self.observe(thread, kind, None, site);
        let hold = observed.map(|observed| {
            set_task_of_next(observed.room.page);
            self.begin(thread, &observed, activity)
        });
        self.note(activity, site);
        hold
    }

    /// The lock was not to be had at once, and is waited for from now on. `None` where that is not recorded.
    pub(crate) fn begin_wait(
        &self,
        kind: LockKind,
        activity: Activity,
        site: Site,
    ) -> Option<TaskWait<'_, R, K>> {
        if self.is_off() || brief::is_inside() {
            return None;
        }
        let class = self.class.class(kind);
        let (timing, call_sites) = class.state().recording(stats::this_thread())?;
        let page = PageOfTask::new(task());
        let watch = self.class.wait(class);
        let chosen = stacks::choose_waiter(stats::this_thread(), class, activity);
        let site = call_sites.then_some(site);
        Some(TaskWait {
            wait: self.begin_to_wait((class, activity, site), watch, page.page(), chosen),
            timing,
            page: Some(page),
        })
    }

    /// Lets go with `unlock`, then records the end.
    #[inline]
    pub(crate) fn end_hold(&self, held: Held<()>, unlock: impl FnOnce(&R)) {
        self.release(held, |raw, ()| unlock(raw));
    }

    /// A hold goes on as one of another mode.
    #[track_caller]
    pub(crate) fn convert_hold(
        &self,
        held: Held<()>,
        to: Activity,
        convert: impl FnOnce(&R),
    ) -> Held<()> {
        if held.hold.is_some() {
            self.prepare(LockKind::Unknown);
            set_task_of_next(stats::this_thread().room_for_one().page);
        }
        self.convert(held, to, |raw, ()| convert(raw))
    }

    /// The state of what is held and not recorded, because recording was off.
    pub(crate) fn not_recorded() -> Held<()> {
        Held::unobserved(())
    }

    /// The state of what belongs to no hold.
    pub(crate) fn no_hold() -> Held<()> {
        Held::looked_at(())
    }

    /// What is under it.
    #[inline]
    pub(crate) fn inner(&self) -> &R {
        &self.raw
    }

    /// An attempt that does not wait.
    #[inline]
    #[track_caller]
    pub(crate) fn attempt(
        &self,
        kind: LockKind,
        activity: Activity,
        now: impl FnOnce(&R) -> bool,
    ) -> Option<Held<()>> {
        let site = Location::caller();
        self.prepare(kind);
        if now(&self.raw) {
            return Some(self.begin_hold(kind, activity, site));
        }
        self.note_failure(kind, activity, site);
        None
    }

    /// An attempt has failed.
    #[cold]
    #[inline(never)]
    fn note_failure(&self, kind: LockKind, activity: Activity, site: Site) {
        if self.is_off() || brief::is_inside() {
            return;
        }
        if let Some(observed) = self.observe(stats::this_thread(), kind, None, site) {
            failed(observed.room.page, observed.class, activity);
        }
    }
}

/// What is published next in this page is a hold of the task that is polled.
fn set_task_of_next(page: &Page) {
    if let Some(next) = page.window().next() {
        tasks::set(next, task());
    }
}

/// A wait of a task. When it is dropped it has ended without the lock.
pub(crate) struct TaskWait<'a, R, K: Kinds> {
    wait: Wait<'a, R, K>,
    timing: Timing,
    /// Its own, until the hold has it.
    page: Option<PageOfTask>,
}

impl<R, K: Kinds> TaskWait<'_, R, K> {
    /// The wait has ended with the lock taken. The page is that of the hold.
    pub(crate) fn acquired(mut self) -> (Held<()>, Option<PageOfTask>) {
        let at = clock::now();
        // Without it there is nothing left to tell when this is dropped.
        let own = self.page.take();
        let hold = own.as_ref().map(|own| {
            let page = own.page();
            let is_other = |last: Holder| last.to_bits() != 0;
            let end_wait = || page.end_all_waits();
            self.wait
                .acquired(page, (self.timing, at), is_other, end_wait)
        });
        if let Some(line) = self.wait.site {
            self.wait.lock.note(self.wait.activity, line);
        }
        (Held { inner: (), hold }, own)
    }
}

/// Without the lock: its future was dropped, or nothing is to be had any more.
impl<R, K: Kinds> Drop for TaskWait<'_, R, K> {
    fn drop(&mut self) {
        if let Some(own) = &self.page {
            let page = own.page();
            self.wait.gave_up(page, clock::now());
            page.end_all_waits();
        }
    }
}
