//! From what has been taken to plain data.

use super::data::{Counts, EventKind, NONE, Slice, Timeline, Track, TrackOf};
use crate::brief::Inside;
use crate::class::LockClass;
use crate::clock::{self, Scale};
use crate::mode::Activity;
use crate::snapshot::Location;
use crate::stats::events::{self, AllTaken, Taken, Taking};
use crate::stats::{self, Bits, Kind, Page, Site};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;

/// How many releases before the end of a wait are looked at for the one that ended it.
const LOOKED_AT: usize = 64;

/// Ends it, and makes a timeline of it that begins at this stamp.
pub(super) fn stop(taking: Taking, begun: u64) -> Timeline {
    let _inside = Inside::enter();
    clock::refine();
    let until = clock::now();
    let is_on = taking.is_on();
    if is_on {
        // What has ended by now is taken.
        drop(stats::read());
    }
    let mut going_on = GoingOn::default();
    let all = end(taking, |page| going_on.add(page));
    if !is_on {
        return Timeline::default();
    }
    Collecting::new(begun, until).timeline(all, going_on)
}

/// Ends it, without a timeline.
pub(super) fn give_up(taking: Taking) {
    let _inside = Inside::enter();
    end(taking, |page| drop(page.lock()));
}

/// Ends it; `visit` locks each page and lets go of it.
fn end(taking: Taking, visit: impl FnMut(&'static Page)) -> AllTaken {
    taking.turn_off();
    stats::pages_and_held().0.into_iter().for_each(visit);
    // SAFETY: it has been turned off, and then every page locked and let go. One that is new since was made with
    // the list locked that they have been taken from, and who uses it knows that it has been turned off.
    unsafe { taking.end() }
}

/// What is not over, or was over too late to be taken; and the names of threads.
#[derive(Default)]
struct GoingOn {
    holds: Vec<Taken>,
    waits: Vec<Taken>,
    names: Vec<(u32, Arc<str>)>,
}

impl GoingOn {
    /// Adds what is on a page.
    fn add(&mut self, page: &Page) {
        // An allocator may wait for somebody who waits for the page: all that is needed is there before.
        self.holds.reserve(u64::BITS as usize);
        self.waits.reserve(u64::BITS as usize + 1);
        self.names.reserve(1);
        let _locked = page.lock();
        let thread = page.owner.thread();
        self.names
            .extend(page.owner.name().map(|name| (thread, name)));
        let (waiting, records) = page.in_flight();
        for index in Bits(records) {
            let record = page.record(index);
            let taken = events::in_flight(page, index);
            if taken.start == stats::UNTIMED_START {
                continue;
            }
            let end = record.end().unwrap_or(0);
            match stats::kind_of(taken.what) {
                Kind::Hold if stats::activity_of(taken.what) != Activity::Sleep => {
                    self.holds.push(Taken { end, ..taken });
                }
                Kind::Hold | Kind::Waited | Kind::TimedOut => {
                    self.waits.push(Taken { end, ..taken });
                }
                _ => {}
            }
        }
        if let Some(waiting) = waiting {
            self.waits.push(Taken {
                what: stats::as_wait(waiting.what),
                site: waiting.site,
                start: waiting.since,
                thread,
                task: events::task_of(page, waiting.record),
                ..Taken::default()
            });
        }
    }
}

struct Collecting {
    begun: u64,
    until: u64,
    scale: Scale,
    timeline: Timeline,
    locks: HashMap<usize, u32>,
    lines: HashMap<Location, u32>,
    /// By the address of what the compiler has of a line, and the lock.
    known_lines: HashMap<(usize, u32), u32>,
    tracks: HashMap<TrackOf, u32>,
}

/// A slice, and what is needed to find out which release ended a wait.
struct Made {
    slice: Slice,
    /// See [`Taken::holders`].
    holders: u32,
}

impl Collecting {
    fn new(begun: u64, until: u64) -> Self {
        Collecting {
            begun,
            until: until.max(begun),
            scale: clock::scale(),
            timeline: Timeline::default(),
            locks: HashMap::new(),
            lines: HashMap::new(),
            known_lines: HashMap::new(),
            tracks: HashMap::new(),
        }
    }

    fn timeline(mut self, all: AllTaken, going_on: GoingOn) -> Timeline {
        let mut counts = Counts {
            holds: all.holds_seen + all.untimed,
            waits: all.waits_seen,
            untimed: all.untimed,
            left_out: all.holds_seen - all.holds.len() as u64,
            dropped: all.waits_seen - all.waits.len() as u64,
            bar: all.bar,
        };
        let mut made = Vec::with_capacity(all.holds.len() + all.waits.len());
        for (taken, count) in [
            (&all.holds, &mut counts.holds),
            (&all.waits, &mut counts.waits),
        ] {
            for taken in taken {
                let is_over = taken.end <= self.until;
                // What has ended after the end goes on, and is not counted.
                *count -= u64::from(!is_over);
                made.extend(self.made(taken));
            }
        }
        for (going_on, count) in [
            (&going_on.holds, &mut counts.holds),
            (&going_on.waits, &mut counts.waits),
        ] {
            for taken in going_on {
                let slice = self.made(taken);
                let is_over = slice.as_ref().is_some_and(|made| made.slice.is_over);
                *count += u64::from(is_over);
                made.extend(slice);
            }
        }
        made.sort_by_key(|made| (made.slice.start, Reverse(made.slice.end), made.slice.kind));
        find_releases(&mut made);
        for (number, name) in all.names.into_iter().chain(going_on.names) {
            if let Some(&track) = self.tracks.get(&TrackOf::Thread(number)) {
                self.timeline.tracks[track as usize].name = Some(name.to_string());
            }
        }
        Timeline {
            length: self.nanoseconds(self.until),
            slices: made.into_iter().map(|made| made.slice).collect(),
            counts,
            ..self.timeline
        }
    }

    fn nanoseconds(&self, stamp: u64) -> u64 {
        self.scale.nanoseconds(stamp.saturating_sub(self.begun))
    }

    /// `None` for what began after the end, or ended before the beginning.
    fn made(&mut self, taken: &Taken) -> Option<Made> {
        let is_over = taken.end != 0 && taken.end <= self.until;
        if taken.start > self.until || (is_over && taken.end < self.begun) {
            return None;
        }
        let class = LockClass::of_record(taken.what);
        let lock = self.lock(class);
        let activity = stats::activity_of(taken.what);
        let (kind, site) = match stats::kind_of(taken.what) {
            Kind::Waited => (EventKind::Wait, stats::waiting_of(taken.site).0),
            Kind::TimedOut => (EventKind::GaveUp, stats::waiting_of(taken.site).0),
            _ if activity == Activity::Sleep => (EventKind::Sleep, stats::site_of(taken.site)),
            _ => (EventKind::Hold, stats::site_of(taken.site)),
        };
        let holder = stats::holder_of(taken.holder).and_then(|holder| holder.line);
        let end = if is_over { taken.end } else { self.until };
        // One processor's counter may be behind that of another one.
        let start = taken.start.min(end);
        let of = if taken.task != 0 && class.kind().is_async() {
            TrackOf::Task(taken.task)
        } else {
            TrackOf::Thread(taken.thread)
        };
        Some(Made {
            slice: Slice {
                kind,
                activity,
                began_before: taken.start < self.begun,
                is_over,
                start: self.nanoseconds(start),
                end: self.nanoseconds(end),
                lock,
                line: self.line(class, lock, site),
                track: self.track(of),
                blamed_on: holder.map_or(NONE, |line| self.line(class, lock, Some(line))),
                released_by: NONE,
            },
            holders: taken.holders,
        })
    }

    fn lock(&mut self, class: &'static LockClass) -> u32 {
        let locks = &mut self.timeline.locks;
        let address = ptr::from_ref(class).addr();
        let known = self.locks.entry(address);
        *known.or_insert_with(|| push(locks, class.name().to_owned()))
    }

    fn line(&mut self, class: &'static LockClass, lock: u32, site: Option<Site>) -> u32 {
        let (known, lines) = (&mut self.lines, &mut self.timeline.lines);
        let key = (stats::site(site), lock);
        *self.known_lines.entry(key).or_insert_with(|| {
            let line = Location::of_site(site, class.declared_at());
            let place = known.entry(line.clone());
            *place.or_insert_with(|| push(lines, line))
        })
    }

    fn track(&mut self, of: TrackOf) -> u32 {
        let tracks = &mut self.timeline.tracks;
        let known = self.tracks.entry(of);
        *known.or_insert_with(|| push(tracks, Track { of, name: None }))
    }
}

/// Adds one more, and returns its place.
fn push<T>(all: &mut Vec<T>, one: T) -> u32 {
    all.push(one);
    u32::try_from(all.len() - 1).unwrap_or(NONE)
}

/// Finds out which release ended which wait: the last one of the class before the end of the wait, of a hold that
/// kept it from the lock and that it is blamed on. Where it is blamed on nobody known, the last one at all.
fn find_releases(made: &mut [Made]) {
    let mut releases: HashMap<u32, Vec<u32>> = HashMap::new();
    for (place, made) in (0..).zip(&*made) {
        if made.slice.kind == EventKind::Hold && made.slice.is_over {
            releases.entry(made.slice.lock).or_default().push(place);
        }
    }
    for releases in releases.values_mut() {
        releases.sort_by_key(|&place| made[place as usize].slice.end);
    }
    for place in 0..made.len() {
        let wait = &made[place];
        if wait.slice.kind != EventKind::Wait || !wait.slice.is_over {
            continue;
        }
        let of_lock = releases.get(&wait.slice.lock).map_or(&[][..], |all| all);
        let end = wait.slice.end;
        let later = of_lock.partition_point(|&place| made[place as usize].slice.end <= end);
        let ended_it = |place: &&u32| {
            let hold = &made[**place as usize];
            hold.slice.track != wait.slice.track
                && conflict(hold.slice.activity, wait.slice.activity)
                && (wait.holders == 0 || hold.holders & wait.holders != 0)
        };
        let during_wait = of_lock[..later].iter().rev().take(LOOKED_AT);
        let mut during_wait =
            during_wait.take_while(|&&place| made[place as usize].slice.end >= wait.slice.start);
        if let Some(&hold) = during_wait.find(ended_it) {
            made[place].slice.released_by = hold;
        }
    }
}

/// Whether one has to wait for the other.
fn conflict(hold: Activity, wait: Activity) -> bool {
    match (hold, wait) {
        (Activity::Read, other) | (other, Activity::Read) => other == Activity::Write,
        _ => true,
    }
}
