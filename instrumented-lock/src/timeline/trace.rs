//! A timeline in Chrome's trace event format: a JSON object with a list of events, one a line.
//!
//! | event | `ph` | |
//! |---|---|---|
//! | a track's name and place | `M` | each lane of a track is a thread of the trace |
//! | a wait or a hold | `X` | with lock, line and mode |
//! | an arrow | `s`, `f` | from the last nanosecond of a hold to that of the wait that it ended |
//! | how many threads wait | `C` | one for each lock that was waited for |

use super::data::{EventKind, Slice, Timeline, TrackOf};
use super::lanes::Lanes;
use crate::report::quote;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::io::{self, Write};
use std::process;

/// Numbers of the lanes behind the first ones, and of tasks, begin here: above all numbers that threads have.
const FIRST_NUMBER: u64 = 1 << 32;

/// Writes it.
pub(super) fn write(timeline: &Timeline, to: impl Write) -> io::Result<()> {
    let mut trace = Trace {
        out: io::BufWriter::with_capacity(1 << 16, to),
        process: process::id(),
        is_first: true,
    };
    trace.begin(timeline)?;
    let tids = trace.tracks(timeline)?;
    trace.slices(timeline, &tids)?;
    trace.arrows(timeline, &tids)?;
    trace.counters(timeline)?;
    trace.end(timeline)
}

/// A trace that is being written.
struct Trace<W: Write> {
    out: io::BufWriter<W>,
    process: u32,
    is_first: bool,
}

impl<W: Write> Trace<W> {
    fn begin(&mut self, timeline: &Timeline) -> io::Result<()> {
        self.out
            .write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        self.process_data("process_name", "name", quoted(program()))?;
        self.process_data("process_labels", "labels", quoted(timeline))
    }

    /// What is said of the process as a whole.
    fn process_data(&mut self, name: &str, key: &str, value: impl Display) -> io::Result<()> {
        let process = self.process;
        self.event(format_args!(
            r#""ph":"M","pid":{process},"tid":0,"name":"{name}","args":{{"{key}":{value}}}"#
        ))
    }

    fn event(&mut self, fields: fmt::Arguments<'_>) -> io::Result<()> {
        let before: &[u8] = if self.is_first { b"\n" } else { b",\n" };
        self.is_first = false;
        self.out.write_all(before)?;
        write!(self.out, "{{{fields}}}")
    }

    /// Names the tracks, in the order of their numbers. Returns for each slice the number of its lane.
    fn tracks(&mut self, timeline: &Timeline) -> io::Result<Vec<u64>> {
        let mut lanes: Vec<_> = timeline.tracks.iter().map(|_| Lanes::new()).collect();
        let lane_of = |slice: &Slice| {
            let track = slice.track as usize;
            (track, lanes[track].lane(slice.start, slice.end))
        };
        let places: Vec<_> = timeline.slices.iter().map(lane_of).collect();
        let mut order: Vec<_> = (0..timeline.tracks.len()).collect();
        order.sort_by_key(|&track| timeline.tracks[track].of);
        let mut numbers = vec![Vec::new(); timeline.tracks.len()];
        let mut next = FIRST_NUMBER..;
        let mut places_of_tracks = 0..;
        for track in order {
            let of = &timeline.tracks[track];
            for lane in 0..lanes[track].count() {
                let (number, name) = match (of.of, lane) {
                    (TrackOf::Thread(number), 0) => (Some(u64::from(number)), of.name()),
                    (_, 0) => (next.next(), of.name()),
                    _ => (next.next(), format!("{} (lane {})", of.name(), lane + 1)),
                };
                let number = number.unwrap_or(0);
                numbers[track].push(number);
                let place = places_of_tracks.next().unwrap_or(0);
                self.track(number, &name, place)?;
            }
        }
        let number = |(track, lane): (usize, usize)| numbers[track][lane];
        Ok(places.into_iter().map(number).collect())
    }

    fn track(&mut self, number: u64, name: &str, place: u32) -> io::Result<()> {
        let process = self.process;
        let name = quoted(name);
        self.event(format_args!(
            r#""ph":"M","pid":{process},"tid":{number},"name":"thread_name","args":{{"name":{name}}}"#
        ))?;
        self.event(format_args!(
            r#""ph":"M","pid":{process},"tid":{number},"name":"thread_sort_index","args":{{"sort_index":{place}}}"#
        ))
    }

    fn slices(&mut self, timeline: &Timeline, tids: &[u64]) -> io::Result<()> {
        let locks: Vec<_> = timeline.locks.iter().map(quoted).collect();
        let lines: Vec<_> = timeline.lines.iter().map(quoted).collect();
        let process = self.process;
        for (slice, tid) in timeline.slices.iter().zip(tids) {
            let (category, colour) = match slice.kind {
                EventKind::Hold => ("hold", "good"),
                EventKind::Wait => ("wait", "terrible"),
                EventKind::GaveUp => ("gave up", "bad"),
                EventKind::Sleep => ("sleep", "grey"),
            };
            let mode = match slice.activity.mode() {
                Some(mode) => mode.to_string(),
                None => "sleep".to_owned(),
            };
            let lock = &locks[slice.lock as usize];
            let name = match slice.kind {
                EventKind::Hold => lock.clone(),
                _ => format!("\"{category}: {}", &lock[1..]),
            };
            let blamed_on = lines.get(slice.blamed_on as usize);
            let blamed_on =
                blamed_on.map_or_else(String::new, |line| format!(r#","blamed_on":{line}"#));
            let cut = match (slice.began_before, slice.is_over) {
                (false, true) => "",
                (true, true) => r#","began_before":true"#,
                (false, false) => r#","goes_on":true"#,
                (true, false) => r#","began_before":true,"goes_on":true"#,
            };
            let (start, length) = (Time(slice.start), Time(slice.end - slice.start));
            let line = &lines[slice.line as usize];
            self.event(format_args!(
                r#""ph":"X","pid":{process},"tid":{tid},"ts":{start},"dur":{length},"cat":"{category}","name":{name},"cname":"{colour}","args":{{"lock":{lock},"line":{line},"mode":"{mode}"{blamed_on}{cut}}}"#
            ))?;
        }
        Ok(())
    }

    fn arrows(&mut self, timeline: &Timeline, tids: &[u64]) -> io::Result<()> {
        let process = self.process;
        for (number, wait) in timeline.slices.iter().enumerate() {
            let hold = wait.released_by as usize;
            let Some(release) = timeline.slices.get(hold) else {
                continue;
            };
            // At the end itself viewers look for the slice around it.
            let inside = |slice: &Slice| Time(slice.end.saturating_sub(1).max(slice.start));
            let ends = [("s", release, tids[hold]), ("f", wait, tids[number])];
            for (phase, slice, tid) in ends {
                let at = inside(slice);
                self.event(format_args!(
                    r#""ph":"{phase}","bp":"e","pid":{process},"tid":{tid},"ts":{at},"id":{number},"cat":"release","name":"release""#
                ))?;
            }
        }
        Ok(())
    }

    /// How many threads wait for each lock: whenever that changes.
    fn counters(&mut self, timeline: &Timeline) -> io::Result<()> {
        let process = self.process;
        let waits = |slice: &&Slice| matches!(slice.kind, EventKind::Wait | EventKind::GaveUp);
        let mut changes = BTreeMap::<(u32, u64), i64>::new();
        for wait in timeline.slices.iter().filter(waits) {
            *changes.entry((wait.lock, wait.start)).or_default() += 1;
            if wait.is_over {
                *changes.entry((wait.lock, wait.end)).or_default() -= 1;
            }
        }
        let (mut of, mut waiting) = (None, 0);
        for ((lock, at), change) in changes {
            if of != Some(lock) {
                (of, waiting) = (Some(lock), 0);
            }
            waiting += change;
            let name = quoted(format_args!(
                "waiting for {}",
                timeline.locks[lock as usize]
            ));
            let at = Time(at);
            self.event(format_args!(
                r#""ph":"C","pid":{process},"ts":{at},"name":{name},"args":{{"threads":{waiting}}}"#
            ))?;
        }
        Ok(())
    }

    fn end(mut self, timeline: &Timeline) -> io::Result<()> {
        let said = quoted(timeline);
        let counts = &timeline.counts;
        write!(
            self.out,
            concat!(
                "\n],\"otherData\":{{\"recorder\":\"instrumented-lock {}\",\"what\":{},\"length_ns\":{},",
                "\"holds\":{},\"holds_left_out\":{},\"holds_not_timed\":{},\"holds_shown\":{},",
                "\"waits\":{},\"waits_dropped\":{}}}}}\n"
            ),
            env!("CARGO_PKG_VERSION"),
            said,
            timeline.length,
            counts.holds,
            counts.left_out,
            counts.untimed,
            timeline.sampled(),
            counts.waits,
            counts.dropped,
        )?;
        self.out.flush()
    }
}

/// Nanoseconds, as the microseconds that the format has.
struct Time(u64);

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

fn quoted(text: impl Display) -> String {
    let mut quoted = String::new();
    quote(&mut quoted, &text.to_string());
    quoted
}

/// The name of the program.
fn program() -> String {
    let program = std::env::current_exe().ok();
    let name = program.as_deref().and_then(|program| program.file_name());
    name.map_or_else(
        || "(unknown)".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}
