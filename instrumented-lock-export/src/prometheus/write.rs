//! The syntax of both formats of text.

use super::buckets::{self, BOUNDS};
use super::format::Format;
use super::sink::{Kind, Sink};
use instrumented_lock::Distribution;
use std::fmt::{Display, Write as _};
use std::time::Duration;

pub(super) struct Writer {
    format: Format,
    out: String,
    /// The family that is being written, with `_total` where the samples have that.
    family: String,
    /// The bounds of classic buckets as the end of the labels.
    bounds: [String; BOUNDS.len()],
}

impl Writer {
    pub(super) fn new(format: Format) -> Self {
        Writer {
            format,
            out: String::new(),
            family: String::new(),
            bounds: BOUNDS.map(|power| format!(",le=\"{}\"}} ", buckets::seconds(power))),
        }
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

    pub(super) fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }
}

impl<'a> Sink<'a> for Writer {
    /// As they are written.
    type Labels = String;

    /// Values are escaped alike in both formats: `\`, `"` and the end of a line.
    fn label(labels: &mut String, name: &'static str, value: &str) {
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

    fn family(&mut self, name: &'static str, kind: Kind, help: &'static str) {
        let samples = match kind {
            Kind::Counter => format!("instrumented_lock_{name}_total"),
            _ => format!("instrumented_lock_{name}"),
        };
        let family = match self.format {
            Format::OpenMetrics => samples.trim_end_matches("_total"),
            Format::Text => &samples,
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

    fn sample(&mut self, labels: &String, value: u64) {
        self.line("", labels, value);
    }

    fn time(&mut self, labels: &String, time: Duration) {
        self.line("", labels, time.as_secs_f64());
    }

    fn histogram(&mut self, labels: &String, distribution: &'a Distribution) {
        let (counts, count) = buckets::classic(distribution);
        let start = format!("{}_bucket{{{labels}", self.family);
        for (end, below) in self.bounds.iter().zip(counts) {
            for text in [&start, end] {
                self.out.push_str(text);
            }
            let _ = writeln!(self.out, "{below}");
        }
        let _ = writeln!(self.out, "{start},le=\"+Inf\"}} {count}");
        self.line("_sum", labels, distribution.sum().as_secs_f64());
        self.line("_count", labels, count);
    }
}
