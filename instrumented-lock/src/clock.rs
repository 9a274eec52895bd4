//! The clock: raw ticks on the hot path, nanoseconds afterwards.
//!
//! A stamp is one read of the processor's own counter where that counter is invariant (the time
//! stamp counter of x86-64, the virtual counter of AArch64), else of the operating system's
//! monotonic clock. Which one is settled before the first acquisition and never changes. How long a
//! tick is, is measured against [`Instant`]: first over a tenth of a millisecond, before the first
//! acquisition (an error of at most 0.1 %), then again over the whole time since, whenever a snapshot is taken
//! or a thread arrives, until a second has gone by. Where the counter is not synchronised between processors
//! it may step meanwhile: so a scale counts only where the first and the second part of the time that it was
//! measured over agree, and otherwise measuring begins again. Ticks are kept as they are while a lock is taken
//! and released, so nothing waits for that in between, and nothing waits longer than that tenth of a
//! millisecond, once; a few times where the counter steps.
//!
//! The read is not ordered with the instructions around it: the processor may read the counter
//! while it still works on what stands before. A hold that is nothing but a chain of arithmetic
//! comes out too short, by up to some 60 ns: 77 ns were recorded where ordered reads saw 131, and
//! 138 with [`set_ordered`], which removes the bias (means of 20,000 holds on a Xeon at 2.1 GHz; the
//! bench `cost` measures it on any machine). Longer holds are short by as much, not by more.
//!
//! Tests put a [`Mock`] in the clock's place.

use parking_lot::Mutex;
use std::cell::Cell;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Where stamps come from. Written once, before the first stamp: Relaxed is enough, since a thread
/// that has settled or seen a source goes on seeing it.
static SOURCE: AtomicU8 = AtomicU8::new(UNSETTLED);
const UNSETTLED: u8 = 0;
const COUNTER: u8 = 1;
const SYSTEM: u8 = 2;
const MOCK: u8 = 3;

/// Whether the reads of the counter are ordered, and whether the program has said so. Relaxed: every stamp is
/// as good as another.
static ORDER: AtomicU8 = AtomicU8::new(UNSAID);
const UNSAID: u8 = 0;
const PLAIN: u8 = 1;
const ORDERED: u8 = 2;

/// Nanoseconds a tick, as a fixed-point number with 32 binary places; 0 until measured. Relaxed: a
/// reader that sees an older value is off by that value's error, nothing else hangs on it.
static SCALE: AtomicU64 = AtomicU64::new(0);
const ONE: u64 = 1 << 32;

/// The pair of readings that ticks are measured from.
static ANCHOR: OnceLock<Reading> = OnceLock::new();

/// What the scale is measured with. Whoever finds it taken leaves the measuring to the other one.
static CALIBRATION: Mutex<Option<Calibration>> = Mutex::new(None);

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

/// How much the rates of two parts of a time may differ, as a part of either, where the counter has not stepped.
/// Of a short time each part is some 30 µs, with an error of 0.2 % each; of a long one the clocks of the
/// operating system may be slewed by 0.05 %.
const SHORT_AGREES: u64 = 64;
const LONG_AGREES: u64 = 1000;

/// Nanoseconds a tick that a counter may have, as [`SCALE`] has them: from 16 GHz to 1 MHz.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = ONE / 16..=ONE * 1000;

#[derive(Clone, Copy)]
struct Reading {
    ticks: u64,
    time: Instant,
}

impl Reading {
    /// The next one, after so long.
    fn after(wait: Duration) -> Self {
        let start = Instant::now();
        while start.elapsed() < wait {
            std::hint::spin_loop();
        }
        Self::take()
    }

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

/// Nanoseconds a tick between two readings; `None` where the counter cannot have run without a step.
fn rate(from: &Reading, to: &Reading) -> Option<u64> {
    let ticks = to.ticks.checked_sub(from.ticks)?;
    let time = to.time.checked_duration_since(from.time)?;
    let rate = (time.as_nanos() << 32).checked_div(u128::from(ticks))?;
    u64::try_from(rate)
        .ok()
        .filter(|rate| PLAUSIBLE.contains(rate))
}

/// The same where the rates of both parts differ by one part in `agrees` at most.
fn steady_rate(from: &Reading, middle: &Reading, to: &Reading, agrees: u64) -> Option<u64> {
    let (first, second) = (rate(from, middle)?, rate(middle, to)?);
    rate(from, to).filter(|_| agree(first, second, agrees))
}

fn agree(one: u64, other: u64, agrees: u64) -> bool {
    one.abs_diff(other) <= one.min(other) / agrees
}

/// The scale, as far as it has been measured.
struct Calibration {
    /// What the time is measured from.
    from: Reading,
    /// A reading in the middle of it.
    middle: Option<Reading>,
    /// Nothing changes any more.
    is_final: bool,
}

impl Calibration {
    fn new(from: Reading) -> Self {
        Calibration {
            from,
            middle: None,
            is_final: false,
        }
    }

    /// Takes in a further reading. Returns what a tick is by it, if it says so; `known` is what it was before.
    fn take_in(&mut self, reading: Reading, known: Option<u64>) -> Option<u64> {
        let window = reading.time.saturating_duration_since(self.from.time);
        if self.is_final || window < SHORTEST_WINDOW {
            return None;
        }
        let middle = *self.middle.get_or_insert(reading);
        let first = middle.time.saturating_duration_since(self.from.time);
        let second = reading.time.saturating_duration_since(middle.time);
        if second * 8 < first {
            // There is no second part worth speaking of yet: what is known has to do.
            let rate = rate(&self.from, &reading)?;
            return Some(rate)
                .filter(|_| known.is_none_or(|known| agree(rate, known, SHORT_AGREES)));
        }
        let agrees = if window < FINAL_WINDOW / 2 {
            SHORT_AGREES
        } else {
            LONG_AGREES
        };
        let Some(rate) = steady_rate(&self.from, &middle, &reading, agrees) else {
            *self = Calibration::new(reading);
            return None;
        };
        self.is_final = window >= FINAL_WINDOW;
        if first * 4 < second {
            // Both parts are to be as long as they can.
            self.middle = Some(reading);
        }
        Some(rate)
    }
}

/// Settles where stamps come from, and how long a tick is about. Called before the first acquisition, so with
/// no lock of ours held; cheap when called again.
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
        first_scale();
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
    let order = if ordered { ORDERED } else { PLAIN };
    ORDER.store(order, Ordering::Relaxed);
    changed();
}

/// The environment orders the reads: unless the program has said what it wants. Tells nobody.
pub(crate) fn order_from_outside() {
    let _ = ORDER.compare_exchange(UNSAID, ORDERED, Ordering::Relaxed, Ordering::Relaxed);
}

#[inline]
fn is_ordered() -> bool {
    ORDER.load(Ordering::Relaxed) == ORDERED
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
    SOURCE.load(Ordering::Relaxed) == COUNTER && !is_ordered()
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
    } else if is_ordered() {
        counter::read_ordered()
    } else {
        counter::read()
    }
}

/// The same, where it is settled already where stamps come from. Does not settle it.
pub(crate) fn now_if_settled() -> Option<u64> {
    (SOURCE.load(Ordering::Relaxed) != UNSETTLED).then(now)
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

/// Whether nobody has to wait any more until the scale is known.
#[cfg(test)]
pub(crate) fn is_scale_known() -> bool {
    SCALE.load(Ordering::Relaxed) != 0
}

/// Measures the scale for the first time.
#[cold]
#[inline(never)]
fn first_scale() {
    if SOURCE.load(Ordering::Relaxed) == COUNTER {
        for _ in 0..FIRST_TRIES {
            let third = || Reading::after(SHORTEST_WINDOW / 2);
            let readings = [Reading::take(), third(), third()];
            let [from, middle, to] = &readings;
            if let Some(rate) = steady_rate(from, middle, to, SHORT_AGREES) {
                // Who has measured it better meanwhile is not overwritten.
                let _ = SCALE.compare_exchange(0, rate, Ordering::Relaxed, Ordering::Relaxed);
                break;
            }
        }
    }
    if SOURCE.load(Ordering::Relaxed) == UNSETTLED {
        return;
    }
    // Where a tick is a nanosecond there is nothing to measure.
    let _ = SCALE.compare_exchange(0, ONE, Ordering::Relaxed, Ordering::Relaxed);
}

/// How often the first measurement is made, at most, where the counter steps.
const FIRST_TRIES: usize = 5;

/// Measures the scale again, over the time since the start, until that is long enough to leave it.
/// Called where some hundred nanoseconds do not matter: by a snapshot, by a thread's first use.
pub(crate) fn refine() {
    if SOURCE.load(Ordering::Relaxed) != COUNTER {
        return;
    }
    let Some(mut calibration) = CALIBRATION.try_lock() else {
        return;
    };
    let calibration = calibration.get_or_insert_with(|| Calibration::new(anchor()));
    if calibration.is_final {
        return;
    }
    let known = Some(SCALE.load(Ordering::Relaxed)).filter(|&scale| scale != 0);
    if let Some(rate) = calibration.take_in(Reading::take(), known) {
        SCALE.store(rate, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Readings of a counter of so many MHz, which steps once: at some time, by so many microseconds.
    struct Machine {
        start: Instant,
        mhz: u64,
        step: Option<(Duration, i64)>,
    }

    impl Machine {
        fn reading(&self, at: Duration) -> Reading {
            let us = u64::try_from(at.as_nanos()).unwrap() * self.mhz / 1000;
            let step = self.step.filter(|(when, _)| at >= *when);
            let step = step.map_or(0, |(_, us)| us * i64::try_from(self.mhz).unwrap());
            Reading {
                // It has run for an hour before.
                ticks: (3_600_000_000 * self.mhz + us).wrapping_add_signed(step),
                time: self.start + at,
            }
        }

        /// How long a tick is in the end, where it is measured at these times, in nanoseconds.
        fn calibrate(&self, times: impl Iterator<Item = Duration>) -> (Option<f64>, bool) {
            let mut calibration = Calibration::new(self.reading(Duration::ZERO));
            let mut known = None;
            for at in times {
                known = calibration.take_in(self.reading(at), known).or(known);
            }
            (
                known.map(|rate| rate as f64 / ONE as f64),
                calibration.is_final,
            )
        }
    }

    fn steps() -> impl Iterator<Item = (Duration, i64)> {
        let times = [
            1, 30, 80, 150, 1_000, 20_000, 300_000, 700_000, 990_000, 1_500_000,
        ];
        let by = [
            -3_000_000, -900_000, -10_000, -500, 500, 10_000, 900_000, 3_000_000,
        ];
        let all = times.map(|at| by.map(|by| (Duration::from_micros(at), by)));
        all.into_iter().flatten()
    }

    #[test]
    fn a_counter_that_steps_is_measured_as_one_that_does_not() {
        for mhz in [24, 1000, 2100, 5000] {
            for step in std::iter::once(None).chain(steps().map(Some)) {
                for every in [1, 7, 50, 200, 450] {
                    let machine = Machine {
                        start: Instant::now(),
                        mhz,
                        step,
                    };
                    let times = (1..).map(|n| n * Duration::from_millis(every));
                    let times = times.take_while(|at| at.as_secs() < 8);
                    let (tick, is_final) = machine.calibrate(times);
                    let tick = tick.expect("it was measured") * mhz as f64 / 1000.0;
                    assert!(
                        (tick - 1.0).abs() < 0.002,
                        "{tick}: {mhz} MHz, {step:?}, every {every} ms"
                    );
                    assert!(is_final, "{mhz} MHz, {step:?}, every {every} ms");
                }
            }
        }
    }

    #[test]
    fn what_is_final_stays() {
        let machine = Machine {
            start: Instant::now(),
            mhz: 2000,
            step: None,
        };
        let mut calibration = Calibration::new(machine.reading(Duration::ZERO));
        let times = (1..20).map(|n| n * Duration::from_millis(100));
        times.for_each(|at| _ = calibration.take_in(machine.reading(at), None));
        assert!(calibration.is_final);
        let asleep = Reading {
            time: machine.start + Duration::from_secs(3600),
            ..calibration.from
        };
        assert_eq!(calibration.take_in(asleep, None), None);
        // Nor does what agrees with it change anything.
        let later = machine.reading(Duration::from_secs(30));
        assert_eq!(calibration.take_in(later, None), None);
    }

    #[test]
    fn a_first_scale_that_steps_is_none() {
        for (at, by) in steps() {
            let machine = Machine {
                start: Instant::now(),
                mhz: 2000,
                step: Some((at, by)),
            };
            let [from, middle, to] =
                [0, 50, 100].map(|us| machine.reading(Duration::from_micros(us)));
            let rate = steady_rate(&from, &middle, &to, SHORT_AGREES);
            let steps_meanwhile = at <= Duration::from_micros(100);
            assert_eq!(rate.is_none(), steps_meanwhile, "{at:?} {by}");
        }
    }
}
