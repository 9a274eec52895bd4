//! What a guard carries.

use crate::clock;
use crate::stats::{NEVER, Row, Site, Timing};
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

/// What an acquisition remembers in its guard until it is released.
#[derive(Debug)]
pub struct Held<G> {
    /// The wrapped lock's own state. Decides whether guards are `Send`.
    pub(super) inner: G,
    pub(super) observed: Option<Observed>,
}

impl<G> Held<G> {
    #[inline(always)]
    pub(super) fn unobserved(inner: G) -> Self {
        Held {
            inner,
            observed: None,
        }
    }

    #[inline(always)]
    pub(super) fn observed(inner: G, observed: Observed) -> Self {
        Held {
            inner,
            observed: Some(observed),
        }
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

/// An acquisition that is recorded when it ends, in two words: guards travel in registers.
#[derive(Clone, Copy)]
pub(super) struct Observed {
    /// Where the acquisition was counted: the row of its line in the acquiring thread's stripe. In
    /// the low bits, which its alignment leaves free, how the hold is recorded: 0 as
    /// [`Timing::Fast`], [`EXACT`], [`UNTIMED`], else as one of 2^this.
    site: NonNull<Site>,
    /// The clock when it was made, in ticks; [`NEVER`] where the hold is not timed.
    at: u64,
}

// SAFETY: the pointer is a `&'static Site`, and sites are shared between threads.
unsafe impl Send for Observed {}
// SAFETY: as above.
unsafe impl Sync for Observed {}

// Statistics are whole after a panic: nothing unwinds while they are written.
impl UnwindSafe for Observed {}
impl RefUnwindSafe for Observed {}

const TAGS: usize = 31;
const UNTIMED: usize = TAGS;
const EXACT: usize = TAGS - 1;
const _: () = assert!(align_of::<Site>() > TAGS);

impl Observed {
    #[inline(always)]
    pub(super) fn new(site: &'static Site, timing: Timing, at: u64) -> Self {
        let tag = match timing {
            Timing::Fast => 0,
            Timing::Exact => EXACT,
            Timing::ForMany(shift) => usize::from(shift),
            Timing::Untimed => UNTIMED,
        };
        Observed {
            site: NonNull::from(site).map_addr(|addr| addr | tag),
            at,
        }
    }

    #[inline(always)]
    fn tag(self) -> usize {
        self.site.addr().get() & TAGS
    }

    fn timing(self) -> Timing {
        match self.tag() {
            0 => Timing::Fast,
            EXACT => Timing::Exact,
            UNTIMED => Timing::Untimed,
            #[expect(clippy::cast_possible_truncation, reason = "below 30")]
            shift => Timing::ForMany(shift as u8),
        }
    }

    #[inline(always)]
    pub(super) fn site(self) -> &'static Site {
        let site = self.site.as_ptr().map_addr(|addr| addr & !TAGS);
        // SAFETY: `new` made the pointer from a `&'static Site` and a tag in bits that are zero in
        // the address of one.
        unsafe { &*site }
    }

    #[inline(always)]
    pub(super) fn at(self) -> u64 {
        self.at
    }

    #[inline(always)]
    pub(super) fn is_fast(self) -> bool {
        self.tag() == 0
    }

    #[inline(always)]
    pub(super) fn is_untimed(self) -> bool {
        self.tag() == UNTIMED
    }

    /// The clock at the end of the hold, if it is needed.
    pub(super) fn end(self) -> u64 {
        if self.is_untimed() {
            NEVER
        } else {
            clock::now()
        }
    }

    /// Records the hold.
    pub(super) fn ended(self, end: u64) {
        let (site, at) = (self.site(), self.at);
        site.stripe().released(site, at, end, self.timing());
    }

    /// Another acquisition of the same lock, recorded in the same way.
    pub(super) fn next(self, site: &'static Site, at: u64) -> Self {
        let timing = match self.timing() {
            // Another thread may have ended the last hold, and may have a shared slot.
            Timing::Fast if site.stripe().is_shared() => Timing::Exact,
            timing => timing,
        };
        Self::new(site, timing, at)
    }

    /// Ends this hold and starts one of another mode at `location`, both `now`.
    pub(super) fn succeed(
        self,
        now: u64,
        to: Row,
        location: &'static Location<'static>,
    ) -> Observed {
        let stripe = self.site().stripe().of(to);
        let site = stripe.site(location);
        let at = if self.is_untimed() { NEVER } else { now };
        // Struck out and listed in this order: the table of what is in flight is a stack.
        self.ended(now);
        stripe.acquired(site, false);
        stripe.holds(site, || at);
        self.next(site, at)
    }
}

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed")
            .field("timing", &self.timing())
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}
