//! What the environment variable may say: a row for each word.
//!
//! To add a word, add a row to [`WORDS`], what it sets to [`Words`], and a line to the table of
//! [`ENVIRONMENT_VARIABLE`](crate::registry::ENVIRONMENT_VARIABLE).

use crate::settings::{
    Destination, Form, HoldTiming, InvalidSetting, Reaction, Reports, Signal, Stacks, Words,
};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A word.
struct Word {
    /// All of it, or all in front of a `=`.
    name: &'static str,
    /// The forms that it has, as the message about another one lists them.
    forms: &'static str,
    /// Takes it in; is given what stands behind the `=`. `None` where that is no value.
    read: fn(&mut Words, Option<&str>) -> Option<()>,
}

/// In the order in which they are listed. A word that has no row is how often holds are timed, as `1/64`.
const WORDS: [Word; 14] = [
    Word {
        name: "on",
        forms: "`on`",
        read: |words, value| alone(value, || words.settings.is_off = false),
    },
    Word {
        name: "off",
        forms: "`off`",
        read: |words, value| alone(value, || words.settings.is_off = true),
    },
    Word {
        name: "exact",
        forms: "`exact`",
        read: |words, value| alone(value, || words.settings.timing = HoldTiming::EXACT),
    },
    Word {
        name: "1/N",
        forms: "`1/N` with N a power of two up to 1048576",
        read: |_, _| None,
    },
    Word {
        name: "no-call-sites",
        forms: "`no-call-sites`",
        read: |words, value| alone(value, || words.settings.call_sites = false),
    },
    Word {
        name: "ordered-clock",
        forms: "`ordered-clock`",
        read: |words, value| alone(value, || words.settings.ordered_clock = true),
    },
    Word {
        name: "makers",
        forms: "`makers`",
        read: |words, value| alone(value, || words.settings.makers = true),
    },
    Word {
        name: "stacks",
        forms: "`stacks`, `stacks=1/N` with N a power of two up to 1048576, `stacks=TIME` with a TIME such as 10ms",
        read: |words, value| {
            words.settings.stacks = value.unwrap_or("1/64").parse().ok()?;
            Some(())
        },
    },
    Word {
        name: "order",
        forms: "`order`, `order=log`, `order=panic`, `order=off`",
        read: |words, value| {
            words.settings.order = match value {
                None => Some(Reaction::Collect),
                Some("log") => Some(Reaction::Log),
                Some("panic") => Some(Reaction::Panic),
                Some("off") => None,
                Some(_) => return None,
            };
            Some(())
        },
    },
    Word {
        name: "report",
        forms: "`report`, `report=FILE` with a FILE that ends with .txt, .json, .jsonl or .lock_stat",
        read: |words, value| {
            words.reports.to.push(match value {
                None => Destination::Terminal,
                Some(file) => Destination::File(file.to_owned(), form_of(file)?),
            });
            Some(())
        },
    },
    Word {
        name: "watch",
        forms: "`watch=TIME` with a TIME such as 1s, 500ms, 1m or 1h",
        read: |words, value| {
            words.reports.watch = Some(time(value?)?);
            Some(())
        },
    },
    Word {
        name: TIMELINE,
        forms: "`timeline=FILE`, `timeline=FILE,TIME` with a TIME such as 1s, 500ms, 1m or 1h",
        read: |words, value| {
            let file = value.filter(|file| !file.is_empty())?;
            words.reports.timeline = Some((file.to_owned(), A_TIMELINE));
            Some(())
        },
    },
    Word {
        name: "every",
        forms: "`every=TIME` with a TIME such as 10s, 500ms, 1m or 1h",
        read: |words, value| {
            words.reports.every = Some(time(value?)?);
            Some(())
        },
    },
    Word {
        name: "on-signal",
        forms: "`on-signal`, `on-signal=USR2`, `on-signal=INT`, `on-signal=TERM`, `on-signal=HUP`",
        read: |words, value| {
            words.reports.on_signal.push(match value {
                None | Some("USR1") => Signal::Usr1,
                Some("USR2") => Signal::Usr2,
                Some("INT") => Signal::Int,
                Some("TERM") => Signal::Term,
                Some("HUP") => Signal::Hup,
                Some(_) => return None,
            });
            Some(())
        },
    },
];

/// The word that a time may follow.
const TIMELINE: &str = "timeline";

/// How long a timeline is that no time follows.
const A_TIMELINE: Duration = Duration::from_secs(1);

/// A word that has no value.
fn alone(value: Option<&str>, set: impl FnOnce()) -> Option<()> {
    value.is_none().then(set)
}

/// What stands in front of the `=`.
fn name_of(word: &str) -> &str {
    word.split_once('=').map_or(word, |(name, _)| name)
}

/// By the ending of the file's name.
fn form_of(file: &str) -> Option<Form> {
    let (name, ending) = file.rsplit_once('.')?;
    // A name that is an ending only is a hidden file, or none.
    if name.is_empty() || name.ends_with(['/', '\\']) {
        return None;
    }
    match ending {
        "txt" => Some(Form::Table),
        "json" => Some(Form::Json),
        "jsonl" => Some(Form::JsonLines),
        "lock_stat" => Some(Form::LockStat),
        _ => None,
    }
}

/// A number and its unit.
fn time(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let milliseconds: u64 = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let time = number.parse::<u64>().ok()?.checked_mul(milliseconds)?;
    (time > 0).then(|| Duration::from_millis(time))
}

/// `off`, `1/64` and its like, `10ms` and its like.
impl FromStr for Stacks {
    type Err = InvalidSetting;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidSetting(format!("stacks={text}"));
        if text == "off" {
            return Ok(Stacks::OFF);
        }
        let Some(n) = text.strip_prefix("1/") else {
            return time(text).map(Stacks::longer_than).ok_or_else(invalid);
        };
        let stacks = n.parse().ok().and_then(|n| Stacks::one_in(n).ok());
        stacks.ok_or_else(invalid)
    }
}

impl FromStr for Words {
    type Err = InvalidSetting;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = Words::default();
        let mut before = "";
        for word in text.split(',').map(str::trim) {
            if word.is_empty() && text.trim().is_empty() {
                continue;
            }
            if std::mem::replace(&mut before, name_of(word)) == TIMELINE
                && let (Some(length), Some((_, known))) = (time(word), &mut words.reports.timeline)
            {
                *known = length;
                continue;
            }
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            match WORDS.iter().find(|known| known.name == name) {
                Some(known) => (known.read)(&mut words, value)
                    .ok_or_else(|| InvalidSetting(word.to_owned()))?,
                None => words.settings.timing = word.parse()?,
            }
        }
        Ok(words)
    }
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = &self.0;
        write!(f, "`{word}` is no setting for lock recording; write ")?;
        let name = name_of(word);
        if let Some(meant) = WORDS.iter().find(|known| known.name == name) {
            return f.write_str(meant.forms);
        }
        for known in &WORDS {
            write!(f, "{}, ", known.forms)?;
        }
        f.write_str("or several with commas between")
    }
}

impl Reports {
    /// The file that intervals are added to.
    pub(crate) fn file_of_intervals(&self) -> &str {
        let named = |to: &Destination| matches!(to, Destination::File(_, Form::JsonLines));
        match self.to.iter().find(|to| named(to)) {
            Some(Destination::File(file, _)) => file,
            _ => "instrumented-lock.jsonl",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Words, InvalidSetting> {
        text.parse()
    }

    #[test]
    fn settings_are_read_or_refused_with_what_to_write() {
        let settings = |text: &str| read(text).unwrap().settings;
        assert!(settings("off").is_off);
        assert!(!settings(" on ").is_off);
        assert_eq!(settings("exact").timing, HoldTiming::EXACT);
        assert_eq!(settings("1/1048576").timing.shift(), 20);
        let several = settings("1/64, no-call-sites,ordered-clock");
        assert_eq!(several.timing.shift(), 6);
        assert!(!several.call_sites && several.ordered_clock && !several.is_off);
        let stacks = |text| settings(text).stacks;
        assert_eq!(stacks("stacks"), Stacks::one_in(64).unwrap());
        assert_eq!(stacks("stacks=1/1,off"), Stacks::one_in(1).unwrap());
        let long = Duration::from_millis(20);
        assert_eq!(stacks("stacks=20ms"), Stacks::longer_than(long));
        assert_eq!(stacks("stacks=20ms,stacks=off"), Stacks::OFF);
        for bad in [
            "1/0",
            "1/3",
            "1/2097152",
            "64",
            "1/",
            "1/x",
            "yes",
            "1/-2",
            "1/ 64",
            "no-sites",
            "1/N",
            "reports",
        ] {
            let error = read(bad).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{bad}`")) && error.contains("1/N"),
                "{error}"
            );
        }
    }

    #[test]
    fn reports_are_read_with_the_other_words() {
        let words = read("1/64,no-call-sites,report=x.txt").unwrap();
        assert_eq!(words.settings.timing.shift(), 6);
        assert!(!words.settings.call_sites);
        let to = |file: &str, form| Destination::File(file.to_owned(), form);
        assert_eq!(words.reports.to, [to("x.txt", Form::Table)]);
        let words =
            read("report,report=a=b/%p.json,every=500ms,on-signal=USR2,on-signal=INT").unwrap();
        assert_eq!(
            words.reports,
            Reports {
                to: vec![Destination::Terminal, to("a=b/%p.json", Form::Json)],
                every: Some(Duration::from_millis(500)),
                watch: None,
                timeline: None,
                on_signal: vec![Signal::Usr2, Signal::Int],
            }
        );
        assert_eq!(words.reports.file_of_intervals(), "instrumented-lock.jsonl");
        let reports = read("on-signal,report=x.lock_stat,every=2h,report=y.jsonl")
            .unwrap()
            .reports;
        assert_eq!(reports.to[0], to("x.lock_stat", Form::LockStat));
        assert_eq!(reports.every, Some(Duration::from_secs(7200)));
        assert_eq!(reports.on_signal, [Signal::Usr1]);
        assert_eq!(reports.file_of_intervals(), "y.jsonl");
        assert_eq!(read("").unwrap().reports, Reports::default());
    }

    #[test]
    fn a_timeline_may_be_followed_by_its_length() {
        let timeline = |text: &str| {
            let (file, length) = read(text).unwrap().reports.timeline.unwrap();
            (file, length.as_millis())
        };
        assert_eq!(timeline("timeline=a.json"), ("a.json".to_owned(), 1000));
        assert_eq!(
            timeline("timeline=a.json,500ms"),
            ("a.json".to_owned(), 500)
        );
        let both = "report,timeline=%p.json, 2m,every=1s";
        assert_eq!(timeline(both), ("%p.json".to_owned(), 120_000));
        assert_eq!(
            read(both).unwrap().reports.every,
            Some(Duration::from_secs(1))
        );
        // A time belongs to nothing else, and to one timeline once.
        for bad in [
            "1s",
            "report,1s",
            "timeline=a.json,1s,2s",
            "timeline=a.json,report,1s",
        ] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains("s` is no setting"), "{error}");
        }
    }

    #[test]
    fn a_value_that_is_none_is_answered_by_the_forms_of_its_word() {
        for (bad, forms) in [
            ("report=", ".lock_stat"),
            ("report=x", ".lock_stat"),
            ("report=x.pdf", ".lock_stat"),
            ("report=/tmp/.txt", ".lock_stat"),
            ("timeline", "FILE,TIME"),
            ("timeline=", "FILE,TIME"),
            ("every", "10s"),
            ("every=", "10s"),
            ("every=0s", "10s"),
            ("every=10", "10s"),
            ("every=-1s", "10s"),
            ("every=10 s", "10s"),
            ("every=99999999999999999h", "10s"),
            ("on-signal=KILL", "USR2"),
            ("off=1", "`off`"),
            ("stacks=1/3", "`stacks=1/N`"),
            ("stacks=0ms", "10ms"),
            ("stacks=", "10ms"),
        ] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{bad}` is no setting")));
            assert!(error.contains(forms), "{error}");
            assert!(!error.contains("several") && !error.contains('\n'));
        }
    }
}
