//! Folding a page: what has ended is added to the figures of its class.
//!
//! First the records are sorted into rows, under no lock but the page's: a row is all holds that differ in
//! their stamps only. Then each class is locked once, and all its records are added, row by row, so nobody
//! sees a wait without whom it is blamed on.

use super::apportion::{self, Ended, Holds};
use super::events;
use super::figures::{ClassStats, Figures, NoRoom};
use super::instances::{Instance, WaitedFor};
use super::log::{Bits, Locked, Page, Record, below};
use super::owner::PAGE_RECORDS;
use super::pairs::Pair;
use super::processor;
use super::record::{
    BOUNCED, Kind, OfHolder, SAMPLED, UNTIMED_END, UNTIMED_START, activity_of, class_of, holder_of,
    kind_of, site_of, stats_of, waiting_of,
};
use super::scopes;
use crate::clock::{self, Scale};

/// Adds every record of the page that has ended to the figures of its class.
pub(super) fn fold(page: &Locked<'_>) {
    // One for all: the parts of a wait are to come to the whole.
    let scale = clock::scale();
    let mut sorted = Sorted::new(scale);
    let mut left = sorted.sort(page.page, page.unconsumed());
    if scopes::are_used() && left != 0 {
        sorted.apportion(page, left);
    }
    if events::are_taken() && left != 0 {
        sorted.show(page, left);
    }
    // By processor, so that the stripe's cache lines mostly stay with it.
    let mut home = processor::current().unwrap_or_else(|| page.page.owner.home());
    while left != 0 {
        let what = page.page.record(left.trailing_zeros()).what();
        // SAFETY: the record is not consumed, so what it belongs to is alive.
        let stats = unsafe { stats_of(what) };
        let mut figures = if home == FIRST {
            stats.first_stripe()
        } else {
            stats.stripe(home)
        };
        let mut folding = Folding {
            page: page.page,
            stats,
            figures: &mut figures,
            scale,
            waited_for: (Instance::UNKNOWN, WaitedFor::default()),
            left,
        };
        let all = folding.class(class_of(what), &sorted);
        folding.add_waited_for();
        let added = left & !folding.left;
        page.consume(added);
        left &= !added;
        if all.is_err() {
            home = FIRST;
        }
    }
}

/// In place of a home: the stripe that has room for everything.
const FIRST: usize = usize::MAX;

/// All holds of a page that differ in their stamps only. Masks have a bit for each record.
#[derive(Clone, Copy)]
struct Row {
    what: usize,
    line: usize,
    /// Those that are timed, and short.
    timed: u64,
    /// Those that are not timed.
    untimed: u64,
}

impl Row {
    #[inline]
    fn is(&self, what: usize, line: usize) -> bool {
        self.what == what && self.line == line
    }
}

/// Places where a row may be found at once.
const RECENT: usize = 64;

/// In one of these places: no row has been looked for here.
const NO_ROW: u8 = u8::MAX;

/// Rows that a page is sorted into; if there are more, what is of the others is added one by one.
const ROWS: usize = 24;

/// Records of one row behind each other. Where there are often fewer, they are sorted one by one.
const RUN: u32 = 8;
const OFTEN: usize = 4;

/// What has ended of a page.
struct Sorted {
    rows: [Row; ROWS],
    count: usize,
    /// By a hash of what a row is: the row that was last looked for there, or [`NO_ROW`].
    recent: [u8; RECENT],
    /// What is in none of the rows.
    others: u64,
    /// How long each hold of the rows has lasted that is timed; nanoseconds.
    durations: [u32; PAGE_RECORDS],
    /// Of all that is not in nanoseconds.
    scale: Scale,
}

impl Sorted {
    fn new(scale: Scale) -> Self {
        let row = Row {
            what: 0,
            line: 0,
            timed: 0,
            untimed: 0,
        };
        Sorted {
            rows: [row; ROWS],
            count: 0,
            recent: [NO_ROW; RECENT],
            others: 0,
            durations: [0; PAGE_RECORDS],
            scale,
        }
    }

    /// Sorts those of `records` that have ended, and returns them.
    fn sort(&mut self, page: &Page, records: u64) -> u64 {
        let (mut left, mut ended) = (records, 0);
        let mut short_runs = 0;
        while left != 0 && short_runs < OFTEN {
            let first = left.trailing_zeros();
            let run = page.run(first, (left >> first).trailing_ones());
            let mut taken = self.take_run(first, run);
            short_runs += usize::from(taken < below(RUN) << first);
            if taken == 0 {
                taken = 1 << first;
                if run[0].end().is_some() {
                    self.others |= taken;
                    ended |= taken;
                }
            } else {
                ended |= taken;
            }
            left &= !taken;
        }
        if left != 0 {
            ended |= self.sort_each(page, left);
        }
        ended
    }

    /// Adds what has `ended` to what scopes have had.
    #[cold]
    fn apportion(&self, page: &Locked<'_>, ended: u64) {
        apportion::apportion(page, &self.ended(ended));
    }

    /// Gives a timeline what has `ended`.
    #[cold]
    fn show(&self, page: &Locked<'_>, ended: u64) {
        events::take(page.page, &self.ended(ended), self.scale);
    }

    fn ended(&self, all: u64) -> Ended<'_, impl Iterator<Item = Holds> + Clone> {
        let holds = self.rows[..self.count].iter().map(|row| Holds {
            what: row.what,
            timed: row.timed,
            untimed: row.untimed,
        });
        Ended {
            all,
            holds,
            durations: &self.durations,
            others: self.others,
        }
    }

    /// Takes the holds at the start of `run` that are of one row, and returns them.
    fn take_run(&mut self, first: u32, run: &[Record]) -> u64 {
        let (what, line) = (run[0].what(), run[0].site());
        let Some((row, scale)) = self.row(what, line) else {
            return 0;
        };
        let durations = &mut self.durations[first as usize..];
        let timed = below(short_holds(run, (what, line), scale, durations)) << first;
        self.rows[row].timed |= timed;
        // A duration is always timed, if not always short.
        if timed != 0 || kind_of(what) == Kind::Duration {
            return timed;
        }
        let untimed = below(untimed_holds(run, (what, line))) << first;
        self.rows[row].untimed |= untimed;
        untimed
    }

    /// Sorts one record after the other. What has little to predict for the processor is quicker like this.
    #[inline(never)]
    fn sort_each(&mut self, page: &Page, records: u64) -> u64 {
        let mut ended = 0;
        for index in Bits(records) {
            let record = page.record(index);
            let Some(end) = record.end() else {
                continue;
            };
            let bit = 1 << index;
            ended |= bit;
            let what = record.what();
            let Some((row, scale)) = self.row(what, record.site()) else {
                self.others |= bit;
                continue;
            };
            if let Some(ns) = scale.short_nanoseconds(end.wrapping_sub(record.start())) {
                self.durations[index as usize] = ns;
                self.rows[row].timed |= bit;
            } else if end == UNTIMED_END && kind_of(what) == Kind::Hold {
                self.rows[row].untimed |= bit;
            } else {
                self.others |= bit;
            }
        }
        ended
    }

    /// The row of such holds and how long their ticks are, if they have a row or there is room for one more.
    #[inline]
    fn row(&mut self, what: usize, line: usize) -> Option<(usize, Scale)> {
        let kind = kind_of(what);
        if !matches!(kind, Kind::Hold | Kind::Duration) {
            return None;
        }
        let scale = scale_of(kind, self.scale);
        let recent = hash(what, line);
        let row = self.recent[recent];
        if let Some(known) = self.rows.get(usize::from(row))
            && known.is(what, line)
        {
            return Some((usize::from(row), scale));
        }
        // Every row has been looked for where it belongs, so here it is new.
        let row = if row == NO_ROW {
            self.new_row(what, line)?
        } else {
            self.find_row(what, line)?
        };
        self.recent[recent] = u8::try_from(row).unwrap_or(NO_ROW);
        Some((row, scale))
    }

    #[inline(never)]
    fn find_row(&mut self, what: usize, line: usize) -> Option<usize> {
        let known = self.rows[..self.count].iter();
        match known.into_iter().position(|row| row.is(what, line)) {
            Some(row) => Some(row),
            None => self.new_row(what, line),
        }
    }

    fn new_row(&mut self, what: usize, line: usize) -> Option<usize> {
        // Of these each may stand for another number of holds.
        if what & SAMPLED != 0 || self.count == ROWS {
            return None;
        }
        let row = self.count;
        self.count += 1;
        (self.rows[row].what, self.rows[row].line) = (what, line);
        Some(row)
    }
}

/// A place in [`Sorted::recent`]. Multiplied by the odd number next to 2^64 / φ, whose upper bits depend on all.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower half of the number is as odd, where that is all there is room for"
)]
fn hash(what: usize, line: usize) -> usize {
    let mixed = (what ^ line.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize);
    mixed >> (usize::BITS - RECENT.ilog2())
}

/// Takes the holds at the start of `run` that are of this row, have ended, are timed and were short.
/// Returns how many; the durations are in nanoseconds.
///
/// Apart, and without any call in it, so that all it needs stays in registers: half of what recording
/// costs is here, and in [`Durations::add_short`].
///
/// [`Durations::add_short`]: super::durations::Durations::add_short
#[inline(never)]
fn short_holds(
    run: &[Record],
    (what, line): (usize, usize),
    scale: Scale,
    durations: &mut [u32],
) -> u32 {
    let short = |record: &Record| {
        if record.site() != line || record.what() != what {
            return None;
        }
        // In flight the end is 0; the difference is not short then.
        let ticks = record.end().unwrap_or(0).wrapping_sub(record.start());
        scale.short_nanoseconds(ticks)
    };
    let mut taken = 0;
    // Four at a time: less to do for the loop itself.
    let (fours, last) = run.as_chunks::<4>();
    let (places, last_places) = durations.split_at_mut(run.len() - last.len());
    for (records, places) in fours.iter().zip(places.as_chunks_mut::<4>().0) {
        for (record, place) in records.iter().zip(places) {
            let Some(ns) = short(record) else {
                return taken;
            };
            *place = ns;
            taken += 1;
        }
    }
    for (record, place) in last.iter().zip(last_places) {
        let Some(ns) = short(record) else {
            return taken;
        };
        *place = ns;
        taken += 1;
    }
    taken
}

/// How many at the start of `run` are holds of this row that have ended and are not timed.
#[inline(never)]
fn untimed_holds(run: &[Record], (what, line): (usize, usize)) -> u32 {
    let is_one = |record: &Record| {
        record.end() == Some(UNTIMED_END) && record.site() == line && record.what() == what
    };
    let mut taken = 0;
    let (fours, last) = run.as_chunks::<4>();
    for records in fours {
        for record in records {
            if !is_one(record) {
                return taken;
            }
            taken += 1;
        }
    }
    for record in last {
        if !is_one(record) {
            return taken;
        }
        taken += 1;
    }
    taken
}

/// The records of one class, with a stripe of it locked.
struct Folding<'a> {
    page: &'a Page,
    stats: &'a ClassStats,
    figures: &'a mut Figures,
    /// Of all that is not in nanoseconds.
    scale: Scale,
    /// What has been waited for one lock, and is not added to its figures yet.
    waited_for: (Instance, WaitedFor),
    /// The records of the page that have ended and are not added.
    left: u64,
}

impl Folding<'_> {
    /// Adds the records of the class at this address.
    fn class(&mut self, class: usize, sorted: &Sorted) -> Result<(), NoRoom> {
        for row in &sorted.rows[..sorted.count] {
            if class_of(row.what) == class && (row.timed | row.untimed) & self.left != 0 {
                self.holds(row, &sorted.durations)?;
            }
        }
        for index in Bits(sorted.others & self.left) {
            if class_of(self.page.record(index).what()) == class {
                self.one(index)?;
            }
        }
        Ok(())
    }

    /// Adds all holds of a row.
    fn holds(&mut self, row: &Row, durations: &[u32; PAGE_RECORDS]) -> Result<(), NoRoom> {
        let figures = self.figures.of(activity_of(row.what), self.stats)?;
        let records = (row.timed | row.untimed) & self.left;
        let line = site_of(row.line);
        let timed = row.timed & records;
        let (total, longest) = if let Some(durations) = run_of(durations, timed) {
            figures.hold.add_short(durations)
        } else {
            let (gathered, count) = gathered(durations, timed);
            figures.hold.add_short(&gathered[..count])
        };
        let count = u64::from(records.count_ones());
        if row.what & BOUNCED != 0 {
            figures.bounces += count;
        }
        figures.lines.of(line).add_holds(count, total, longest);
        self.left &= !records;
        Ok(())
    }

    /// What has been waited for a lock since this was last added to its figures.
    fn waited_for(&mut self, instance: Instance) -> &mut WaitedFor {
        if self.waited_for.0 != instance {
            self.add_waited_for();
            self.waited_for.0 = instance;
        }
        &mut self.waited_for.1
    }

    /// Adds what has been waited for a lock to its figures.
    fn add_waited_for(&mut self) {
        let (instance, waited_for) = self.waited_for;
        if !waited_for.is_nothing() {
            self.stats.instances().add(instance, &waited_for);
            self.waited_for.1 = WaitedFor::default();
        }
    }

    /// Adds one record of any kind.
    #[inline(never)]
    fn one(&mut self, index: u32) -> Result<(), NoRoom> {
        let page = self.page;
        let record = page.record(index);
        let (what, start) = (record.what(), record.start());
        let activity = activity_of(what);
        let line = record.site();
        self.figures.of(activity, self.stats)?;
        let kind = kind_of(what);
        let scale = scale_of(kind, self.scale);
        // What is not to be undone comes after what may have no room.
        let holder = holder_of(usize::try_from(start).unwrap_or(0));
        if kind == Kind::Blame
            && let Some(holder) = &holder
        {
            self.figures.of(holder.activity, self.stats)?;
        }
        let Some(end) = record.end() else {
            return Ok(());
        };
        self.left &= !(1 << index);
        let row = self.figures.of(activity, self.stats)?;
        match kind {
            Kind::Hold | Kind::Duration => {
                let shift = if what & SAMPLED == 0 {
                    0
                } else {
                    page.shift(index)
                };
                row.bounces += u64::from(what & BOUNCED != 0);
                let (mut total, mut longest) = (0, 0);
                if start != UNTIMED_START {
                    longest = nanoseconds(self.stats, scale, start, end);
                    total = longest.saturating_mul(1 << shift);
                    row.hold.add(longest, u32::from(shift));
                }
                row.lines.of(site_of(line)).add_holds(1, total, longest);
            }
            Kind::Waited => {
                let ns = nanoseconds(self.stats, scale, start, end);
                let (line, instance) = waiting_of(line);
                row.contended_bounces += u64::from(what & BOUNCED != 0);
                row.blocked().add(ns, 0);
                row.lines.of(line).add_wait(ns);
                self.waited_for(instance).add_wait(ns);
            }
            Kind::Blame => {
                let ns = scale.nanoseconds(end);
                let (waiter, instance) = waiting_of(line);
                let Some(OfHolder {
                    line: holder,
                    activity,
                    ..
                }) = holder
                else {
                    row.hand_over = row.hand_over.saturating_add(ns);
                    return Ok(());
                };
                let row = self.figures.of(activity, self.stats)?;
                row.lines.of(holder).add_blame(ns);
                self.waited_for(instance).add_blame(ns);
                self.figures.add_pair(Pair {
                    waiter,
                    holder,
                    waits: 1,
                    total: ns,
                });
            }
            Kind::TryFailed => row.try_failures += 1,
            Kind::TimedOut => {
                row.timeouts += 1;
                if start != UNTIMED_START {
                    let ns = nanoseconds(self.stats, scale, start, end);
                    row.gave_up_after = row.gave_up_after.saturating_add(ns);
                }
            }
            Kind::Nested => row.nested += 1,
        }
        Ok(())
    }
}

/// How long the ticks of a record are.
#[inline]
fn scale_of(kind: Kind, scale: Scale) -> Scale {
    match kind {
        Kind::Duration => Scale::NANOSECONDS,
        _ => scale,
    }
}

/// The elements whose bits are set, if they are one behind the other.
fn run_of(elements: &[u32; PAGE_RECORDS], mask: u64) -> Option<&[u32]> {
    let first = mask.trailing_zeros();
    let count = mask.unbounded_shr(first).trailing_ones();
    let is_run = mask.unbounded_shr(first + count) == 0;
    let run = elements.get(first as usize..(first + count) as usize);
    is_run.then(|| run.unwrap_or(&[]))
}

/// The elements whose bits are set, moved to the front of a copy, and how many there are.
#[inline(never)]
fn gathered(elements: &[u32; PAGE_RECORDS], mask: u64) -> ([u32; PAGE_RECORDS], usize) {
    let mut gathered = [0; PAGE_RECORDS];
    for (place, index) in gathered.iter_mut().zip(Bits(mask)) {
        *place = elements[index as usize];
    }
    (gathered, mask.count_ones() as usize)
}

/// The time between two stamps; 0, and counted, where the clock ran backwards.
fn nanoseconds(stats: &ClassStats, scale: Scale, start: u64, end: u64) -> u64 {
    let ticks = end.checked_sub(start).unwrap_or_else(|| {
        stats.clock_ran_back();
        0
    });
    scale.nanoseconds(ticks)
}
