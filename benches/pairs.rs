//! Pairs of lock and unlock for callgrind to count: `.ci/instructions` runs this under valgrind.
//!
//! Each case is a function that callgrind finds by its name. Each is called three times: once for all
//! that happens at first, then for [`FEW`] pairs and for [`COUNTED`] pairs more. What the last call
//! executes more than the one before is those pairs and nothing else. The names are printed in the
//! order in which the calls come, with the number of pairs.
//!
//! A lock that a crate takes in one place is inlined there; one that it takes in several may be called. The
//! nested ones are of a type of their own, so that the others stay inlined.
//!
//! Who waits and when is up to a raw lock that is told: [`Scripted`]. One thread is enough for a wait,
//! since all that the instruments see of it is an attempt that fails and a lock that is had a moment
//! later. For a pair that somebody waits for there is a second thread, which sleeps in the lock.

#![allow(
    missing_docs,
    clippy::missing_panics_doc,
    reason = "the functions are named for callgrind"
)]

use instrumented_lock::raw::Instrumented;
use instrumented_lock::{drop_in, lock_api, std_sync};
use instrumented_lock_benches::subject::Mode;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const FEW: u64 = 2_000;
/// Many times any number of pairs after which something is done once: 450 times 64, 480 times 60.
const COUNTED: u64 = 28_800;

static BARE_MUTEX: parking_lot::Mutex<u64> = parking_lot::Mutex::new(0);
static BARE_RWLOCK: parking_lot::RwLock<u64> = parking_lot::RwLock::new(0);
static BARE_OUTER: parking_lot::FairMutex<u64> = parking_lot::FairMutex::new(0);
static BARE_INNER: parking_lot::FairMutex<u64> = parking_lot::FairMutex::new(0);
static OUR_MUTEX: drop_in::Mutex<u64> = drop_in::Mutex::new(0);
static OUR_OUTER: drop_in::FairMutex<u64> = drop_in::FairMutex::new(0);
static OUR_INNER: drop_in::FairMutex<u64> = drop_in::FairMutex::new(0);
static OUR_RWLOCK: drop_in::RwLock<u64> = drop_in::RwLock::new(0);
static OUR_STD_MUTEX: std_sync::Mutex<u64> = std_sync::Mutex::new(0);

/// A raw mutex that protects nothing, and is had when [`TAKEN`] and [`HANDED_OVER`] say so.
struct Scripted;

/// Whether an immediate attempt fails.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether whoever waits has it at once; where not, that sleeps until it is so.
static HANDED_OVER: AtomicBool = AtomicBool::new(true);
/// Whether somebody sleeps.
static SLEEPS: AtomicBool = AtomicBool::new(false);

// SAFETY: not by itself. `waited_for` sees to it that who sleeps has it when nobody else does.
unsafe impl lock_api::RawMutex for Scripted {
    const INIT: Self = Scripted;
    type Guard = ();

    #[inline]
    fn lock(&self) {
        if TAKEN.load(Ordering::Relaxed) {
            while !HANDED_OVER.load(Ordering::Acquire) {
                SLEEPS.store(true, Ordering::Relaxed);
                thread::park();
            }
        }
    }

    #[inline]
    fn try_lock(&self) -> Option<()> {
        (!TAKEN.load(Ordering::Relaxed)).then_some(())
    }

    #[inline]
    unsafe fn unlock(&self, (): ()) {}

    fn is_locked(&self) -> bool {
        TAKEN.load(Ordering::Relaxed)
    }
}

static BARE_SCRIPTED: lock_api::Mutex<Scripted, u64> = lock_api::Mutex::new(0);
static OUR_SCRIPTED: lock_api::Mutex<Instrumented<Scripted>, u64> =
    lock_api::Mutex::from_raw(Instrumented::new(Scripted), 0);

macro_rules! counted {
    ($($name:ident: $pair:expr;)*) => {
        $(
            // Not inlined and not renamed, to be found by callgrind.
            #[unsafe(no_mangle)]
            #[inline(never)]
            pub extern "C" fn $name(pairs: u64) {
                for _ in 0..pairs {
                    $pair;
                }
            }
        )*
    };
}

counted! {
    counted_bare_mutex: *black_box(&BARE_MUTEX).lock() += 1;
    counted_bare_read: black_box(*black_box(&BARE_RWLOCK).read());
    counted_bare_write: *black_box(&BARE_RWLOCK).write() += 1;
    counted_bare_nested: {
        let mut outer = black_box(&BARE_OUTER).lock();
        *black_box(&BARE_INNER).lock() += 1;
        *outer += 1;
    };
    counted_bare_scripted: *black_box(&BARE_SCRIPTED).lock() += 1;
    counted_our_mutex: *black_box(&OUR_MUTEX).lock() += 1;
    counted_our_read: black_box(*black_box(&OUR_RWLOCK).read());
    counted_our_write: *black_box(&OUR_RWLOCK).write() += 1;
    counted_our_nested: {
        let mut outer = black_box(&OUR_OUTER).lock();
        *black_box(&OUR_INNER).lock() += 1;
        *outer += 1;
    };
    counted_our_scripted: *black_box(&OUR_SCRIPTED).lock() += 1;
    counted_our_std_mutex: *black_box(&OUR_STD_MUTEX).lock().unwrap() += 1;
}

/// Pairs of a mutex, a read, a write, two fair mutexes one inside the other, and those of a lock that is
/// scripted.
type Pairs = [extern "C" fn(u64); 5];

const BARE: Pairs = [
    counted_bare_mutex,
    counted_bare_read,
    counted_bare_write,
    counted_bare_nested,
    counted_bare_scripted,
];
const OURS: Pairs = [
    counted_our_mutex,
    counted_our_read,
    counted_our_write,
    counted_our_nested,
    counted_our_scripted,
];

fn main() {
    all("bare", BARE, || *BARE_SCRIPTED.lock() += 1);
    let wait = || *OUR_SCRIPTED.lock() += 1;
    if cfg!(feature = "stats") {
        let modes = [
            (Mode::Off, "off"),
            (Mode::Sampled, "sampled"),
            (Mode::WithoutSites, "without-sites"),
            (Mode::Exact, "exact"),
            (Mode::InOrder, "in-order"),
        ];
        for (mode, name) in modes {
            mode.set();
            all(name, OURS, wait);
        }
        Mode::Exact.set();
        count("exact", "std-mutex", counted_our_std_mutex);
    } else {
        all("compiled-out", OURS, wait);
    }
}

/// Counts them in a mode; `wait` is an acquisition that is not counted.
fn all(mode: &str, [mutex, read, write, nested, scripted]: Pairs, wait: fn()) {
    count(mode, "mutex", mutex);
    count(mode, "read", read);
    count(mode, "write", write);
    count(mode, "nested", nested);

    TAKEN.store(true, Ordering::Relaxed);
    count(mode, "waits", scripted);
    TAKEN.store(false, Ordering::Relaxed);
    waited_for(wait, || count(mode, "waited-for", scripted));
}

fn count(mode: &str, kind: &str, pairs: extern "C" fn(u64)) {
    for n in [1, FEW, FEW + COUNTED] {
        pairs(n);
    }
    println!("{mode} {kind} {COUNTED}");
}

/// Acts while another thread waits for the scripted lock, which has it after that.
fn waited_for(wait: fn(), act: impl FnOnce()) {
    TAKEN.store(true, Ordering::Relaxed);
    HANDED_OVER.store(false, Ordering::Relaxed);
    thread::scope(|scope| {
        let waiter = scope.spawn(wait);
        while !SLEEPS.swap(false, Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
        // From there to its sleep is not far.
        thread::sleep(Duration::from_millis(50));
        TAKEN.store(false, Ordering::Relaxed);
        act();
        HANDED_OVER.store(true, Ordering::Release);
        waiter.thread().unpark();
    });
}
