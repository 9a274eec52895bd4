//! Folding a page: what has ended is added to the figures of its class, in runs of one row.
//!
//! A row is what two records share that differ in their stamps only: class, activity, kind and line.
//! All records of a class on a page are added under one lock of the class, so nobody sees a wait
//! without whom it is blamed on.

use super::figures::{ActivityFigures, ClassStats, Figures, NoRoom};
use super::lines::LineFigures;
use super::log::{Bits, Locked, Record};
use super::owner::PAGE_RECORDS;
use super::pairs::Pair;
use super::record::{
    BOUNCED, Kind, SAMPLED, UNTIMED_END, UNTIMED_START, activity_of, class_of, holder_of, kind_of,
    site_of, stats_of,
};
use super::{record, relock};
use crate::clock::{self, Scale};
use std::num::NonZero;

/// Adds every record of the page that has ended to the figures of its class.
pub(super) fn fold(page: &Locked<'_>) {
    let mut left = page.unconsumed();
    let mut home = page.page.owner.home();
    while left != 0 {
        let first = page.page.record(left.trailing_zeros());
        if first.end().is_none() {
            left &= left - 1;
            continue;
        }
        // SAFETY: the record is not consumed, so what it belongs to is alive.
        let stats = unsafe { stats_of(first.what()) };
        let scale = match kind_of(first.what()) {
            Kind::Duration => Scale::NANOSECONDS,
            _ => clock::scale(),
        };
        let mut figures = if home == FIRST {
            stats.first_stripe()
        } else {
            stats.stripe(home)
        };
        let mut folding = Folding {
            page,
            stats,
            figures: &mut figures,
            scale,
            left,
            consumed: 0,
        };
        let all = folding.class(class_of(first.what()));
        page.consume(folding.consumed);
        left = folding.left;
        if all.is_err() {
            home = FIRST;
        }
    }
}

/// In place of a home: the stripe that has room for everything.
const FIRST: usize = usize::MAX;

/// The records of one class, with a stripe of it locked.
struct Folding<'a> {
    page: &'a Locked<'a>,
    stats: &'a ClassStats,
    figures: &'a mut Figures,
    scale: Scale,
    /// The records of the page that have not been looked at.
    left: u64,
    /// Those that have been added.
    consumed: u64,
}

impl Folding<'_> {
    /// Adds the records of the class at this address.
    fn class(&mut self, class: usize) -> Result<(), NoRoom> {
        let mut of_class = self.left;
        while of_class != 0 {
            let index = of_class.trailing_zeros();
            let bit = 1 << index;
            let record = self.page.page.record(index);
            let what = record.what();
            if class_of(what) != class {
                of_class &= !bit;
            } else if record.end().is_none() {
                of_class &= !bit;
                self.left &= !bit;
            } else {
                let is_usual =
                    matches!(kind_of(what), Kind::Hold | Kind::Duration) && what & SAMPLED == 0;
                let done = if is_usual && self.is_known(what, record.site())? {
                    self.holds(&mut of_class, what, record.site())?
                } else {
                    self.one(index)?;
                    bit
                };
                of_class &= !done;
                self.left &= !done;
                self.consumed |= done;
            }
        }
        Ok(())
    }

    /// Whether the line has a row, or gets one; not where it is `lock_api`'s, which stands for another.
    fn is_known(&mut self, what: usize, line: usize) -> Result<bool, NoRoom> {
        let row = self.figures.of(activity_of(what), self.stats)?;
        let Some(site) = site_of(line) else {
            return Ok(true);
        };
        if row.lines.find(Some(site)).is_some() {
            return Ok(true);
        }
        let is_users = !relock::is_inside_lock_api(site);
        if is_users {
            row.lines.make(site);
        }
        Ok(is_users)
    }

    /// Adds all holds of this row among `of_class`, whose line is known. Returns which were added, and
    /// takes from `of_class` what turns out to be in flight.
    fn holds(&mut self, of_class: &mut u64, what: usize, line: usize) -> Result<u64, NoRoom> {
        let row = self.figures.of(activity_of(what), self.stats)?;
        let mut durations = [NonZero::<u32>::MIN; 64];
        let all = Bits(*of_class).map(|index| (index, self.page.page.record(index)));
        let row_of = (what, line);
        let Shorts {
            count,
            others,
            of_other_rows,
            of_other_classes,
        } = match self.page.page.run_of(*of_class) {
            // Mostly it is all records of the page.
            Some(run) => short_holds(run, row_of, self.scale, &mut durations),
            None => short_holds(all, row_of, self.scale, &mut durations),
        };
        let (mut total, mut longest) = row.hold.add_short(&durations[..count]);
        let mut done = *of_class & !others & !of_other_rows;
        *of_class &= !of_other_classes;
        for index in Bits(others) {
            let record = self.page.page.record(index);
            let Some(end) = record.take_end() else {
                *of_class &= !(1 << index);
                self.left &= !(1 << index);
                continue;
            };
            done |= 1 << index;
            if record.start() != UNTIMED_START {
                let ns = nanoseconds(self.stats, self.scale, record.start(), end);
                row.hold.add(ns, 0);
                total = total.saturating_add(ns);
                longest = longest.max(ns);
            }
        }
        if what & BOUNCED != 0 {
            row.bounces += u64::from(done.count_ones());
        }
        if let Some(figures) = row.lines.find(site_of(line)) {
            figures.add_holds(u64::from(done.count_ones()), total, longest);
        }
        Ok(done)
    }

    /// Adds one record of any kind.
    #[inline(never)]
    fn one(&mut self, index: u32) -> Result<(), NoRoom> {
        let page = self.page.page;
        let record = page.record(index);
        let (what, start) = (record.what(), record.start());
        let activity = activity_of(what);
        let line = match kind_of(what) {
            Kind::Hold => relock::line_of_record(page, index, what, record.site()),
            // These have been told which line it is.
            _ => record.site(),
        };
        self.figures.of(activity, self.stats)?;
        let scale = self.scale;
        // What is not to be undone comes after what may have no room.
        let holder = holder_of(usize::try_from(start).unwrap_or(0));
        let kind = kind_of(what);
        if kind == Kind::Blame
            && let Some((_, activity)) = holder
        {
            self.figures.of(activity, self.stats)?;
        }
        let Some(end) = record.take_end() else {
            return Ok(());
        };
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
                line_figures(row, line).add_holds(1, total, longest);
            }
            Kind::Waited => {
                let ns = nanoseconds(self.stats, scale, start, end);
                row.contended_bounces += u64::from(what & BOUNCED != 0);
                row.blocked().add(ns, 0);
                line_figures(row, line).add_wait(ns);
            }
            Kind::Blame => {
                let ns = scale.nanoseconds(end);
                let Some((holder, activity)) = holder else {
                    row.hand_over = row.hand_over.saturating_add(ns);
                    return Ok(());
                };
                let row = self.figures.of(activity, self.stats)?;
                line_figures(row, record::site(holder)).add_blame(ns);
                self.figures.add_pair(Pair {
                    waiter: site_of(line),
                    holder,
                    waits: 1,
                    total: ns,
                });
            }
            Kind::TryFailed => row.try_failures += 1,
            Kind::TimedOut => row.timeouts += 1,
            Kind::Nested => row.nested += 1,
        }
        Ok(())
    }
}

/// The row of a line, made if need be.
fn line_figures(row: &mut ActivityFigures, line: usize) -> &mut LineFigures {
    let site = site_of(line);
    if row.lines.find(site).is_none()
        && let Some(site) = site
    {
        return row.lines.make(site);
    }
    match row.lines.find(site) {
        Some(figures) => figures,
        None => unreachable!("those without a line always have a row"),
    }
}

/// The time between two stamps; 0, and counted, where the clock ran backwards.
fn nanoseconds(stats: &ClassStats, scale: Scale, start: u64, end: u64) -> u64 {
    let ticks = end.checked_sub(start).unwrap_or_else(|| {
        stats.clock_ran_back();
        0
    });
    scale.nanoseconds(ticks)
}

/// What [`short_holds`] has found; masks have a bit for each record.
struct Shorts {
    /// How many it has taken.
    count: usize,
    /// Those for somebody else to look at: in flight, or not short.
    others: u64,
    of_other_rows: u64,
    /// Those of other rows that are of other classes.
    of_other_classes: u64,
}

/// Takes the short ones among the holds of this row, in nanoseconds, and those that are not timed.
///
/// Apart, and without any call in it, so that all it needs stays in registers: half of what recording
/// costs is here, and in [`Durations::add_short`].
///
/// [`Durations::add_short`]: super::durations::Durations::add_short
#[inline(never)]
fn short_holds<'a>(
    records: impl Iterator<Item = (u32, &'a Record)>,
    (what, line): (usize, usize),
    scale: Scale,
    durations: &mut [NonZero<u32>; 64],
) -> Shorts {
    let (mut others, mut of_other_rows, mut of_other_classes) = (0u64, 0u64, 0u64);
    let mut count = 0;
    for (index, record) in records {
        let its = record.what();
        if record.site() != line || its != what {
            of_other_rows |= 1 << index;
            of_other_classes |= u64::from(class_of(its) != class_of(what)) << index;
            continue;
        }
        let ticks = record.end().unwrap_or(0).wrapping_sub(record.start());
        if let Some(ns) = scale.short_nanoseconds(ticks) {
            record.rewind();
            // SAFETY: a page has no more records than this has room for.
            *unsafe { durations.get_unchecked_mut(count) } = ns;
            count += 1;
        } else if ticks == UNTIMED_TICKS {
            record.rewind();
        } else {
            others |= 1 << index;
        }
    }
    Shorts {
        count,
        others,
        of_other_rows,
        of_other_classes,
    }
}

/// What the stamps of a hold that is not timed are apart, as no others are.
const UNTIMED_TICKS: u64 = UNTIMED_END.wrapping_sub(UNTIMED_START);

const _: () = assert!(PAGE_RECORDS <= 64);
