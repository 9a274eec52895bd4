//! What a snapshot says of waiting, as stacks: a lock, then a line, then perhaps another line.

use instrumented_lock::{CallSite, Location, LockSnapshot, Mode, Snapshot};
use std::time::Duration;

/// A frame below the lock.
#[cfg_attr(not(feature = "pprof"), allow(dead_code))]
pub(crate) struct Line<'a> {
    /// What it is called.
    pub(crate) text: String,
    /// Where it is, if it is anywhere.
    pub(crate) at: Option<&'a Location>,
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

fn line(site: &CallSite, mode: Mode) -> Line<'_> {
    Line {
        text: format!("{} ({mode})", site.location()),
        at: Some(site.location()),
    }
}

/// By the line that waited.
pub(crate) fn waits(snapshot: &Snapshot) -> Vec<Stack<'_>> {
    let of_lock = |lock| {
        let waited = |site: &&CallSite| site.contended() > 0 || !site.blocked_total().is_zero();
        let sites = LockSnapshot::call_sites(lock).iter().filter(waited);
        sites.map(move |site| Stack {
            lock,
            lines: vec![line(site, site.mode())],
            mode: Some(site.mode()),
            contentions: site.contended(),
            delay: site.blocked_total(),
        })
    };
    snapshot.locks().iter().flat_map(of_lock).collect()
}

/// By the line that held the lock meanwhile, and by the line that waited as far as that is known.
pub(crate) fn blame(snapshot: &Snapshot) -> Vec<Stack<'_>> {
    let mut stacks = Vec::new();
    for lock in snapshot.locks() {
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
                    at: Some(pair.waiter()),
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
