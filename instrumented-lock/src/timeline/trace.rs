//! A timeline in Chrome's trace event format: a JSON object with a list of events, one a line.
//!
//! | event | `ph` | |
//! |---|---|---|
//! | a track's name and place | `M` | each lane of a track is a thread of the trace |
//! | a wait or a hold | `B`, `E` | with lock, line and mode |
//! | an arrow | `s`, `f` | from a hold to what follows the wait that its release ended, else to the wait |
//! | how many threads wait | `C` | one for each lock that was waited for |
//! | what is not shown | `i` | |
//!
//! Those of a lane are in order. Perfetto sorts all by their times and leaves those of one time as they are; it takes an
//! arrow to begin in the slice that is open then, and draws it from the end of that slice to the begin of the other
//! one. So slices are told by their ends, which is what closes them for sure, and where the hold that was waited for
//! follows, the arrow leads to that: it begins where the wait ends.

use super::data::{Counts, EventKind, NONE, Slice, Timeline, TrackOf};
use super::lanes::Lanes;
use crate::report::quote;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display};
use std::io::{self, Write};
use std::process;

/// Numbers of the lanes behind the first ones, and of tasks, begin here: above all numbers that threads have. Viewers
/// have 32 bits for one, and take 0 for no thread of the program.
const FIRST_NUMBER: u64 = 1 << 30;

/// Writes it.
pub(super) fn write(timeline: &Timeline, to: impl Write) -> io::Result<()> {
    let mut trace = Trace {
        out: io::BufWriter::with_capacity(1 << 16, to),
        process: process::id(),
        is_first: true,
    };
    trace.begin(timeline)?;
    trace.tracks(timeline)?;
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
        self.process_data("process_labels", "labels", quoted(timeline))?;
        let Counts {
            left_out,
            dropped,
            untimed,
            ..
        } = timeline.counts;
        if (left_out, dropped, untimed) == (0, 0, 0) {
            return Ok(());
        }
        let (process, said) = (self.process, quoted(timeline));
        self.event(format_args!(
            r#""ph":"i","s":"g","pid":{process},"ts":0.000,"name":{said}"#
        ))
    }

    /// What is said of the process as a whole.
    fn process_data(&mut self, name: &str, key: &str, value: impl Display) -> io::Result<()> {
        let process = self.process;
        self.event(format_args!(
            r#""ph":"M","pid":{process},"name":"{name}","args":{{"{key}":{value}}}"#
        ))
    }

    fn event(&mut self, fields: fmt::Arguments<'_>) -> io::Result<()> {
        let before: &[u8] = if self.is_first { b"\n" } else { b",\n" };
        self.is_first = false;
        self.out.write_all(before)?;
        write!(self.out, "{{{fields}}}")
    }

    /// All tracks, in the order of their numbers.
    fn tracks(&mut self, timeline: &Timeline) -> io::Result<()> {
        let arrows = arrows(timeline);
        let words = Words::new(timeline);
        let mut order: Vec<_> = (0..timeline.tracks.len()).collect();
        order.sort_by_key(|&track| timeline.tracks[track].of);
        let mut of_tracks = lanes(timeline);
        let mut next = FIRST_NUMBER..;
        let mut places = 0..;
        for track in order {
            let of = &timeline.tracks[track];
            for (lane, slices) in std::mem::take(&mut of_tracks[track]).iter().enumerate() {
                let number = match (of.of, lane) {
                    (TrackOf::Thread(number @ 1..), 0) => u64::from(number),
                    _ => next.next().unwrap_or(0),
                };
                let name = match lane {
                    0 => of.name(),
                    _ => format!("{} (lane {})", of.name(), lane + 1),
                };
                self.track(number, &name, places.next().unwrap_or(0))?;
                self.lane(timeline, number, slices, &arrows, &words)?;
            }
        }
        Ok(())
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

    /// The slices of a lane, by their places in the timeline, which are inside each other or do not overlap.
    fn lane(
        &mut self,
        timeline: &Timeline,
        number: u64,
        slices: &[usize],
        arrows: &HashMap<usize, Vec<usize>>,
        words: &Words,
    ) -> io::Result<()> {
        let mut open: Vec<usize> = Vec::new();
        let mut after_last = 0;
        let all = slices.iter().map(|&slice| Some(slice)).chain([None]);
        for next in all {
            let starts = next.map_or(u64::MAX, |next| timeline.slices[next].start);
            while let Some(last) = open.pop_if(|last| timeline.slices[*last].end <= starts) {
                // Within the slice, and behind those in it.
                let inside = timeline.slices[last].end.saturating_sub(1).max(after_last);
                after_last = timeline.slices[last].end;
                for &arrow in arrows.get(&last).into_iter().flatten() {
                    self.arrow("s", arrow, number, inside)?;
                }
                self.end_of(timeline, last, next, (number, inside))?;
            }
            if let Some(next) = next {
                open.push(next);
                after_last = starts;
                self.begin_of(&timeline.slices[next], number, words)?;
            }
        }
        Ok(())
    }

    fn begin_of(&mut self, slice: &Slice, number: u64, words: &Words) -> io::Result<()> {
        let process = self.process;
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
        let lock = &words.locks[slice.lock as usize];
        let name = match slice.kind {
            EventKind::Hold => lock.clone(),
            _ => format!("\"{category}: {}", &lock[1..]),
        };
        let blamed_on = words.lines.get(slice.blamed_on as usize);
        let blamed_on =
            blamed_on.map_or_else(String::new, |line| format!(r#","blamed_on":{line}"#));
        let cut = match (slice.began_before, slice.is_over) {
            (false, true) => "",
            (true, true) => r#","began_before":true"#,
            (false, false) => r#","goes_on":true"#,
            (true, false) => r#","began_before":true,"goes_on":true"#,
        };
        let (start, line) = (Time(slice.start), &words.lines[slice.line as usize]);
        self.event(format_args!(
            r#""ph":"B","pid":{process},"tid":{number},"ts":{start},"cat":"{category}","name":{name},"cname":"{colour}","args":{{"lock":{lock},"line":{line},"mode":"{mode}"{blamed_on}{cut}}}"#
        ))
    }

    /// The end of a slice, and that of the arrow to it; `next` begins then or later.
    fn end_of(
        &mut self,
        timeline: &Timeline,
        slice: usize,
        next: Option<usize>,
        (number, inside): (u64, u64),
    ) -> io::Result<()> {
        let process = self.process;
        let of = &timeline.slices[slice];
        let has_arrow = of.released_by != NONE;
        let is_followed = next.is_some_and(|next| {
            let next = &timeline.slices[next];
            next.kind == EventKind::Hold && next.lock == of.lock && next.start == of.end
        });
        if has_arrow && !is_followed {
            self.arrow(r#"f","bp":"e"#, slice, number, inside)?;
        }
        let end = Time(of.end);
        self.event(format_args!(
            r#""ph":"E","pid":{process},"tid":{number},"ts":{end}"#
        ))?;
        if has_arrow && is_followed {
            // To what begins next.
            self.arrow("f", slice, number, of.end)?;
        }
        Ok(())
    }

    fn arrow(&mut self, phase: &str, arrow: usize, number: u64, at: u64) -> io::Result<()> {
        let (process, at, arrow) = (self.process, Time(at), arrow + 1);
        self.event(format_args!(
            r#""ph":"{phase}","pid":{process},"tid":{number},"ts":{at},"id":{arrow},"cat":"release","name":"release""#
        ))
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

/// For each track its lanes, with the places of their slices.
fn lanes(timeline: &Timeline) -> Vec<Vec<Vec<usize>>> {
    let mut lanes: Vec<_> = timeline.tracks.iter().map(|_| Lanes::new()).collect();
    let mut slices: Vec<Vec<Vec<usize>>> = vec![Vec::new(); timeline.tracks.len()];
    for (place, slice) in timeline.slices.iter().enumerate() {
        let track = slice.track as usize;
        let lane = lanes[track].lane(slice.start, slice.end);
        if lane == slices[track].len() {
            slices[track].push(Vec::new());
        }
        slices[track][lane].push(place);
    }
    slices
}

/// For each hold whose release ended waits, which those are; each is the number of its arrow.
fn arrows(timeline: &Timeline) -> HashMap<usize, Vec<usize>> {
    let mut arrows: HashMap<usize, Vec<usize>> = HashMap::new();
    for (wait, slice) in timeline.slices.iter().enumerate() {
        if slice.released_by != NONE {
            let hold = slice.released_by as usize;
            arrows.entry(hold).or_default().push(wait);
        }
    }
    arrows
}

/// Names and lines, as strings of JSON.
struct Words {
    locks: Vec<String>,
    lines: Vec<String>,
}

impl Words {
    fn new(timeline: &Timeline) -> Self {
        Words {
            locks: timeline.locks.iter().map(quoted).collect(),
            lines: timeline.lines.iter().map(quoted).collect(),
        }
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
