//! What a guard carries.

use crate::class::Timing;
use crate::clock;
use crate::stats::{self, Record, Site};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};

/// What an acquisition remembers in its guard until it is released.
#[derive(Debug)]
pub struct Held<G> {
    /// The wrapped lock's own state. Decides whether guards are `Send`.
    pub(super) inner: G,
    /// `None` where recording was off.
    pub(super) hold: Option<Hold>,
}

impl<G> Held<G> {
    #[inline(always)]
    pub(super) fn unobserved(inner: G) -> Self {
        Held { inner, hold: None }
    }

    #[inline(always)]
    pub(super) fn observed(inner: G, hold: Hold) -> Self {
        Held {
            inner,
            hold: Some(hold),
        }
    }
}

impl<G> Held<G> {
    /// Of one who only looks at what the lock protects: nothing is recorded.
    #[cold]
    pub(super) fn looked_at(inner: G) -> Self {
        Held::observed(inner, Hold::look())
    }

    /// The line that acquired, where the hold is observed and lines are told apart.
    #[inline]
    pub(super) fn line(&self) -> Option<Site> {
        stats::site_of(self.hold?.record().site())
    }
}

/// The state of a lock that somebody holds without a guard, for `force_unlock` and its like, where
/// the wrapped lock's state can be made of nothing too. Its release is
/// [unmatched](crate::LockSnapshot::unmatched).
impl<G: Default> Default for Held<G> {
    fn default() -> Self {
        Held::unobserved(G::default())
    }
}

/// A hold in flight, in one word: where its record is, and in the low bits, which the record's alignment
/// leaves free, how its end is stamped.
#[derive(Clone, Copy)]
pub(super) struct Hold(NonNull<Record>);

/// By the plain counter.
const PLAIN: usize = 0;
/// By the clock, whatever that is.
const CLOCK: usize = 1;
/// Not at all.
const UNTIMED: usize = 2;
/// It is no hold, but a look: the record is nobody's.
const LOOK: usize = 3;
const TAGS: usize = 3;
const _: () = assert!(align_of::<Record>() > TAGS);

// SAFETY: the pointer is a `&'static Record`, and records are shared between threads.
unsafe impl Send for Hold {}
// SAFETY: as for `Send`: all that can be reached through it is atomic.
unsafe impl Sync for Hold {}

// Records are whole after a panic: nothing unwinds while they are written.
impl UnwindSafe for Hold {}
impl RefUnwindSafe for Hold {}

impl Hold {
    /// A hold that began by the plain counter.
    #[inline(always)]
    pub(super) fn plain(record: &'static Record) -> Self {
        let addr = ptr::from_ref(record).addr();
        // SAFETY: it is a record's address. Said so that the release need not look where the compiler sees
        // both.
        unsafe { std::hint::assert_unchecked(addr != 0 && addr & TAGS == PLAIN) };
        Hold(NonNull::from(record))
    }

    /// A hold that is only counted.
    #[inline(always)]
    pub(super) fn untimed(record: &'static Record) -> Self {
        Hold(NonNull::from(record).map_addr(|addr| addr | UNTIMED))
    }

    pub(super) fn look() -> Self {
        Hold(NonNull::from(&stats::NOBODYS_RECORD).map_addr(|addr| addr | LOOK))
    }

    pub(super) fn is_look(self) -> bool {
        self.tag() == LOOK
    }

    pub(super) fn new(record: &'static Record, timing: Timing) -> Self {
        let tag = match timing {
            Timing::Untimed => UNTIMED,
            Timing::Exact | Timing::ForMany(_) => CLOCK,
        };
        Hold(NonNull::from(record).map_addr(|addr| addr | tag))
    }

    #[inline(always)]
    fn tag(self) -> usize {
        self.0.addr().get() & TAGS
    }

    #[inline(always)]
    pub(super) fn is_plain(self) -> bool {
        self.tag() == PLAIN
    }

    #[inline(always)]
    pub(super) fn is_untimed(self) -> bool {
        self.tag() == UNTIMED
    }

    #[inline(always)]
    pub(super) fn record(self) -> &'static Record {
        let record = self.0.as_ptr().map_addr(|addr| addr & !TAGS);
        // SAFETY: the pointer was made from a `&'static Record` and a tag in bits that are zero in the
        // address of one.
        unsafe { &*record }
    }

    /// The stamp of its end.
    pub(super) fn end(self) -> u64 {
        if self.tag() == UNTIMED {
            stats::UNTIMED_END
        } else {
            clock::now()
        }
    }

    /// How it is recorded.
    pub(super) fn timing(self) -> Timing {
        match (self.tag(), stats::shift_of_its(self.record())) {
            (UNTIMED, _) => Timing::Untimed,
            (_, 0) => Timing::Exact,
            (_, shift) => Timing::ForMany(shift),
        }
    }

    /// The start of a hold that begins where this one ends, at `end`.
    pub(super) fn start_of_next(self, end: u64) -> u64 {
        if self.tag() == UNTIMED {
            stats::UNTIMED_START
        } else {
            end
        }
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("start", &self.record().start())
            .finish_non_exhaustive()
    }
}
