//! The thread id with the feature `stats` off: `parking_lot`'s.

pub use parking_lot::RawThreadId;

#[inline(always)]
pub(crate) fn counting_nested<G>(
    _is_held_here: impl FnOnce() -> bool,
    acquire: impl FnOnce() -> Option<G>,
) -> Option<G> {
    acquire()
}
