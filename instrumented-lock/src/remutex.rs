//! [`ReentrantMutex`] and its guards.

use crate::facade::lock_type;
use crate::raw::{RawMutex, RawThreadId, acquire_reentrant};
use std::time::{Duration, Instant};

lock_type! {
    /// A mutex that its holder may lock again, which records how long it is waited for and held by
    /// its outermost acquisition; nested ones are [counted](crate::LockSnapshot::nested) apart.
    ///
    /// Wraps [`parking_lot::ReentrantMutex`]. Memory: that and two words.
    ///
    /// ```
    /// use instrumented_lock::{ReentrantMutex, instrumented, registry};
    ///
    /// #[instrumented]
    /// static TREE: ReentrantMutex<u32> = ReentrantMutex::new(0);
    ///
    /// let outer = TREE.lock();
    /// let inner = TREE.lock();
    /// drop((inner, outer));
    /// let snapshot = registry::snapshot();
    /// let tree = snapshot.lock("TREE").unwrap();
    /// assert_eq!((tree.write().acquisitions(), tree.nested()), (1, 1));
    /// ```
    ReentrantMutex over lock_api::ReentrantMutex<RawMutex, RawThreadId, T>,
    raw RawMutex = <parking_lot::RawMutex as lock_api::RawMutex>::INIT,
    and RawThreadId
}

/// One level of the lock is held while this lives; dropping the outermost unlocks, then records.
pub type ReentrantMutexGuard<'a, T> = lock_api::ReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;

/// A [`ReentrantMutexGuard`] for a part of the protected value.
pub type MappedReentrantMutexGuard<'a, T> =
    lock_api::MappedReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;

// These stand before lock_api's, which know nothing of nested acquisitions nor of the line that calls.
impl<T: ?Sized, C> ReentrantMutex<T, C> {
    #[inline]
    #[track_caller]
    fn nesting<G>(&self, acquire: impl FnOnce() -> Option<G>) -> Option<G> {
        acquire_reentrant(&self.lock, acquire)
    }

    /// Acquires the mutex, waiting for other threads but not for this one.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> ReentrantMutexGuard<'_, T> {
        match self.nesting(|| Some(self.lock.lock())) {
            Some(guard) => guard,
            None => unreachable!("waiting without a limit does not give up"),
        }
    }

    /// Acquires the mutex if no other thread holds it.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<ReentrantMutexGuard<'_, T>> {
        self.nesting(|| self.lock.try_lock())
    }

    /// Acquires the mutex, waiting for `timeout` at most.
    #[inline]
    #[track_caller]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<ReentrantMutexGuard<'_, T>> {
        self.nesting(|| self.lock.try_lock_for(timeout))
    }

    /// Acquires the mutex, waiting until `timeout` at the latest.
    #[inline]
    #[track_caller]
    pub fn try_lock_until(&self, timeout: Instant) -> Option<ReentrantMutexGuard<'_, T>> {
        self.nesting(|| self.lock.try_lock_until(timeout))
    }
}

crate::facade::api_methods! { ReentrantMutex {
    is_locked() -> bool;
    is_owned_by_current_thread() -> bool;
} unsafe {
    raw() -> &RawMutex;
    make_guard_unchecked() -> ReentrantMutexGuard<'_, T>;
    force_unlock();
    force_unlock_fair();
}}

#[cfg(feature = "arc_lock")]
crate::facade::unchecked_arc_methods! { ReentrantMutex {
    make_arc_guard_unchecked()
        -> lock_api::ArcReentrantMutexGuard<RawMutex, RawThreadId, T>;
}}

#[cfg(feature = "arc_lock")]
mod arc {
    use super::{RawMutex, RawThreadId, ReentrantMutex, acquire_reentrant};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    type Guard<T> = lock_api::ArcReentrantMutexGuard<RawMutex, RawThreadId, T>;

    impl<T: ?Sized, C> ReentrantMutex<T, C> {
        #[inline]
        #[track_caller]
        fn nesting_arc(
            self: &Arc<Self>,
            acquire: impl FnOnce(
                &Arc<lock_api::ReentrantMutex<RawMutex, RawThreadId, T>>,
            ) -> Option<Guard<T>>,
        ) -> Option<Guard<T>> {
            let this = Self::as_api(self);
            acquire_reentrant(&this, || acquire(&this))
        }

        /// `lock`, with a guard that owns a handle to the mutex.
        #[inline]
        #[track_caller]
        pub fn lock_arc(self: &Arc<Self>) -> Guard<T> {
            match self.nesting_arc(|this| Some(this.lock_arc())) {
                Some(guard) => guard,
                None => unreachable!("waiting without a limit does not give up"),
            }
        }

        /// `try_lock`, with a guard that owns a handle to the mutex.
        #[inline]
        #[track_caller]
        pub fn try_lock_arc(self: &Arc<Self>) -> Option<Guard<T>> {
            self.nesting_arc(lock_api::ReentrantMutex::try_lock_arc)
        }

        /// `try_lock_for`, with a guard that owns a handle to the mutex.
        #[inline]
        #[track_caller]
        pub fn try_lock_arc_for(self: &Arc<Self>, timeout: Duration) -> Option<Guard<T>> {
            self.nesting_arc(|this| this.try_lock_arc_for(timeout))
        }

        /// `try_lock_until`, with a guard that owns a handle to the mutex.
        #[inline]
        #[track_caller]
        pub fn try_lock_arc_until(self: &Arc<Self>, timeout: Instant) -> Option<Guard<T>> {
            self.nesting_arc(|this| this.try_lock_arc_until(timeout))
        }
    }
}
