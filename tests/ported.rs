//! Programs written for `parking_lot`, run on it and on `instrumented_lock::drop_in`.
//!
//! The scenarios in `ported/` know their locks as `locks` only. They are compiled twice, and what is
//! instrumented about the second time is one import.

use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

#[path = "ported"]
mod original {
    use parking_lot as locks;
    mod arc;
    mod condvar;
    mod fair;
    mod mapped;
    mod mutex;
    mod once;
    mod panics;
    mod reentrant;
    mod rwlock;
    mod upgrade;
    mod values;
}

#[path = "ported"]
#[allow(clippy::duplicate_mod, reason = "the same programs, with other locks")]
mod ported {
    use instrumented_lock::drop_in as locks;
    mod arc;
    mod condvar;
    mod fair;
    mod mapped;
    mod mutex;
    mod once;
    mod panics;
    mod reentrant;
    mod rwlock;
    mod upgrade;
    mod values;
}

const MS: Duration = Duration::from_millis(1);

/// Longer than anything takes that is not stuck.
const LONG: Duration = Duration::from_secs(20);

/// Runs `f` in a thread, and returns once that sleeps: waiting for a lock or a notification.
fn spawn_blocked<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    f: impl FnOnce() -> T + Send + 'scope,
) -> ScopedJoinHandle<'scope, T> {
    let (tell, told) = mpsc::channel();
    let thread = scope.spawn(move || {
        tell.send(this_thread()).expect("the caller listens");
        f()
    });
    let id = told.recv().expect("the thread has started");
    // Several looks: on its way to the lock it may sleep for a moment elsewhere.
    let mut asleep = 0;
    until(|| {
        asleep = if is_asleep(&id) { asleep + 1 } else { 0 };
        assert!(!thread.is_finished(), "the thread did not have to wait");
        asleep == 3
    });
    thread
}

/// Looks every now and then until `condition` holds.
fn until(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LONG, "does not come");
        thread::sleep(MS);
    }
}

/// Whether `f` took `time`, and not much more.
fn takes<T>(time: Duration, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = f();
    let elapsed = start.elapsed();
    assert!(elapsed >= time && elapsed < time + LONG, "{elapsed:?}");
    result
}

/// What Linux calls the thread, below `/proc`.
#[cfg(target_os = "linux")]
fn this_thread() -> String {
    let path = std::fs::read_link("/proc/thread-self").expect("there is a /proc");
    path.to_str().expect("two numbers and a word").to_owned()
}

/// Whether Linux has the thread wait for something.
#[cfg(target_os = "linux")]
fn is_asleep(thread: &str) -> bool {
    // `1234 (name) S …`, where the name may contain anything.
    std::fs::read_to_string(format!("/proc/{thread}/stat")).is_ok_and(|stat| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, s)| s.starts_with('S'))
    })
}

#[cfg(not(target_os = "linux"))]
fn this_thread() -> Instant {
    Instant::now()
}

/// A guess: it has had the time to get there.
#[cfg(not(target_os = "linux"))]
fn is_asleep(started: &Instant) -> bool {
    started.elapsed() > 50 * MS
}
