//! [`LockSnapshot`], [`ModeSnapshot`] and [`SleepSnapshot`]: one lock class in a snapshot.

use super::blame::{self, Blame};
use super::call_site::{self, CallSite, Longest};
use super::instance;
#[cfg(feature = "serde")]
use super::is_zero;
use super::stack::{self, StackSnapshot};
use super::{Distribution, InFlightTotals, InstanceSnapshot, Location};
use crate::lock_kind::LockKind;
use crate::mode::Mode;
use std::time::Duration;

/// The figures of one lock class.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LockSnapshot {
    pub(crate) name: String,
    pub(crate) kind: LockKind,
    pub(crate) declared_at: Location,
    pub(crate) instances: u64,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub(crate) gone: u64,
    pub(crate) unmatched: u64,
    pub(crate) clock_anomalies: u64,
    pub(crate) write: ModeSnapshot,
    pub(crate) read: ModeSnapshot,
    pub(crate) upgradable: ModeSnapshot,
    pub(crate) nested: u64,
    pub(crate) sleep: SleepSnapshot,
    pub(crate) call_sites: Vec<CallSite>,
    pub(crate) blame: Vec<Blame>,
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Vec::is_empty")
    )]
    pub(crate) waited_for: Vec<InstanceSnapshot>,
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Vec::is_empty")
    )]
    pub(crate) stacks: Vec<StackSnapshot>,
    pub(crate) hand_over_ns: u64,
    pub(crate) unblamed: u64,
}

impl LockSnapshot {
    /// The name of the class: `crate::module::Store::index`, the name given with `#[lock(name)]`,
    /// or `file:line:column` of the creation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What kind of lock it is.
    pub fn kind(&self) -> LockKind {
        self.kind
    }

    /// Where the class is declared.
    pub fn declared_at(&self) -> &Location {
        &self.declared_at
    }

    /// Live locks of this class. A lock counts from its first use until it is dropped: its
    /// constructor is `const` and cannot count.
    pub fn instances(&self) -> u64 {
        self.instances
    }

    /// Locks of this class that have been used in all: those that live, and those that have come and gone,
    /// since the start of the program.
    pub fn used(&self) -> u64 {
        self.instances + self.gone
    }

    /// Releases whose acquisitions were not observed: because recording was off at the time, see
    /// [`registry::set_enabled`](crate::registry::set_enabled); or because a global allocator uses the lock,
    /// and it was this library that was just allocating. They are in no other figure.
    pub fn unmatched(&self) -> u64 {
        self.unmatched
    }

    /// Durations that came out negative because the clock ran backwards. Each counts as zero in
    /// its distribution.
    pub fn clock_anomalies(&self) -> u64 {
        self.clock_anomalies
    }

    /// Exclusive acquisitions: all of a mutex, the writers of a reader-writer lock.
    pub fn write(&self) -> &ModeSnapshot {
        &self.write
    }

    /// Shared acquisitions; all zero for a mutex.
    pub fn read(&self) -> &ModeSnapshot {
        &self.read
    }

    /// Upgradable acquisitions; all zero for a mutex.
    pub fn upgradable(&self) -> &ModeSnapshot {
        &self.upgradable
    }

    /// Acquisitions of a reentrant mutex by the thread that held it already. They are no
    /// acquisitions and no holds: the outermost ones are.
    pub fn nested(&self) -> u64 {
        self.nested
    }

    /// Waits for a condition variable: of a mutex those that let go of it, of a condition variable
    /// its own.
    pub fn sleep(&self) -> &SleepSnapshot {
        &self.sleep
    }

    /// One row for every acquiring line and mode, the most expensive first: by time blocked, then
    /// by time held.
    pub fn call_sites(&self) -> &[CallSite] {
        &self.call_sites
    }

    /// Which line has kept which line waiting, the largest pairs first.
    pub fn blame(&self) -> &[Blame] {
        &self.blame
    }

    /// Which locks of the class were waited for, those that were longest first, and in the last row all that are
    /// not told apart. A class tells apart the 64 that were waited for most, and those that have a label.
    pub fn waited_for(&self) -> &[InstanceSnapshot] {
        &self.waited_for
    }

    /// Who called the lines that waited, and the lines that made others wait; those with the longest time first.
    /// Empty unless [asked for](crate::registry::set_stacks).
    pub fn stacks(&self) -> &[StackSnapshot] {
        &self.stacks
    }

    /// How long acquisitions waited while the lock was free, between a release and the acquisition after
    /// it: the cost of waking the next thread.
    pub fn hand_over(&self) -> Duration {
        Duration::from_nanos(self.hand_over_ns)
    }

    /// Acquisitions whose waiting is in neither blame nor hand-over. None, today: every lock that is
    /// waited for has a place of its own.
    pub fn unblamed(&self) -> u64 {
        self.unblamed
    }

    /// Acquisitions by another thread than the one that had the lock last, in all modes:
    /// `acq-bounces` of `lock_stat`, by thread. Where readers take turns within some microseconds,
    /// the lock does not remember each of them, and the next one counts by the last that it does.
    pub fn bounces(&self) -> u64 {
        self.modes().map(|(_, mode)| mode.bounces()).sum()
    }

    /// The figures of one mode.
    pub fn mode(&self, mode: Mode) -> &ModeSnapshot {
        match mode {
            Mode::Write => &self.write,
            Mode::Read => &self.read,
            Mode::Upgradable => &self.upgradable,
        }
    }

    /// The three modes with their figures: read, upgradable, write.
    pub fn modes(&self) -> impl Iterator<Item = (Mode, &ModeSnapshot)> {
        [Mode::Read, Mode::Upgradable, Mode::Write]
            .into_iter()
            .map(|mode| (mode, self.mode(mode)))
    }

    /// What makes two snapshots' locks the same one.
    pub(super) fn identity(&self) -> (&str, &Location) {
        (&self.name, &self.declared_at)
    }

    pub(super) fn merge(&self, other: &Self) -> Self {
        LockSnapshot {
            kind: self.kind.max(other.kind),
            instances: self.instances + other.instances,
            gone: self.gone + other.gone,
            unmatched: self.unmatched + other.unmatched,
            clock_anomalies: self.clock_anomalies + other.clock_anomalies,
            write: self.write.merge(&other.write),
            read: self.read.merge(&other.read),
            upgradable: self.upgradable.merge(&other.upgradable),
            nested: self.nested + other.nested,
            sleep: self.sleep.merge(&other.sleep),
            call_sites: call_site::merge(&self.call_sites, &other.call_sites),
            blame: blame::merge(&self.blame, &other.blame),
            waited_for: instance::merge(&self.waited_for, &other.waited_for),
            stacks: stack::merge(&self.stacks, &other.stacks),
            hand_over_ns: self.hand_over_ns.saturating_add(other.hand_over_ns),
            unblamed: self.unblamed + other.unblamed,
            ..self.clone()
        }
    }

    /// Whether nothing has been recorded, and nothing is in flight.
    pub(super) fn is_idle(&self) -> bool {
        let mut modes = self.modes().map(|(_, mode)| mode);
        modes.all(ModeSnapshot::is_idle)
            && self.sleep == SleepSnapshot::default()
            && self.unmatched + self.nested + self.clock_anomalies == 0
    }

    /// The same when all of it is over.
    pub(super) fn with_nothing_in_flight(self) -> Self {
        LockSnapshot {
            sleep: SleepSnapshot {
                asleep: InFlightTotals::default(),
                ..self.sleep.clone()
            },
            write: self.write.with_nothing_in_flight(),
            read: self.read.with_nothing_in_flight(),
            upgradable: self.upgradable.with_nothing_in_flight(),
            ..self
        }
    }

    /// `both` is this and `next`, which follows it: what is in flight at the end is what is in flight.
    pub(super) fn then(&self, next: &Self, both: Self) -> Self {
        let mode = |of: fn(&Self) -> &ModeSnapshot| of(self).then(of(next), of(&both).clone());
        LockSnapshot {
            instances: next.instances,
            gone: next.gone,
            write: mode(|lock| &lock.write),
            read: mode(|lock| &lock.read),
            upgradable: mode(|lock| &lock.upgradable),
            sleep: SleepSnapshot {
                asleep: next.sleep.asleep,
                ..both.sleep
            },
            ..both
        }
    }

    pub(super) fn since(&self, earlier: &Self) -> Self {
        let modes = [Mode::Write, Mode::Read, Mode::Upgradable]
            .map(|mode| self.mode(mode).since(earlier.mode(mode)));
        let longest = |mode: Mode| {
            let of_mode = &modes[mode as usize];
            Longest {
                blocked_ns: of_mode.blocked.at_most_ns(),
                hold_ns: of_mode.hold.at_most_ns(),
            }
        };
        let call_sites = call_site::since(&self.call_sites, &earlier.call_sites, longest);
        let [write, read, upgradable] = modes;
        LockSnapshot {
            unmatched: self.unmatched.saturating_sub(earlier.unmatched),
            clock_anomalies: self.clock_anomalies.saturating_sub(earlier.clock_anomalies),
            write,
            read,
            upgradable,
            nested: self.nested.saturating_sub(earlier.nested),
            sleep: self.sleep.since(&earlier.sleep),
            call_sites,
            blame: blame::since(&self.blame, &earlier.blame),
            waited_for: instance::since(&self.waited_for, &earlier.waited_for),
            stacks: stack::since(&self.stacks, &earlier.stacks),
            hand_over_ns: self.hand_over_ns.saturating_sub(earlier.hand_over_ns),
            unblamed: self.unblamed.saturating_sub(earlier.unblamed),
            ..self.clone()
        }
    }
}

/// The figures of one mode of a lock class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ModeSnapshot {
    pub(crate) acquisitions: u64,
    pub(crate) try_failures: u64,
    pub(crate) timeouts: u64,
    pub(crate) releases: u64,
    pub(crate) bounces: u64,
    pub(crate) contended_bounces: u64,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub(crate) holding: InFlightTotals,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub(crate) waiting: InFlightTotals,
    /// `None` where it is the sum of `blocked`.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub(crate) waited_ns: Option<u64>,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub(crate) waited_before_ns: u64,
    pub(crate) hold: Distribution,
    pub(crate) blocked: Distribution,
    pub(crate) wait: Distribution,
}

impl ModeSnapshot {
    /// An acquisition that did not block waited for zero time.
    pub(crate) fn with_wait(self) -> Self {
        let immediate = self.acquisitions.saturating_sub(self.blocked.count());
        ModeSnapshot {
            wait: self.blocked.with_zeros(immediate),
            ..self
        }
    }

    /// Successful acquisitions, those by `try_` methods, downgrades and upgrades included. Counted
    /// when they are made.
    pub fn acquisitions(&self) -> u64 {
        self.acquisitions
    }

    /// Acquisitions that had to block: the immediate attempt failed.
    pub fn contended(&self) -> u64 {
        self.blocked.count()
    }

    /// `try_` calls that gave up at once. Never acquisitions.
    pub fn try_failures(&self) -> u64 {
        self.try_failures
    }

    /// Timed calls that gave up. Never acquisitions.
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Holds that have ended. What is in flight, a forgotten guard included, is
    /// [`acquisitions`](Self::acquisitions) minus this.
    pub fn releases(&self) -> u64 {
        self.releases
    }

    /// Acquisitions by another thread than the one that had the lock last.
    pub fn bounces(&self) -> u64 {
        self.bounces
    }

    /// [Bounces](Self::bounces) that had to block: `con-bounces` of `lock_stat`, by thread.
    pub fn contended_bounces(&self) -> u64 {
        self.contended_bounces
    }

    /// Who holds the locks at the moment of the snapshot. Their holds are in [`hold`](Self::hold) once they
    /// have ended.
    pub fn holding(&self) -> &InFlightTotals {
        &self.holding
    }

    /// Who waits for the locks at the moment of the snapshot. Their waits are in
    /// [`blocked`](Self::blocked) once they have ended with the lock taken.
    pub fn waiting(&self) -> &InFlightTotals {
        &self.waiting
    }

    /// All that has been waited by the moment of the snapshot: by acquisitions that had to block, by calls
    /// that gave up, and by those that [still wait](Self::waiting). In an
    /// [interval](crate::Snapshot::since) it is what was waited within it, so it is at most the number of
    /// threads times the interval's length, however long single waits last.
    pub fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited_so_far())
    }

    /// [`waited`](Self::waited) in nanoseconds.
    fn waited_so_far(&self) -> u64 {
        let blocked = || u64::try_from(self.blocked.sum_ns).unwrap_or(u64::MAX);
        self.waited_ns.unwrap_or_else(blocked)
    }

    /// For how long those had waited, all together, who already waited when the
    /// [interval](crate::Snapshot::since) began. So much of its [`blocked`](Self::blocked) and
    /// [`waiting`](Self::waiting) lies before it. Zero where this is not of an interval.
    pub fn waited_before(&self) -> Duration {
        Duration::from_nanos(self.waited_before_ns)
    }

    /// How long the lock was held, over holds that have ended: from the acquisition to just before
    /// the unlock. Where not [every hold is timed](crate::HoldTiming), an estimate: its count is
    /// about that of the [releases](Self::releases).
    pub fn hold(&self) -> &Distribution {
        &self.hold
    }

    /// How long acquisitions waited, over all acquisitions: an immediate one counts zero.
    pub fn wait(&self) -> &Distribution {
        &self.wait
    }

    /// How long acquisitions waited, over those that had to block.
    pub fn blocked(&self) -> &Distribution {
        &self.blocked
    }

    pub(crate) fn merge(&self, other: &Self) -> Self {
        ModeSnapshot {
            acquisitions: self.acquisitions + other.acquisitions,
            try_failures: self.try_failures + other.try_failures,
            timeouts: self.timeouts + other.timeouts,
            releases: self.releases + other.releases,
            bounces: self.bounces + other.bounces,
            contended_bounces: self.contended_bounces + other.contended_bounces,
            holding: self.holding.merge(other.holding),
            waiting: self.waiting.merge(other.waiting),
            waited_ns: Some(self.waited_so_far().saturating_add(other.waited_so_far())),
            waited_before_ns: self.waited_before_ns.saturating_add(other.waited_before_ns),
            hold: self.hold.merge(&other.hold),
            blocked: self.blocked.merge(&other.blocked),
            wait: Distribution::default(),
        }
        .with_wait()
    }

    fn is_idle(&self) -> bool {
        let idle = ModeSnapshot {
            waited_ns: self.waited_ns.filter(|waited| *waited > 0),
            ..self.clone()
        };
        idle == ModeSnapshot::default()
    }

    fn with_nothing_in_flight(&self) -> Self {
        ModeSnapshot {
            holding: InFlightTotals::default(),
            waiting: InFlightTotals::default(),
            ..self.clone()
        }
    }

    fn then(&self, next: &Self, both: Self) -> Self {
        ModeSnapshot {
            holding: next.holding,
            waiting: next.waiting,
            waited_before_ns: self.waited_before_ns,
            ..both
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        ModeSnapshot {
            acquisitions: self.acquisitions.saturating_sub(earlier.acquisitions),
            try_failures: self.try_failures.saturating_sub(earlier.try_failures),
            timeouts: self.timeouts.saturating_sub(earlier.timeouts),
            releases: self.releases.saturating_sub(earlier.releases),
            bounces: self.bounces.saturating_sub(earlier.bounces),
            contended_bounces: self
                .contended_bounces
                .saturating_sub(earlier.contended_bounces),
            holding: self.holding,
            waiting: self.waiting,
            waited_ns: Some(self.waited_so_far().saturating_sub(earlier.waited_so_far())),
            waited_before_ns: earlier.waiting.total_ns,
            hold: self.hold.since(&earlier.hold),
            blocked: self.blocked.since(&earlier.blocked),
            wait: Distribution::default(),
        }
        .with_wait()
    }
}

/// Waits for a condition variable.
///
/// A wait ends the hold of its mutex, sleeps, and acquires the mutex again; the sleep is in none of
/// hold, wait and blocked, and what the acquisition at the end has to wait for the mutex is an
/// ordinary wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SleepSnapshot {
    pub(crate) waits: u64,
    pub(crate) timeouts: u64,
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub(crate) asleep: InFlightTotals,
    pub(crate) time: Distribution,
}

impl SleepSnapshot {
    /// Waits that have begun. Those that have not ended are [asleep](Self::asleep).
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// Waits that a notification ended.
    pub fn notified(&self) -> u64 {
        self.time.count().saturating_sub(self.timeouts)
    }

    /// Waits that ended because their time was up.
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Who is asleep at the moment of the snapshot.
    pub fn asleep(&self) -> &InFlightTotals {
        &self.asleep
    }

    /// How long the waits that have ended were asleep: from letting go of the mutex until awake
    /// again, before the mutex is asked for.
    pub fn time(&self) -> &Distribution {
        &self.time
    }

    fn merge(&self, other: &Self) -> Self {
        SleepSnapshot {
            waits: self.waits + other.waits,
            timeouts: self.timeouts + other.timeouts,
            asleep: self.asleep.merge(other.asleep),
            time: self.time.merge(&other.time),
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        SleepSnapshot {
            waits: self.waits.saturating_sub(earlier.waits),
            timeouts: self.timeouts.saturating_sub(earlier.timeouts),
            asleep: self.asleep,
            time: self.time.since(&earlier.time),
        }
    }
}
