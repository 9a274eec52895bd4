//! The condition variable with the feature `stats` off: `parking_lot`'s.

use crate::class::Declaration;
use lock_api::MutexGuard;
use std::panic::Location;

/// The condition variable under [`Condvar`](crate::Condvar).
pub struct RawCondvar {
    condvar: parking_lot::Condvar,
}

impl RawCondvar {
    pub(crate) const fn declared(_: &'static Declaration) -> Self {
        RawCondvar {
            condvar: parking_lot::Condvar::new(),
        }
    }

    pub(crate) const fn at_site(_: &'static Location<'static>) -> Self {
        RawCondvar {
            condvar: parking_lot::Condvar::new(),
        }
    }

    pub(crate) fn named(_: &str) -> Self {
        RawCondvar {
            condvar: parking_lot::Condvar::new(),
        }
    }

    #[inline]
    pub(crate) fn notify<T>(
        &self,
        notify: impl FnOnce(&parking_lot::Condvar) -> T,
        _count: impl FnOnce(T) -> usize,
    ) -> T {
        notify(&self.condvar)
    }

    #[inline]
    pub(crate) fn sleep<T: ?Sized, W>(
        &self,
        guard: &mut MutexGuard<'_, parking_lot::RawMutex, T>,
        sleep: impl FnOnce(&parking_lot::Condvar, &mut MutexGuard<'_, parking_lot::RawMutex, T>) -> W,
        _timed_out: impl Fn(&W) -> bool,
    ) -> W {
        sleep(&self.condvar, guard)
    }
}
