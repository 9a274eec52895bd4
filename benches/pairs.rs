//! Pairs of lock and unlock for callgrind to count: `.ci/instructions` runs this under valgrind.
//!
//! Each case is a function that callgrind finds by its name. Each is called three times: once for all
//! that happens at first, then for [`FEW`] and for [`MANY`] pairs. What the last call executes more
//! than the one before is that many pairs and nothing else. The names are printed in the order in
//! which the calls come.

#![allow(missing_docs, reason = "the functions are named for callgrind")]

use instrumented_lock::drop_in;
use instrumented_lock_benches::subject::Mode;
use std::hint::black_box;

const FEW: u64 = 1_000;
const MANY: u64 = 2_000;

static BARE_MUTEX: parking_lot::Mutex<u64> = parking_lot::Mutex::new(0);
static BARE_RWLOCK: parking_lot::RwLock<u64> = parking_lot::RwLock::new(0);
static OUR_MUTEX: drop_in::Mutex<u64> = drop_in::Mutex::new(0);
static OUR_RWLOCK: drop_in::RwLock<u64> = drop_in::RwLock::new(0);

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
    counted_our_mutex: *black_box(&OUR_MUTEX).lock() += 1;
    counted_our_read: black_box(*black_box(&OUR_RWLOCK).read());
    counted_our_write: *black_box(&OUR_RWLOCK).write() += 1;
}

const BARE: [extern "C" fn(u64); 3] = [counted_bare_mutex, counted_bare_read, counted_bare_write];
const OURS: [extern "C" fn(u64); 3] = [counted_our_mutex, counted_our_read, counted_our_write];

fn main() {
    let count = |mode: &str, kinds: [extern "C" fn(u64); 3]| {
        for (kind, pairs) in ["mutex", "read", "write"].into_iter().zip(kinds) {
            pairs(1);
            pairs(FEW);
            pairs(MANY);
            println!("{mode} {kind}");
        }
    };
    count("bare", BARE);
    if cfg!(feature = "stats") {
        let modes = [
            (Mode::Off, "off"),
            (Mode::Sampled, "sampled"),
            (Mode::WithoutSites, "without-sites"),
            (Mode::Exact, "exact"),
        ];
        for (mode, name) in modes {
            mode.set();
            count(name, OURS);
        }
    } else {
        count("compiled-out", OURS);
    }
}
