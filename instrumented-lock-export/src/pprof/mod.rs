//! Profiles in the format of [pprof](https://github.com/google/pprof), as Go's mutex and block profiles
//! have it: `contentions` in `count` and `delay` in `nanoseconds`, compressed with gzip.
//!
//! ```no_run
//! # use instrumented_lock::registry;
//! std::fs::write("block.pb.gz", instrumented_lock_export::pprof::block(&registry::snapshot()))?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! then `go tool pprof -top block.pb.gz`, or `-http :8080`. The frames are the lock, the line with its mode
//! and, where it is known who waited for whom, the line that waited; samples have the labels `lock`, `kind`
//! and `mode`. Where [stacks](instrumented_lock::LockSnapshot::stacks) have been captured, they stand in place of
//! lines: the lock, then who called whom. They are estimates; what they do not come to is left with the lines.
//!
//! [`operations`] and [`instances`] say of the same waiting for what it was, and for which lock of its class. The
//! frames are the lock class, then the operation, or the lock by its label or address; each is a label too, and how
//! long others waited meanwhile is a third value, `blame` in `nanoseconds`:
//! `go tool pprof -top -sample_index=blame operations.pb.gz`.

mod proto;

use crate::parts::{self, Part};
use crate::stacks::{self, Line, Stack, place};
use flate2::Compression;
use flate2::write::GzEncoder;
use instrumented_lock::{LockSnapshot, Snapshot};
use prost::Message as _;
use proto::{Function, Label, Profile, Sample, ValueType};
use std::collections::HashMap;
use std::io::Write as _;

/// Where threads waited, by the line that waited: Go's block profile.
pub fn block(snapshot: &Snapshot) -> Vec<u8> {
    compressed(&of_stacks(snapshot, &stacks::waits(snapshot)))
}

/// What they waited for, by the line that held the lock meanwhile: Go's mutex profile. The time in which the
/// lock was free is a frame of its own.
pub fn mutex(snapshot: &Snapshot) -> Vec<u8> {
    compressed(&of_stacks(snapshot, &stacks::blame(snapshot)))
}

/// How long [operations](mod@instrumented_lock::operation) waited for locks, and others for theirs. What was waited
/// outside of any is `(no operation)`. Waits that gave up and those that go on count too.
pub fn operations(snapshot: &Snapshot) -> Vec<u8> {
    compressed(&of_parts(
        snapshot,
        &parts::operations(snapshot),
        "operation",
    ))
}

/// Which lock of a class was [waited for](instrumented_lock::LockSnapshot::waited_for), by those who then had it.
pub fn instances(snapshot: &Snapshot) -> Vec<u8> {
    compressed(&of_parts(snapshot, &parts::instances(snapshot), "instance"))
}

fn compressed(profile: &Profile) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let written = encoder.write_all(&profile.encode_to_vec());
    written.and_then(|()| encoder.finish()).unwrap_or_default()
}

/// A profile and what is in its tables already.
struct Builder {
    profile: Profile,
    strings: HashMap<String, i64>,
    /// By name, file and line.
    locations: HashMap<(i64, i64, i64), u64>,
}

impl Builder {
    /// Without samples, which have two values.
    fn new(snapshot: &Snapshot) -> Self {
        let mut builder = Builder {
            profile: Profile {
                string_table: vec![String::new()],
                duration_nanos: number(snapshot.elapsed().as_nanos()),
                period: 1,
                ..Profile::default()
            },
            strings: HashMap::from([(String::new(), 0)]),
            locations: HashMap::new(),
        };
        let contentions = builder.value_type("contentions", "count");
        let delay = builder.value_type("delay", "nanoseconds");
        builder.profile.sample_type = vec![contentions, delay];
        builder.profile.period_type = Some(contentions);
        builder.profile.default_sample_type = delay.r#type;
        builder
    }

    /// The number of a string. That of the empty one is 0.
    fn string(&mut self, text: &str) -> i64 {
        if let Some(&known) = self.strings.get(text) {
            return known;
        }
        // There is no room for more than this in memory.
        let number = i64::try_from(self.profile.string_table.len()).unwrap_or(i64::MAX);
        self.profile.string_table.push(text.to_owned());
        self.strings.insert(text.to_owned(), number);
        number
    }

    fn value_type(&mut self, what: &str, unit: &str) -> ValueType {
        ValueType {
            r#type: self.string(what),
            unit: self.string(unit),
        }
    }

    /// The number of a frame's location, from 1.
    fn location(&mut self, name: &str, at: Option<(&str, u32)>) -> u64 {
        let name = self.string(name);
        let file = at.map_or(0, |(file, _)| self.string(file));
        let line = at.map_or(0, |(_, line)| i64::from(line));
        let next = self.profile.location.len() as u64 + 1;
        let id = *self.locations.entry((name, file, line)).or_insert(next);
        if id == next {
            self.profile.function.push(Function {
                id,
                name,
                system_name: name,
                filename: file,
                start_line: line,
            });
            self.profile.location.push(proto::Location {
                id,
                line: vec![proto::Line {
                    function_id: id,
                    line,
                }],
            });
        }
        id
    }

    /// Below the frame of the lock class those of `lines`, from the outside in.
    fn sample(
        &mut self,
        lock: &LockSnapshot,
        lines: &[Line<'_>],
        label: Option<(&str, String)>,
        value: Vec<i64>,
    ) {
        // The innermost first.
        let lines = lines.iter().rev();
        let mut location_id: Vec<_> = lines
            .map(|line| self.location(&line.text, line.at))
            .collect();
        location_id.push(self.location(lock.name(), Some(place(lock.declared_at()))));
        let labels = [
            ("lock", lock.name().to_owned()),
            ("kind", lock.kind().to_string()),
        ];
        let labels = labels.into_iter().chain(label).map(|(key, value)| Label {
            key: self.string(key),
            str: self.string(&value),
        });
        let label = labels.collect();
        self.profile.sample.push(Sample {
            location_id,
            value,
            label,
        });
    }
}

fn number(n: u128) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn of_stacks(snapshot: &Snapshot, stacks: &[Stack<'_>]) -> Profile {
    let mut builder = Builder::new(snapshot);
    for stack in stacks {
        let mode = stack.mode.map(|mode| ("mode", mode.to_string()));
        let value = vec![
            number(stack.contentions.into()),
            number(stack.delay.as_nanos()),
        ];
        builder.sample(stack.lock, &stack.lines, mode, value);
    }
    builder.profile
}

/// `label` says what the parts are of.
fn of_parts(snapshot: &Snapshot, parts: &[Part<'_>], label: &str) -> Profile {
    let mut builder = Builder::new(snapshot);
    let blame = builder.value_type("blame", "nanoseconds");
    builder.profile.sample_type.push(blame);
    for part in parts {
        let line = Line {
            text: part.whose.clone(),
            at: None,
        };
        let value = vec![
            number(part.contentions.into()),
            number(part.waited.as_nanos()),
            number(part.blame.as_nanos()),
        ];
        builder.sample(part.lock, &[line], Some((label, part.whose.clone())), value);
    }
    builder.profile
}

#[cfg(test)]
mod tests;
