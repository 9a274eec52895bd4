//! The list of what is compared: the floors, the instrumented locks once in each mode, and what a
//! program would take instead.

use crate::case::{Case, Run};
use crate::locks::{Bare, Ignored, Locks, Nothing, OneRead, Ours, Recorded, Timed};
use instrumented_lock::{HoldTiming, order, registry};
use std::time::Duration;

/// What the instrumented locks record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Turned off at run time.
    Off,
    /// Counts everything, times one hold in 64.
    Sampled,
    /// Times every hold, keeps no rows of call sites.
    WithoutSites,
    /// Everything, as it is from the start.
    Exact,
    /// The same, and the order is followed in which locks are taken.
    InOrder,
}

impl Mode {
    /// Sets it for the whole process.
    ///
    /// # Panics
    ///
    /// Never: 64 is a power of two.
    pub fn set(self) {
        let timing = match self {
            Mode::Sampled => HoldTiming::one_in(64).expect("64 is a power of two"),
            _ => HoldTiming::EXACT,
        };
        registry::set_hold_timing(timing);
        registry::set_call_sites(self != Mode::WithoutSites);
        registry::set_enabled(self != Mode::Off);
        if self == Mode::InOrder {
            order::follow(order::Reaction::Collect);
        } else {
            order::stop();
        }
    }
}

/// One of those that are compared.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// What it is called in tables, with `{}` where the version belongs.
    pub name: &'static str,
    /// The crate whose version it is.
    pub of_crate: Option<&'static str>,
    /// What the instrumented locks record meanwhile, where it is they.
    pub mode: Option<Mode>,
    /// The pairs of one thread in a row; what takes longer or queues up gets fewer.
    pub at_most: u64,
    /// How long its own threads need afterwards for what it has left to them.
    pub drains: Option<Duration>,
    build: fn(Case, usize) -> Run,
}

/// The bare lock.
pub const BARE: Subject = Subject::new::<Bare>("bare parking_lot");
/// The bare lock and two raw reads of the clock: the floor.
pub const TWO_READS: Subject = Subject::new::<Timed<Ignored>>("bare + 2 raw clock reads");
/// The floor with what it measures recorded.
pub const RECORDED: Subject = Subject::new::<Timed<Recorded>>("the same, recorded");
/// The instrumented locks, off.
pub const OFF: Subject = Subject::ours("off at run time", Mode::Off);
/// The instrumented locks, one hold in 64 timed.
pub const SAMPLED: Subject = Subject::ours("1 hold in 64 timed", Mode::Sampled);
/// The instrumented locks without rows of call sites.
pub const WITHOUT_SITES: Subject = Subject::ours("exact, no call sites", Mode::WithoutSites);
/// The instrumented locks with all that is on by default.
pub const EXACT: Subject = Subject::ours("exact, everything", Mode::Exact);
/// The same while the order of locks is followed.
pub const IN_ORDER: Subject = Subject::ours("exact, order followed", Mode::InOrder);

/// What everything is compared with.
pub const FLOORS: [Subject; 5] = [
    Subject::new::<Nothing>("empty loop"),
    Subject::new::<OneRead>("raw clock read"),
    BARE,
    TWO_READS,
    RECORDED,
];

/// The instrumented locks in every mode.
pub const OURS: [Subject; 4] = [OFF, SAMPLED, WITHOUT_SITES, EXACT];

/// What a program would take instead.
#[cfg(feature = "peers")]
pub const PEERS: &[Subject] = {
    use crate::peers::{HandWritten, Hdr, Hotpath, Locktick, Prometheus, TracingMutex};

    &[
        Subject {
            of_crate: Some("hotpath"),
            // Its queues have no bound, and every 50 ms its collector takes at most 65,536 events
            // of each.
            at_most: 30_000,
            drains: Some(Duration::from_millis(70)),
            ..Subject::new::<Hotpath>("hotpath {}")
        },
        Subject {
            of_crate: Some("locktick"),
            at_most: 5_000,
            ..Subject::new::<Locktick>("locktick {}")
        },
        Subject {
            of_crate: Some("tracing-mutex"),
            ..Subject::new::<TracingMutex>("tracing-mutex {}, no times")
        },
        Subject {
            of_crate: Some("hdrhistogram"),
            ..Subject::new::<HandWritten<Hdr>>("by hand, hdrhistogram {} in a Mutex")
        },
        Subject {
            of_crate: Some("prometheus-client"),
            ..Subject::new::<HandWritten<Prometheus>>("by hand, prometheus-client {}")
        },
    ]
};

/// What a program would take instead: not built in.
#[cfg(not(feature = "peers"))]
pub const PEERS: &[Subject] = &[];

impl Subject {
    const fn new<L: Locks>(name: &'static str) -> Self {
        Subject {
            name,
            of_crate: None,
            mode: None,
            at_most: u64::MAX,
            drains: None,
            build: Case::of::<L>,
        }
    }

    const fn ours(name: &'static str, mode: Mode) -> Self {
        Subject {
            mode: Some(mode),
            ..Self::new::<Ours>(name)
        }
    }

    /// The case with new locks, for so many threads. Set the mode before it runs.
    pub fn build(&self, case: Case, threads: usize) -> Run {
        (self.build)(case, threads)
    }

    /// Sets what the instrumented locks record, where it is they.
    pub fn set_mode(&self) {
        if let Some(mode) = self.mode {
            mode.set();
        }
    }

    /// The name with the version in its place.
    pub fn title(&self) -> String {
        let version = self.of_crate.and_then(version);
        self.name.replace("{}", version.unwrap_or_default())
    }
}

/// The version of a crate in the workspace's lock file.
pub fn version(of_crate: &str) -> Option<&'static str> {
    let package = format!("name = \"{of_crate}\"\nversion = \"");
    let (_, rest) = include_str!("../../Cargo.lock").split_once(&package)?;
    rest.split('"').next()
}
