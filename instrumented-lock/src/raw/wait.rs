//! What an acquisition does that has to wait. A [`Wait`] is what a thread's and a task's have in common;
//! [`WaitOfThread`] is a thread's, the task's is in `of_tasks.rs`.

use super::{Held, Hold, Instrumented, Kinds, Observed, hold_entry};
use crate::brief;
use crate::class::{LockClass, Timing};
use crate::clock;
use crate::mode::Activity;
use crate::stacks::{self, ChosenWait};
use crate::stats::{
    self, Arrival, Batch, Entry, Holder, Instance, Kind, MOST_RECORDS, Page, Room, Site, Thread,
    Waiting, Watch,
};
use std::hint::cold_path;
use std::sync::atomic::Ordering;
use std::{mem, ptr};

/// A wait in progress.
pub(super) struct Wait<'a, R, K> {
    pub(super) lock: &'a Instrumented<R, K>,
    class: &'static LockClass,
    pub(super) activity: Activity,
    pub(super) site: Option<Site>,
    start: u64,
    watch: &'static Watch,
    arrival: Arrival,
    /// Which lock of its class it is.
    instance: Instance,
    /// Where its stack is looked at.
    chosen: Option<ChosenWait>,
}

/// That of a thread. When it is dropped it has ended without the lock.
struct WaitOfThread<'a, R, K> {
    wait: Wait<'a, R, K>,
    thread: &'a Thread,
    /// Where it is announced, and what was announced there before.
    page: &'static Page,
    outer: Waiting,
}

impl<R, K: Kinds> Instrumented<R, K> {
    /// Waits, where all else was as on the fast path.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_fast<G, E>(
        &self,
        thread: &Thread,
        class: &'static LockClass,
        activity: Activity,
        (location, timing): (Option<Site>, Timing),
        wait: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<Held<G>, E> {
        if brief::is_inside() {
            return wait(&self.raw).map(Held::unobserved);
        }
        let room = thread.room_for_wait();
        let observed = Observed {
            site: location,
            class,
            room,
            timing,
        };
        self.wait(thread, &observed, activity, wait)
    }

    /// Acquires with `wait`, which waits and may give up.
    pub(super) fn wait<G, E>(
        &self,
        thread: &Thread,
        observed: &Observed,
        activity: Activity,
        wait: impl FnOnce(&R) -> Result<G, E>,
    ) -> Result<Held<G>, E> {
        // Everything that may fold or allocate comes before the wait; the room last, since an allocator that
        // is used meanwhile takes from it.
        let class = observed.class;
        let watch = self.class.wait(class);
        class.stats.instances();
        let chosen = stacks::choose_waiter(thread, class, activity);
        let room = thread.room_for_wait();
        let page = room.page;
        let outer = page.outer_wait();
        let waiting = WaitOfThread {
            wait: self.begin_to_wait((class, activity, observed.site), watch, page, chosen),
            thread,
            page,
            outer,
        };
        let inner = wait(&self.raw)?;
        let hold = waiting.acquired(observed.timing);
        mem::forget(waiting);
        Ok(Held::observed(inner, hold))
    }

    /// Joins those who wait, and says so in the page.
    pub(super) fn begin_to_wait(
        &self,
        (class, activity, site): (&'static LockClass, Activity, Option<Site>),
        watch: &'static Watch,
        page: &Page,
        chosen: Option<ChosenWait>,
    ) -> Wait<'_, R, K> {
        let instance = self.instance(class, page);
        let start = clock::now();
        let wait = Wait {
            lock: self,
            class,
            activity,
            site,
            start,
            watch,
            arrival: watch.arrive(start, self.alone(class, watch, start)),
            instance,
            chosen: chosen.filter(|_| watch.begin_chosen(start)),
        };
        watch.set_lock(self.address());
        let last = self.last();
        if last.record().is_some_and(|record| record.end().is_none()) {
            watch.set_holder(last.to_bits());
        }
        let what = stats::hold(&class.stats, activity);
        let watch = ptr::from_ref(watch).expose_provenance();
        page.begin_wait(what, stats::site(site), start, watch);
        wait
    }

    /// Which lock of its class this is, which is waited for.
    #[inline]
    fn instance(&self, class: &LockClass, page: &Page) -> Instance {
        // Relaxed: of two waiters that find it out at the same time either may.
        let known = Instance::from_bits(self.instance.load(Ordering::Relaxed));
        let instances = class.stats.instances();
        if instances.is_current(known, self.address()) {
            return known;
        }
        cold_path();
        // Who forks has every page locked.
        let _locked = page.lock();
        let instance = instances.enter(known, self.address());
        self.instance.store(instance.to_bits(), Ordering::Relaxed);
        instance
    }

    /// Who holds the lock exclusively, as it remembers, and for how long it has at `now`.
    fn alone(&self, class: &LockClass, watch: &Watch, now: u64) -> Option<(usize, u64)> {
        let record = self.last().record()?;
        let is_hold = record.what() & !stats::BOUNCED == stats::hold(&class.stats, Activity::Write);
        let start = match record.start() {
            stats::UNTIMED_START => watch.alone_since()?,
            start => start,
        };
        let is_it = is_hold && record.end().is_none();
        let holder = stats::holder_word_of(record, record.site(), Activity::Write);
        is_it.then(|| (holder, now.saturating_sub(start)))
    }
}

impl<R, K: Kinds> WaitOfThread<'_, R, K> {
    /// The wait has ended with the lock taken.
    fn acquired(&self, timing: Timing) -> Hold {
        let at = clock::now();
        let more = self.more_room();
        let page = more.as_ref().map_or(self.page, |room| room.page);
        let is_other = |last| self.thread.is_other(last);
        let end_wait = || self.page.end_wait(self.outer);
        self.wait.acquired(page, (timing, at), is_other, end_wait)
    }
}

impl<R, K> WaitOfThread<'_, R, K> {
    /// Room for all that the wait has to say, where an allocator has used up meanwhile what there was of it.
    fn more_room(&self) -> Option<Room> {
        let is_used_up = self.page.room() < MOST_RECORDS;
        is_used_up.then(|| self.thread.room_for_wait())
    }
}

/// Without the lock.
impl<R, K> Drop for WaitOfThread<'_, R, K> {
    fn drop(&mut self) {
        let at = clock::now();
        let more = self.more_room();
        let page = more.as_ref().map_or(self.page, |room| room.page);
        self.wait.gave_up(page, at);
        self.page.end_wait(self.outer);
    }
}

impl<R, K: Kinds> Wait<'_, R, K> {
    /// It has ended with the lock taken, and a hold begins on this page. `is_other` says whether somebody else had
    /// the lock last, who is not of this page; `end_wait` takes back what is announced.
    pub(super) fn acquired(
        &self,
        page: &'static Page,
        (timing, at): (Timing, u64),
        is_other: impl FnOnce(Holder) -> bool,
        end_wait: impl FnOnce(),
    ) -> Hold {
        let lock = self.lock;
        let (me, last) = (Holder::next(page.window()), lock.last());
        let is_bounce = !last.is_same_page(me) && is_other(last);
        let bounced = if is_bounce { stats::BOUNCED } else { 0 };
        let site = stats::site(self.site);

        let mut what = stats::hold(&self.class.stats, self.activity) | bounced;
        let has_others = !self.activity.is_exclusive() && self.watch.has_other_waiters();
        if has_others {
            what |= stats::WATCHED;
        }
        if self.activity.is_exclusive() && timing == Timing::Untimed {
            self.watch.set_alone_since(at);
        }
        let start = match timing {
            Timing::Untimed => stats::UNTIMED_START,
            Timing::Exact | Timing::ForMany(_) => at,
        };
        let entry = hold_entry(page, what, site, timing, start);
        let mut batch = page.batch();
        let record = batch.push(&entry);
        batch.push(&Entry {
            what: self.what(Kind::Waited) | bounced,
            site: self.waiting_word(),
            start: self.start,
            end: at,
        });
        let left = self.blame(&mut batch, at);
        if left > 0 {
            // Where readers may be together, some that were there before anybody waited may still be.
            let is_alone = self.activity.is_exclusive();
            let reader = self.untold_holder(last, Activity::Read);
            let holder = reader.filter(|_| !is_alone);
            batch.push(&self.blame_entry(holder.unwrap_or(0), left));
        }
        if has_others {
            let holder = stats::holder_word_of(record, site, self.activity);
            self.watch.begin_hold(holder, at);
        }
        self.watch.set_holder(me.to_bits());
        self.leave(at);
        batch.publish();
        end_wait();
        lock.set_last(me);
        Hold::new(record, timing)
    }
}

impl<R, K> Wait<'_, R, K> {
    /// It has ended without the lock, which this page says. The caller takes back what is announced.
    pub(super) fn gave_up(&self, page: &Page, at: u64) {
        let mut batch = page.batch();
        batch.push(&Entry {
            what: self.what(Kind::TimedOut),
            site: self.waiting_word(),
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
        self.leave(at);
        batch.publish();
    }

    /// Waits no longer.
    fn leave(&self, at: u64) {
        if let Some(chosen) = &self.chosen {
            self.watch.end_chosen(self.start);
            chosen.ends(self.start, at);
        }
        self.watch.leave(at);
    }

    /// Adds a record for each line that held the lock meanwhile. Returns how many ticks are left, in which
    /// nobody is known to have had it.
    fn blame(&self, batch: &mut Batch<'_>, at: u64) -> u64 {
        let mut left = at.saturating_sub(self.start);
        self.watch.depart(&self.arrival, at, |holder, ticks| {
            // One hold after the other cannot come to more than the wait, whenever this thread was
            // descheduled while it looked.
            let is_exclusive = stats::activity_of(holder).is_exclusive();
            let ticks = if is_exclusive { ticks.min(left) } else { ticks };
            left = left.saturating_sub(ticks);
            batch.push(&self.blame_entry(holder, ticks));
        });
        left
    }

    /// The line of the record that the lock remembers, if that hold is of this class, still in flight, and
    /// nobody has been told of it.
    fn untold_holder(&self, last: Holder, activity: Activity) -> Option<usize> {
        let record = last.record()?;
        let is_it = record.what() & !stats::BOUNCED == stats::hold(&self.class.stats, activity)
            && record.end().is_none();
        is_it.then(|| stats::holder_word_of(record, record.site(), activity))
    }

    fn blame_entry(&self, holder: usize, ticks: u64) -> Entry {
        Entry {
            what: self.what(Kind::Blame),
            site: self.waiting_word(),
            start: holder as u64,
            end: ticks,
        }
    }

    fn waiting_word(&self) -> usize {
        stats::waiting_word(self.site, self.instance)
    }

    fn what(&self, kind: Kind) -> usize {
        stats::what(&self.class.stats, self.activity, kind)
    }
}
