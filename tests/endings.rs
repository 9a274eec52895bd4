//! Locks that are used late: in destructors of thread-locals, by whatever runs at the exit of a process, and in
//! children of `fork` that do all of this again.

#![cfg(unix)]
#![allow(
    clippy::items_after_statements,
    reason = "a test takes its turn before anything else"
)]

use instrumented_lock::{
    Condvar, LockSnapshot, Mutex, ReentrantMutex, RwLock, instrumented, registry,
};
use instrumented_lock_tests::figures;
use std::cell::RefCell;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(20);

#[instrumented]
struct Late {
    mutex: Mutex<u64>,
    rwlock: RwLock<u64>,
    reentrant: ReentrantMutex<u64>,
    condvar: Condvar,
}

static LATE: Late = Late {
    mutex: Mutex::new(0),
    rwlock: RwLock::new(0),
    reentrant: ReentrantMutex::new(0),
    condvar: Condvar::new(),
};

/// Uses each lock, more often than a log has room for. Returns how often.
fn use_all() -> u64 {
    for _ in 0..100 {
        *LATE.mutex.lock() += 1;
        *LATE.rwlock.write() += 1;
        drop(LATE.rwlock.read());
        drop(LATE.rwlock.read());
        drop((LATE.reentrant.lock(), LATE.reentrant.lock()));
    }
    let timeout = Duration::from_micros(10);
    assert!(
        LATE.condvar
            .wait_for(&mut LATE.mutex.lock(), timeout)
            .timed_out()
    );
    assert!(format!("{:?}", LATE.mutex).contains("data"));
    102
}

/// Everything that was begun has ended, and so often.
fn is_as_used(times: u64) -> bool {
    let (mutex, rwlock, reentrant) = (
        figures("Late::mutex"),
        figures("Late::rwlock"),
        figures("Late::reentrant"),
    );
    let all = [
        mutex.write(),
        rwlock.write(),
        rwlock.read(),
        reentrant.write(),
    ];
    let counts = all.map(|mode| (mode.acquisitions(), mode.releases()));
    counts[0] == (102 * times, 102 * times)
        && counts[1] == (100 * times, 100 * times)
        && counts[2] == (200 * times, 200 * times)
        && counts[3] == (100 * times, 100 * times)
        && reentrant.nested() == 100 * times
        && mutex.sleep().waits() == times
        && mutex.unmatched() + rwlock.unmatched() == 0
}

/// The tests take turns: they count what the locks do. Not by a lock of `parking_lot`'s: in a child of `fork` it
/// would have queues of threads that the child does not have.
static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Uses the locks when it is dropped, with a guard that it has kept.
struct Last(RefCell<Option<instrumented_lock::RwLockReadGuard<'static, u64>>>);

impl Drop for Last {
    fn drop(&mut self) {
        use_all();
        registry::snapshot();
        self.0.take();
    }
}

thread_local! {
    static BEFORE: Last = const { Last(RefCell::new(None)) };
    static AFTER: Last = const { Last(RefCell::new(None)) };
}

#[instrumented(prefix = "torn down")]
#[derive(Default)]
struct TornDown {
    late: Mutex<u64>,
    early: Mutex<u64>,
}

static TORN_DOWN: std::sync::LazyLock<TornDown> = std::sync::LazyLock::new(TornDown::default);

/// Uses a lock for as long as it takes a hundred threads to come, use another lock and go.
struct UsesLongAfter;

impl Drop for UsesLongAfter {
    fn drop(&mut self) {
        thread::scope(|scope| {
            // Each has the log that has lain idle for longest: one of them that of this thread.
            let others = scope.spawn(|| {
                for _ in 0..100 {
                    let uses = || (0..200).for_each(|_| *TORN_DOWN.early.lock() += 1);
                    thread::spawn(uses).join().unwrap();
                }
            });
            while !others.is_finished() {
                *TORN_DOWN.late.lock() += 1;
            }
        });
    }
}

thread_local! {
    static LONG_AFTER: UsesLongAfter = const { UsesLongAfter };
}

/// A thread that still wrote into the log that it has given up would write over what its next owner has there.
#[test]
fn a_thread_that_is_torn_down_has_no_log_that_others_have() {
    let _turn = turn();
    // Logs that lie idle, more than have to before one of them is given to somebody else.
    thread::scope(|scope| {
        for _ in 0..60 {
            scope.spawn(|| {
                *TORN_DOWN.early.lock() += 1;
                thread::sleep(Duration::from_millis(20));
            });
        }
    });
    let torn_down = thread::spawn(|| {
        LONG_AFTER.with(|_| ());
        *TORN_DOWN.early.lock() += 1;
    });
    torn_down.join().unwrap();
    let (late, early) = (figures("TornDown::late"), figures("TornDown::early"));
    let counts = |lock: &LockSnapshot| (lock.write().acquisitions(), lock.write().releases());
    let uses = [*TORN_DOWN.late.lock(), *TORN_DOWN.early.lock()];
    assert_eq!([&late, &early].map(counts), uses.map(|uses| (uses, uses)));
}

/// Destructors of thread-locals run in the reverse order of their first uses, so one of these comes before
/// that of the library's, the other one after.
#[test]
fn destructors_of_thread_locals_use_locks_before_and_after_the_librarys_own() {
    let _turn = turn();
    let counts = || {
        let lock = figures("Late::mutex");
        (lock.write().acquisitions(), lock.write().releases())
    };
    let before = counts();
    for _ in 0..8 {
        let threads = [(); 8].map(|()| {
            thread::spawn(|| {
                BEFORE.with(|_| ());
                use_all();
                AFTER.with(|_| ());
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    }
    let more = 102 * 3 * 64;
    assert_eq!(counts(), (before.0 + more, before.1 + more));
    let rwlock = figures("Late::rwlock");
    assert_eq!(rwlock.read().acquisitions(), rwlock.read().releases());
}

#[test]
fn a_guard_that_a_thread_local_keeps_ends_with_the_thread() {
    let _turn = turn();
    #[instrumented]
    static KEPT: RwLock<u64> = RwLock::new(0);
    for _ in 0..4 {
        thread::spawn(|| BEFORE.with(|last| *last.0.borrow_mut() = Some(KEPT.read())))
            .join()
            .unwrap();
    }
    let read = figures("KEPT");
    assert_eq!((read.read().acquisitions(), read.read().releases()), (4, 4));
}

/// The exit status of a child, within the limit.
fn status_of(child: libc::pid_t) -> i32 {
    let start = Instant::now();
    let mut status = -1;
    // SAFETY: `child` is a child of this process, and `status` is there to be written.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } != child {
        assert!(start.elapsed() < LONG, "it hangs");
        thread::sleep(Duration::from_millis(1));
    }
    status
}

extern "C" fn at_exit() {
    use_all();
    if !is_as_used(2) {
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(7) };
    }
}

#[test]
#[ignore = "the child of `a_process_may_use_locks_at_its_exit`"]
fn child_uses_locks_at_exit() {
    // SAFETY: the function may be called at any time.
    assert_eq!(unsafe { libc::atexit(at_exit) }, 0);
    thread::spawn(use_all).join().unwrap();
    assert!(is_as_used(1));
    // Others go on while it ends.
    let lock = Arc::new(instrumented_lock::drop_in::Mutex::new(0u64));
    for _ in 0..2 {
        let lock = Arc::clone(&lock);
        thread::spawn(move || {
            loop {
                *lock.lock() += 1;
            }
        });
    }
    std::process::exit(i32::from(*lock.lock() == u64::MAX));
}

#[test]
fn a_process_may_use_locks_at_its_exit() {
    for _ in 0..5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "child_uses_locks_at_exit",
                "--exact",
                "--nocapture",
                "--ignored",
            ])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < LONG, "it hangs");
            thread::sleep(Duration::from_millis(1));
        };
        assert!(status.success(), "{status}");
    }
}

/// A child of `fork` starts threads that end, and forks itself.
#[test]
fn children_of_fork_start_threads_and_fork_again() {
    let _turn = turn();
    fn generation(left: u32) -> i32 {
        // SAFETY: the child uses its own memory, the C library's allocator, and what is being tested.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: nothing handles the signal: it ends the child.
                unsafe { libc::alarm(15) };
                let before = figures("Late::mutex").write().acquisitions();
                let threads = [(); 4].map(|()| {
                    thread::spawn(|| {
                        BEFORE.with(|_| ());
                        use_all();
                    })
                });
                let all_ended = threads.into_iter().all(|thread| thread.join().is_ok());
                use_all();
                let after = figures("Late::mutex");
                let is_whole = after.write().acquisitions() == before + 102 * (2 * 4 + 1)
                    && after.write().acquisitions() == after.write().releases();
                let rest = if left > 0 { generation(left - 1) } else { 0 };
                let status = i32::from(!(all_ended && is_whole)) | rest;
                // SAFETY: ends the child without any destructor.
                unsafe { libc::_exit(status) }
            }
            child => i32::from(status_of(child) != 0),
        }
    }
    use_all();
    for _ in 0..5 {
        assert_eq!(generation(2), 0);
    }
}
