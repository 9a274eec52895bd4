//! What is recorded: [`HoldTiming`], and what holds for all classes. What the environment variable says is
//! read by the rows of `environment`.

use crate::brief::{self, Inside};
use crate::clock;
use crate::fork::{self, Hooks, Whose};
use parking_lot::Mutex;
use std::io::{self, Write as _};
use std::mem;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

/// The environment variable that says how a process starts, and which reports it leaves without any code;
/// read at the first use of a lock or of the registry.
///
/// | word | |
/// |---|---|
/// | `on` or `exact`, or not set | everything is recorded and every hold timed |
/// | `off` | nothing is recorded until [`set_enabled`](crate::registry::set_enabled) says so |
/// | `1/64` or another power of two up to `1/1048576` | one hold in so many is timed |
/// | `no-call-sites` | lines are not [told apart](crate::registry::set_call_sites) |
/// | `ordered-clock` | the clock's reads are [ordered](crate::clock::set_ordered) |
/// | `makers` | locks that a wrapper makes at one line are [told apart](crate::registry::set_makers) |
/// | `order`, `order=log`, `order=panic`, `order=off` | the [order of locks](crate::order) is followed, and what is wrong kept, said on standard error, a panic; or it is not followed |
/// | `watch=1s` | what is held or waited for longer than that is said on standard error, and so are deadlocks: see [`watch`](crate::watch) |
/// | `report` | the [table](crate::report::table) goes to standard error when the program ends |
/// | `report=FILE` | a report is written to `FILE`: the table where its name ends with `.txt`, [JSON](crate::report::json) with `.json`, the [kernel's format](crate::report::lock_stat) with `.lock_stat` |
/// | `timeline=FILE`, `timeline=FILE,10s` | a [timeline](crate::timeline) of the first second, or of as long as that, is written to `FILE` as a trace for a viewer: when that is over, or when the program ends |
/// | `every=10s`, or `500ms`, `1m`, `1h` | so often a line of JSON is added to the file of a `report=FILE` that ends with `.jsonl` (without one, to `instrumented-lock.jsonl`): the [interval](crate::Snapshot::since) since the line before; the last one when the program ends |
/// | `on-signal`, or `on-signal=USR2` | the reports are made whenever the process gets `SIGUSR1` (`SIGUSR2`) too, within 0.1 s; without `report`, the table on standard error |
/// | `on-signal=INT`, `TERM` or `HUP` | the signal, at which a program ends that does not handle it, ends it 0.1 s later, with its reports made |
/// | several of these, as in `1/64,no-call-sites,report=locks.txt` | all of them |
///
/// Any other word is said on standard error and among the [diagnostics](crate::Snapshot::diagnostics) of
/// every snapshot, and the whole value counts as not set.
///
/// # Reports without code
///
/// A program ends, for this purpose, when `main` returns, also by a panic, and with
/// [`exit`](std::process::exit). Where it is killed or aborts there is no report at the end, and what is
/// left are the lines of `every`: they lack the time since the last one. What functions do that
/// [`atexit`](https://man7.org/linux/man-pages/man3/atexit.3.html) was given before the first use of a lock
/// is not in the report, and a program that uses no lock makes none. Lines of `every` have those locks only
/// that were used in the interval.
///
/// - `%p` in a name is the number of the process. Name a file so where a program starts others: they have
///   the same variable, and the last to end would be the one whose report is left.
/// - A name that is not absolute is relative to the folder in which the program starts. It may hold
///   anything but a comma.
/// - A child of `fork` reports when it ends, and only then, to files of its own (`locks.1234.txt`). Its
///   figures begin with those of its parent.
/// - The signal is left alone where the program has a handler for it already, or ignores it. A program that
///   sets one later has it to itself. Other threads than the program's own are made for `every` and
///   `on-signal` only, one, and for `timeline`, one: with all signals blocked.
/// - What cannot be written is said on standard error.
pub const ENVIRONMENT_VARIABLE: &str = "INSTRUMENTED_LOCK";

/// Which holds are timed.
///
/// Counts are exact in any case, waits too; only the distribution of holds becomes an estimate. A
/// hold that is timed stands for as many as it was chosen from, so sum, mean, deviation and
/// quantiles stay unbiased; minimum and maximum are those of the timed ones. Holds are chosen
/// independently at random.
///
/// ```
/// use instrumented_lock::HoldTiming;
///
/// assert_eq!(HoldTiming::one_in(64)?, "1/64".parse()?);
/// assert!(HoldTiming::one_in(100).is_err());
/// # Ok::<(), instrumented_lock::InvalidSetting>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HoldTiming {
    /// One in 2^this.
    shift: u8,
}

/// One in 2^20; with more, a sample would stand for more than most locks see.
pub(crate) const MOST_SHIFT: u8 = 20;

impl HoldTiming {
    /// Every hold is timed: two clock reads for each.
    pub const EXACT: HoldTiming = HoldTiming { shift: 0 };

    /// One hold in `n` is timed.
    ///
    /// # Errors
    ///
    /// Where `n` is not a power of two from 1 to 1,048,576.
    pub fn one_in(n: u32) -> Result<HoldTiming, InvalidSetting> {
        let shift = u8::try_from(n.trailing_zeros()).unwrap_or(u8::MAX);
        if n.is_power_of_two() && shift <= MOST_SHIFT {
            Ok(HoldTiming { shift })
        } else {
            Err(InvalidSetting(format!("1/{n}")))
        }
    }

    pub(crate) fn shift(self) -> u8 {
        self.shift
    }
}

/// `exact`, or `1/64` and its like.
impl FromStr for HoldTiming {
    type Err = InvalidSetting;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "exact" {
            return Ok(HoldTiming::EXACT);
        }
        let n = text.strip_prefix("1/").and_then(|n| n.parse().ok());
        let timing = n.and_then(|n| HoldTiming::one_in(n).ok());
        timing.ok_or_else(|| InvalidSetting(text.to_owned()))
    }
}

/// A setting that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSetting(pub(crate) String);

impl std::error::Error for InvalidSetting {}

/// What the environment says.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(crate) settings: Settings,
    pub(crate) reports: Reports,
}

/// The reports that are made without any code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reports {
    /// When the program ends, and when asked for from outside.
    pub(crate) to: Vec<Destination>,
    /// How long locks may be held and waited for, if that is [watched](crate::watch).
    pub(crate) watch: Option<Duration>,
    /// The file of a [timeline](crate::timeline), and how long that is.
    pub(crate) timeline: Option<(String, Duration)>,
    /// How often an interval is written.
    pub(crate) every: Option<Duration>,
    /// The signals that ask for a report.
    pub(crate) on_signal: Vec<Signal>,
}

/// Where a report goes, and so what it looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Standard error, as a table.
    Terminal,
    File(String, Form),
}

/// What a report looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    Json,
    /// An interval a line.
    JsonLines,
    LockStat,
}

/// Those of the first two go on; the others, at which a program ends, end it after the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Usr1,
    Usr2,
    Int,
    Term,
    Hup,
}

/// Whether reports have been asked for and not been begun. Relaxed: the lock of [`CURRENT`] is taken before
/// anything else is read.
static REPORTS_WAIT: AtomicBool = AtomicBool::new(false);

/// Begins the reports that the environment asks for, once. When a lock is used for the first time.
#[inline]
pub(crate) fn begin_reports() {
    if REPORTS_WAIT.load(Ordering::Relaxed) {
        begin_waiting_reports();
    }
}

#[cold]
fn begin_waiting_reports() {
    if REPORTS_WAIT.swap(false, Ordering::Relaxed) {
        with(|current| current.reports.clone()).begin();
    }
}

/// What holds for all classes, and what was wrong with the environment.
struct Current {
    settings: Settings,
    reports: Reports,
    error: Option<InvalidSetting>,
}

/// `None` until it has been asked for.
static CURRENT: Mutex<Option<Current>> = Mutex::new(None);

/// Calls `f` with what holds for all classes.
fn with<T>(f: impl FnOnce(&mut Current) -> T) -> T {
    let _inside = Inside::enter();
    fork::call(
        Whose::Settings,
        Hooks {
            before: || mem::forget(brief::lock(&CURRENT)),
            // SAFETY: `before` has locked it and forgotten the guard, on this thread.
            after: |_| unsafe { CURRENT.force_unlock(brief::state()) },
        },
    );
    let mut current = brief::lock(&CURRENT);
    f(current.get_or_insert_with(read))
}

/// What the environment says.
fn read() -> Current {
    let text = std::env::var_os(ENVIRONMENT_VARIABLE).unwrap_or_default();
    let (words, error) = match text.to_string_lossy().parse::<Words>() {
        Ok(words) => (words, None),
        Err(error) => (Words::default(), Some(error)),
    };
    if words.settings.ordered_clock {
        clock::order_from_outside();
    }
    if let Some(error) = &error {
        // Where that cannot be written it is still among the diagnostics.
        let _ = writeln!(io::stderr(), "{ENVIRONMENT_VARIABLE}: {error}");
    }
    if words.reports != Reports::default() {
        REPORTS_WAIT.store(true, Ordering::Relaxed);
    }
    Current {
        settings: words.settings,
        reports: words.reports,
        error,
    }
}

/// What holds for all classes now.
pub(crate) fn current() -> Settings {
    with(|current| current.settings)
}

/// What is done with findings about the order of locks.
pub(crate) fn reaction() -> Reaction {
    current().order.unwrap_or_default()
}

/// Changes it. Classes then have to be told.
pub(crate) fn change(change: impl FnOnce(&mut Settings)) {
    let makers = with(|current| {
        change(&mut current.settings);
        current.settings.makers
    });
    MAKERS.store(1 + u8::from(makers), Ordering::Relaxed);
}

/// 0 where it has not been asked for, 1 for no, 2 for yes: what is asked at every lock's first use.
static MAKERS: AtomicU8 = AtomicU8::new(0);

/// Whether locks that one line makes are told apart by who first uses them.
#[inline]
pub(crate) fn tells_makers() -> bool {
    // Relaxed: a switch takes effect soon, not at once.
    match MAKERS.load(Ordering::Relaxed) {
        0 => {
            let makers = current().makers;
            MAKERS.store(1 + u8::from(makers), Ordering::Relaxed);
            makers
        }
        known => known == 2,
    }
}

/// What was wrong with the [environment variable](ENVIRONMENT_VARIABLE), in a sentence.
pub(crate) fn environment_error() -> Option<String> {
    with(|current| {
        let error = current.error.as_ref()?;
        Some(format!("{ENVIRONMENT_VARIABLE}: {error}"))
    })
}

/// What holds for all classes.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Settings {
    pub(crate) is_off: bool,
    pub(crate) timing: HoldTiming,
    pub(crate) call_sites: bool,
    pub(crate) ordered_clock: bool,
    /// Whether locks that one line makes are told apart by who first uses them.
    pub(crate) makers: bool,
    /// Measurements of a [budget](crate::budget) that are under way.
    pub(crate) measurements: usize,
    /// What is done with findings where the [order](crate::order) of locks is followed; `None` where it is
    /// not.
    pub(crate) order: Option<Reaction>,
}

/// What is done when a mistake in the order of locks is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reaction {
    /// It is kept, for [`Snapshot::order`](crate::Snapshot::order) and
    /// [`assert_clean!`](crate::order::assert_clean).
    #[default]
    Collect,
    /// It is kept, and said on standard error; with the feature `tracing`, where the program has set a
    /// subscriber, by an event: target `instrumented_lock::order`, level `WARN`, fields `kind`, `locks`,
    /// `edges` (their number) and `finding`.
    Log,
    /// It is kept, and the thread panics before it asks for the lock: for tests. A thread that panics
    /// already says it on standard error.
    Panic,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            is_off: false,
            timing: HoldTiming::EXACT,
            call_sites: true,
            ordered_clock: false,
            makers: false,
            measurements: 0,
            order: cfg!(debug_assertions).then_some(Reaction::Collect),
        }
    }
}
