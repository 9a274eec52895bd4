//! Which processor the calling thread runs on.

/// The number of the processor, or of another one if the thread is being moved; `None` where the system
/// does not say.
#[cfg(target_os = "linux")]
pub(super) fn current() -> Option<usize> {
    // SAFETY: it takes nothing, and only looks.
    let number = unsafe { libc::sched_getcpu() };
    usize::try_from(number).ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn current() -> Option<usize> {
    None
}
