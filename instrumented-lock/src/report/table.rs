//! The table: for people, in a terminal or a log.
//!
//! The figures are those of Linux' `lock_stat`: contentions with their waiting time, acquisitions
//! with their holding time, each as minimum, average, maximum and total; quantiles on top.

use super::operations;
use super::order;
use super::stacks;
use super::units::{count, time};
use super::who::{self, shorten, shorten_end};
use crate::snapshot::{
    Distribution, InFlightTotals, LockSnapshot, ModeSnapshot, SleepSnapshot, Snapshot,
};
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

/// How a [`table_with`] looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// One line for a lock and mode, with everything in it, instead of 100 columns.
    pub wide: bool,
    /// Escape sequences that make names bold and contention yellow.
    pub colour: bool,
}

/// The columns that the default form fits in.
const WIDTH: usize = 100;

/// The locks of a snapshot as a table of at most 100 columns, busiest first: by the time
/// [waited](crate::ModeSnapshot::waited), then by the time held. This is what `{}` prints.
///
/// A `contended` row counts acquisitions that had to block and shows how long they waited; an
/// `acquired` row counts all and shows how long they were held, as far as they have ended. Rows that end
/// in `now` count what is in flight and show for how long it has been. Below stand the lines that waited most, those that [kept others waiting](crate::CallSite::blame), and
/// at the end what is in flight.
pub fn table(snapshot: &Snapshot) -> String {
    table_with(snapshot, TableOptions::default())
}

/// The [`table`], with options.
pub fn table_with(snapshot: &Snapshot, options: TableOptions) -> String {
    let (mut used, unused): (Vec<_>, Vec<_>) = snapshot
        .locks()
        .iter()
        .partition(|lock| lock.sleep().waits() > 0 || lock.modes().any(|(_, mode)| is_used(mode)));
    used.sort_by_key(|lock| {
        Reverse((
            total(lock, ModeSnapshot::waited),
            total(lock, |mode| mode.hold().sum()),
        ))
    });

    let style = Style {
        colour: options.colour,
    };
    let mut out = title(snapshot, used.len());
    if options.wide {
        wide(&mut out, &used, style);
    } else {
        narrow(&mut out, &used, style);
    }
    operations::operations(&mut out, snapshot);
    who::in_flight(&mut out, snapshot);
    order::findings(&mut out, snapshot);
    notes(&mut out, snapshot, &used, &unused);
    out
}

impl TableOptions {
    /// In colour where standard output is a terminal and the environment variable `NO_COLOR` is
    /// not set.
    pub fn for_stdout() -> Self {
        let asked_not_to = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = std::io::stdout().is_terminal() && !asked_not_to;
        TableOptions {
            colour,
            wide: false,
        }
    }
}

/// Prints the [`table`] to standard output, [in colour](TableOptions::for_stdout) on a terminal.
///
/// # Errors
///
/// What writing to standard output gives: a closed pipe, a full disk.
pub fn print(snapshot: &Snapshot) -> std::io::Result<()> {
    let table = table_with(snapshot, TableOptions::for_stdout());
    std::io::stdout().write_all(table.as_bytes())
}

fn is_used(mode: &ModeSnapshot) -> bool {
    let in_flight = mode.holding().count() + mode.waiting().count();
    mode.acquisitions() + mode.try_failures() + mode.timeouts() + in_flight > 0
}

fn total(lock: &LockSnapshot, of: impl Fn(&ModeSnapshot) -> Duration) -> Duration {
    lock.modes().fold(Duration::ZERO, |sum, (_, mode)| {
        sum.saturating_add(of(mode))
    })
}

fn title(snapshot: &Snapshot, used: usize) -> String {
    let classes = if used == 1 { "class" } else { "classes" };
    let off = if snapshot.is_enabled() {
        ""
    } else {
        "; recording is off"
    };
    let (n, elapsed) = (count(used as u64), time(snapshot.elapsed()));
    format!("{n} lock {classes} used in {elapsed}{off}\n")
}

const NARROW_LABEL: usize = 28;

fn narrow(out: &mut String, locks: &[&LockSnapshot], style: Style) {
    if locks.is_empty() {
        return;
    }
    let columns = ["count", "min", "avg", "max", "total", "p50", "p99", "p999"];
    let header = columns.map(|column| format!("{column:>9}")).concat();
    line(out, &style.bold(&format!("{:NARROW_LABEL$}{header}", "")));
    for lock in locks {
        // A lock that nobody annotated is named by its place.
        let place = match place(lock) {
            place if lock.name().starts_with(&place) => String::new(),
            place => format!(", {place}"),
        };
        let about = format!("{}, {} live{place}", lock.kind(), count(lock.instances()));
        if lock.name().chars().count() + 2 + about.chars().count() <= WIDTH {
            line(out, &format!("{}  {about}", style.bold(lock.name())));
        } else {
            line(out, &style.bold(&shorten(lock.name(), WIDTH)));
            line(out, &format!("  {}", shorten(&about, WIDTH - 2)));
        }
        for (mode, figures) in lock.modes().filter(|(_, mode)| is_used(mode)) {
            let wait = format!("  {mode:<10} contended wait");
            let wait_row = row(&wait, figures.contended(), figures.blocked());
            line(
                out,
                &if figures.contended() > 0 {
                    style.warn(&wait_row)
                } else {
                    wait_row
                },
            );
            let hold = format!("  {:<10} acquired  hold", "");
            line(out, &row(&hold, figures.acquisitions(), figures.hold()));
            now(out, "waiting", figures.waiting());
            now(out, "held", figures.holding());
            before(out, figures.waited_before());
            let now = figures.acquisitions().saturating_sub(figures.releases());
            let counts = [
                (unless_known(figures.holding(), now), "held now"),
                (figures.try_failures(), "try failures"),
                (figures.timeouts(), "timeouts"),
            ];
            rest(out, &counts);
        }
        if lock.nested() > 0 {
            rest(out, &[(lock.nested(), "nested acquisitions")]);
        }
        sleep(out, lock.sleep());
        who::waits_and_blame(out, lock);
        stacks::stacks(out, lock);
    }
}

fn sleep(out: &mut String, sleep: &SleepSnapshot) {
    if sleep.waits() > 0 {
        line(out, &row("  asleep     waits", sleep.waits(), sleep.time()));
        now(out, "asleep", sleep.asleep());
        let now = sleep.waits().saturating_sub(sleep.time().count());
        let counts = [
            (unless_known(sleep.asleep(), now), "asleep now"),
            (sleep.timeouts(), "timeouts"),
        ];
        rest(out, &counts);
    }
}

/// How many are in flight, for how long on average, at most and in all.
fn now(out: &mut String, what: &str, in_flight: &InFlightTotals) {
    if in_flight.count() == 0 {
        return;
    }
    let label = format!("  {:<10} {what} now", "");
    let mean = in_flight.total().as_nanos() / u128::from(in_flight.timed().max(1));
    let mean = Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX));
    let times = [mean, in_flight.longest(), in_flight.total()];
    let [mean, longest, total] = times.map(|of| match in_flight.timed() {
        0 => "-".to_owned(),
        _ => time(of),
    });
    let n = count(in_flight.count());
    line(
        out,
        &format!(
            "{label:<NARROW_LABEL$}{n:>9}{:>9}{mean:>9}{longest:>9}{total:>9}",
            "-"
        ),
    );
}

/// How many are in flight by the difference of two counts, where the snapshot was stored by a version that
/// did not know more.
fn unless_known(in_flight: &InFlightTotals, by_difference: u64) -> u64 {
    if in_flight.count() == 0 {
        by_difference
    } else {
        0
    }
}

/// How much of an interval's waiting lies before it.
fn before(out: &mut String, waited: Duration) {
    if !waited.is_zero() {
        let waited = time(waited);
        line(
            out,
            &format!("  {:<10} of the waiting, {waited} before the interval", ""),
        );
    }
}

fn row(label: &str, n: u64, times: &Distribution) -> String {
    let mut row = format!("{label:<NARROW_LABEL$}{:>9}", count(n));
    for cell in cells(times) {
        let _ = write!(row, "{cell:>9}");
    }
    row
}

/// Minimum, average, maximum, total and three quantiles; a dash where nothing was recorded.
fn cells(times: &Distribution) -> [String; 7] {
    let cell = |value: Option<Duration>| value.map_or_else(|| "-".to_owned(), time);
    let sum = (times.count() > 0).then(|| times.sum());
    [
        cell(times.min()),
        cell(times.mean()),
        cell(times.max()),
        cell(sum),
        cell(times.quantile(0.5)),
        cell(times.quantile(0.99)),
        cell(times.quantile(0.999)),
    ]
}

/// The counts that are usually zero.
fn rest(out: &mut String, counts: &[(u64, &str)]) {
    let said: Vec<_> = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", count(*n)))
        .collect();
    if !said.is_empty() {
        line(out, &format!("  {:<10} {}", "", said.join(", ")));
    }
}

fn wide(out: &mut String, locks: &[&LockSnapshot], style: Style) {
    if locks.is_empty() {
        return;
    }
    let names = locks
        .iter()
        .map(|lock| lock.name().chars().count())
        .max()
        .unwrap_or(0);
    let times = ["min", "avg", "max", "total", "p50", "p99", "p999"];
    let mut header = format!("{:<names$} {:<10} {:>9}", "lock", "mode", "contended");
    for column in times.map(|column| format!("wait-{column}")) {
        let _ = write!(header, " {column:>10}");
    }
    let _ = write!(header, " {:>12}", "acquisitions");
    for column in times.map(|column| format!("hold-{column}")) {
        let _ = write!(header, " {column:>10}");
    }
    let _ = write!(
        header,
        " {:>11} {:>8} {:>12} {:>8}  declared",
        "waiting-now", "held-now", "try-failures", "timeouts"
    );
    line(out, &style.bold(&header));
    let none = Distribution::default();
    let now = |begun: u64, ended: u64| begun.saturating_sub(ended);
    for lock in locks {
        let mut print =
            |mode: &str, wait: &Distribution, n, hold: &Distribution, rest: [u64; 4]| {
                let mut row = format!(
                    "{:<names$} {mode:<10} {:>9}",
                    lock.name(),
                    count(wait.count())
                );
                for cell in cells(wait) {
                    let _ = write!(row, " {cell:>10}");
                }
                let _ = write!(row, " {:>12}", count(n));
                for cell in cells(hold) {
                    let _ = write!(row, " {cell:>10}");
                }
                let [waiting, held, try_failures, timeouts] = rest.map(count);
                let _ = write!(
                    row,
                    " {waiting:>11} {held:>8} {try_failures:>12} {timeouts:>8}  {}",
                    place(lock)
                );
                let contended = wait.count() > 0;
                line(out, &if contended { style.warn(&row) } else { row });
            };
        for (mode, m) in lock.modes().filter(|(_, mode)| is_used(mode)) {
            let rest = [
                m.waiting().count(),
                m.holding().count().max(now(m.acquisitions(), m.releases())),
                m.try_failures(),
                m.timeouts(),
            ];
            print(
                &mode.to_string(),
                m.blocked(),
                m.acquisitions(),
                m.hold(),
                rest,
            );
        }
        let sleep = lock.sleep();
        if sleep.waits() > 0 {
            let asleep = now(sleep.waits(), sleep.time().count());
            let asleep = sleep.asleep().count().max(asleep);
            let rest = [0, asleep, 0, sleep.timeouts()];
            print("asleep", &none, sleep.waits(), sleep.time(), rest);
        }
    }
}

fn notes(out: &mut String, snapshot: &Snapshot, used: &[&LockSnapshot], unused: &[&LockSnapshot]) {
    for lock in used {
        let name = lock.name();
        let notes = [
            (lock.unmatched(), "holds began while recording was off"),
            (
                lock.clock_anomalies(),
                "durations were negative, counted as 0",
            ),
            (lock.unblamed(), "waits could not be blamed on anybody"),
        ];
        for (n, what) in notes.into_iter().filter(|(n, _)| *n > 0) {
            wrapped(out, &format!("{name}: {} {what}", count(n)));
        }
    }
    if !unused.is_empty() {
        let names: Vec<_> = unused.iter().map(|lock| lock.name()).collect();
        let n = count(unused.len() as u64);
        line(
            out,
            &shorten_end(&format!("not used: {n}: {}", names.join(", ")), WIDTH),
        );
    }
    let dropped = snapshot.stacks_dropped();
    if dropped > 0 {
        let n = count(dropped);
        wrapped(
            out,
            &format!("note: {n} stacks were not kept: as many others are as there is room for"),
        );
    }
    for diagnostic in snapshot.diagnostics() {
        wrapped(out, &format!("note: {diagnostic}"));
    }
}

/// A sentence in lines that fit, those after the first indented. A word that is longer than a line
/// loses its start.
fn wrapped(out: &mut String, text: &str) {
    let mut current = String::new();
    for word in text.split_whitespace() {
        let length = current.chars().count() + 1 + word.chars().count();
        if !current.trim().is_empty() && length > WIDTH {
            line(out, &current);
            current.clear();
            current.push_str("    ");
        } else if !current.is_empty() {
            current.push(' ');
        }
        current.push_str(&shorten(word, WIDTH - 4));
    }
    line(out, &current);
}

/// `file:line`, which terminals and editors make a link of.
fn place(lock: &LockSnapshot) -> String {
    let at = lock.declared_at();
    if at.is_place() {
        format!("{}:{}", at.file(), at.line())
    } else {
        at.to_string()
    }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

#[derive(Clone, Copy)]
struct Style {
    colour: bool,
}

impl Style {
    fn bold(self, text: &str) -> String {
        self.escape("1", text)
    }

    fn warn(self, text: &str) -> String {
        self.escape("33", text)
    }

    fn escape(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
