//! A clock that does what no clock does, while threads wait: nobody hangs, and figures stay figures.

use instrumented_lock::{InFlightState, Mutex, RwLock, instrumented, registry};
use instrumented_lock_tests::{figures, mock_clock};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
/// Longer than anything takes that is not stuck.
const LONG: Duration = Duration::from_secs(20);

#[instrumented]
static MUTEX: Mutex<u32> = Mutex::new(0);

#[instrumented]
static RWLOCK: RwLock<u32> = RwLock::new(0);

fn until_waiting(n: usize) {
    let start = Instant::now();
    let is_waiting = |entry: &&instrumented_lock::InFlight| entry.state() == InFlightState::Waiting;
    while registry::snapshot()
        .in_flight()
        .iter()
        .filter(is_waiting)
        .count()
        < n
    {
        assert!(start.elapsed() < LONG);
        thread::yield_now();
    }
}

/// Holds both locks while two threads wait for each, and does `f` in between, and on each of the threads.
fn waits_while(f: fn()) {
    let (done, is_done) = mpsc::channel();
    let (mutex, rwlock) = (MUTEX.lock(), RWLOCK.write());
    for _ in 0..2 {
        for lock in [|| *MUTEX.lock() += 1, || *RWLOCK.write() += 1] {
            let done = done.clone();
            thread::spawn(move || {
                f();
                lock();
                f();
                drop((MUTEX.lock(), RWLOCK.read()));
                done.send(()).unwrap();
            });
        }
    }
    until_waiting(4);
    f();
    drop((mutex, rwlock));
    for _ in 0..4 {
        is_done.recv_timeout(LONG).expect("nobody hangs");
    }
    for lock in [figures("MUTEX"), figures("RWLOCK")] {
        let modes = lock.modes();
        modes.for_each(|(_, mode)| assert_eq!(mode.acquisitions(), mode.releases()));
        assert!(!registry::snapshot().to_string().is_empty());
    }
}

#[test]
fn a_clock_that_steps_below_zero_or_far_away_hangs_nobody() {
    mock_clock();
    waits_while(|| mock_clock().step_back_here(MS));
    waits_while(|| mock_clock().step_back_here(Duration::MAX));
    waits_while(|| mock_clock().advance_here(Duration::from_nanos(1 << 63)));
    waits_while(|| mock_clock().advance_here(Duration::MAX));
    waits_while(|| mock_clock().advance(Duration::from_nanos(u64::MAX / 3)));
    waits_while(|| mock_clock().step_back_here(Duration::from_nanos(u64::MAX / 5)));
    // And it goes on as it should.
    let before = registry::snapshot();
    let guard = MUTEX.lock();
    mock_clock().advance_here(10 * MS);
    drop(guard);
    let interval = registry::snapshot().since(&before);
    let hold = interval.lock("MUTEX").unwrap().write().hold().clone();
    assert_eq!((hold.count(), hold.sum()), (1, 10 * MS));
}
