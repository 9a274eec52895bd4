//! The rows of the list: a line for each lock and mode in use, and what it is sorted by.

use super::text::{self, Head};
use instrumented_lock::{LockKind, LockSnapshot, ModeSnapshot, Snapshot, report};
use std::cmp::Ordering;

/// What a row says, from what is read first to what a narrow terminal leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Lock,
    Mode,
    Acquired,
    Contended,
    Waited,
    Held,
    Waiting,
    Holding,
    WaitP99,
    HoldP99,
    Longest,
    WaitMax,
    HoldMax,
    GaveUp,
}

impl Column {
    pub(super) const ALL: [Column; 14] = [
        Column::Lock,
        Column::Mode,
        Column::Acquired,
        Column::Contended,
        Column::Waited,
        Column::Held,
        Column::Waiting,
        Column::Holding,
        Column::WaitP99,
        Column::HoldP99,
        Column::Longest,
        Column::WaitMax,
        Column::HoldMax,
        Column::GaveUp,
    ];

    pub(super) fn head(self) -> Head {
        let (name, width) = match self {
            Column::Lock => ("lock", 0),
            Column::Mode => ("mode", 10),
            Column::Acquired => ("acq/s", 9),
            Column::Contended => ("cont.", 5),
            Column::Waited => ("waited/s", 8),
            Column::Held => ("held/s", 8),
            Column::Waiting => ("waiting", 7),
            Column::Holding => ("holding", 7),
            Column::WaitP99 => ("wait p99", 8),
            Column::HoldP99 => ("hold p99", 8),
            Column::Longest => ("longest", 8),
            Column::WaitMax => ("wait max", 8),
            Column::HoldMax => ("hold max", 8),
            Column::GaveUp => ("gave up/s", 9),
        };
        let is_text = matches!(self, Column::Lock | Column::Mode);
        Head {
            name,
            width,
            is_text,
        }
    }

    /// What it means, for the help.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Column::Lock => "the lock class",
            Column::Mode => "how it is acquired; asleep: waits of a condition variable",
            Column::Acquired => "acquisitions a second",
            Column::Contended => "the share of acquisitions that had to wait",
            Column::Waited => "time waited in each second, by all threads",
            Column::Held => "time held in each second, over holds that have ended",
            Column::Waiting => "who waits now",
            Column::Holding => "who holds the lock now",
            Column::WaitP99 => "of those that waited, 99 % waited no longer",
            Column::HoldP99 => "99 % of the holds lasted no longer",
            Column::Longest => "the longest wait that goes on",
            Column::WaitMax => "the longest wait that has ended",
            Column::HoldMax => "the longest hold that has ended",
            Column::GaveUp => "attempts a second that failed or timed out",
        }
    }
}

/// What a cell is sorted by, and what is shown.
#[derive(Clone, Debug)]
struct Cell {
    by: f64,
    shown: String,
}

/// A lock and mode.
pub(super) struct Row<'a> {
    pub(super) lock: &'a LockSnapshot,
    cells: [Cell; Column::ALL.len()],
}

impl<'a> Row<'a> {
    /// What stays the same from one snapshot to the next.
    pub(super) fn is(&self, key: &Key) -> bool {
        self.lock.name() == key.lock
            && self.lock.declared_at() == &key.declared_at
            && self.mode() == key.mode
    }

    pub(super) fn key(&self) -> Key {
        Key {
            lock: self.lock.name().to_owned(),
            declared_at: self.lock.declared_at().clone(),
            mode: self.mode().to_owned(),
        }
    }

    fn mode(&self) -> &str {
        &self.cells[Column::Mode as usize].shown
    }

    /// Whether somebody waits now.
    pub(super) fn is_waited_for(&self) -> bool {
        self.cells[Column::Waiting as usize].by > 0.0
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = &str> {
        self.cells.iter().map(|cell| &*cell.shown)
    }

    fn of_mode(lock: &'a LockSnapshot, name: &str, mode: &ModeSnapshot, seconds: f64) -> Self {
        let count = |n: u64| Cell {
            by: n as f64,
            shown: report::count(n),
        };
        let rate = |n: u64| Cell {
            by: n as f64,
            shown: text::rate(n as f64 / seconds),
        };
        let time = |time: Option<std::time::Duration>| Cell {
            by: time.map_or(-1.0, |time| time.as_secs_f64()),
            shown: text::maybe(time),
        };
        let share = |time: std::time::Duration| Cell {
            by: time.as_secs_f64(),
            shown: text::share(time, seconds),
        };
        let (blocked, hold) = (mode.blocked(), mode.hold());
        let (contended, acquired) = (mode.contended() as f64, mode.acquisitions() as f64);
        let longest = mode.waiting().longest();
        let cells = Column::ALL.map(|column| match column {
            Column::Lock => label(lock.name()),
            Column::Mode => label(name),
            Column::Acquired => rate(mode.acquisitions()),
            Column::Contended => Cell {
                by: if acquired > 0.0 {
                    contended / acquired
                } else {
                    -1.0
                },
                shown: if acquired > 0.0 {
                    text::percent((contended / acquired).min(1.0))
                } else {
                    "-".to_owned()
                },
            },
            Column::Waited => share(mode.waited()),
            Column::Held => share(hold.sum()),
            Column::Waiting => count(mode.waiting().count()),
            Column::Holding => count(mode.holding().count()),
            Column::WaitP99 => time(blocked.quantile(0.99)),
            Column::HoldP99 => time(hold.quantile(0.99)),
            Column::Longest => time((!longest.is_zero()).then_some(longest)),
            Column::WaitMax => time(blocked.max()),
            Column::HoldMax => time(hold.max()),
            Column::GaveUp => rate(mode.try_failures() + mode.timeouts()),
        });
        Row { lock, cells }
    }

    /// What sleeps in a condition variable neither waits for a lock nor holds one.
    fn of_sleep(lock: &'a LockSnapshot, seconds: f64) -> Self {
        let waits = lock.sleep().waits() as f64;
        let cells = Column::ALL.map(|column| match column {
            Column::Lock => label(lock.name()),
            Column::Mode => label("asleep"),
            Column::Acquired => Cell {
                by: waits,
                shown: text::rate(waits / seconds),
            },
            _ => Cell {
                by: -1.0,
                shown: "-".to_owned(),
            },
        });
        Row { lock, cells }
    }
}

fn label(text: &str) -> Cell {
    Cell {
        by: 0.0,
        shown: text.to_owned(),
    }
}

/// Which row is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) lock: String,
    pub(super) declared_at: instrumented_lock::Location,
    pub(super) mode: String,
}

/// What the list shows.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) by: Column,
    /// The smallest first, of text the last.
    pub(super) is_reversed: bool,
    /// Part of a lock's name, of its kind or of a mode, whatever the case; all where it is empty.
    pub(super) filter: String,
}

/// The rows for all that has been used in the whole run, so that none comes and goes, with figures of the run
/// or of an interval that ends where it does.
pub(super) fn rows<'a>(whole: &Snapshot, recent: &'a Snapshot, choice: &Choice) -> Vec<Row<'a>> {
    let seconds = recent.elapsed().as_secs_f64().max(1e-9);
    let filter = choice.filter.to_lowercase();
    let is_asked_for = |lock: &LockSnapshot, mode: &str| {
        let kind: LockKind = lock.kind();
        let text = format!("{} {kind} {mode}", lock.name());
        text.to_lowercase().contains(&filter)
    };
    let mut rows = Vec::new();
    // An interval has the locks of the snapshot at its end, in their order.
    for (ever, lock) in whole.locks().iter().zip(recent.locks()) {
        for (mode, _) in ever.modes().filter(|(_, mode)| is_used(mode)) {
            let name = mode.to_string();
            if is_asked_for(lock, &name) {
                rows.push(Row::of_mode(lock, &name, lock.mode(mode), seconds));
            }
        }
        if ever.sleep().waits() + ever.sleep().asleep().count() > 0 && is_asked_for(lock, "asleep")
        {
            rows.push(Row::of_sleep(lock, seconds));
        }
    }
    rows.sort_by(|a, b| {
        let order = order(a, b, choice.by);
        let order = if choice.is_reversed {
            order.reverse()
        } else {
            order
        };
        order.then_with(|| a.cells().take(2).cmp(b.cells().take(2)))
    });
    rows
}

/// Text from A to Z, figures from the largest.
fn order(a: &Row<'_>, b: &Row<'_>, by: Column) -> Ordering {
    let (a, b) = (&a.cells[by as usize], &b.cells[by as usize]);
    if by.head().is_text {
        a.shown.cmp(&b.shown)
    } else {
        b.by.total_cmp(&a.by)
    }
}

fn is_used(mode: &ModeSnapshot) -> bool {
    let in_flight = mode.holding().count() + mode.waiting().count();
    mode.acquisitions() + mode.try_failures() + mode.timeouts() + in_flight > 0
}
