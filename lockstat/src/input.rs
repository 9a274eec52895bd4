//! Where snapshots come from: files, standard input, programs that serve them.

use crate::output::Failure;
use instrumented_lock::Snapshot;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::time::Duration;

/// More than a thousand times what a large program has.
const MOST: u64 = 1 << 30;

/// How long a program may take to answer. An answer about the next 60 seconds needs that long.
const PATIENCE: Duration = Duration::from_secs(90);

/// The snapshot that a source has: of several lines, which are intervals, all of them together.
pub(crate) fn read(source: &str) -> Result<Snapshot, Failure> {
    let text = match source {
        "-" if io::stdin().is_terminal() => {
            Err("there is nothing on standard input; name a file or a URL".to_owned())
        }
        "-" => all(io::stdin().lock()),
        url if url.starts_with("http://") || url.starts_with("https://") => {
            return read_url(url, PATIENCE);
        }
        file => File::open(file)
            .map_err(|error| error.to_string())
            .and_then(all),
    };
    text.and_then(|text| parse(&text)).map_err(|why| {
        let source = if source == "-" {
            "standard input"
        } else {
            source
        };
        Failure::Input(format!("{source}: {why}"))
    })
}

/// The snapshot that a program serves.
pub(crate) fn read_url(url: &str, patience: Duration) -> Result<Snapshot, Failure> {
    let text = fetch(url, patience);
    let snapshot = text.and_then(|text| parse(&text));
    snapshot.map_err(|why| Failure::Input(format!("{url}: {why}")))
}

fn all(from: impl Read) -> Result<String, String> {
    let mut text = String::new();
    let read = from.take(MOST).read_to_string(&mut text);
    match read.map_err(|error| error.to_string())? as u64 {
        MOST => Err("it is larger than a gigabyte".to_owned()),
        _ => Ok(text),
    }
}

/// A URL without a path is that of a program: its snapshot.
pub(crate) fn fetch(url: &str, patience: Duration) -> Result<String, String> {
    let Some(host) = url.strip_prefix("http://") else {
        let why = "only http:// is spoken here; fetch it with curl and `lockstat show -` it";
        return Err(why.to_owned());
    };
    let path = match host.split_once('/') {
        None => "/locks.json",
        Some((_, "")) => "locks.json",
        Some(_) => "",
    };
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(patience))
        .timeout_connect(Some(Duration::from_secs(5)))
        // Of the machine that is asked, not of the way there.
        .proxy(None)
        .build()
        .into();
    let answer = agent.get(format!("{url}{path}")).call();
    let mut answer = answer.map_err(|error| error.to_string())?;
    all(answer.body_mut().as_reader())
}

/// A snapshot as JSON, or lines of intervals.
pub(crate) fn parse(text: &str) -> Result<Snapshot, String> {
    // A file that is being written ends within a line, and what a killed program has left may.
    let mut lines = text
        .split_inclusive('\n')
        .filter(|line| !line.trim().is_empty());
    let first = lines.next().ok_or("it is empty")?;
    let Ok(whole) = serde_json::from_str::<Snapshot>(first) else {
        // Not a line: JSON that somebody has laid out.
        return serde_json::from_str(text).map_err(broken);
    };
    lines.try_fold(whole, |whole, line| match serde_json::from_str(line) {
        Ok(interval) => Ok(whole.then(&interval)),
        Err(_) if !line.ends_with('\n') => Ok(whole),
        Err(error) => Err(broken(error)),
    })
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn broken(error: serde_json::Error) -> String {
    format!("no snapshot of instrumented-lock: {error}")
}

#[cfg(test)]
mod tests {
    use super::parse;

    const EMPTY: &str =
        r#"{"elapsed_ns":5,"enabled":true,"diagnostics":[],"locks":[],"in_flight":[]}"#;

    #[test]
    fn a_snapshot_is_read_on_one_line_or_on_several() {
        for text in [
            EMPTY.to_owned(),
            format!("{EMPTY}\n"),
            EMPTY.replace(',', ",\n  "),
        ] {
            assert_eq!(parse(&text).unwrap().elapsed().as_nanos(), 5, "{text}");
        }
    }

    #[test]
    fn lines_are_intervals_and_the_last_may_be_cut_off() {
        let lines = format!("{EMPTY}\n{EMPTY}\n\n{EMPTY}\n");
        assert_eq!(parse(&lines).unwrap().elapsed().as_nanos(), 15);
        let cut = &lines[..lines.len() - 9];
        assert_eq!(parse(cut).unwrap().elapsed().as_nanos(), 10);
        for broken in ["", "\n", "{}", "[1]", &lines.replacen("true", "maybe", 2)] {
            assert!(parse(broken).is_err(), "{broken}");
        }
    }
}
