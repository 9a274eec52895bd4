//! What the incidents have in common: the command line, threads that share a load, and the lines of
//! a report that are about one lock.

use instrumented_lock::{Snapshot, report};
use lexopt::{Arg, Parser, ValueExt};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub use crate::namespace::{Until, grouped};

/// A public report of lock trouble, reproduced.
pub struct Incident {
    /// Of the example.
    pub name: &'static str,
    /// One sentence for `--help`, behind the name.
    pub about: &'static str,
    /// What holds without `--threads`.
    pub threads: &'static str,
    /// What `--seconds` is the length of, and what holds without it.
    pub seconds: &'static str,
    /// Runs it and writes what is to be seen.
    pub run: fn(&Options, &mut dyn Write) -> io::Result<()>,
}

/// The two forms of the same small system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As it was reported.
    Slow,
    /// As it was mended.
    Fixed,
}

impl Shape {
    /// What is compared.
    pub const BOTH: [Shape; 2] = [Shape::Slow, Shape::Fixed];
}

/// `slow` or `fixed`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Shape::Slow => "slow",
            Shape::Fixed => "fixed",
        })
    }
}

/// How to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The shapes to run.
    pub shapes: Vec<Shape>,
    /// As many as the incident likes where it is not given.
    pub threads: Option<usize>,
    /// As long as the incident likes where it is not given.
    pub seconds: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            shapes: Shape::BOTH.to_vec(),
            threads: None,
            seconds: None,
        }
    }
}

/// More would measure the scheduler.
const MOST_THREADS: usize = 1024;

/// A day; longer is a slip of the finger.
const MOST_SECONDS: f64 = 86_400.0;

impl Options {
    /// Reads the command line, without the name of the program; `None` where help is asked for.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for the user.
    pub fn parse<I>(arguments: I) -> Result<Option<Self>, String>
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
        I::IntoIter: Clone,
    {
        let mut parser = Parser::from_args(arguments);
        let mut options = Options::default();
        let mut chosen: Option<String> = None;
        while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
            match argument {
                Arg::Short('h') | Arg::Long("help") => return Ok(None),
                Arg::Long(choice @ ("slow" | "fixed" | "both")) => {
                    if let Some(other) = chosen.filter(|other| other != choice) {
                        return Err(format!("--{other} and --{choice} exclude each other"));
                    }
                    options.shapes = match choice {
                        "slow" => vec![Shape::Slow],
                        "fixed" => vec![Shape::Fixed],
                        _ => Shape::BOTH.to_vec(),
                    };
                    chosen = Some(choice.to_owned());
                }
                Arg::Long("threads") => {
                    let n = value(&mut parser, |n: &usize| (1..=MOST_THREADS).contains(n));
                    let wanted =
                        format!("--threads must be a whole number from 1 to {MOST_THREADS}");
                    options.threads = Some(n.map_err(|got| format!("{wanted}{got}"))?);
                }
                Arg::Long("seconds") => {
                    let s = value(&mut parser, |&s: &f64| s > 0.0 && s <= MOST_SECONDS);
                    let wanted = format!("--seconds must be above 0 and {MOST_SECONDS} at most");
                    let s = s.map_err(|got| format!("{wanted}{got}"))?;
                    options.seconds = Some(Duration::from_secs_f64(s));
                }
                other => return Err(other.unexpected().to_string()),
            }
        }
        Ok(Some(options))
    }
}

/// The value of an option, or what is there instead.
fn value<T: std::str::FromStr>(
    parser: &mut Parser,
    is_right: impl Fn(&T) -> bool,
) -> Result<T, String> {
    let text = parser.value().and_then(ValueExt::string);
    let text = text.map_err(|error| format!(": {error}"))?;
    let value = text.parse().ok().filter(is_right);
    value.ok_or_else(|| format!(", not `{text}`"))
}

impl Incident {
    /// The whole program.
    pub fn main(&self) -> ExitCode {
        let arguments: Vec<_> = std::env::args_os().skip(1).collect();
        let said = match Options::parse(arguments) {
            Ok(None) => writeln!(io::stdout(), "{}", self.usage()),
            Ok(Some(options)) => (self.run)(&options, &mut io::stdout()),
            Err(problem) => {
                let _ = writeln!(io::stderr(), "{}: {problem}\n\n{}", self.name, self.usage());
                return ExitCode::from(2);
            }
        };
        match said {
            // Whoever reads it may have seen enough.
            Err(reason) if reason.kind() != ErrorKind::BrokenPipe => {
                let _ = writeln!(io::stderr(), "{}: cannot write: {reason}", self.name);
                ExitCode::FAILURE
            }
            _ => ExitCode::SUCCESS,
        }
    }

    fn usage(&self) -> String {
        let Incident {
            name,
            about,
            threads,
            seconds,
            ..
        } = self;
        format!(
            "\
usage: cargo run --release --example {name} -- [--slow|--fixed|--both] [OPTIONS]

{about}

  --slow         as it was reported
  --fixed        as it was mended
  --both         one after the other; the default
  --threads N    1 to {MOST_THREADS}; default: {threads}
  --seconds S    {seconds}, decimals allowed
  -h, --help     this text"
        )
    }
}

/// What threads did together.
#[derive(Clone, Copy, Debug)]
pub struct Driven {
    /// How often they did it.
    pub operations: u64,
    /// From the start of all to the end of the last.
    pub elapsed: Duration,
}

impl Driven {
    /// Operations a second.
    pub fn rate(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// A barrier for more threads than processors, to pass any number of times. The standard library's
/// has all that it wakes pass one mutex, a chain of switches that a busy machine draws out to
/// seconds; here they look again whenever they are scheduled.
#[derive(Debug)]
pub struct Gate {
    threads: usize,
    arrivals: AtomicUsize,
}

impl Gate {
    /// A gate for so many threads.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Gate {
            threads,
            arrivals: AtomicUsize::new(0),
        }
    }

    /// Waits until all are here.
    pub fn pass(&self) {
        // Relaxed: what the threads do before and after does not hang together.
        let arrival = self.arrivals.fetch_add(1, Ordering::Relaxed);
        let all = (arrival / self.threads + 1) * self.threads;
        while self.arrivals.load(Ordering::Relaxed) < all {
            thread::yield_now();
        }
    }
}

/// Does `work` over and over in `threads` threads, which start together. It is given the number of
/// the thread and of its operation.
pub fn drive(threads: usize, until: Until, work: impl Fn(usize, u64) + Sync) -> Driven {
    let (limit, most) = match until {
        Until::Elapsed(limit) => (Some(limit), u64::MAX),
        Until::Operations(most) => (None, most),
    };
    let stop = AtomicBool::new(false);
    let gate = Gate::new(threads + 1);
    let work = |number| {
        gate.pass();
        let mut n = 0;
        while n < most && !stop.load(Ordering::Relaxed) {
            work(number, n);
            n += 1;
        }
        n
    };
    thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..threads)
            .map(|number| scope.spawn(move || work(number)))
            .collect();
        gate.pass();
        let start = Instant::now();
        if let Some(limit) = limit {
            thread::sleep(limit);
            stop.store(true, Ordering::Relaxed);
        }
        let done = workers.into_iter().map(|worker| {
            let done = worker.join();
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        Driven {
            operations: done.sum(),
            elapsed: start.elapsed(),
        }
    })
}

/// The middle one; of an even number the lower one in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values
        .get((values.len().saturating_sub(1)) / 2)
        .copied()
        .unwrap_or(f64::NAN)
}

/// The lines of the [table](report::table) that are about one lock, with the header.
pub fn table_of(snapshot: &Snapshot, lock: &str) -> String {
    let table = report::table(snapshot);
    let mut lines = table.lines();
    let header = lines.find(|line| line.trim_start().starts_with("count "));
    let mut lines = lines.skip_while(|line| line.split("  ").next() != Some(lock));
    let name = lines.next();
    let figures = lines.take_while(|line| line.starts_with(' '));
    let all: Vec<_> = header.into_iter().chain(name).chain(figures).collect();
    all.join("\n")
}

/// The advice on one lock.
pub fn advice_on(snapshot: &Snapshot, lock: &str) -> Vec<String> {
    let advice = snapshot.advice().into_iter();
    advice
        .filter(|advice| advice.lock() == lock)
        .map(|advice| advice.to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let read = |line: &str| Options::parse(line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(read(""), Ok(Some(Options::default())));
        assert_eq!(read("--both"), read(""));
        assert_eq!(read("--threads 3 --help"), Ok(None));
        let expected = Options {
            shapes: vec![Shape::Slow],
            threads: Some(3),
            seconds: Some(Duration::from_millis(250)),
        };
        assert_eq!(
            read("--threads=3 --slow --seconds 0.25"),
            Ok(Some(expected))
        );
        assert_eq!(
            read("--fixed").map(|options| options.map(|o| o.shapes)),
            Ok(Some(vec![Shape::Fixed]))
        );
    }

    #[test]
    fn wrong_options_are_refused_with_what_is_wrong() {
        let cases = [
            (
                "--threads 0",
                "--threads must be a whole number from 1 to 1024, not `0`",
            ),
            ("--threads many", "not `many`"),
            ("--threads", "missing argument"),
            ("--seconds -1", "--seconds must be above 0"),
            ("--seconds NaN", "not `NaN`"),
            ("--seconds 1e300", "not `1e300`"),
            ("--slow --fixed", "--slow and --fixed exclude each other"),
            ("--quick", "--quick"),
            ("extra", "extra"),
        ];
        for (line, expected) in cases {
            let problem = Options::parse(line.split_whitespace().collect::<Vec<_>>()).unwrap_err();
            assert!(problem.contains(expected), "{line}: {problem}");
        }
    }

    #[test]
    fn drive_does_so_many_operations_or_so_long() {
        let driven = drive(3, Until::Operations(5), |_, _| ());
        assert_eq!(driven.operations, 15);
        let limit = Duration::from_millis(20);
        let driven = drive(2, Until::Elapsed(limit), |_, _| thread::yield_now());
        assert!(
            driven.elapsed >= limit && driven.operations > 0,
            "{driven:?}"
        );
    }

    #[test]
    fn a_gate_opens_when_all_have_come_each_time() {
        let (gate, passed) = (Gate::new(4), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..100 {
                        assert!(passed.load(Ordering::SeqCst) >= 4 * round);
                        passed.fetch_add(1, Ordering::SeqCst);
                        gate.pass();
                    }
                });
            }
        });
        assert_eq!(passed.into_inner(), 400);
    }

    #[test]
    fn median_is_the_one_in_the_middle() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(vec![4.0, 1.0]) - 1.0).abs() < f64::EPSILON);
    }
}
