//! HDDS-17636: one call, two acquisitions of the shared configuration's lock, one of them for
//! nothing.
//!
//! [`parse_eagerly`] looks the fallback up before it knows whether it needs it; [`parse`] asks when
//! it does. Nothing else differs.

use crate::incident::{
    Driven, Incident, Options, Shape, Until, advice_on, drive, grouped, median, table_of,
};
use instrumented_lock::budget::{self, Used};
use instrumented_lock::{Mutex, Snapshot, instrumented, registry};
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{self, Write};
use std::time::Duration;

/// The example.
pub const INCIDENT: Incident = Incident {
    name: "config_parse",
    about: "Parses a replication setting whose fallback is looked up too early (HDDS-17636).",
    threads: "4, 8 and 16",
    seconds: "how long each shape runs at each number of threads; default: 1",
    run,
};

/// The lock that all of this is about.
pub const LOCK: &str = "config_parse::Configuration::props";

/// Settings by name, shared by the whole process.
#[instrumented(prefix = "config_parse")]
pub struct Configuration {
    props: Mutex<HashMap<String, String>>,
}

impl Configuration {
    /// One with defaults.
    pub fn new() -> Self {
        let defaults = [
            ("ozone.replication", "THREE"),
            ("ozone.replication.type", "RATIS"),
        ];
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        Configuration {
            props: Mutex::new(defaults.map(owned).into()),
        }
    }

    /// A setting. Reports show the line of the caller, since what matters is who asks.
    #[track_caller]
    pub fn get(&self, key: &str) -> Option<String> {
        self.props.lock().get(key).cloned()
    }
}

impl Default for Configuration {
    fn default() -> Self {
        Self::new()
    }
}

/// How often and how data is replicated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replication {
    /// By a consensus group of so many.
    Ratis(u8),
    /// By so many copies.
    StandAlone(u8),
}

impl Replication {
    fn of(kind: &str, factor: &str) -> Option<Self> {
        let factor = match factor {
            "1" | "ONE" => 1,
            "3" | "THREE" => 3,
            _ => return None,
        };
        match kind {
            "RATIS" => Some(Replication::Ratis(factor)),
            "STAND_ALONE" => Some(Replication::StandAlone(factor)),
            _ => None,
        }
    }
}

/// The slow shape: the fallback is an argument, and so is evaluated whether it is needed or not.
pub fn parse_eagerly(replication: Option<&str>, conf: &Configuration) -> Option<Replication> {
    let kind = conf.get("ozone.replication.type")?;
    let factor = replication
        .map(str::to_owned)
        .or(conf.get("ozone.replication"));
    Replication::of(&kind, &factor?)
}

/// The fixed shape: the fallback is a closure.
pub fn parse(replication: Option<&str>, conf: &Configuration) -> Option<Replication> {
    let kind = conf.get("ozone.replication.type")?;
    let factor = replication
        .map(str::to_owned)
        .or_else(|| conf.get("ozone.replication"));
    Replication::of(&kind, &factor?)
}

/// What one call acquires.
pub fn budget(shape: Shape, conf: &Configuration) -> Used<Option<Replication>> {
    budget::measure(|| call(shape, conf))
}

fn call(shape: Shape, conf: &Configuration) -> Option<Replication> {
    let parse = match shape {
        Shape::Slow => parse_eagerly,
        Shape::Fixed => parse,
    };
    parse(black_box(Some("3")), conf)
}

/// Calls from many threads, with one configuration, and the report on the meantime.
pub fn load(shape: Shape, threads: usize, until: Until) -> (Driven, Snapshot) {
    let conf = Configuration::new();
    let before = registry::snapshot();
    let driven = drive(threads, until, |_, _| {
        black_box(call(shape, &conf));
    });
    (driven, registry::snapshot().since(&before))
}

/// So that one that was disturbed does not count.
const ROUNDS: u32 = 3;

fn run(options: &Options, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "config_parse: one call takes the configuration's lock twice (HDDS-17636)\n\n\
         Expected, as reported: at 4 to 16 threads 3,020 calls/ms become 5,349 to 5,568, 1.7 to \
         1.8 times as\nmany, when the fallback is no longer looked up for nothing.\n"
    )?;

    writeln!(
        out,
        "Lock budget of one call: budget::measure(|| parse(Some(\"3\"), &conf))"
    )?;
    let conf = Configuration::new();
    for &shape in &options.shapes {
        let used = budget(shape, &conf);
        writeln!(out, "  {shape}: {} × {LOCK}", used.acquisitions(LOCK))?;
        for line in used.lines() {
            writeln!(out, "  {line}")?;
        }
    }

    let each = options.seconds.unwrap_or(Duration::from_secs(1)) / ROUNDS;
    let threads = options.threads.map_or_else(|| vec![4, 8, 16], |n| vec![n]);
    writeln!(out, "\nCalls a millisecond, median of {ROUNDS} rounds")?;
    write!(out, "  {:>7}", "threads")?;
    for shape in &options.shapes {
        write!(out, "{shape:>10}")?;
    }
    let is_both = options.shapes.len() == Shape::BOTH.len();
    writeln!(out, "{}", if is_both { "     ratio" } else { "" })?;
    let mut reports = Vec::new();
    for threads in threads {
        let mut rates = vec![Vec::new(); options.shapes.len()];
        for _ in 0..ROUNDS {
            reports.clear();
            for (&shape, rates) in options.shapes.iter().zip(&mut rates) {
                let (driven, report) = load(shape, threads, Until::Elapsed(each));
                rates.push(driven.rate() / 1000.0);
                reports.push((shape, driven, report));
            }
        }
        let rates: Vec<_> = rates.into_iter().map(median).collect();
        write!(out, "  {threads:>7}")?;
        for rate in &rates {
            write!(out, "{rate:>10.0}")?;
        }
        match rates[..] {
            [slow, fixed] => writeln!(out, "{:>9.2}×", fixed / slow)?,
            _ => writeln!(out)?,
        }
    }

    for (shape, driven, report) in &reports {
        writeln!(
            out,
            "\nThe report, {shape}, last round: {} calls",
            grouped(driven.operations)
        )?;
        writeln!(out, "{}", table_of(report, LOCK))?;
        if let Some(lock) = report.lock(LOCK) {
            writeln!(out, "  acquisitions by line:")?;
            for site in lock.call_sites() {
                let (n, at) = (grouped(site.acquisitions()), site.location());
                writeln!(out, "{n:>14}  {at}")?;
            }
        }
        for advice in advice_on(report, LOCK) {
            writeln!(out, "{advice}")?;
        }
    }
    writeln!(
        out,
        "\nThe cause: two lines of one function take the lock equally often, once a call each, and \
         the second\nonly for a fallback that is thrown away. The test that would have said so:\n  \
         budget::assert_at_most!(1, \"Configuration::props\", || parse(Some(\"3\"), &conf));"
    )
}
