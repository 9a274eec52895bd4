//! The registry: every lock class of the process, what is recorded of it, and the snapshot of them
//! all.

use crate::class::LockClass;
use crate::settings::{self, HoldTiming, Settings, Stacks};
use crate::snapshot::Snapshot;
use crate::{classes, collect};

pub use crate::settings::ENVIRONMENT_VARIABLE;

/// Every lock class of the program, by name: all that `#[instrumented]` declares, used or not, and
/// every un-annotated lock's class from its first use on.
///
/// Cost: some microseconds; takes the registry's own lock and no instrumented one.
pub fn classes() -> Vec<&'static LockClass> {
    classes::all()
}

/// The figures of every class at this moment.
///
/// Counted is everything that has happened since the start of the process, in all threads, those
/// that have ended included. Each class's figures are seen whole: in every distribution the count is
/// the sum of the buckets, and sum, squares, minimum and maximum belong to that count; acquisitions
/// are releases plus the holds in flight, and the rows of the lines are the totals. No total is less
/// than in an earlier snapshot; a line or a pair of lines can be, where it has made room for another
/// one that costs more.
///
/// Cost: some microseconds for each class that has been used, and a tenth of one for each thread. No
/// instrumented lock is taken, so this works while the program hangs. No thread is stopped; one whose
/// log is full waits until the class that it uses has been read. Of two snapshots that are taken at
/// the same time one waits for the other.
pub fn snapshot() -> Snapshot {
    collect::snapshot()
}

pub(crate) fn change(change: impl FnOnce(&mut Settings)) {
    settings::change(change);
    classes::apply_settings();
}

/// Turns recording on (as it is from the start) or off, for all locks of the process.
///
/// Off, an acquisition is neither counted nor timed and costs little more than the bare lock. An
/// acquisition that was observed is recorded to its end, so acquisitions and releases stay
/// balanced; the release of one that was not, after recording has been turned on in mid-hold, is
/// counted as [unmatched](crate::LockSnapshot::unmatched) and recorded nowhere else. Other threads
/// notice the switch within some nanoseconds.
///
/// A process can also [start](ENVIRONMENT_VARIABLE) with recording off.
pub fn set_enabled(enabled: bool) {
    change(|settings| settings.is_off = !enabled);
}

/// Whether recording is on; see [`set_enabled`]. Never with the feature `stats` off.
pub fn is_enabled() -> bool {
    cfg!(feature = "stats") && !settings::current().is_off
}

/// Sets which holds are timed, for all classes that do not have it
/// [set for themselves](LockClass::set_hold_timing). Every one is, from the start, unless the
/// [environment](ENVIRONMENT_VARIABLE) says otherwise.
pub fn set_hold_timing(timing: HoldTiming) {
    change(|settings| settings.timing = timing);
}

/// Tells the lines apart that take locks, as from the start, or not, for all classes that do not
/// have it [set for themselves](LockClass::set_call_sites).
///
/// Without call sites everything else is recorded as before; acquisitions, waits and blame of all
/// lines are in one row, which belongs to no line.
pub fn set_call_sites(call_sites: bool) {
    change(|settings| settings.call_sites = call_sites);
}

/// Tells the locks apart that one line makes, by the first line outside of its file that uses each, or not, as
/// from the start: for crates that make all of their locks in a wrapper, as tokio does.
///
/// Such a lock is of a class of its own, with a name such as
/// `tokio-1.54.1/src/loom/std/parking_lot.rs:51 from tokio-1.54.1/src/sync/notify.rs:380`. Only locks count that
/// are first used from now on, and that nobody has annotated or named. Each one's first use then costs a stack:
/// some 0.1 ms, the first one of all much more, because the line tables are read. Without line tables, as in a
/// release build without `debug`, nothing is told apart.
pub fn set_makers(makers: bool) {
    change(|settings| settings.makers = makers);
}

/// Captures the stacks of those that wait for locks and of those that make them wait, or does not, as from the
/// start. For a helper that takes locks for others: the line that waits is always the helper's, and its
/// [stacks](crate::LockSnapshot::stacks) say whom it waited for.
///
/// A waiter's stack is captured before it waits, a holder's after it has let go of the lock: some microseconds each.
/// Of a chosen wait's holders those are captured in whose time a clock ticks that does so every 0.1 ms on average.
/// What a hold has had before a downgrade or an upgrade is in no stack. Acquisitions that do not wait are not slower,
/// and their releases only where somebody waits.
///
/// The first snapshot that has stacks reads the debug information of the program, which may take some hundred
/// milliseconds and as many times its size in memory; each further stack takes some microseconds, once. At most 1,024
/// different stacks are kept, in 0.7 MB; what finds no place is [counted](Snapshot::stacks_dropped).
///
/// Needs the feature `stacks`: without it nothing is captured, and snapshots say so among their
/// [diagnostics](Snapshot::diagnostics).
///
/// ```
/// use instrumented_lock::{Stacks, registry};
///
/// registry::set_stacks(Stacks::one_in(64)?);
/// # Ok::<(), instrumented_lock::InvalidSetting>(())
/// ```
pub fn set_stacks(stacks: Stacks) {
    change(|settings| settings.stacks = stacks);
}

/// A measurement begins: from here on every class notes its acquisitions.
pub(crate) fn begin_measurement() {
    // Those that are declared and not used yet are found by their names.
    classes::all();
    change(|settings| settings.measurements += 1);
}

/// A measurement ends. After the last one classes are what they were.
pub(crate) fn end_measurement() {
    change(|settings| settings.measurements -= 1);
}
