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

mod proto;

use crate::stacks::{self, Stack, place};
use flate2::Compression;
use flate2::write::GzEncoder;
use instrumented_lock::Snapshot;
use prost::Message as _;
use proto::{Function, Label, Line, Profile, Sample, ValueType};
use std::collections::HashMap;
use std::io::Write as _;

/// Where threads waited, by the line that waited: Go's block profile.
pub fn block(snapshot: &Snapshot) -> Vec<u8> {
    compressed(&profile(snapshot, &stacks::waits(snapshot)))
}

/// What they waited for, by the line that held the lock meanwhile: Go's mutex profile. The time in which the
/// lock was free is a frame of its own.
pub fn mutex(snapshot: &Snapshot) -> Vec<u8> {
    compressed(&profile(snapshot, &stacks::blame(snapshot)))
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
                line: vec![Line {
                    function_id: id,
                    line,
                }],
            });
        }
        id
    }

    fn sample(&mut self, stack: &Stack<'_>) {
        let lock = stack.lock;
        let lines = stack.lines.iter().rev();
        // The innermost first.
        let mut location_id: Vec<_> = lines
            .map(|line| self.location(&line.text, line.at))
            .collect();
        location_id.push(self.location(lock.name(), Some(place(lock.declared_at()))));
        let mode = stack.mode.map(|mode| ("mode", mode.to_string()));
        let labels = [
            ("lock", lock.name().to_owned()),
            ("kind", lock.kind().to_string()),
        ];
        let labels = labels.into_iter().chain(mode).map(|(key, value)| Label {
            key: self.string(key),
            str: self.string(&value),
        });
        let sample = Sample {
            location_id,
            value: vec![
                number(stack.contentions.into()),
                number(stack.delay.as_nanos()),
            ],
            label: labels.collect(),
        };
        self.profile.sample.push(sample);
    }
}

fn number(n: u128) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn profile(snapshot: &Snapshot, stacks: &[Stack<'_>]) -> Profile {
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
    for stack in stacks {
        builder.sample(stack);
    }
    builder.profile
}

#[cfg(test)]
mod tests;
