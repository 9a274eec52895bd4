//! One page for a browser: the table, sortable and with a filter; for each lock which of its class were
//! waited for, its lines, who waits for whom, and its distributions on a logarithmic axis; the operations; what
//! is in flight; the advice.
//!
//! The page has everything in it and asks nobody for anything, which its own policy forbids it too. Without
//! scripts it shows the same, unsorted. Sizes: some 0.5 KB for each mode of a lock, and 2 to 6 KB for the
//! details of one, which the costliest locks have until the page is [`Options::size`] bytes long.

mod details;
mod markup;
mod tables;

use instrumented_lock::{LockSnapshot, Snapshot, report};
use markup::Markup;
use std::cmp::Reverse;
use std::time::Duration;

const SCRIPT: &str = include_str!("page.js");

/// How a page is made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// What it is called.
    pub title: String,
    /// How often it loads itself again, in seconds; never where this is 0.
    pub refresh: u32,
    /// The bytes that it may have. Where there are more locks than that, the details of those that cost
    /// least are left out; every lock stays in the table.
    pub size: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            title: "Locks".to_owned(),
            refresh: 0,
            size: 1_900_000,
        }
    }
}

/// The snapshot as a page.
pub fn page(snapshot: &Snapshot) -> String {
    page_with(snapshot, &Options::default())
}

/// The snapshot as a page, with options.
pub fn page_with(snapshot: &Snapshot, options: &Options) -> String {
    let mut locks: Vec<_> = snapshot
        .locks()
        .iter()
        .filter(|lock| is_used(lock))
        .collect();
    locks.sort_by_key(|lock| Reverse(cost(lock)));
    let mut out = Markup::default();
    head(&mut out, options);
    out.raw("<body><a class=skip href=#table>to the table</a><header><h1>");
    out.text(&options.title);
    out.raw("</h1><p>");
    let used = report::count(locks.len() as u64);
    let classes = if locks.len() == 1 { "class" } else { "classes" };
    let elapsed = report::time(snapshot.elapsed());
    out.text(&format!("{used} lock {classes} used in {elapsed}"));
    if !snapshot.is_enabled() {
        out.raw("; recording is off");
    }
    out.raw("</header><main>");
    for said in snapshot.diagnostics() {
        out.raw("<p class=w>");
        out.text(said);
    }
    tables::advice(&mut out, snapshot);
    tables::in_flight(&mut out, snapshot);
    let mut table = Markup::default();
    tables::locks(&mut table, &locks, locks.len());
    let mut operations = Markup::default();
    tables::operations(&mut operations, snapshot);
    let others = out.len() + table.len() + operations.len() + SCRIPT.len();
    let room = options.size.saturating_sub(others);
    let mut details = Markup::default();
    let mut with_details = 0;
    for (i, lock) in locks.iter().enumerate() {
        let length = details.len();
        details::of_lock(&mut details, i, lock);
        if details.len() > room {
            details.truncate(length);
            break;
        }
        with_details = i + 1;
    }
    // Written again with links to those details only that are there.
    tables::locks(&mut out, &locks, with_details);
    out.append(&operations);
    if with_details > 0 {
        out.raw("<section><h2>Each lock</h2>");
        out.append(&details);
        out.raw("</section>");
    }
    if with_details < locks.len() {
        let left = report::count((locks.len() - with_details) as u64);
        out.raw("<p class=faint>");
        out.text(&format!(
            "The details of {left} locks that cost least are left out, so that the page stays small."
        ));
    }
    out.raw("</main><script>");
    out.raw(SCRIPT);
    out.raw("</script></body></html>\n");
    out.finish()
}

fn head(out: &mut Markup, options: &Options) {
    out.raw("<!doctype html><html lang=en><head><meta charset=utf-8>");
    out.raw("<meta name=viewport content=\"width=device-width\">");
    out.raw("<meta http-equiv=Content-Security-Policy content=\"default-src 'none';");
    out.raw("style-src 'unsafe-inline';script-src 'unsafe-inline';img-src data:\">");
    if options.refresh > 0 {
        let refresh = options.refresh;
        out.raw(&format!("<meta http-equiv=refresh content={refresh}>"));
    }
    out.raw("<link rel=icon href=data:,><title>");
    out.text(&options.title);
    out.raw("</title><style>");
    out.raw(include_str!("page.css"));
    out.raw("</style></head>");
}

fn is_used(lock: &LockSnapshot) -> bool {
    let in_mode = lock.modes().any(|(_, mode)| {
        let in_flight = mode.waiting().count() + mode.holding().count();
        mode.acquisitions() + mode.try_failures() + mode.timeouts() + in_flight > 0
    });
    in_mode || lock.sleep().waits() > 0
}

/// The costliest first: by the time waited, then by the time held.
fn cost(lock: &LockSnapshot) -> (Duration, Duration) {
    lock.modes().fold(
        (Duration::ZERO, Duration::ZERO),
        |(waited, held), (_, mode)| {
            (
                waited.saturating_add(mode.waited()),
                held.saturating_add(mode.hold().sum()),
            )
        },
    )
}
