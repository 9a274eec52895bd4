//! The thread id with the feature `stats` off: `parking_lot`'s.

pub use parking_lot::RawThreadId;

type ReentrantMutex<T> = lock_api::ReentrantMutex<parking_lot::RawMutex, RawThreadId, T>;

#[inline(always)]
pub(crate) fn acquire_reentrant<T: ?Sized, G>(
    _lock: &ReentrantMutex<T>,
    acquire: impl FnOnce() -> Option<G>,
) -> Option<G> {
    acquire()
}

#[inline(always)]
pub(crate) fn look_at_reentrant<T: ?Sized>(_lock: &ReentrantMutex<T>) {}
