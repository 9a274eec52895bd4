//! A child of `fork` can take snapshots and use locks, whatever the parent's other threads did at that
//! moment; what they had open is nobody's any more.

#![cfg(unix)]

use instrumented_lock::{InFlightState, Mutex, instrumented, registry};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const CHILDREN: usize = 100;
const LIMIT: Duration = Duration::from_secs(20);

#[instrumented]
struct Shared {
    each: [Mutex<u64>; 3],
    held: Mutex<u64>,
    contended: Mutex<u64>,
}

static SHARED: Shared = Shared {
    each: [const { Mutex::new(0) }; 3],
    held: Mutex::new(0),
    contended: Mutex::new(0),
};

/// What the child does; 0 if all is well.
fn child() -> i32 {
    // More than a log has room for, so that it is folded.
    for _ in 0..200 {
        *SHARED.each[0].lock() += 1;
    }
    let snapshot = registry::snapshot();
    let Some(lock) = snapshot.lock("Shared::each") else {
        return 1;
    };
    let write = lock.write();
    if write.hold().count() != write.releases() || write.acquisitions() < write.releases() {
        return 2;
    }
    let of = |name: &str| {
        let is_it = |entry: &&instrumented_lock::InFlight| entry.lock().ends_with(name);
        snapshot
            .in_flight()
            .iter()
            .filter(is_it)
            .cloned()
            .collect::<Vec<_>>()
    };
    // Held by a thread that the child does not have.
    match &of("Shared::held")[..] {
        [held] if held.thread().is_none() && held.state() == InFlightState::Holding => {}
        _ => return 3,
    }
    let waits = |entry: &instrumented_lock::InFlight| entry.state() == InFlightState::Waiting;
    if snapshot.in_flight().iter().any(waits) {
        return 4;
    }
    registry::set_enabled(false);
    registry::set_enabled(true);
    0
}

/// The exit status of a child, within the limit.
fn status_of(child: libc::pid_t) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        let mut status = 0;
        // SAFETY: `child` is a child of this process, and `status` is there to be written.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
            return Some(status);
        }
        thread::sleep(Duration::from_micros(100));
    }
    // SAFETY: the child has not been waited for, so the number is still its own.
    unsafe { libc::kill(child, libc::SIGKILL) };
    None
}

#[test]
fn a_child_can_take_snapshots_and_use_locks_whatever_others_did() {
    let (running, holding) = (AtomicBool::new(true), AtomicBool::new(false));
    let is_running = || running.load(Ordering::Relaxed);
    let failed = thread::scope(|scope| {
        // One that records, one that takes snapshots and changes settings, one that holds a lock.
        scope.spawn(|| {
            while is_running() {
                *SHARED.each[1].lock() += 1;
                *SHARED.contended.lock() += 1;
            }
        });
        scope.spawn(|| {
            while is_running() {
                black_box(registry::snapshot());
                registry::set_call_sites(true);
                *SHARED.contended.lock() += 1;
            }
        });
        let holder = thread::Builder::new().name("holder".to_owned());
        let hold = || {
            let _held = SHARED.held.lock();
            holding.store(true, Ordering::Relaxed);
            while is_running() {
                thread::sleep(Duration::from_millis(1));
            }
        };
        let holder = holder.spawn_scoped(scope, hold);
        while !holding.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        *SHARED.each[0].lock() += 1;
        let one = |_| {
            // SAFETY: the child uses what a child of a process with threads may use: its own memory,
            // the allocator of a C library that takes care of it, and what is being tested.
            match unsafe { libc::fork() } {
                0 => {
                    let status = child();
                    // SAFETY: ends the child without any destructor.
                    unsafe { libc::_exit(status) }
                }
                child => Some(status_of(child)).filter(|status| *status != Some(0)),
            }
        };
        let failed: Vec<_> = (0..CHILDREN).filter_map(one).collect();
        running.store(false, Ordering::Relaxed);
        drop(holder);
        failed
    });
    assert!(
        failed.is_empty(),
        "{} of {CHILDREN} failed, or hung: {failed:?}",
        failed.len()
    );
}
