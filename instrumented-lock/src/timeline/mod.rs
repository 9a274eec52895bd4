//! A timeline: the waits and holds of some time, thread by thread, as a trace for a viewer.
//!
//! ```no_run
//! use instrumented_lock::timeline;
//! use std::fs::File;
//! use std::time::Duration;
//!
//! let timeline = timeline::record(Duration::from_secs(1))?;
//! timeline.write_trace(File::create("locks.trace.json")?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! <https://ui.perfetto.dev> and `chrome://tracing` open the file. Without any code:
//! `INSTRUMENTED_LOCK=timeline=locks.trace.json,1s`, which begins at the first use of a lock.
//!
//! # What is in it
//!
//! | | |
//! |---|---|
//! | holds | those that ended meanwhile, from the acquisition to the release; in the track of the thread that acquired |
//! | waits | those that ended meanwhile, with the lock or without it; also sleeps in a condition variable |
//! | what goes on | holds and waits that are not over, up to the end of the timeline; they are counted nowhere |
//! | arrows | from a release to the wait that it ended: that of the last conflicting hold of the class before, among those that the wait is blamed on |
//!
//! What began before is shown from the beginning of the timeline on. Not in it are attempts that failed at once,
//! nested acquisitions of a reentrant mutex, and holds that are [not timed](crate::HoldTiming), which are counted.
//! Times are those of the library's [clock].
//!
//! # What fits
//!
//! Memory is taken when it begins: 12 MiB, for 131,072 holds and 65,536 waits. Of more holds than that a part is kept
//! by chance: the longer a hold, or the wait that led to it, the likelier.
//! [`sampled`](Timeline::sampled) says which share that is, and the trace says it too. Of more waits, what is kept is
//! chosen in the same way, and the others are [dropped](Timeline::dropped).
//!
//! # Cost
//!
//! Nothing is done for it when a lock is taken and released: what threads have in their logs anyway is copied when
//! it is added up, once in some fifty times. While somebody records that costs some nanoseconds for each hold; at
//! other times, one look at a word each time a log is added up. To begin takes some milliseconds, for the memory; to
//! end, as much as a snapshot, and some tenths of a second where it is full.

mod collected;
mod data;
mod lanes;
mod trace;

pub use data::{Event, EventKind, Timeline};

use crate::brief::Inside;
use crate::clock;
use crate::stats;
use crate::stats::events::{self, Taking};
use std::time::Duration;
use std::{error, fmt, thread};

/// Records for so long, on the calling thread, which sleeps meanwhile.
///
/// # Errors
///
/// Where somebody records already.
pub fn record(time: Duration) -> Result<Timeline, AlreadyRecording> {
    let recording = start()?;
    thread::sleep(time);
    Ok(recording.stop())
}

/// Begins to record, until [`stop`](Recording::stop).
///
/// # Errors
///
/// Where somebody records already.
pub fn start() -> Result<Recording, AlreadyRecording> {
    if cfg!(not(feature = "stats")) {
        return Ok(Recording {
            taking: None,
            begun: 0,
        });
    }
    let _inside = Inside::enter();
    stats::heed_forks();
    let now = || {
        // What came before is added up before.
        drop(stats::read());
        clock::now()
    };
    let (taking, begun) = events::begin(now).ok_or(AlreadyRecording)?;
    Ok(Recording {
        taking: Some(taking),
        begun,
    })
}

/// One that has begun. When it is dropped, what was recorded is gone.
///
/// In a child of `fork` it has ended; the parent goes on.
#[must_use = "when it is dropped, what was recorded is gone"]
#[derive(Debug)]
pub struct Recording {
    taking: Option<Taking>,
    /// When it began, as a stamp.
    begun: u64,
}

impl Recording {
    /// Ends it. What has ended by now is in the timeline, of all threads, and what goes on.
    ///
    /// Empty in a child of `fork`, where it had begun before, and with the feature `stats` off.
    pub fn stop(mut self) -> Timeline {
        match self.taking.take() {
            Some(taking) => collected::stop(taking, self.begun),
            None => Timeline::default(),
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(taking) = self.taking.take() {
            collected::give_up(taking);
        }
    }
}

/// Somebody records already: there is one timeline at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlreadyRecording;

impl fmt::Display for AlreadyRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a timeline is being recorded already; there is one at a time")
    }
}

impl error::Error for AlreadyRecording {}
