//! [`Format`]: which of the two, and who asks for it.

/// Which of the two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' text format, version 0.0.4.
    Text,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

impl Format {
    /// The one that an `Accept` header prefers; text where it names neither.
    pub fn accepted(accept: &str) -> Format {
        let asked = asked(accept).filter_map(|(asked, q)| match asked {
            Asked::Format(format) => Some((format, q)),
            Asked::Protobuf => None,
        });
        preferred(asked).unwrap_or(Format::Text)
    }

    /// The `Content-Type` of an answer.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// What a part of an `Accept` header asks for.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    Format(Format),
    /// Messages `MetricFamily`, each with its length before it.
    Protobuf,
}

/// Whether an `Accept` header prefers protobuf to both formats of text.
#[cfg_attr(not(feature = "prometheus-native"), allow(dead_code))]
pub(super) fn is_protobuf_preferred(accept: &str) -> bool {
    preferred(asked(accept)) == Some(Asked::Protobuf)
}

/// What we have of what is asked for, with its quality.
fn asked(accept: &str) -> impl Iterator<Item = (Asked, f64)> + '_ {
    accept.split(',').filter_map(|part| {
        let mut words = part.split(';').map(str::trim);
        let name = words.next()?.to_ascii_lowercase();
        let (mut q, mut is_family, mut is_delimited) = (1.0, false, false);
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "q" => q = value.parse().unwrap_or(0.0),
                "proto" => is_family = value == "io.prometheus.client.MetricFamily",
                "encoding" => is_delimited = value == "delimited",
                _ => {}
            }
        }
        let asked = match name.as_str() {
            "application/openmetrics-text" => Asked::Format(Format::OpenMetrics),
            "text/plain" | "text/*" | "*/*" => Asked::Format(Format::Text),
            "application/vnd.google.protobuf" if is_family && is_delimited => Asked::Protobuf,
            _ => return None,
        };
        (q > 0.0).then_some((asked, q))
    })
}

/// That of the highest quality, of several the first.
fn preferred<T>(asked: impl Iterator<Item = (T, f64)>) -> Option<T> {
    let best = asked.reduce(|best, one| if one.1 > best.1 { one } else { best });
    best.map(|(asked, _)| asked)
}
