//! The processors, and what this process has used of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const UNKNOWN: u64 = u64::MAX;

/// How many this process may use, when first asked; 0 where that is not known.
pub(crate) fn count() -> u64 {
    // To ask reads files. Not a `OnceLock`: a child of `fork` would wait for who is about to fill it. Relaxed: all
    // find the same.
    static COUNT: AtomicU64 = AtomicU64::new(UNKNOWN);
    let known = COUNT.load(Ordering::Relaxed);
    if known != UNKNOWN {
        return known;
    }
    let count = thread::available_parallelism().map_or(0, |n| n.get() as u64);
    COUNT.store(count, Ordering::Relaxed);
    count
}

/// The processor time of all threads of this process so far.
#[cfg(unix)]
pub(crate) fn time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is there to be written.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
    if failed == 0 {
        Duration::new(seconds, nanoseconds)
    } else {
        Duration::ZERO
    }
}

#[cfg(not(unix))]
pub(crate) fn time() -> Duration {
    Duration::ZERO
}
