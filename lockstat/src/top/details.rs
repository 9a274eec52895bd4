//! Screens of text: a lock, what is in flight, the help.

use super::look::Look;
use super::rows::Column;
use super::state::State;
use super::text::{self, Head, line};
use instrumented_lock::{
    CallSite, InFlight, InFlightState, LockSnapshot, ModeSnapshot, Snapshot, report,
};
use ratatui::text::Line;
use std::cmp::Reverse;
use std::time::Duration;

/// What is drawn of what is in flight: more than anybody reads.
const IN_FLIGHT: usize = 500;

/// A table among lines of text.
struct Table<'a> {
    heads: &'a [Head],
    width: usize,
    look: Look,
}

impl Table<'_> {
    fn lines(&self, rows: impl IntoIterator<Item = Vec<String>>) -> Vec<Line<'static>> {
        let heads = self.heads.iter().map(|head| head.name);
        let head = line(self.heads, heads, self.width);
        let mut lines = vec![Line::styled(head, self.look.head())];
        for row in rows {
            let row = row.iter().map(|cell| &**cell);
            lines.push(Line::raw(line(self.heads, row, self.width)));
        }
        lines
    }
}

const fn head(name: &'static str, width: usize, is_text: bool) -> Head {
    Head {
        name,
        width,
        is_text,
    }
}

/// The chosen lock.
pub(super) fn of_lock(state: &State, width: usize, look: Look) -> Vec<Line<'static>> {
    let Some(class) = state.lock() else {
        return vec![Line::raw("this lock is not there any more; Esc goes back")];
    };
    let seconds = state.recent().elapsed().as_secs_f64().max(1e-9);
    let mut lines = vec![Line::styled(text::tail(class.name(), width), look.head())];
    let about = format!(
        "{}, {} live, {}",
        class.kind(),
        report::count(class.instances()),
        class.declared_at()
    );
    lines.push(Line::raw(text::tail(&about, width)));
    let table = |heads: &[Head], rows: Vec<Vec<String>>| Table { heads, width, look }.lines(rows);
    lines.push(Line::default());
    lines.extend(table(
        &[
            head("mode", 0, true),
            head("acq/s", 9, false),
            head("cont.", 5, false),
            head("waited/s", 8, false),
            head("held/s", 8, false),
            head("wait p50", 8, false),
            head("wait p99", 8, false),
            head("wait max", 8, false),
            head("hold p50", 8, false),
            head("hold p99", 8, false),
            head("hold max", 8, false),
            head("gave up/s", 9, false),
        ],
        modes(class, seconds),
    ));
    let sites = class.call_sites();
    lines.extend(heading(
        "lines of the program, those that cost most first",
        look,
    ));
    lines.extend(table(
        &[
            head("line", 0, true),
            head("mode", 10, true),
            head("acq/s", 9, false),
            head("waited/s", 8, false),
            head("blame/s", 8, false),
            head("held/s", 8, false),
            head("wait max", 8, false),
            head("hold max", 8, false),
        ],
        of_sites(sites, seconds),
    ));
    if !class.blame().is_empty() {
        lines.extend(heading("who waited, and who held the lock meanwhile", look));
        let rows = class.blame().iter().map(|pair| {
            vec![
                pair.waiter().to_string(),
                pair.holder().to_string(),
                text::share(pair.total(), seconds),
                text::rate(pair.waits() as f64 / seconds),
            ]
        });
        // Both lines have as much room.
        let both = width.saturating_sub(8 + 9 + 3);
        let holder = both - (both / 2).max(text::FIRST).min(both);
        lines.extend(table(
            &[
                head("waiter", 0, true),
                head("holder", holder, true),
                head("waited/s", 8, false),
                head("waits/s", 9, false),
            ],
            rows.collect(),
        ));
    }
    let in_flight = state.recent().in_flight().iter();
    let now: Vec<_> = in_flight.filter(|one| one.lock() == class.name()).collect();
    lines.extend(heading("in flight", look));
    lines.extend(in_flight_table(&now, false, width, look));
    lines
}

fn heading(text: &'static str, look: Look) -> [Line<'static>; 2] {
    [Line::default(), Line::styled(text, look.head())]
}

fn modes(lock: &LockSnapshot, seconds: f64) -> Vec<Vec<String>> {
    let row = |(name, mode): (_, &ModeSnapshot)| {
        let share = mode.contended() as f64 / mode.acquisitions().max(1) as f64;
        let (blocked, hold) = (mode.blocked(), mode.hold());
        let mut row = vec![
            format!("{name}"),
            text::rate(mode.acquisitions() as f64 / seconds),
            text::percent(share.min(1.0)),
            text::share(mode.waited(), seconds),
            text::share(hold.sum(), seconds),
        ];
        for distribution in [blocked, hold] {
            for q in [0.5, 0.99] {
                row.push(text::maybe(distribution.quantile(q)));
            }
            row.push(text::maybe(distribution.max()));
        }
        let gave_up = mode.try_failures() + mode.timeouts();
        row.push(text::rate(gave_up as f64 / seconds));
        row
    };
    let is_used = |(_, mode): &(_, &ModeSnapshot)| {
        mode.acquisitions() + mode.try_failures() + mode.timeouts() > 0
            || mode.holding().count() + mode.waiting().count() > 0
    };
    let mut rows: Vec<_> = lock.modes().filter(is_used).map(row).collect();
    let sleep = lock.sleep();
    if sleep.waits() + sleep.asleep().count() > 0 {
        let name = format!("asleep ({} now)", report::count(sleep.asleep().count()));
        rows.push(vec![name, text::rate(sleep.waits() as f64 / seconds)]);
    }
    rows
}

fn of_sites(sites: &[CallSite], seconds: f64) -> Vec<Vec<String>> {
    let mut sites: Vec<_> = sites.iter().collect();
    let cost = |site: &CallSite| site.blocked_total() + site.blame();
    sites.sort_by_key(|site| Reverse((cost(site), site.hold_total())));
    let some = |time: Duration| text::maybe((!time.is_zero()).then_some(time));
    let rows = sites.into_iter().map(|site| {
        vec![
            site.location().to_string(),
            site.mode().to_string(),
            text::rate(site.acquisitions() as f64 / seconds),
            text::share(site.blocked_total(), seconds),
            text::share(site.blame(), seconds),
            text::share(site.hold_total(), seconds),
            some(site.blocked_max()),
            some(site.hold_max()),
        ]
    });
    rows.collect()
}

/// What is in flight, of all locks that go with the filter.
pub(super) fn in_flight(state: &State, width: usize, look: Look) -> Vec<Line<'static>> {
    let recent: &Snapshot = state.recent();
    let filter = state.choice.filter.to_lowercase();
    let now: Vec<_> = recent
        .in_flight()
        .iter()
        .filter(|one| one.lock().to_lowercase().contains(&filter))
        .collect();
    in_flight_table(&now, true, width, look)
}

fn in_flight_table(
    now: &[&InFlight],
    has_lock: bool,
    width: usize,
    look: Look,
) -> Vec<Line<'static>> {
    if now.is_empty() {
        return vec![Line::raw("nobody waits and nobody holds")];
    }
    let mut heads = vec![
        head("line", 0, true),
        head("state", 7, true),
        head("for", 8, false),
        head("mode", 10, true),
        head("thread", 16, true),
    ];
    if has_lock {
        heads[0].name = "lock";
        heads.insert(3, head("line", 30, true));
    }
    let rows = now.iter().take(IN_FLIGHT).map(|one| {
        let state = match one.state() {
            InFlightState::Waiting => "waiting",
            InFlightState::Holding => "holding",
        };
        let line = one.location().to_string();
        let mut row = vec![
            line.clone(),
            state.to_owned(),
            text::maybe(one.is_timed().then(|| one.age())),
            one.mode().to_string(),
            one.thread().unwrap_or_default().to_owned(),
        ];
        if has_lock {
            one.lock().clone_into(&mut row[0]);
            row.insert(3, line);
        }
        row
    });
    let mut lines = Table {
        heads: &heads,
        width,
        look,
    }
    .lines(rows);
    if now.len() > IN_FLIGHT {
        let more = report::count((now.len() - IN_FLIGHT) as u64);
        lines.push(Line::raw(format!("and {more} more")));
    }
    lines
}

/// Keys and columns.
pub(super) fn help(look: Look, width: usize) -> Vec<Line<'static>> {
    let keys = [
        ("q, Ctrl-C", "quit"),
        ("↑ ↓ k j PgUp PgDn", "choose a lock, or move the text"),
        (
            "enter",
            "the chosen lock: its lines, blame, what is in flight",
        ),
        ("← →, < >", "sort by the column before, or by the next one"),
        ("r", "the other way round"),
        ("/", "only locks, kinds and modes with this text; Esc: all"),
        ("i", "what is in flight: who waits and who holds now"),
        ("t", "figures of the whole run, or of the last interval"),
        (
            "p, space",
            "pause: the screen stays, the program is not asked",
        ),
        ("esc", "back"),
    ];
    let mut lines = vec![Line::styled("keys", look.head())];
    let entry = |name: &str, meaning: &str, at: usize| {
        let name = format!("  {name}");
        let pad = at.saturating_sub(text::width_of(&name)).max(1);
        let all = format!("{name}{}{meaning}", " ".repeat(pad));
        if text::width_of(&all) <= width {
            vec![Line::raw(all)]
        } else {
            vec![Line::raw(name), Line::raw(format!("    {meaning}"))]
        }
    };
    for (key, meaning) in keys {
        lines.extend(entry(key, meaning, 21));
    }
    lines.extend(heading("columns, of each lock and mode", look));
    for column in Column::ALL {
        lines.extend(entry(column.head().name, column.meaning(), 14));
    }
    lines.push(Line::default());
    for text in [
        "Figures are of the time between the last two answers, which the title says.",
        "A narrow terminal leaves columns out from the right; they can be sorted by all",
        "the same. A row stands out while somebody waits for the lock.",
    ] {
        lines.push(Line::raw(text));
    }
    lines
}
