//! What is recorded: [`HoldTiming`], and the environment variable that sets it from outside.

use crate::brief::{self, Inside};
use crate::clock;
use crate::fork::{self, Hooks, Whose};
use parking_lot::Mutex;
use std::fmt;
use std::io::{self, Write as _};
use std::mem;
use std::str::FromStr;

/// The environment variable that says how a process starts; read at the first use of a lock or of
/// the registry.
///
/// | value | |
/// |---|---|
/// | `on` or `exact`, or not set | everything is recorded and every hold timed |
/// | `off` | nothing is recorded until [`set_enabled`](crate::registry::set_enabled) says so |
/// | `1/64` or another power of two up to `1/1048576` | one hold in so many is timed |
/// | `no-call-sites` | lines are not [told apart](crate::registry::set_call_sites) |
/// | `ordered-clock` | the clock's reads are [ordered](crate::clock::set_ordered) |
/// | several of these, as in `1/64,no-call-sites` | all of them |
///
/// Any other value is said on standard error and among the
/// [diagnostics](crate::Snapshot::diagnostics) of every snapshot, and counts as not set.
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
pub struct InvalidSetting(String);

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no setting for lock recording; write `on`, `off`, `exact`, `1/N` with N a power \
             of two up to 1048576, `no-call-sites`, `ordered-clock`, or several with commas between",
            self.0
        )
    }
}

impl std::error::Error for InvalidSetting {}

/// What holds for all classes, and what was wrong with the environment; `None` until that has been
/// asked.
static CURRENT: Mutex<Option<(Settings, Option<InvalidSetting>)>> = Mutex::new(None);

/// Calls `f` with what holds for all classes.
fn with<T>(f: impl FnOnce(&mut Settings, &Option<InvalidSetting>) -> T) -> T {
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
    let (settings, error) = current.get_or_insert_with(|| {
        let text = std::env::var(ENVIRONMENT_VARIABLE).unwrap_or_default();
        let read = text.parse::<Settings>();
        let settings = *read.as_ref().unwrap_or(&Settings::default());
        if settings.ordered_clock {
            clock::order_from_outside();
        }
        let error = read.err();
        if let Some(error) = &error {
            // Where that cannot be written it is still among the diagnostics.
            let _ = writeln!(io::stderr(), "{ENVIRONMENT_VARIABLE}: {error}");
        }
        (settings, error)
    });
    f(settings, error)
}

/// What holds for all classes now.
pub(crate) fn current() -> Settings {
    with(|settings, _| *settings)
}

/// Changes it. Classes then have to be told.
pub(crate) fn change(change: impl FnOnce(&mut Settings)) {
    with(|settings, _| change(settings));
}

/// What was wrong with the [environment variable](ENVIRONMENT_VARIABLE), in a sentence.
pub(crate) fn environment_error() -> Option<String> {
    with(|_, error| {
        let error = error.as_ref()?;
        Some(format!("{ENVIRONMENT_VARIABLE}: {error}"))
    })
}

/// What holds for all classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) is_off: bool,
    pub(crate) timing: HoldTiming,
    pub(crate) call_sites: bool,
    pub(crate) ordered_clock: bool,
    /// Measurements of a [budget](crate::budget) that are under way.
    pub(crate) measurements: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            is_off: false,
            timing: HoldTiming::EXACT,
            call_sites: true,
            ordered_clock: false,
            measurements: 0,
        }
    }
}

impl FromStr for Settings {
    type Err = InvalidSetting;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut settings = Settings::default();
        for word in text.split(',').map(str::trim) {
            match word {
                "off" => settings.is_off = true,
                "on" => settings.is_off = false,
                "" if text.trim().is_empty() => {}
                "no-call-sites" => settings.call_sites = false,
                "ordered-clock" => settings.ordered_clock = true,
                timing => settings.timing = timing.parse()?,
            }
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_or_refused_with_what_to_write() {
        let read = |text: &str| text.parse::<Settings>();
        assert!(read("off").unwrap().is_off);
        assert!(!read(" on ").unwrap().is_off);
        assert_eq!(read("exact").unwrap().timing, HoldTiming::EXACT);
        assert_eq!(read("1/1048576").unwrap().timing.shift(), 20);
        let several = read("1/64, no-call-sites,ordered-clock").unwrap();
        assert_eq!(several.timing.shift(), 6);
        assert!(!several.call_sites && several.ordered_clock && !several.is_off);
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
        ] {
            let error = read(bad).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{bad}`")) && error.contains("1/N"),
                "{error}"
            );
        }
    }
}
