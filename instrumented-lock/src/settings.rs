//! What is recorded: [`HoldTiming`], and what holds for all classes. What the environment variable says is
//! read by the rows of `environment`.

use crate::brief::{self, Inside};
use crate::clock;
use crate::fork::{self, Hooks, Whose};
use parking_lot::Mutex;
use std::io::{self, Write as _};
use std::mem;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
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
/// | `stacks`, `stacks=1/N`, `stacks=10ms` | [stacks](crate::registry::set_stacks) of one wait in 64, of one in N, a power of two, or of waits that last longer than that; needs the feature `stacks` |
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

/// Of which waits [stacks](crate::StackSnapshot) are captured.
///
/// ```
/// use instrumented_lock::Stacks;
/// use std::time::Duration;
///
/// assert_eq!(Stacks::one_in(64)?, "1/64".parse()?);
/// assert_eq!(Stacks::longer_than(Duration::from_millis(10)), "10ms".parse()?);
/// assert_eq!(Stacks::ALL, "1/1".parse()?);
/// assert_eq!(Stacks::OFF, "off".parse()?);
/// # Ok::<(), instrumented_lock::InvalidSetting>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stacks(Option<Chosen>);

impl Stacks {
    /// Of none: as from the start.
    pub const OFF: Stacks = Stacks(None);

    /// Of all waits.
    pub const ALL: Stacks = Stacks(Some(Chosen::OneIn { shift: 0 }));

    /// Of one wait in `n`, chosen at random, each of which stands for `n`.
    ///
    /// # Errors
    ///
    /// Where `n` is not a power of two from 1 to 1,048,576.
    pub fn one_in(n: u32) -> Result<Stacks, InvalidSetting> {
        let shift = HoldTiming::one_in(n)?.shift;
        Ok(Stacks(Some(Chosen::OneIn { shift })))
    }

    /// Of all waits that last at least so long, and of those who hold the lock once somebody has waited so long.
    /// All that wait have their stacks captured, which takes some microseconds each, and shorter waits lose them
    /// again.
    pub fn longer_than(wait: Duration) -> Stacks {
        // So long that nobody waits longer.
        let ns = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        Stacks(Some(Chosen::LongerThan {
            ns: ns.min(NO_LONGER - 1),
        }))
    }

    pub(crate) fn are_on(self) -> bool {
        self.0.is_some()
    }
}

/// Which waits are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// One in 2^`shift`.
    OneIn { shift: u8 },
    /// All, and those count that last at least so long.
    LongerThan { ns: u64 },
}

/// More nanoseconds than can be [written](Chosen::to_bits).
const NO_LONGER: u64 = 1 << 63;

impl Chosen {
    /// Whether the caller's wait is. `one_in` says yes at random, once in 2^`shift` times.
    pub(crate) fn is_it(self, one_in: impl FnOnce(u8) -> bool) -> bool {
        match self {
            Chosen::OneIn { shift } => one_in(shift),
            Chosen::LongerThan { .. } => true,
        }
    }

    /// Whether one counts that has waited so long.
    pub(crate) fn counts(self, waited_ns: u64) -> bool {
        match self {
            Chosen::OneIn { .. } => true,
            Chosen::LongerThan { ns } => waited_ns >= ns,
        }
    }

    /// For how many each of them stands.
    pub(crate) fn weight(self) -> f64 {
        match self {
            Chosen::OneIn { shift } => f64::from(1u32 << shift),
            Chosen::LongerThan { .. } => 1.0,
        }
    }

    /// Not 0.
    fn to_bits(self) -> u64 {
        match self {
            Chosen::OneIn { shift } => 1 + u64::from(shift),
            Chosen::LongerThan { ns } => NO_LONGER | ns,
        }
    }

    fn from_bits(bits: u64) -> Option<Chosen> {
        if bits & NO_LONGER != 0 {
            return Some(Chosen::LongerThan {
                ns: bits - NO_LONGER,
            });
        }
        let shift = u8::try_from(bits.checked_sub(1)?).ok()?;
        Some(Chosen::OneIn { shift })
    }
}

/// Which waits have their stacks captured, as [`Chosen`] writes it; 0 for none.
static CHOSEN_STACKS: AtomicU64 = AtomicU64::new(0);

/// Which waits have their stacks captured, as far as the environment has been read.
#[inline]
pub(crate) fn chosen_stacks() -> Option<Chosen> {
    // Relaxed: a switch takes effect soon, not at once.
    Chosen::from_bits(CHOSEN_STACKS.load(Ordering::Relaxed))
}

fn publish_stacks(stacks: Stacks) {
    let bits = stacks.0.map_or(0, Chosen::to_bits);
    CHOSEN_STACKS.store(bits, Ordering::Relaxed);
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
    let missing = missing_stacks(words.settings.stacks);
    if let Some(missing) = missing {
        let _ = writeln!(io::stderr(), "{ENVIRONMENT_VARIABLE}: {missing}");
    }
    publish_stacks(words.settings.stacks);
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
        publish_stacks(current.settings.stacks);
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

/// What has to be said where stacks are asked for that cannot be had.
pub(crate) fn missing_stacks(stacks: Stacks) -> Option<&'static str> {
    let is_missing = stacks.are_on() && !cfg!(feature = "stacks");
    is_missing
        .then_some("stacks are not captured; turn on the feature `stacks` of instrumented-lock")
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
    /// Of which waits stacks are captured.
    pub(crate) stacks: Stacks,
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
            stacks: Stacks::OFF,
            measurements: 0,
            order: cfg!(debug_assertions).then_some(Reaction::Collect),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_stacks_are_captured_is_kept_in_a_word() {
        let all = [
            Stacks::OFF,
            Stacks::ALL,
            Stacks::one_in(1 << 20).unwrap(),
            Stacks::longer_than(Duration::ZERO),
            Stacks::longer_than(Duration::from_millis(10)),
            Stacks::longer_than(Duration::MAX),
        ];
        for stacks in all {
            let bits = stacks.0.map_or(0, Chosen::to_bits);
            assert_eq!(Chosen::from_bits(bits), stacks.0);
            assert_eq!(bits == 0, !stacks.are_on());
            // Without the feature it is said that there are none.
            let is_said = stacks.are_on() && !cfg!(feature = "stacks");
            assert_eq!(missing_stacks(stacks).is_some(), is_said);
        }
    }
}
