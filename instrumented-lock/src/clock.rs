//! The clock: raw ticks on the hot path, nanoseconds afterwards.
//!
//! A stamp is one read of the processor's own counter where that counter is invariant (the time
//! stamp counter of x86-64, the virtual counter of AArch64), else of the operating system's
//! monotonic clock. Which one is settled before the first acquisition and never changes. How long a
//! tick is, is measured against [`Instant`]: first over a tenth of a millisecond, when the first ticks
//! are turned into nanoseconds (an error of at most 0.1 %), then again over the whole time since,
//! whenever a snapshot is taken or a thread arrives, until a second has gone by. Ticks are kept as they
//! are while a lock is taken and released, so nothing waits for that in between, and nothing waits
//! longer than that tenth of a millisecond, once.
//!
//! The read is not ordered with the instructions around it: the processor may read the counter
//! while it still works on what stands before. A hold that is nothing but a chain of arithmetic
//! comes out too short, by up to some 60 ns: 77 ns were recorded where ordered reads saw 131, and
//! 138 with [`set_ordered`], which removes the bias (means of 20,000 holds on a Xeon at 2.1 GHz; the
//! bench `cost` measures it on any machine). Longer holds are short by as much, not by more.
//!
//! Tests put a [`Mock`] in the clock's place.

use std::cell::Cell;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Where stamps come from. Written once, before the first stamp: Relaxed is enough, since a thread
/// that has settled or seen a source goes on seeing it.
static SOURCE: AtomicU8 = AtomicU8::new(UNSETTLED);
const UNSETTLED: u8 = 0;
const COUNTER: u8 = 1;
const SYSTEM: u8 = 2;
const MOCK: u8 = 3;

/// Whether the reads of the counter are ordered. Relaxed: every stamp is as good as another.
static ORDERED: AtomicBool = AtomicBool::new(false);

/// Nanoseconds a tick, as a fixed-point number with 32 binary places; 0 until measured. Relaxed: a
/// reader that sees an older value is off by that value's error, nothing else hangs on it.
static SCALE: AtomicU64 = AtomicU64::new(0);
const ONE: u64 = 1 << 32;

/// The pair of readings that ticks are measured from.
static ANCHOR: OnceLock<Reading> = OnceLock::new();
static SCALE_IS_FINAL: AtomicBool = AtomicBool::new(false);

/// The shortest time that a scale is measured over. Reading both clocks takes some 50 ns, so the
/// error stays well below 0.1 %.
const SHORTEST_WINDOW: Duration = Duration::from_micros(100);

/// After this the scale is good to some parts in 10^7 and stays as it is, so that a machine that
/// sleeps cannot spoil it.
const FINAL_WINDOW: Duration = Duration::from_secs(1);

/// The mock clock shows the sum of both.
static MOCK_NOW: AtomicU64 = AtomicU64::new(0);
thread_local! {
    static MOCK_HERE: Cell<u64> = const { Cell::new(0) };
}

#[derive(Clone, Copy)]
struct Reading {
    ticks: u64,
    time: Instant,
}

impl Reading {
    /// Both clocks at as nearly the same moment as can be had: the tightest of a few tries.
    fn take() -> Self {
        let attempt = |_| {
            let before = counter::read();
            let time = Instant::now();
            let after = counter::read();
            let width = after.wrapping_sub(before);
            (
                width,
                Reading {
                    ticks: before.wrapping_add(width / 2),
                    time,
                },
            )
        };
        (0..5)
            .map(attempt)
            .min_by_key(|&(width, _)| width)
            .map_or_else(
                || Reading {
                    ticks: counter::read(),
                    time: Instant::now(),
                },
                |(_, reading)| reading,
            )
    }
}

/// Settles where stamps come from. Called before the first acquisition, outside any critical
/// section of ours; cheap when called again.
pub(crate) fn start() {
    if SOURCE.load(Ordering::Relaxed) != UNSETTLED {
        return;
    }
    let source = if counter::is_invariant() {
        COUNTER
    } else {
        SYSTEM
    };
    let settled = SOURCE.compare_exchange(UNSETTLED, source, Ordering::Relaxed, Ordering::Relaxed);
    anchor();
    if settled.is_ok() {
        changed();
    }
}

/// Orders the reads of the clock with the work around them, or not, as from the start.
///
/// Ordered, a hold lasts from when everything before it has been done until all of its own work has
/// been; see the [module](self) for what it otherwise is short by. A lock and unlock then costs about
/// twice as much: the reads wait, and the shortest path is not taken. Only the processor's own
/// counter knows the difference; a hold that is in progress ends as it began.
///
/// The [environment](crate::registry::ENVIRONMENT_VARIABLE) can say so too, as `ordered-clock`.
pub fn set_ordered(ordered: bool) {
    order(ordered);
    changed();
}

/// The same, without telling who has asked to be [told](on_change).
pub(crate) fn order(ordered: bool) {
    ORDERED.store(ordered, Ordering::Relaxed);
}

/// Whom to tell that a stamp may be read otherwise than before.
static ON_CHANGE: OnceLock<fn()> = OnceLock::new();

/// Has `tell` called whenever [`is_plain_counter`] may have changed.
pub(crate) fn on_change(tell: fn()) {
    let _ = ON_CHANGE.set(tell);
}

fn changed() {
    if let Some(tell) = ON_CHANGE.get() {
        tell();
    }
}

/// Whether a stamp is one plain read of the counter.
pub(crate) fn is_plain_counter() -> bool {
    SOURCE.load(Ordering::Relaxed) == COUNTER && !ORDERED.load(Ordering::Relaxed)
}

/// A stamp in ticks, for who knows that the clock [is the plain counter](is_plain_counter).
#[inline(always)]
pub(crate) fn counter_now() -> u64 {
    counter::read()
}

fn anchor() -> Reading {
    *ANCHOR.get_or_init(|| match SOURCE.load(Ordering::Relaxed) {
        COUNTER => Reading::take(),
        _ => Reading {
            ticks: 0,
            time: Instant::now(),
        },
    })
}

/// A stamp in ticks, never 0. Only differences mean anything, through [`nanoseconds`].
#[inline]
pub(crate) fn now() -> u64 {
    if SOURCE.load(Ordering::Relaxed) != COUNTER {
        now_elsewhere()
    } else if ORDERED.load(Ordering::Relaxed) {
        counter::read_ordered()
    } else {
        counter::read()
    }
}

/// The time since locks were first used; zero before.
pub(crate) fn since_start() -> Duration {
    match SOURCE.load(Ordering::Relaxed) {
        UNSETTLED => Duration::ZERO,
        MOCK => Duration::from_nanos(mock_now()),
        _ => anchor().time.elapsed(),
    }
}

#[cold]
#[inline(never)]
fn now_elsewhere() -> u64 {
    match SOURCE.load(Ordering::Relaxed) {
        MOCK => mock_now().wrapping_add(1).max(1),
        COUNTER => counter::read(),
        UNSETTLED => {
            start();
            now()
        }
        _ => {
            let since = anchor().time.elapsed();
            u64::try_from(since.as_nanos()).map_or(u64::MAX, |ns| ns + 1)
        }
    }
}

/// The time between two stamps, to the nearest nanosecond. `None` where the clock ran backwards.
pub(crate) fn nanoseconds(start: u64, end: u64) -> Option<u64> {
    Some(scale().nanoseconds(end.checked_sub(start)?))
}

/// How long a tick is.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    /// Nanoseconds a tick, with 32 binary places.
    tick: u64,
    /// Fewer ticks are less than [`SHORT`].
    short: u64,
}

/// Durations below this, half a second, are told from others by one comparison of ticks.
pub(crate) const SHORT: u64 = 1 << 29;

impl Scale {
    /// A tick is a nanosecond.
    pub(crate) const NANOSECONDS: Scale = Scale::new(ONE);

    const fn new(tick: u64) -> Self {
        Scale {
            tick,
            short: ((SHORT - 1) << 32) / tick,
        }
    }

    /// A number of ticks, to the nearest nanosecond, where that is below [`SHORT`].
    #[inline(always)]
    pub(crate) fn short_nanoseconds(self, ticks: u64) -> Option<u32> {
        (ticks < self.short).then(|| ((ticks * self.tick + ONE / 2) >> 32) as u32)
    }

    /// A number of ticks, to the nearest nanosecond.
    pub(crate) fn nanoseconds(self, ticks: u64) -> u64 {
        // A tick is at most 1 µs, so the product overflows 96 bits only after centuries.
        let product = u128::from(ticks) * u128::from(self.tick) + u128::from(ONE / 2);
        u64::try_from(product >> 32).unwrap_or(u64::MAX)
    }
}

/// How long a tick is, as far as that is known; measured if it is not.
#[inline]
pub(crate) fn scale() -> Scale {
    let mut tick = SCALE.load(Ordering::Relaxed);
    if tick == 0 {
        first_scale();
        tick = SCALE.load(Ordering::Relaxed).max(1);
    }
    Scale::new(tick)
}

#[cold]
#[inline(never)]
fn first_scale() {
    let anchor = anchor();
    while anchor.time.elapsed() < SHORTEST_WINDOW {
        std::hint::spin_loop();
    }
    refine();
    // Where a tick is a nanosecond there is nothing to measure.
    let _ = SCALE.compare_exchange(0, ONE, Ordering::Relaxed, Ordering::Relaxed);
}

/// Measures the scale again, over the time since the start, until that is long enough to leave it.
/// Called where some hundred nanoseconds do not matter: by a snapshot, by a thread's first use.
pub(crate) fn refine() {
    if SCALE_IS_FINAL.load(Ordering::Relaxed) || SOURCE.load(Ordering::Relaxed) != COUNTER {
        return;
    }
    let anchor = anchor();
    let reading = Reading::take();
    let window = reading.time.saturating_duration_since(anchor.time);
    let ticks = u128::from(reading.ticks.wrapping_sub(anchor.ticks)).max(1);
    if window < SHORTEST_WINDOW {
        return;
    }
    let scale = (window.as_nanos() << 32) / ticks;
    SCALE.store(
        u64::try_from(scale).unwrap_or(ONE).max(1),
        Ordering::Relaxed,
    );
    if window >= FINAL_WINDOW {
        SCALE_IS_FINAL.store(true, Ordering::Relaxed);
    }
}

fn mock_now() -> u64 {
    MOCK_NOW
        .load(Ordering::Relaxed)
        .wrapping_add(MOCK_HERE.get())
}

/// A clock that stands still until a test moves it.
///
/// It takes the place of the process's clock, so install it before the first lock is used. Tests
/// that run at the same time in one process do not disturb each other as long as each moves the
/// clock of its own thread only, with [`advance_here`](Self::advance_here). One tick is one
/// nanosecond.
///
/// ```
/// use instrumented_lock::{Mutex, clock::Mock, instrumented, registry};
/// use std::time::Duration;
///
/// #[instrumented]
/// static SLOW: Mutex<u32> = Mutex::new(0);
///
/// let clock = Mock::install()?;
/// {
///     let _guard = SLOW.lock();
///     clock.advance_here(Duration::from_millis(10));
/// }
/// let snapshot = registry::snapshot();
/// let hold = snapshot.lock("SLOW").unwrap().write().hold();
/// assert_eq!((hold.count(), hold.max()), (1, Some(Duration::from_millis(10))));
/// # Ok::<(), instrumented_lock::clock::AlreadyStarted>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Mock {
    _private: (),
}

impl Mock {
    /// Puts the mock in the place of the process's clock, or finds it there.
    ///
    /// # Errors
    ///
    /// [`AlreadyStarted`] where a lock has been used and its stamps come from the real clock.
    pub fn install() -> Result<Mock, AlreadyStarted> {
        let found = SOURCE.compare_exchange(UNSETTLED, MOCK, Ordering::Relaxed, Ordering::Relaxed);
        match found {
            Ok(_) | Err(MOCK) => {
                SCALE.store(ONE, Ordering::Relaxed);
                SCALE_IS_FINAL.store(true, Ordering::Relaxed);
                Ok(Mock { _private: () })
            }
            Err(_) => Err(AlreadyStarted),
        }
    }

    /// Moves the clock forward for all threads.
    pub fn advance(&self, by: Duration) {
        MOCK_NOW.fetch_add(whole_ns(by), Ordering::Relaxed);
    }

    /// Moves the clock forward for the calling thread only.
    pub fn advance_here(&self, by: Duration) {
        MOCK_HERE.set(MOCK_HERE.get().wrapping_add(whole_ns(by)));
    }

    /// Moves the clock back for the calling thread only, as the clocks of some machines do.
    pub fn step_back_here(&self, by: Duration) {
        MOCK_HERE.set(MOCK_HERE.get().wrapping_sub(whole_ns(by)));
    }
}

fn whole_ns(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

/// The mock clock came too late: a lock has been used already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyStarted;

impl fmt::Display for AlreadyStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a lock has been used already; install the mock clock before the first one is")
    }
}

impl std::error::Error for AlreadyStarted {}

#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

    #[inline]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 processor has the instruction; a system that forbids it in user
        // mode (none of the common ones does) is what `is_invariant` would have to learn about.
        unsafe { _rdtsc() }
    }

    /// Reads when all that stands before is done, and before anything that stands behind begins
    /// (Intel SDM volume 2B, RDTSC).
    pub(super) fn read_ordered() -> u64 {
        // SAFETY: every x86-64 processor has the instructions.
        unsafe {
            _mm_lfence();
            let ticks = _rdtsc();
            _mm_lfence();
            ticks
        }
    }

    /// Whether the counter runs at one rate in every power state: leaf `0x8000_0007`, EDX bit 8 of
    /// `cpuid` (Intel SDM volume 2A, AMD APM volume 3).
    pub(super) fn is_invariant() -> bool {
        const POWER: u32 = 0x8000_0007;
        __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & (1 << 8) != 0
    }
}

#[cfg(target_arch = "aarch64")]
mod counter {
    #[inline]
    pub(super) fn read() -> u64 {
        let ticks;
        // SAFETY: reads a register that user mode may read on every AArch64 system but iOS, where
        // `is_invariant` says no and only calibration, which then never runs, would call this.
        unsafe {
            std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack));
        }
        ticks
    }

    /// Reads when all that stands before is done, and before anything that stands behind begins.
    pub(super) fn read_ordered() -> u64 {
        let ticks;
        // SAFETY: as for `read`.
        unsafe {
            std::arch::asm!(
                "isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nomem, nostack)
            );
        }
        ticks
    }

    /// The architecture demands one rate of the system counter.
    pub(super) fn is_invariant() -> bool {
        cfg!(not(target_os = "ios"))
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod counter {
    pub(super) fn read() -> u64 {
        0
    }

    pub(super) fn read_ordered() -> u64 {
        0
    }

    pub(super) fn is_invariant() -> bool {
        false
    }
}
