//! What a snapshot says of waiting, as stacks: a lock, then who called whom, as far as
//! [that](instrumented_lock::LockSnapshot::stacks) has been captured; else a line, then perhaps another line.

use instrumented_lock::{CallSite, Frame, Location, LockSnapshot, Mode, Snapshot, StackRole};
use std::time::Duration;

/// A frame below the lock.
#[cfg_attr(not(feature = "pprof"), allow(dead_code))]
pub(crate) struct Line<'a> {
    /// What it is called.
    pub(crate) text: String,
    /// Its file and line, if it is anywhere.
    pub(crate) at: Option<(&'a str, u32)>,
}

/// Waiting that has a stack in common.
#[cfg_attr(not(feature = "pprof"), allow(dead_code))]
pub(crate) struct Stack<'a> {
    pub(crate) lock: &'a LockSnapshot,
    /// From the outside in.
    pub(crate) lines: Vec<Line<'a>>,
    /// How the lock was taken by the first of them, if that is known.
    pub(crate) mode: Option<Mode>,
    pub(crate) contentions: u64,
    pub(crate) delay: Duration,
}

pub(crate) fn place(location: &Location) -> (&str, u32) {
    (location.file(), location.line())
}

fn line(site: &CallSite, mode: Mode) -> Line<'_> {
    Line {
        text: format!("{} ({mode})", site.location()),
        at: Some(place(site.location())),
    }
}

/// A function of a captured stack.
fn function(frame: &Frame) -> Line<'_> {
    Line {
        text: frame.function().to_owned(),
        at: frame.file().map(|file| (file, frame.line().unwrap_or(0))),
    }
}

/// What has been captured of a lock.
struct Captured<'a> {
    stacks: Vec<Stack<'a>>,
    contentions: u64,
    delay: Duration,
}

fn captured(lock: &LockSnapshot, role: StackRole) -> Captured<'_> {
    let of_role = lock.stacks().iter().filter(|stack| stack.role() == role);
    let stacks: Vec<_> = of_role
        .map(|stack| Stack {
            lock,
            lines: stack.frames().iter().rev().map(function).collect(),
            mode: Some(stack.mode()),
            contentions: stack.count(),
            delay: stack.total(),
        })
        .collect();
    let delay = |sum: Duration, stack: &Stack<'_>| sum.saturating_add(stack.delay);
    Captured {
        contentions: stacks.iter().map(|stack| stack.contentions).sum(),
        delay: stacks.iter().fold(Duration::ZERO, delay),
        stacks,
    }
}

impl<'a> Captured<'a> {
    /// All waiting of a lock: what has been captured by its stacks, and of the rest each line its part.
    fn with_rest(self, lines: Vec<Stack<'a>>) -> Vec<Stack<'a>> {
        if self.stacks.is_empty() {
            return lines;
        }
        let all: u128 = lines.iter().map(|line| line.delay.as_nanos()).sum();
        let contentions: u64 = lines.iter().map(|line| line.contentions).sum();
        let rest = left(all, self.delay.as_nanos());
        let rest_of_contentions = left(contentions.into(), self.contentions.into());
        let lines = lines.into_iter().map(|line| Stack {
            contentions: part(line.contentions.into(), rest_of_contentions),
            delay: Duration::from_nanos(part(line.delay.as_nanos(), rest)),
            ..line
        });
        let lines = lines.filter(|line| line.contentions > 0 || !line.delay.is_zero());
        self.stacks.into_iter().chain(lines).collect()
    }
}

/// How much of `all` is left where so much has been captured. That is an estimate, and may be more.
fn left(all: u128, captured: u128) -> f64 {
    if all == 0 {
        return 0.0;
    }
    all.saturating_sub(captured) as f64 / all as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of what fits"
)]
fn part(of: u128, part: f64) -> u64 {
    (of as f64 * part).round() as u64
}

/// By who waited.
pub(crate) fn waits(snapshot: &Snapshot) -> Vec<Stack<'_>> {
    let of_lock = |lock| {
        let waited = |site: &&CallSite| site.contended() > 0 || !site.blocked_total().is_zero();
        let sites = LockSnapshot::call_sites(lock).iter().filter(waited);
        let lines = sites.map(move |site| Stack {
            lock,
            lines: vec![line(site, site.mode())],
            mode: Some(site.mode()),
            contentions: site.contended(),
            delay: site.blocked_total(),
        });
        captured(lock, StackRole::Waiter).with_rest(lines.collect())
    };
    snapshot.locks().iter().flat_map(of_lock).collect()
}

/// By who held the lock meanwhile, and where that is known by lines by the line that waited.
pub(crate) fn blame(snapshot: &Snapshot) -> Vec<Stack<'_>> {
    let mut stacks = Vec::new();
    for lock in snapshot.locks() {
        stacks.extend(captured(lock, StackRole::Holder).with_rest(blamed_lines(lock)));
        if !lock.hand_over().is_zero() {
            let free = Line {
                text: "(hand-over: the lock was free)".to_owned(),
                at: None,
            };
            stacks.push(Stack {
                lock,
                lines: vec![free],
                mode: None,
                contentions: 0,
                delay: lock.hand_over(),
            });
        }
    }
    stacks
}

fn blamed_lines(lock: &LockSnapshot) -> Vec<Stack<'_>> {
    let mut stacks = Vec::new();
    // The pairs of a holder are at most what its rows are blamed for, and do not tell modes apart:
    // they are dealt out to its rows in the order of their cost.
    let mut pairs: Vec<_> = lock
        .blame()
        .iter()
        .map(|pair| (pair, pair.waits(), pair.total()))
        .collect();
    for site in lock.call_sites() {
        let mut left = site.blame();
        let of_site = |holder: &Location| holder == site.location();
        for (pair, waits, total) in &mut pairs {
            let time = left.min(*total);
            if !of_site(pair.holder()) || time.is_zero() {
                continue;
            }
            let waiter = Line {
                text: format!("{} waits", pair.waiter()),
                at: Some(place(pair.waiter())),
            };
            stacks.push(Stack {
                lock,
                lines: vec![line(site, site.mode()), waiter],
                mode: Some(site.mode()),
                contentions: std::mem::take(waits),
                delay: time,
            });
            left -= time;
            *total -= time;
        }
        if !left.is_zero() {
            stacks.push(Stack {
                lock,
                lines: vec![line(site, site.mode())],
                mode: Some(site.mode()),
                contentions: 0,
                delay: left,
            });
        }
    }
    stacks
}
