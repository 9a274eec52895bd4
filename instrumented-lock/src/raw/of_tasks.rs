//! Acquisitions of tasks: they wait without their thread, and what they hold may go from thread to thread.
//!
//! What a lock does is the same as in `mod.rs` and `wait.rs`, in other pieces, because between them lie
//! polls: [`prepare`](Instrumented::prepare) before the first poll, then either
//! [`begin_hold`](Instrumented::begin_hold), in the log of the thread that polls, or a [`TaskWait`], in a page of
//! its own. That is needed because a thread has one place to say what it waits for, and may run a thousand tasks
//! that wait.
//!
//! The order in which tasks take locks is not followed.

use super::{Held, Hold, Instrumented, Kinds, hold_entry};
use crate::brief;
use crate::class::{LockClass, Timing};
use crate::clock;
use crate::lock_kind::LockKind;
use crate::mode::Activity;
use crate::stats::{
    self, Arrival, Batch, Entry, Holder, Kind, Page, PageOfTask, Place, Site, Thread, Watch, tasks,
};
use std::hash::{Hash as _, Hasher};
use std::ptr;
use std::sync::atomic::Ordering;

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
            Ok(ready) => Some(self.begin_ready(&ready, activity)),
            Err(_) => self.begin_hold_slowly(thread, kind, activity, site),
        };
        if let Some(hold) = hold {
            tasks::set(hold.record(), task());
        }
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
        let hold = observed.map(|observed| self.begin(thread, &observed, activity));
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
        let task = task();
        let page = PageOfTask::new(&match task {
            0 => std::thread::current().name().unwrap_or_default().to_owned(),
            task => tasks::name(task),
        });
        let watch = self.class.wait(class);
        let start = clock::now();
        let wait = TaskWait {
            lock: self,
            class,
            activity,
            site: call_sites.then_some(site),
            timing,
            start,
            watch,
            arrival: watch.arrive(start, self.alone(class, watch, start)),
            page: Some(page),
        };
        watch.set_lock(self.address());
        let last = self.last();
        if last.record().is_some_and(|record| record.end().is_none()) {
            watch.set_holder(last.to_bits());
        }
        let what = stats::hold(&class.stats, activity);
        let watch = ptr::from_ref(watch).expose_provenance();
        wait.page()
            .begin_wait(what, stats::site(wait.site), start, watch);
        Some(wait)
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
        self.prepare(kind);
        let held = self.try_acquire(kind, activity, |raw| now(raw).then_some(()))?;
        if let Some(hold) = held.hold {
            tasks::set(hold.record(), task());
        }
        Some(held)
    }
}

/// A wait of a task. When it is dropped it has ended without the lock.
pub(crate) struct TaskWait<'a, R, K: Kinds> {
    lock: &'a Instrumented<R, K>,
    class: &'static LockClass,
    activity: Activity,
    site: Option<Site>,
    timing: Timing,
    start: u64,
    watch: &'static Watch,
    arrival: Arrival,
    /// Its own, until the hold has it.
    page: Option<PageOfTask>,
}

impl<R, K: Kinds> TaskWait<'_, R, K> {
    fn page(&self) -> &'static Page {
        match &self.page {
            Some(page) => page.page(),
            None => unreachable!("it has a page as long as it waits"),
        }
    }

    /// The wait has ended with the lock taken. The page is that of the hold.
    pub(crate) fn acquired(mut self) -> (Held<()>, Option<PageOfTask>) {
        let at = clock::now();
        let page = self.page();
        let (me, last) = (Holder::next(page.window()), self.lock.last());
        let bounced = if last.to_bits() != 0 && !last.is_same_page(me) {
            stats::BOUNCED
        } else {
            0
        };
        let site = stats::site(self.site);
        let mut what = stats::hold(&self.class.stats, self.activity) | bounced;
        let has_others = !self.activity.is_exclusive() && self.watch.has_other_waiters();
        if has_others {
            what |= stats::WATCHED;
        }
        if self.activity.is_exclusive() && self.timing == Timing::Untimed {
            self.watch.set_alone_since(at);
        }
        let start = match self.timing {
            Timing::Untimed => stats::UNTIMED_START,
            Timing::Exact | Timing::ForMany(_) => at,
        };
        let entry = hold_entry(page, what, site, self.timing, start);
        let mut batch = page.batch();
        let record = batch.push(&entry);
        batch.push(&Entry {
            what: self.what(Kind::Waited) | bounced,
            site,
            start: self.start,
            end: at,
        });
        let left = self.blame(&mut batch, at);
        if left > 0 {
            let is_alone = self.activity.is_exclusive();
            let reader = self.untold_holder(last, Activity::Read);
            let holder = reader.filter(|_| !is_alone);
            batch.push(&self.blame_entry(holder.unwrap_or(0), left));
        }
        if has_others {
            let holder = stats::holder_word(site, self.activity);
            self.watch.begin_hold(holder, at);
        }
        self.watch.set_holder(me.to_bits());
        self.watch.leave(at);
        batch.publish();
        page.end_all_waits();
        self.lock.set_last(me);
        if let Some(line) = self.site {
            self.lock.note(self.activity, line);
        }
        let held = Held {
            inner: (),
            hold: Some(Hold::new(record, self.timing)),
        };
        // Without it there is nothing left to tell when this is dropped.
        (held, self.page.take())
    }

    /// Adds a record for each line that held the lock meanwhile. Returns how many ticks are left, in which
    /// nobody is known to have had it.
    fn blame(&self, batch: &mut Batch<'_>, at: u64) -> u64 {
        let mut left = at.saturating_sub(self.start);
        self.watch.depart(&self.arrival, at, |holder, ticks| {
            let is_exclusive = stats::activity_of(holder).is_exclusive();
            let ticks = if is_exclusive { ticks.min(left) } else { ticks };
            left = left.saturating_sub(ticks);
            batch.push(&self.blame_entry(holder, ticks));
        });
        left
    }

    /// As in `wait.rs`.
    fn untold_holder(&self, last: Holder, activity: Activity) -> Option<usize> {
        let record = last.record()?;
        let is_it = record.what() & !stats::BOUNCED == stats::hold(&self.class.stats, activity)
            && record.end().is_none();
        is_it.then(|| stats::holder_word(record.site(), activity))
    }

    fn blame_entry(&self, holder: usize, ticks: u64) -> Entry {
        Entry {
            what: self.what(Kind::Blame),
            site: stats::site(self.site),
            start: holder as u64,
            end: ticks,
        }
    }

    fn what(&self, kind: Kind) -> usize {
        stats::what(&self.class.stats, self.activity, kind)
    }
}

/// Without the lock: its future was dropped, or nothing is to be had any more.
impl<R, K: Kinds> Drop for TaskWait<'_, R, K> {
    fn drop(&mut self) {
        if self.page.is_none() {
            return;
        }
        let page = self.page();
        let at = clock::now();
        let mut batch = page.batch();
        batch.push(&Entry {
            what: self.what(Kind::TimedOut),
            site: 0,
            start: self.start,
            end: at,
        });
        let left = self.blame(&mut batch, at);
        let last = Holder::from_bits(self.lock.holder.load(Ordering::Relaxed));
        let holders = [Activity::Write, Activity::Upgradable, Activity::Read];
        let holder = holders
            .into_iter()
            .find_map(|it| self.untold_holder(last, it));
        if let Some(holder) = holder.filter(|_| left > 0) {
            batch.push(&self.blame_entry(holder, left));
        }
        self.watch.leave(at);
        batch.publish();
        page.end_all_waits();
    }
}
