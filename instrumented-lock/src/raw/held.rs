//! What a guard carries.

use crate::clock;
use crate::stats::{Row, Stripe, Timing};
use std::fmt;
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

/// An acquisition that is recorded when it ends, in two words: guards travel in registers.
#[derive(Clone, Copy)]
pub(super) struct Observed {
    /// Where the acquisition was counted: the acquiring thread's [`Stripe`]. In the low bits, which
    /// its alignment leaves free, how the hold is recorded: 0 exactly, [`UNTIMED`] not at all, else
    /// as one of 2^this.
    stripe: NonNull<Stripe>,
    /// The clock when it was made, in ticks; meaningless where the hold is not timed.
    at: u64,
}

// SAFETY: the pointer is a `&'static Stripe`, and stripes are shared between threads.
unsafe impl Send for Observed {}
// SAFETY: as above.
unsafe impl Sync for Observed {}

const TAGS: usize = 31;
const UNTIMED: usize = TAGS;
const _: () = assert!(align_of::<Stripe>() > TAGS);

impl Observed {
    #[inline(always)]
    pub(super) fn new(stripe: &'static Stripe, timing: Timing, at: u64) -> Self {
        let tag = match timing {
            Timing::Exact => 0,
            Timing::ForMany(shift) => usize::from(shift),
            Timing::Untimed => UNTIMED,
        };
        let stripe = NonNull::from(stripe);
        Observed {
            stripe: stripe.map_addr(|addr| addr | tag),
            at,
        }
    }

    /// Counts an acquisition that did not have to wait.
    #[inline(always)]
    pub(super) fn now(stripe: &'static Stripe, timing: Timing) -> Self {
        let at = match timing {
            Timing::Untimed => 0,
            Timing::Exact | Timing::ForMany(_) => clock::now(),
        };
        stripe.acquired();
        Self::new(stripe, timing, at)
    }

    #[inline(always)]
    fn tag(self) -> usize {
        self.stripe.addr().get() & TAGS
    }

    fn timing(self) -> Timing {
        match self.tag() {
            0 => Timing::Exact,
            UNTIMED => Timing::Untimed,
            #[expect(clippy::cast_possible_truncation, reason = "below 31")]
            shift => Timing::ForMany(shift as u8),
        }
    }

    #[inline(always)]
    pub(super) fn stripe(self) -> &'static Stripe {
        let stripe = self.stripe.as_ptr().map_addr(|addr| addr & !TAGS);
        // SAFETY: `new` made the pointer from a `&'static Stripe` and a tag in bits that are zero
        // in the address of one.
        unsafe { &*stripe }
    }

    /// The stripe and the start of a hold that is recorded exactly.
    #[inline(always)]
    pub(super) fn exact(self) -> Option<(&'static Stripe, u64)> {
        (self.tag() == 0).then(|| (self.stripe(), self.at))
    }

    /// The clock at the end of the hold, if it is needed.
    pub(super) fn end(self) -> u64 {
        if self.tag() == UNTIMED {
            0
        } else {
            clock::now()
        }
    }

    /// Records the hold.
    pub(super) fn ended(self, end: u64) {
        let (stripe, at) = (self.stripe(), self.at);
        match self.timing() {
            Timing::Exact => stripe.released(at, end),
            Timing::ForMany(shift) => stripe.released_sampled(at, end, Some(shift)),
            Timing::Untimed => stripe.released_sampled(at, end, None),
        }
    }

    /// Another acquisition of the same lock, recorded in the same way.
    pub(super) fn next(self, stripe: &'static Stripe, at: u64) -> Self {
        Self::new(stripe, self.timing(), at)
    }

    /// Ends this hold and starts one of another row, both `now`.
    pub(super) fn succeed(self, now: u64, to: Row) -> Observed {
        let stripe = self.stripe().of(to);
        stripe.acquired();
        self.ended(now);
        self.next(stripe, now)
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
