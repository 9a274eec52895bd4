//! The format of Linux' `/proc/lock_stat`, version 0.4, for scripts and eyes that know it.

use crate::snapshot::{CallSite, Distribution, Location, LockSnapshot, ModeSnapshot, Snapshot};
use std::cmp::Reverse;
use std::fmt::Write as _;
use std::time::Duration;

/// Lines of a class that are listed, as many as the kernel does.
const POINTS: usize = 4;

const NAME: usize = 40;
/// Twelve columns of 14 and their spaces, behind the name.
const WIDTH: usize = NAME + 1 + 12 * 15;

/// The snapshot as `/proc/lock_stat` would print it: most contentions first, times in microseconds
/// with two decimals, for each class its writers (`-W`) and readers (`-R`), the lines that waited
/// most, and the lines that were held meanwhile. Classes that nothing has used are left out.
///
/// Differences: bounces are between threads, not processors; an address is a source line; an
/// upgradable acquisition counts with the writers, which it excludes as they exclude each other;
/// under holding lines stands how often an acquisition was left waiting. A name longer than 40
/// columns is shortened at its start.
///
/// The format is described in the kernel's `Documentation/locking/lockstat.rst`.
pub fn lock_stat(snapshot: &Snapshot) -> String {
    let mut locks: Vec<_> = snapshot
        .locks()
        .iter()
        .filter(|lock| lock.modes().any(|(_, mode)| mode.acquisitions() > 0))
        .collect();
    let contentions =
        |lock: &&LockSnapshot| lock.modes().map(|(_, mode)| mode.contended()).sum::<u64>();
    locks.sort_by_key(|lock| Reverse(contentions(lock)));

    let mut out = String::from("lock_stat version 0.4\n");
    rule(&mut out, '-', 0, WIDTH);
    let _ = write!(out, "{:>NAME$}", "class name");
    for column in [
        "con-bounces",
        "contentions",
        "waittime-min",
        "waittime-max",
        "waittime-total",
        "waittime-avg",
        "acq-bounces",
        "acquisitions",
        "holdtime-min",
        "holdtime-max",
        "holdtime-total",
        "holdtime-avg",
    ] {
        let _ = write!(out, " {column:>14}");
    }
    out.push('\n');
    rule(&mut out, '-', 0, WIDTH);
    out.push('\n');
    for lock in locks {
        class(&mut out, lock);
    }
    out
}

fn class(out: &mut String, lock: &LockSnapshot) {
    let (write, read) = (exclusive(lock), lock.read());
    let has_readers = read.acquisitions() > 0;
    let name = shorten(lock.name(), NAME - 2);
    if write.acquisitions() > 0 {
        if has_readers {
            let _ = write!(out, "{name:>38}-W:");
        } else {
            let _ = write!(out, "{name:>40}:");
        }
        figures(out, &write);
    }
    if has_readers {
        let _ = write!(out, "{name:>38}-R:");
        figures(out, read);
    }
    if write.contended() + read.contended() == 0 {
        return;
    }
    let length = name.chars().count() + if has_readers { 2 } else { 0 };
    let mut waiting: Vec<_> = lock
        .call_sites()
        .iter()
        .filter(|site| site.contended() > 0)
        .collect();
    waiting.sort_by_key(|site| Reverse(site.contended()));
    points(
        out,
        &name,
        length,
        waiting
            .iter()
            .map(|site| (site.location(), site.contended())),
    );
    let holding = holders(lock);
    points(
        out,
        &name,
        length,
        holding.iter().map(|(location, waits)| (*location, *waits)),
    );
    out.push('\n');
    rule(out, '.', 0, WIDTH);
    out.push('\n');
}

/// Writers, and upgradable readers with them.
fn exclusive(lock: &LockSnapshot) -> ModeSnapshot {
    lock.write().merge(lock.upgradable())
}

fn figures(out: &mut String, mode: &ModeSnapshot) {
    let _ = write!(out, "{:>14} ", mode.contended_bounces());
    times(out, mode.contended(), mode.blocked());
    let _ = write!(out, " {:>14} ", mode.bounces());
    times(out, mode.acquisitions(), mode.hold());
    out.push('\n');
}

fn times(out: &mut String, n: u64, times: &Distribution) {
    let _ = write!(out, "{n:>14}");
    let zero = Duration::ZERO;
    let (min, max) = (times.min().unwrap_or(zero), times.max().unwrap_or(zero));
    for time in [min, max, times.sum(), times.mean().unwrap_or(zero)] {
        let hundredths = (time.as_nanos() + 5) / 10;
        let time = format!("{}.{:02}", hundredths / 100, hundredths % 100);
        let _ = write!(out, " {time:>14}");
    }
}

/// The lines that held the lock while others waited, and how often.
fn holders(lock: &LockSnapshot) -> Vec<(&Location, u64)> {
    let mut holders: Vec<(&Location, u64)> = Vec::new();
    for pair in lock.blame() {
        match holders
            .iter_mut()
            .find(|(location, _)| *location == pair.holder())
        {
            Some((_, waits)) => *waits += pair.waits(),
            None => holders.push((pair.holder(), pair.waits())),
        }
    }
    // A holder whose pairs were too small to keep is still blamed in its row.
    let kept: Vec<_> = holders.iter().map(|(location, _)| *location).collect();
    let others = lock
        .call_sites()
        .iter()
        .filter(|site| !site.blame().is_zero());
    holders.extend(
        others
            .map(CallSite::location)
            .filter(|at| !kept.contains(at))
            .map(|at| (at, 1)),
    );
    holders.sort_by_key(|(_, waits)| Reverse(*waits));
    holders
}

fn points<'a>(
    out: &mut String,
    name: &str,
    length: usize,
    points: impl Iterator<Item = (&'a Location, u64)>,
) {
    for (i, (location, n)) in points.take(POINTS).enumerate() {
        if i == 0 {
            rule(out, '-', NAME.saturating_sub(length), length);
        }
        let file = location
            .file()
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default();
        let address = shorten(&format!("[<{file}:{}>]", location.line()), 29);
        let _ = writeln!(out, "{name:>NAME$} {n:>14} {address:>29} {location}");
    }
}

fn rule(out: &mut String, c: char, indent: usize, length: usize) {
    let _ = writeln!(out, "{:indent$}{}", "", String::from(c).repeat(length));
}

/// The end of a name, where names differ.
fn shorten(name: &str, width: usize) -> String {
    let length = name.chars().count();
    name.chars().skip(length.saturating_sub(width)).collect()
}
