//! What the words of a record say.
//!
//! `what` is the address of the [`ClassStats`] whose figures the record belongs to, and in the low bits,
//! which its alignment leaves free: the [`Activity`], the [`Kind`], and flags.

use super::figures::ClassStats;
use super::instances::Instance;
use super::log::{Entry, Page, Record};
use super::pairs::Line;
use super::scopes;
use super::site::Site;
use crate::mode::Activity;
use std::ptr;

/// What has been recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A hold from `start` to `end`; where it is not timed they are [`UNTIMED_START`] and
    /// [`UNTIMED_END`].
    Hold = 0,
    /// A wait from `start` to `end`, which ended with the lock taken; `site` is a [`waiting_word`], here and
    /// below.
    Waited = 1,
    /// `end` ticks that `site` waited while the line in `start` held the lock: see [`holder_word`].
    Blame = 2,
    /// An attempt that did not wait and failed.
    TryFailed = 3,
    /// An attempt that waited for as long as it was allowed to, from `start` to `end`.
    TimedOut = 4,
    /// An acquisition of a reentrant mutex by the thread that has it.
    Nested = 5,
    /// A duration that somebody else has measured: the stamps are nanoseconds.
    Duration = 6,
}

/// The stamps of what has no duration, which no clock shows. They are far from each other, and the start is
/// far from 0, the end of what has not ended: none of this looks like a short hold.
pub(crate) const UNTIMED_START: u64 = 1 << 63;
pub(crate) const UNTIMED_END: u64 = u64::MAX;

const ACTIVITY: usize = 3;
const KIND_SHIFT: u32 = 2;
const KIND: usize = 7 << KIND_SHIFT;
/// Another thread had the lock before.
pub(crate) const BOUNCED: usize = 1 << 5;
/// The hold stands for several: the page says for how many.
pub(crate) const SAMPLED: usize = 1 << 6;
/// Those who wait for the lock know of the hold: its end has to be told.
pub(crate) const WATCHED: usize = 1 << 7;
pub(crate) const TAGS: usize = (1 << 8) - 1;
const _: () = assert!(align_of::<ClassStats>() > TAGS);

/// The word of a hold that begins.
#[inline(always)]
pub(crate) fn hold(stats: &ClassStats, activity: Activity) -> usize {
    ptr::from_ref(stats).expose_provenance() | activity as usize
}

/// The word of what is recorded otherwise.
pub(crate) fn what(stats: &ClassStats, activity: Activity, kind: Kind) -> usize {
    hold(stats, activity) | (kind as usize) << KIND_SHIFT
}

/// The word of a wait for a hold with this one.
pub(crate) fn as_wait(what: usize) -> usize {
    what & !KIND | (Kind::Waited as usize) << KIND_SHIFT
}

/// A record of something that has no duration.
pub(crate) fn event(stats: &ClassStats, activity: Activity, kind: Kind) -> Entry {
    Entry {
        what: what(stats, activity, kind),
        site: 0,
        start: UNTIMED_START,
        end: UNTIMED_END,
    }
}

/// The word of a line.
#[inline(always)]
pub(crate) fn site(site: Option<Site>) -> usize {
    site.map_or(0, |site| ptr::from_ref(site).expose_provenance())
}

/// The word of a line that has waited, and of the lock that it has waited for.
pub(crate) fn waiting_word(line: Option<Site>, instance: Instance) -> usize {
    let line = site(line);
    #[cfg(target_pointer_width = "64")]
    {
        // What leaves no room for the lock is not told apart by line.
        let line = if line >> ABOVE == 0 { line } else { 0 };
        line | usize::from(instance.to_bits()) << ABOVE
    }
    #[cfg(not(target_pointer_width = "64"))]
    {
        let _ = instance;
        line
    }
}

/// What a [`waiting_word`] says.
pub(crate) fn waiting_of(word: usize) -> (Line, Instance) {
    #[cfg(target_pointer_width = "64")]
    let (line, instance) = (word & ((1 << ABOVE) - 1), word >> ABOVE);
    #[cfg(not(target_pointer_width = "64"))]
    let (line, instance) = (word, 0);
    let instance = Instance::from_bits(u16::try_from(instance).unwrap_or(0));
    (site_of(line), instance)
}

/// A holding line, what it holds the lock for and for which operation, in one word that is not 0. The word 0
/// stands for nobody: what is then waited is hand-over.
#[inline(always)]
pub(crate) fn holder_word(line: usize, activity: Activity, operation: u8) -> usize {
    // What has no room for an operation is told apart by line only; what leaves none to it, not by line.
    #[cfg(target_pointer_width = "64")]
    let (line, operation) = (
        if line >> ABOVE == 0 { line } else { 0 },
        usize::from(operation) << ABOVE,
    );
    #[cfg(not(target_pointer_width = "64"))]
    let operation = usize::from(operation) & 0;
    line | activity as usize | HOLDER | operation
}

/// The [`holder_word`] of a hold in flight, or of one that is about to begin in this record at this line.
#[inline(always)]
pub(crate) fn holder_word_of(record: &Record, line: usize, activity: Activity) -> usize {
    let operation = if scopes::are_used() {
        scopes::operation_of(record)
    } else {
        0
    };
    holder_word(line, activity, operation)
}

const HOLDER: usize = 4;
const _: () = assert!(align_of::<std::panic::Location<'static>>() > ACTIVITY + HOLDER);

/// Where the number of an operation or an instance is: above all addresses that a program has for its constants,
/// on the processors of today with 64 bits.
#[cfg(target_pointer_width = "64")]
const ABOVE: u32 = 48;

/// Who has held a lock.
pub(crate) struct OfHolder {
    pub(crate) line: Line,
    pub(super) activity: Activity,
    /// The number of the operation; 0 for none.
    pub(super) operation: u8,
}

/// What a [`holder_word`] says; `None` for 0.
pub(crate) fn holder_of(word: usize) -> Option<OfHolder> {
    #[cfg(target_pointer_width = "64")]
    let (operation, rest) = (
        u8::try_from(word >> ABOVE & 0xff).unwrap_or(0),
        word & ((1 << ABOVE) - 1),
    );
    #[cfg(not(target_pointer_width = "64"))]
    let (operation, rest) = (0, word);
    (word != 0).then(|| OfHolder {
        line: site_of(rest & !(ACTIVITY | HOLDER)),
        activity: Activity::from_bits(word),
        operation,
    })
}

/// The same [`holder_word`] for no operation.
pub(super) fn without_operation(word: usize) -> usize {
    #[cfg(target_pointer_width = "64")]
    let word = word & ((1 << ABOVE) - 1);
    word
}

/// The line of a word that [`site`] has made.
#[inline(always)]
pub(crate) fn site_of(word: usize) -> Option<Site> {
    // SAFETY: 0, or the address of a `&'static Location`.
    unsafe { ptr::with_exposed_provenance::<std::panic::Location<'static>>(word).as_ref() }
}

/// The address of the figures that a record belongs to.
#[inline(always)]
pub(crate) fn class_of(what: usize) -> usize {
    what & !TAGS
}

/// The figures that a record belongs to.
///
/// # Safety
///
/// They are alive: those of a class always are, those of a statistic as long as there is an unconsumed
/// record of it.
pub(super) unsafe fn stats_of<'a>(what: usize) -> &'a ClassStats {
    // SAFETY: `hold` made the word of such a reference, and the caller says that it is alive.
    unsafe { &*ptr::with_exposed_provenance(class_of(what)) }
}

#[inline(always)]
pub(crate) fn activity_of(what: usize) -> Activity {
    Activity::from_bits(what)
}

pub(crate) fn kind_of(what: usize) -> Kind {
    match (what & KIND) >> KIND_SHIFT {
        0 => Kind::Hold,
        1 => Kind::Waited,
        2 => Kind::Blame,
        3 => Kind::TryFailed,
        4 => Kind::TimedOut,
        5 => Kind::Nested,
        _ => Kind::Duration,
    }
}

/// The binary logarithm of how many holds a record stands for.
pub(crate) fn shift_of_its(record: &Record) -> u8 {
    if record.what() & SAMPLED == 0 {
        return 0;
    }
    let (page, index) = Page::place_of(record);
    page.shift(index)
}
