//! The clocks: the raw one that the floor reads, one that is ordered with the code around it, and
//! the processor time of the whole process.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A raw read of the processor's counter, as the library's clock does it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn raw() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// A read that begins after everything before it is done, and is over before anything after it
/// begins.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn ordered() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: every x86-64 processor has both instructions.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// The monotonic clock, on processors without a counter that this bench knows.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn raw() -> u64 {
    use std::sync::LazyLock;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// The same as [`raw`], on processors without a counter that this bench knows.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn ordered() -> u64 {
    raw()
}

/// What all threads of this process have had of the processors so far.
pub fn processor_time() -> Duration {
    of_system(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// What this thread has had of the processors so far.
pub fn thread_time() -> Duration {
    of_system(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn of_system(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes into `time`, nothing else.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(failed, 0, "the system has clocks of processor time");
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Nanoseconds of one tick of [`raw`].
pub fn tick() -> f64 {
    static TICK: OnceLock<f64> = OnceLock::new();
    *TICK.get_or_init(|| {
        let (start, ticks) = (Instant::now(), raw());
        std::thread::sleep(Duration::from_millis(20));
        let (time, ticks) = (start.elapsed(), raw() - ticks);
        time.as_nanos() as f64 / ticks as f64
    })
}

/// So many ticks of [`raw`].
pub fn ticks(time: Duration) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small positive number"
    )]
    let ticks = (time.as_nanos() as f64 / tick()) as u64;
    ticks
}

/// The time of so many ticks of [`raw`].
pub fn duration(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 * tick() / 1e9)
}
