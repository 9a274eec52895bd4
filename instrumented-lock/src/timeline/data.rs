//! A timeline as plain data.

use crate::mode::{Activity, Mode};
use crate::report::{count, time};
use crate::snapshot::Location;
use std::fmt;
use std::io;
use std::time::Duration;

/// Waits and holds of some time; see the [module](super).
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    pub(super) length: u64,
    /// By their begin; of several at the same time the longest first.
    pub(super) slices: Vec<Slice>,
    pub(super) locks: Vec<String>,
    pub(super) lines: Vec<Location>,
    pub(super) tracks: Vec<Track>,
    pub(super) counts: Counts,
}

/// What there was, and what of it is not in the timeline.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) holds: u64,
    pub(super) waits: u64,
    pub(super) untimed: u64,
    pub(super) left_out: u64,
    pub(super) dropped: u64,
    pub(super) bar: u64,
}

/// A wait or a hold. Times are nanoseconds from the beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) kind: EventKind,
    pub(super) activity: Activity,
    pub(super) began_before: bool,
    pub(super) is_over: bool,
    pub(super) start: u64,
    pub(super) end: u64,
    /// Places in the lists of the timeline; [`NONE`] for none.
    pub(super) lock: u32,
    pub(super) line: u32,
    pub(super) track: u32,
    pub(super) blamed_on: u32,
    pub(super) released_by: u32,
}

/// In place of a place.
pub(super) const NONE: u32 = u32::MAX;

/// A thread or a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Track {
    pub(super) of: TrackOf,
    pub(super) name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TrackOf {
    Thread(u32),
    Task(u32),
}

impl Track {
    /// What it is called.
    pub(super) fn name(&self) -> String {
        match (&self.name, self.of) {
            (Some(name), _) => name.clone(),
            (None, TrackOf::Thread(0)) => "threads that have ended".to_owned(),
            (None, TrackOf::Thread(number)) => format!("thread {number}"),
            (None, TrackOf::Task(number)) => format!("task {number}"),
        }
    }
}

/// What an [`Event`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// A lock is held.
    Hold,
    /// A lock is waited for, and then had.
    Wait,
    /// A lock is waited for in vain: `try_lock_for` and its like.
    GaveUp,
    /// A thread sleeps in a condition variable.
    Sleep,
}

impl Timeline {
    /// How long it is.
    pub fn length(&self) -> Duration {
        Duration::from_nanos(self.length)
    }

    /// What is in it, by the time at which it begins.
    pub fn events(&self) -> impl ExactSizeIterator<Item = Event<'_>> + Clone {
        self.slices.iter().map(|slice| Event {
            timeline: self,
            slice,
        })
    }

    /// Holds that ended meanwhile: those that are in it and are [over](Event::is_over), those
    /// [left out](Self::left_out) and those [not timed](Self::untimed).
    pub fn holds(&self) -> u64 {
        self.counts.holds
    }

    /// Waits and sleeps that ended meanwhile: those that are in it and are [over](Event::is_over), and those
    /// [dropped](Self::dropped).
    pub fn waits(&self) -> u64 {
        self.counts.waits
    }

    /// Waits and sleeps for which there was no room.
    pub fn dropped(&self) -> u64 {
        self.counts.dropped
    }

    /// Timed holds that are left out, because there were more than fit.
    pub fn left_out(&self) -> u64 {
        self.counts.left_out
    }

    /// Holds that were [not timed](crate::HoldTiming), and so have no place in time.
    pub fn untimed(&self) -> u64 {
        self.counts.untimed
    }

    /// The share of the timed holds that are in it, from 0 to 1; 1 where nothing is [left out](Self::left_out).
    pub fn sampled(&self) -> f64 {
        let timed = self.counts.holds - self.counts.untimed;
        if self.counts.left_out == 0 {
            return 1.0;
        }
        (timed - self.counts.left_out) as f64 / timed as f64
    }

    /// Where holds are left out, the length from which on nearly all are in it. Of shorter ones it is a share in
    /// proportion to their length.
    pub fn sampled_below(&self) -> Option<Duration> {
        (self.counts.left_out > 0).then(|| Duration::from_nanos(self.counts.bar))
    }

    /// Writes it as a trace: a JSON object in Chrome's trace event format. Some 200 bytes for an event. Through a
    /// buffer.
    ///
    /// # Errors
    ///
    /// Where writing fails.
    pub fn write_trace(&self, to: impl io::Write) -> io::Result<()> {
        super::trace::write(self, to)
    }

    /// The same as a string.
    pub fn to_trace(&self) -> String {
        let mut trace = Vec::new();
        // Into memory nothing fails.
        let _ = self.write_trace(&mut trace);
        String::from_utf8_lossy(&trace).into_owned()
    }
}

/// What is in it, and what is not, in a sentence.
impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { holds, waits, .. } = self.counts;
        let (holds, waits) = (count(holds), count(waits));
        write!(
            f,
            "{holds} holds and {waits} waits in {}",
            time(self.length())
        )?;
        if self.counts.left_out > 0 {
            let percent = 100.0 * self.sampled();
            let below = time(Duration::from_nanos(self.counts.bar));
            write!(
                f,
                "; of the holds {percent:.1} % are shown: the longer, the likelier, and nearly all from {below} on"
            )?;
        }
        if self.counts.dropped > 0 {
            let dropped = count(self.counts.dropped);
            write!(f, "; {dropped} waits are not shown: there was no room")?;
        }
        if self.counts.untimed > 0 {
            let untimed = count(self.counts.untimed);
            write!(f, "; {untimed} holds are not shown: they were not timed")?;
        }
        Ok(())
    }
}

/// A wait or a hold in a [`Timeline`].
#[derive(Clone, Copy)]
pub struct Event<'a> {
    pub(super) timeline: &'a Timeline,
    pub(super) slice: &'a Slice,
}

impl<'a> Event<'a> {
    /// What it is.
    pub fn kind(&self) -> EventKind {
        self.slice.kind
    }

    /// The name of the lock's class.
    pub fn lock(&self) -> &'a str {
        &self.timeline.locks[self.slice.lock as usize]
    }

    /// What the lock is held or waited for; `None` for a sleep.
    pub fn mode(&self) -> Option<Mode> {
        self.slice.activity.mode()
    }

    /// The line that acquires, or sleeps.
    pub fn location(&self) -> &'a Location {
        &self.timeline.lines[self.slice.line as usize]
    }

    /// Of a wait, the line that it is blamed on most, if that is known.
    pub fn blamed_on(&self) -> Option<&'a Location> {
        self.timeline.lines.get(self.slice.blamed_on as usize)
    }

    /// Of a wait that ended with the lock, the hold whose release ended it, if that is known.
    pub fn released_by(&self) -> Option<Event<'a>> {
        let timeline = self.timeline;
        let slice = timeline.slices.get(self.slice.released_by as usize)?;
        Some(Event { timeline, slice })
    }

    /// What tells threads apart, and tasks where the lock is one of theirs. Only within one timeline.
    pub fn track(&self) -> usize {
        self.slice.track as usize
    }

    /// The name of the thread, or what stands for it.
    pub fn thread(&self) -> String {
        self.timeline.tracks[self.slice.track as usize].name()
    }

    /// From the beginning of the timeline; 0 where it [began before](Self::began_before).
    pub fn start(&self) -> Duration {
        Duration::from_nanos(self.slice.start)
    }

    /// From the beginning of the timeline; the end of that where it is not [over](Self::is_over).
    pub fn end(&self) -> Duration {
        Duration::from_nanos(self.slice.end)
    }

    /// What of it is in the timeline.
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.slice.end - self.slice.start)
    }

    /// Whether it began before the timeline.
    pub fn began_before(&self) -> bool {
        self.slice.began_before
    }

    /// Whether it ended before the timeline did.
    pub fn is_over(&self) -> bool {
        self.slice.is_over
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event")
            .field("kind", &self.kind())
            .field("lock", &self.lock())
            .field("mode", &self.mode())
            .field("location", &self.location())
            .field("thread", &self.thread())
            .field("start", &self.start())
            .field("end", &self.end())
            .finish_non_exhaustive()
    }
}
