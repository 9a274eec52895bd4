//! Lock budgets: how often a piece of code may take which lock, as an assertion for unit tests.
//!
//! A call that takes a lock twice where once would do is not seen in any one run; under load it
//! halves the throughput. A test that counts sees it the first time:
//!
//! ```
//! use instrumented_lock::{Mutex, budget, instrumented};
//! use std::collections::HashMap;
//!
//! #[instrumented]
//! #[derive(Default)]
//! struct Configuration {
//!     props: Mutex<HashMap<String, String>>,
//! }
//!
//! impl Configuration {
//!     fn get(&self, key: &str) -> Option<String> {
//!         self.props.lock().get(key).cloned()
//!     }
//! }
//!
//! fn factor(text: &str, conf: &Configuration) -> String {
//!     match text {
//!         "" => conf.get("replication").unwrap_or_default(),
//!         given => given.to_owned(),
//!     }
//! }
//!
//! let conf = Configuration::default();
//! let used = budget::measure(|| factor("", &conf));
//! assert_eq!(used.acquisitions("Configuration::props"), 1);
//!
//! let factor = budget::assert_at_most!(0, "Configuration::props", || factor("3", &conf));
//! assert_eq!(factor, "3");
//! ```
//!
//! # What is counted
//!
//! Successful acquisitions by the calling thread while the closure runs, of instrumented locks of
//! any class and mode: exactly, and the same whether [recording](crate::registry::set_enabled) is
//! on, off or sampled. `try_` acquisitions count where they succeed; an attempt that fails or runs
//! out of time counts nowhere. An upgrade and a downgrade each count as an acquisition of the mode
//! that they start, and so does locking again after a wait for a condition variable, `bump` or
//! `unlocked`, at the line that locked before. Nested acquisitions of a
//! [`ReentrantMutex`](crate::ReentrantMutex) do not count: they take no lock.
//!
//! # What is timed
//!
//! [`Used::waited`] and [`Used::held`] say how long locks were waited for and held meanwhile, [`times`] says that
//! without counting lines, which costs no other thread anything: for a handler's own log line, "served in 12 ms,
//! 9 of them waiting for `Store::index`".
//!
//! - Waits are those that ended while the closure ran, also those that gave up.
//! - Holds are those that began while the closure ran; one that has not ended when it returns counts up to then.
//! - Both need [recording](crate::registry::set_enabled) to be on; where not [every hold is
//!   timed](crate::HoldTiming), what was held is an estimate.
//! - Of other threads, what they did in a [`Handle::run`] that had returned by then.
//! - The locks of the module `tokio` are not timed here: tasks do not wait in a closure.
//!
//! # Other threads
//!
//! Other threads count where they [take part](handle). Measurements nest: what an inner one counts,
//! the outer one counts too. Tests that run at the same time in one process do not disturb each
//! other.
//!
//! # Cost
//!
//! Nothing while nobody measures. [`times`] takes some microseconds, and nothing of anybody else. Of [`measure`]: as long as anybody in the process does, every acquisition leaves
//! the fast path, and those that count search a list of lines, which allocates at a new one, while
//! the lock is held. So this is for tests. `measure` itself takes some microseconds.
//!
//! # Without the feature `stats`
//!
//! Nothing is counted: all counts are 0, names are not checked, and assertions hold.

use crate::class::LockClass;
use crate::mode::Mode;
use crate::notes::{LockTime, Note, Noted, Notes, Taking, Timing};
use crate::registry;
use crate::report::units::{count, time};
use crate::snapshot::{Location, named};
use crate::stats::Share;
use std::cmp::Reverse;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

#[doc(inline)]
pub use crate::__budget_assert_at_most as assert_at_most;

/// Calls `f` and counts the lock acquisitions of this thread meanwhile, and of those that
/// [take part](handle).
///
/// Where `f` panics, so does this, and nothing is left of the measurement.
///
/// ```
/// use instrumented_lock::{RwLock, RwLockUpgradableReadGuard, budget, instrumented};
///
/// #[instrumented]
/// static LIMITS: RwLock<u32> = RwLock::new(3);
///
/// fn raise() -> u32 {
///     let limits = LIMITS.upgradable_read();
///     let mut limits = RwLockUpgradableReadGuard::upgrade(limits);
///     *limits += 1;
///     *limits
/// }
///
/// let used = budget::measure(raise);
/// assert_eq!(*used.value(), 4);
/// assert_eq!(used.acquisitions("LIMITS"), 2);
/// assert_eq!(used.lines().len(), 2);
/// println!("{used}");
/// ```
#[must_use = "what was counted is returned, and what the closure returned in it"]
pub fn measure<R>(f: impl FnOnce() -> R) -> Used<R> {
    let notes = Arc::new(Notes::new());
    let value = {
        let _measurement = Measurement::begin();
        let _taking = Taking::start(&[Arc::clone(&notes)]);
        f()
    };
    let Noted { lines, times } = notes.take();
    Used {
        value,
        notes: lines,
        times: LockTimes::sorted(&times),
    }
}

/// Calls `f` and finds out how long this thread waits for locks and holds them meanwhile: exactly, as far as
/// that [is recorded](self#what-is-timed). Other threads' do not count.
///
/// Cost: some microseconds, and for each acquisition some nanoseconds; nothing for other threads. They nest, also
/// with [`measure`].
///
/// ```
/// use instrumented_lock::{Mutex, budget, instrumented};
/// use std::time::Instant;
///
/// #[instrumented]
/// static INDEX: Mutex<Vec<u32>> = Mutex::new(Vec::new());
///
/// fn serve(n: u32) -> usize {
///     let mut index = INDEX.lock();
///     index.push(n);
///     index.len()
/// }
///
/// let begun = Instant::now();
/// let times = budget::times(|| serve(1));
/// // "served in 1.23 µs; INDEX: waited 0 ns, held 85 ns in 1 acquisition"
/// println!("served in {:?}; {times}", begun.elapsed());
/// assert_eq!(*times.value(), 1);
/// # if cfg!(feature = "stats") {
/// assert_eq!(times.locks()[0].acquisitions(), 1);
/// # }
/// ```
#[must_use = "what was found is returned, and what the closure returned in it"]
pub fn times<R>(f: impl FnOnce() -> R) -> Times<R> {
    let timing = Timing::begin();
    let value = f();
    Times {
        value,
        locks: LockTimes::sorted(&timing.end()),
    }
}

/// What [`times`] has found, and what the closure returned. `{}` is a line for a log.
pub struct Times<R = ()> {
    value: R,
    locks: Vec<LockTimes>,
}

impl<R> Times<R> {
    /// The lock classes that were used, those waited for longest first.
    pub fn locks(&self) -> &[LockTimes] {
        &self.locks
    }

    /// How long it waited, for all locks.
    pub fn waited(&self) -> Duration {
        sum(&self.locks, LockTimes::waited)
    }

    /// How long it held locks, where it held several at once each of them.
    pub fn held(&self) -> Duration {
        sum(&self.locks, LockTimes::held)
    }

    /// What the closure returned.
    pub fn value(&self) -> &R {
        &self.value
    }

    /// What the closure returned.
    pub fn into_value(self) -> R {
        self.value
    }
}

impl<R> fmt::Display for Times<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.locks.is_empty() {
            return f.write_str("no lock was acquired");
        }
        for (i, lock) in self.locks.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{lock}")?;
        }
        Ok(())
    }
}

impl<R: fmt::Debug> fmt::Debug for Times<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Times")
            .field("value", &self.value)
            .field("locks", &self.locks)
            .finish()
    }
}

/// How long the locks of one class were waited for and held; from [`Times::locks`] and [`Used::times`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockTimes {
    lock: &'static str,
    share: Share,
}

impl LockTimes {
    fn sorted(times: &[LockTime]) -> Vec<Self> {
        let times = times.iter().map(|time| LockTimes {
            lock: time.class.name(),
            share: time.share,
        });
        let mut times: Vec<_> = times.collect();
        let cost = |of: &LockTimes| Reverse((of.share.waited, of.share.held));
        times.sort_by(|a, b| cost(a).cmp(&cost(b)).then_with(|| a.lock.cmp(b.lock)));
        times
    }

    /// The name of the lock class.
    pub fn lock(&self) -> &'static str {
        self.lock
    }

    /// How often locks of the class were acquired.
    pub fn acquisitions(&self) -> u64 {
        self.share.acquisitions
    }

    /// How many of these had to wait.
    pub fn contended(&self) -> u64 {
        self.share.contended
    }

    /// How long those waited, and those that gave up.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.share.waited)
    }

    /// The longest of these waits.
    pub fn waited_max(&self) -> Duration {
        Duration::from_nanos(self.share.waited_max)
    }

    /// How long they were held, in all.
    pub fn held(&self) -> Duration {
        Duration::from_nanos(self.share.held)
    }
}

/// `app::Store::index: waited 9.00 ms, held 85 ns in 1 acquisition`.
impl fmt::Display for LockTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.acquisitions();
        let plural = if n == 1 { "" } else { "s" };
        let (waited, held) = (time(self.waited()), time(self.held()));
        let lock = self.lock;
        write!(
            f,
            "{lock}: waited {waited}, held {held} in {} acquisition{plural}",
            count(n)
        )
    }
}

fn sum(times: &[LockTimes], of: impl Fn(&LockTimes) -> Duration) -> Duration {
    times
        .iter()
        .map(of)
        .fold(Duration::ZERO, Duration::saturating_add)
}

/// A handle to the measurements that the calling thread takes part in, for threads that it starts:
/// what they do [in it](Handle::run) is counted too. To none, and harmless, where nobody measures.
///
/// ```
/// use instrumented_lock::{Mutex, budget, instrumented};
/// use std::thread;
///
/// #[instrumented]
/// static TOTAL: Mutex<u32> = Mutex::new(0);
///
/// fn add_all(shares: &[u32]) {
///     let handle = budget::handle();
///     thread::scope(|scope| {
///         for share in shares {
///             let handle = handle.clone();
///             scope.spawn(move || handle.run(|| *TOTAL.lock() += share));
///         }
///     });
/// }
///
/// budget::assert_at_most!(3, "TOTAL", || add_all(&[1, 2, 3]));
/// assert_eq!(budget::measure(|| add_all(&[1, 2])).acquisitions("TOTAL"), 2);
/// ```
pub fn handle() -> Handle {
    Handle {
        notes: Notes::active(),
    }
}

/// Lets other threads take part in measurements; from [`handle`].
///
/// A measurement ends when its closure returns. What is done in a handle after that counts nowhere.
#[derive(Clone)]
#[must_use = "a handle does nothing but through `run`"]
pub struct Handle {
    notes: Vec<Arc<Notes>>,
}

impl Handle {
    /// Calls `f`, whose acquisitions count in the measurements of the handle, beside those that the
    /// calling thread takes part in anyway; never twice in one.
    pub fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        let _taking = Taking::start(&self.notes);
        f()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("measurements", &self.notes.len())
            .finish()
    }
}

/// While it lives, classes note acquisitions.
struct Measurement;

impl Measurement {
    fn begin() -> Self {
        registry::begin_measurement();
        Measurement
    }
}

impl Drop for Measurement {
    fn drop(&mut self) {
        registry::end_measurement();
    }
}

/// The lock acquisitions that [`measure`] has counted, and what the closure returned.
///
/// `{}` lists all of them, a line of code each.
pub struct Used<R = ()> {
    value: R,
    notes: Vec<Note>,
    times: Vec<LockTimes>,
}

impl<R> Used<R> {
    /// How often locks of this class were acquired, in any mode. The name is that of the class, or
    /// the end of it behind a `::`, as for [`Snapshot::lock`](crate::Snapshot::lock).
    ///
    /// # Panics
    ///
    /// Where no class of the program has this name, or more than one: a name with a typo is
    /// acquired by nobody, and every budget for it would hold.
    #[track_caller]
    pub fn acquisitions(&self, name: &str) -> u64 {
        match self.count(name) {
            Ok(n) => n,
            Err(problem) => fail(&problem, self, None),
        }
    }

    /// How long locks of this class were [waited for](self#what-is-timed), in any mode.
    ///
    /// # Panics
    ///
    /// As [`acquisitions`](Self::acquisitions).
    #[track_caller]
    pub fn waited(&self, name: &str) -> Duration {
        self.time(name, LockTimes::waited)
    }

    /// How long locks of this class were [held](self#what-is-timed), in any mode.
    ///
    /// # Panics
    ///
    /// As [`acquisitions`](Self::acquisitions).
    #[track_caller]
    pub fn held(&self, name: &str) -> Duration {
        self.time(name, LockTimes::held)
    }

    /// How long the locks of each class were waited for and held, those waited for longest first. Empty where
    /// recording is off.
    pub fn times(&self) -> &[LockTimes] {
        &self.times
    }

    #[track_caller]
    fn time(&self, name: &str, of: impl Fn(&LockTimes) -> Duration) -> Duration {
        if cfg!(not(feature = "stats")) {
            return Duration::ZERO;
        }
        match class_named(name) {
            Ok(class) => {
                let of_class = self.times.iter().filter(|times| times.lock == class.name());
                of_class
                    .map(of)
                    .fold(Duration::ZERO, Duration::saturating_add)
            }
            Err(problem) => fail(&problem, self, None),
        }
    }

    /// All acquisitions.
    pub fn total(&self) -> u64 {
        self.notes.iter().map(|note| note.acquisitions).sum()
    }

    /// The acquisitions by class, mode and line, in the order in which each came first.
    pub fn lines(&self) -> Vec<Line> {
        self.notes.iter().map(Line::of).collect()
    }

    /// What the closure returned.
    pub fn value(&self) -> &R {
        &self.value
    }

    /// What the closure returned.
    pub fn into_value(self) -> R {
        self.value
    }

    fn count(&self, name: &str) -> Result<u64, String> {
        if cfg!(not(feature = "stats")) {
            return Ok(0);
        }
        let class = class_named(name)?;
        let of_class = self.notes.iter().filter(|note| ptr::eq(note.class, class));
        Ok(of_class.map(|note| note.acquisitions).sum())
    }
}

fn class_named(name: &str) -> Result<&'static LockClass, String> {
    let classes = registry::classes();
    match named(&classes, name, |class| class.name())[..] {
        [class] => Ok(class),
        [] => Err(format!(
            "no lock class is named `{name}`; write the name of a class, or the end of one behind \
             a `::`"
        )),
        ref several => {
            let described = several.iter().map(|class| {
                format!(
                    "`{}` ({})",
                    class.name(),
                    Location::of_declaration(class.declared_at())
                )
            });
            Err(format!(
                "`{name}` may be any of {}; write more of the name, or give one of them another \
                 with `#[lock(name = \"…\")]`",
                described.collect::<Vec<_>>().join(", ")
            ))
        }
    }
}

/// A line each: how often, in which mode, which class, where.
impl<R> fmt::Display for Used<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.notes.is_empty() {
            return f.write_str("no lock was acquired");
        }
        for (i, line) in self.lines().iter().enumerate() {
            let separator = if i == 0 { "" } else { "\n" };
            write!(f, "{separator}{line}")?;
        }
        Ok(())
    }
}

impl<R: fmt::Debug> fmt::Debug for Used<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Used")
            .field("value", &self.value)
            .field("lines", &self.lines())
            .finish_non_exhaustive()
    }
}

/// One line of code that acquired locks of one class in one mode; from [`Used::lines`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    lock: &'static str,
    mode: Mode,
    location: Location,
    acquisitions: u64,
}

impl Line {
    fn of(note: &Note) -> Self {
        Line {
            lock: note.class.name(),
            mode: note.mode,
            location: Location::of_site(Some(note.location), note.class.declared_at()),
            acquisitions: note.acquisitions,
        }
    }

    /// The name of the lock class.
    pub fn lock(&self) -> &'static str {
        self.lock
    }

    /// How the line acquires.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The line.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// How often it did.
    pub fn acquisitions(&self) -> u64 {
        self.acquisitions
    }
}

/// `2 × write app::Configuration::props at src/conf.rs:20:15`.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line {
            lock,
            mode,
            location,
            acquisitions,
        } = self;
        write!(f, "{acquisitions:>4} × {mode} {lock} at {location}")
    }
}

/// Where [`assert_at_most`] ends up.
#[doc(hidden)]
#[track_caller]
pub fn __assert_at_most<R>(
    used: &Used<R>,
    budgets: &[(&str, u64)],
    message: Option<fmt::Arguments<'_>>,
) {
    if cfg!(not(feature = "stats")) {
        return;
    }
    let problem = |&(name, at_most): &(&str, u64)| match used.count(name) {
        Ok(n) if n <= at_most => None,
        Ok(n) => Some(format!(
            "`{name}` acquired {n} ×, at most {at_most} × budgeted"
        )),
        Err(problem) => Some(problem),
    };
    let problems: Vec<_> = budgets.iter().filter_map(problem).collect();
    if !problems.is_empty() {
        fail(&problems.join("\n"), used, message);
    }
}

#[track_caller]
fn fail<R>(problem: &str, used: &Used<R>, message: Option<fmt::Arguments<'_>>) -> ! {
    let message = message.map_or_else(String::new, |message| format!("{message}: "));
    panic!("{message}{problem}\nall acquisitions, in the order in which they came first:\n{used}")
}

/// Asserts that locks are not acquired more often than budgeted, by a closure or in what was
/// [measured](measure) before.
///
/// The forms with a closure return what it returns. All take a message behind, as `assert!` does.
/// Names are those of [`Used::acquisitions`](crate::budget::Used::acquisitions).
///
/// ```
/// use instrumented_lock::{Mutex, RwLock, budget, instrumented};
///
/// #[instrumented]
/// #[derive(Default)]
/// struct Catalogue {
///     index: RwLock<Vec<u32>>,
///     journal: Mutex<Vec<u32>>,
/// }
///
/// impl Catalogue {
///     fn put(&self, n: u32) -> usize {
///         self.journal.lock().push(n);
///         let mut index = self.index.write();
///         index.push(n);
///         index.len()
///     }
/// }
///
/// let catalogue = Catalogue::default();
///
/// // One class.
/// let len = budget::assert_at_most!(1, "Catalogue::index", || catalogue.put(7));
/// assert_eq!(len, 1);
///
/// // Several.
/// budget::assert_at_most!({ "Catalogue::index" => 1, "Catalogue::journal" => 1 }, || catalogue.put(8));
///
/// // What was measured.
/// let used = budget::measure(|| catalogue.put(9));
/// budget::assert_at_most!(used, "Catalogue::index", 1, "put must not look twice");
/// budget::assert_at_most!(used, { "Catalogue::index" => 1, "Catalogue::journal" => 1 });
/// ```
///
/// # Panics
///
/// Where a lock was acquired more often, or no class or more than one has the name. The message
/// lists every acquisition with its line:
///
/// ```text
/// `Configuration::props` acquired 2 ×, at most 1 × budgeted
/// all acquisitions, in the order in which they came first:
///    1 × write app::Configuration::props at src/parse.rs:12:31
///    1 × write app::Configuration::props at src/parse.rs:14:27
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __budget_assert_at_most {
    (
        { $($name:expr => $at_most:expr),+ $(,)? }, $f:expr
        $(, $message:literal $(, $argument:expr)*)? $(,)?
    ) => {{
        let used = $crate::budget::measure($f);
        $crate::budget::assert_at_most!(
            used, { $($name => $at_most),+ } $(, $message $(, $argument)*)?
        );
        used.into_value()
    }};
    (
        $used:expr, { $($name:expr => $at_most:expr),+ $(,)? }
        $(, $message:literal $(, $argument:expr)*)? $(,)?
    ) => {
        $crate::budget::__assert_at_most(
            &$used,
            &[$(($name, $at_most)),+],
            [$(::core::format_args!($message $(, $argument)*))?].into_iter().next(),
        )
    };
    (
        $at_most:expr, $name:expr, || $body:expr
        $(, $message:literal $(, $argument:expr)*)? $(,)?
    ) => {
        $crate::budget::assert_at_most!(
            { $name => $at_most }, || $body $(, $message $(, $argument)*)?
        )
    };
    (
        $at_most:expr, $name:expr, move || $body:expr
        $(, $message:literal $(, $argument:expr)*)? $(,)?
    ) => {
        $crate::budget::assert_at_most!(
            { $name => $at_most }, move || $body $(, $message $(, $argument)*)?
        )
    };
    (
        $used:expr, $name:expr, $at_most:expr
        $(, $message:literal $(, $argument:expr)*)? $(,)?
    ) => {
        $crate::budget::assert_at_most!(
            $used, { $name => $at_most } $(, $message $(, $argument)*)?
        )
    };
}

#[cfg(all(test, feature = "stats"))]
mod tests {
    use super::*;
    use crate::Mutex;
    use std::panic::catch_unwind;

    /// The only test that measures in this process.
    #[test]
    fn classes_are_measured_as_long_as_somebody_measures() {
        let lock = Mutex::<u32>::new(0);
        let are_measured = || {
            *lock.lock() += 1;
            let classes = registry::classes();
            let mut measured = classes.iter().map(|class| class.state().is_followed());
            let first = measured.next().unwrap();
            assert!(measured.all(|one| one == first), "all or none");
            first
        };
        assert!(!are_measured());
        let used = measure(|| {
            assert!(are_measured());
            let inner = catch_unwind(|| measure(|| panic!("in a measurement")));
            assert!(inner.is_err() && are_measured());
        });
        assert!(!are_measured());
        assert_eq!(used.total(), 2);
    }
}
