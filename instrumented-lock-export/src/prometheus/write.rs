//! The syntax of both formats.

use super::format::Format;
use instrumented_lock::Distribution;
use std::fmt::{Display, Write as _};
use std::time::Duration;

/// Upper bounds of the classic buckets: these powers of two, in nanoseconds.
const BOUNDS: [u32; 7] = [8, 12, 16, 20, 24, 28, 32];

/// What a family is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

pub(super) struct Writer {
    format: Format,
    out: String,
    /// The family that is being written, with `_total` where the samples have that.
    family: String,
    /// In nanoseconds, and as the end of the labels.
    bounds: [(f64, String); BOUNDS.len()],
}

impl Writer {
    pub(super) fn new(format: Format) -> Self {
        Writer {
            format,
            out: String::new(),
            family: String::new(),
            bounds: BOUNDS.map(|power| {
                // Powers of two are exact.
                let ns = f64::from(power).exp2();
                (ns, format!(",le=\"{}\"}} ", ns / 1e9))
            }),
        }
    }

    /// Begins a family. A name that ends with `_seconds` has that unit.
    pub(super) fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let samples = match kind {
            Kind::Counter => format!("instrumented_lock_{name}_total"),
            _ => format!("instrumented_lock_{name}"),
        };
        let family = match self.format {
            Format::Text => &samples,
            Format::OpenMetrics => samples.trim_end_matches("_total"),
        };
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let _ = writeln!(self.out, "# HELP {family} {help}");
        let _ = writeln!(self.out, "# TYPE {family} {kind}");
        if self.format == Format::OpenMetrics && family.ends_with("_seconds") {
            let _ = writeln!(self.out, "# UNIT {family} seconds");
        }
        self.family = samples;
    }

    /// A sample of the family.
    pub(super) fn sample(&mut self, labels: &str, value: impl Display) {
        self.line("", labels, value);
    }

    fn line(&mut self, suffix: &str, labels: &str, value: impl Display) {
        for text in [&self.family, suffix] {
            self.out.push_str(text);
        }
        if !labels.is_empty() {
            for text in ["{", labels, "}"] {
                self.out.push_str(text);
            }
        }
        let _ = writeln!(self.out, " {value}");
    }

    /// A duration as a sample of the family.
    pub(super) fn time(&mut self, labels: &str, time: Duration) {
        self.sample(labels, seconds(time));
    }

    /// A distribution as the samples of a histogram.
    pub(super) fn histogram(&mut self, labels: &str, distribution: &Distribution) {
        let mut buckets = distribution.buckets().peekable();
        let mut below = 0;
        let start = format!("{}_bucket{{{labels}", self.family);
        for (ns, end) in &self.bounds {
            while let Some((_, n)) = buckets.next_if(|(upper, _)| upper <= ns) {
                below += n;
            }
            for text in [&start, end] {
                self.out.push_str(text);
            }
            let _ = writeln!(self.out, "{below}");
        }
        // Not the count: where a file contradicts itself, at least the buckets are whole.
        let count = below + buckets.map(|(_, n)| n).sum::<u64>();
        let _ = writeln!(self.out, "{start},le=\"+Inf\"}} {count}");
        self.line("_sum", labels, seconds(distribution.sum()));
        self.line("_count", labels, count);
    }

    pub(super) fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

/// Adds a label. Values are escaped alike in both formats: `\`, `"` and the end of a line.
pub(super) fn label(labels: &mut String, name: &str, value: &str) {
    if !labels.is_empty() {
        labels.push(',');
    }
    let _ = write!(labels, "{name}=\"");
    for c in value.chars() {
        match c {
            '\\' => labels.push_str("\\\\"),
            '"' => labels.push_str("\\\""),
            '\n' => labels.push_str("\\n"),
            _ => labels.push(c),
        }
    }
    labels.push('"');
}
