//! What is measured: one lock and unlock, bare, at the floor, and instrumented.
//!
//! Each case is a function that does `n` pairs, so that the loop is the same in every bench. The
//! floor is the bare lock with two raw reads of the clock inside, nothing recorded: no lock that
//! knows how long it was held can be cheaper.

pub mod pair;

use std::hint::black_box;
use std::time::Instant;

/// A raw read of the processor's counter, as the library's clock does it.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn raw_clock() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The monotonic clock, on processors without a counter that this bench knows.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn raw_clock() -> u64 {
    use std::sync::LazyLock;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}

/// One way to lock and unlock, `n` times.
#[derive(Clone, Copy)]
pub struct Case {
    /// What it is called in tables.
    pub name: &'static str,
    /// Does it `n` times.
    pub run: fn(u64),
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Defines a case: a loop around one expression.
macro_rules! case {
    ($name:literal, $body:expr) => {
        Case {
            name: $name,
            run: |n| {
                for _ in 0..n {
                    $body
                }
            },
        }
    };
}

/// One guard held over two clock reads.
macro_rules! with_two_reads {
    ($guard:expr, $use:expr) => {{
        let guard = $guard;
        let start = raw_clock();
        let guard = $use(guard);
        let end = raw_clock();
        drop(guard);
        black_box(end.wrapping_sub(start));
    }};
}

mod bare {
    pub(super) static MUTEX: parking_lot::Mutex<u64> = parking_lot::Mutex::new(0);
    pub(super) static RWLOCK: parking_lot::RwLock<u64> = parking_lot::RwLock::new(0);
}

mod ours {
    use instrumented_lock::{Mutex, RwLock};

    pub(super) static MUTEX: Mutex<u64> = Mutex::new(0);
    pub(super) static RWLOCK: RwLock<u64> = RwLock::new(0);
}

/// What the instrumented cases are compared with.
pub const FLOORS: [Case; 8] = [
    case!("empty loop", black_box(())),
    case!("raw clock read", {
        black_box(raw_clock());
    }),
    case!("Mutex: bare", *black_box(&bare::MUTEX).lock() += 1),
    case!(
        "Mutex: bare + 2 clock reads",
        with_two_reads!(black_box(&bare::MUTEX).lock(), increment)
    ),
    case!("read: bare", {
        black_box(*black_box(&bare::RWLOCK).read());
    }),
    case!(
        "read: bare + 2 clock reads",
        with_two_reads!(black_box(&bare::RWLOCK).read(), look)
    ),
    case!("write: bare", *black_box(&bare::RWLOCK).write() += 1),
    case!(
        "write: bare + 2 clock reads",
        with_two_reads!(black_box(&bare::RWLOCK).write(), increment)
    ),
];

/// The instrumented locks, each with the floor it is compared with.
pub const OURS: [(Case, &str); 3] = [
    (
        case!("Mutex: instrumented", *black_box(&ours::MUTEX).lock() += 1),
        "Mutex: bare + 2 clock reads",
    ),
    (
        case!("read: instrumented", {
            black_box(*black_box(&ours::RWLOCK).read());
        }),
        "read: bare + 2 clock reads",
    ),
    (
        case!(
            "write: instrumented",
            *black_box(&ours::RWLOCK).write() += 1
        ),
        "write: bare + 2 clock reads",
    ),
];

/// The same with recording turned off at run time.
pub const OFF: (Case, &str) = (
    case!("Mutex: recording off", *black_box(&ours::MUTEX).lock() += 1),
    "Mutex: bare",
);

fn increment<G: std::ops::DerefMut<Target = u64>>(mut guard: G) -> G {
    *guard += 1;
    guard
}

fn look<G: std::ops::Deref<Target = u64>>(guard: G) -> G {
    black_box(*guard);
    guard
}

/// Nanoseconds for one of `n`.
#[must_use]
pub fn time(run: impl FnOnce(u64), n: u64) -> f64 {
    let start = Instant::now();
    run(n);
    start.elapsed().as_nanos() as f64 / n as f64
}
