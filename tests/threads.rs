//! Nothing is lost: under concurrent snapshots, across threads that come and go, past the last
//! slot, on guards that end elsewhere or late.

use instrumented_lock::{Mutex, MutexGuard, RwLock, instrumented, registry};
use instrumented_lock_tests::{figures, figures_in, mock_clock};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::RefCell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::thread;
use std::time::Duration;

const NS: Duration = Duration::from_nanos(1);
const MS: Duration = Duration::from_millis(1);

/// Bytes that are allocated and not freed.
static LIVE: AtomicIsize = AtomicIsize::new(0);

/// What the test harness may allocate meanwhile. A stripe for each thread or a word for each lock
/// would be megabytes.
const SLACK: isize = 64 * 1024;

struct Counting;

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: the caller's promise is the callee's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size().cast_signed(), Ordering::Relaxed);
        // SAFETY: the caller's promise is the callee's.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The tests take turns: each finds all slots free, and memory and the clock to itself.
static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

#[test]
fn eight_threads_lose_nothing_under_continuous_snapshots() {
    const THREADS: usize = 8;
    const EACH: u64 = 250_000;
    #[instrumented]
    struct Striped {
        locks: [Mutex<()>; THREADS],
    }
    let _turn = TURN.lock();
    let striped = Striped {
        locks: [const { Mutex::new(()) }; THREADS],
    };
    let clock = mock_clock();
    let done = AtomicBool::new(false);
    let mut snapshots = 0;
    thread::scope(|scope| {
        let writers: Vec<_> = striped
            .locks
            .iter()
            .map(|lock| {
                scope.spawn(move || {
                    for _ in 0..EACH {
                        let guard = lock.lock();
                        clock.advance_here(3 * NS);
                        drop(guard);
                    }
                })
            })
            .collect();
        let done = &done;
        scope.spawn(move || {
            for writer in writers {
                writer.join().unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut last = 0;
        while !done.load(Ordering::Relaxed) {
            let lock = figures("Striped::locks");
            let (write, hold) = (lock.write(), lock.write().hold());
            assert_eq!(hold.sum().as_nanos(), 3 * u128::from(hold.count()));
            assert_eq!(hold.buckets().map(|(_, n)| n).sum::<u64>(), hold.count());
            assert_eq!(hold.std_dev().unwrap_or_default(), Duration::ZERO);
            assert!(hold.count() >= last, "nothing is taken back");
            assert!(
                write.acquisitions() >= write.releases(),
                "acquired before released"
            );
            last = hold.count();
            snapshots += 1;
        }
    });
    assert!(
        snapshots > 10,
        "the snapshots were taken while the threads ran: {snapshots}"
    );
    let lock = figures("Striped::locks");
    let hold = lock.write().hold();
    assert_eq!(
        (hold.count(), lock.write().acquisitions()),
        (8 * EACH, 8 * EACH)
    );
    assert_eq!((hold.min(), hold.max()), (Some(3 * NS), Some(3 * NS)));
    assert_eq!(lock.instances(), 8);
}

#[test]
fn waits_and_holds_are_consistent_in_every_snapshot_under_contention() {
    const THREADS: u64 = 4;
    const EACH: u64 = 30_000;
    #[instrumented]
    static BUSY: RwLock<u64> = RwLock::new(0);
    let _turn = TURN.lock();
    mock_clock();
    let check = |exact: bool| {
        let lock = figures("BUSY");
        for (mode, m) in lock.modes() {
            assert_eq!(m.wait().count(), m.acquisitions(), "{mode:?}");
            assert!(m.contended() <= m.acquisitions(), "{mode:?}");
            assert_eq!(m.blocked().sum(), m.wait().sum(), "{mode:?}");
            let in_flight = m.acquisitions() - m.releases();
            assert!(
                in_flight <= if exact { 0 } else { THREADS * EACH },
                "{mode:?}"
            );
        }
        lock
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|t| {
                scope.spawn(move || {
                    for i in 0..EACH {
                        if (i + t).is_multiple_of(4) {
                            *BUSY.write() += 1;
                        } else {
                            std::hint::black_box(*BUSY.read());
                        }
                    }
                })
            })
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            check(false);
        }
    });
    let lock = check(true);
    assert_eq!(
        lock.read().acquisitions() + lock.write().acquisitions(),
        THREADS * EACH
    );
    assert_eq!(lock.write().acquisitions(), *BUSY.read());
}

#[test]
fn threads_that_come_and_go_lose_nothing_and_leave_no_memory() {
    #[instrumented]
    static TRANSIENT: Mutex<u64> = Mutex::new(0);
    let _turn = TURN.lock();
    let clock = mock_clock();
    let round = || {
        for _ in 0..200 {
            thread::spawn(move || {
                let mut guard = TRANSIENT.lock();
                *guard += 1;
                clock.advance_here(7 * NS);
            })
            .join()
            .unwrap();
        }
        LIVE.load(Ordering::Relaxed)
    };
    let after_first = round();
    let after_last = (1..10).fold(after_first, |_, _| round());
    let lock = figures("TRANSIENT");
    assert_eq!(lock.write().hold().count(), 2000);
    assert_eq!(lock.write().hold().sum(), 2000 * 7 * NS);
    let growth = after_last - after_first;
    assert!(
        growth < SLACK,
        "{growth} bytes more after 1800 more threads"
    );
}

#[test]
fn three_hundred_threads_at_once_lose_nothing() {
    const THREADS: usize = 300;
    const EACH: u64 = 1000;
    #[instrumented]
    struct Crowd {
        locks: Vec<Mutex<()>>,
        met: RwLock<()>,
    }
    let _turn = TURN.lock();
    let crowd = Crowd {
        locks: (0..THREADS).map(|_| Mutex::new(())).collect(),
        met: RwLock::new(()),
    };
    let clock = mock_clock();
    let all_have_slots = Barrier::new(THREADS);
    thread::scope(|scope| {
        for lock in &crowd.locks {
            let (all_have_slots, crowd) = (&all_have_slots, &crowd);
            scope.spawn(move || {
                drop(crowd.met.read());
                all_have_slots.wait();
                for _ in 0..EACH {
                    let guard = lock.lock();
                    clock.advance_here(11 * NS);
                    drop(guard);
                }
                all_have_slots.wait();
            });
        }
    });
    let lock = figures("Crowd::locks");
    let hold = lock.write().hold();
    let all = THREADS as u64 * EACH;
    assert_eq!((lock.write().acquisitions(), hold.count()), (all, all));
    assert_eq!(hold.sum().as_nanos(), 11 * u128::from(all));
    assert_eq!(
        (hold.min(), hold.max(), hold.std_dev()),
        (Some(11 * NS), Some(11 * NS), Some(Duration::ZERO))
    );
    assert_eq!(figures("Crowd::met").read().releases(), THREADS as u64);
    assert_eq!(lock.instances(), THREADS as u64);
}

/// Has so many threads, all alive, use `lock`, first while it is taken and then while it is free, and
/// returns the bytes that this leaves.
fn left_by(threads: usize, lock: &RwLock<u64>, acquire: impl Fn(&RwLock<u64>) + Sync) -> isize {
    // What a thread's log takes is allocated before, and what parking_lot keeps of a thread that waits, in
    // `occupied`.
    let occupied = instrumented_lock::drop_in::Mutex::new(());
    let step = Barrier::new(threads + 1);
    thread::scope(|scope| {
        let first = occupied.lock();
        for _ in 0..threads {
            scope.spawn(|| {
                assert!(occupied.try_lock_for(MS).is_none());
                for use_it in [true, true, false] {
                    step.wait();
                    step.wait();
                    if use_it {
                        acquire(lock);
                    }
                }
            });
        }
        step.wait();
        drop(first);
        let before = LIVE.load(Ordering::Relaxed);
        let guard = lock.write();
        step.wait();
        step.wait();
        drop(guard);
        step.wait();
        step.wait();
        let after = LIVE.load(Ordering::Relaxed);
        step.wait();
        after - before
    })
}

#[test]
fn a_class_takes_64_kib_at_any_number_of_threads() {
    const THREADS: usize = 200;
    const KIB: isize = 1024;
    #[instrumented]
    struct Memory {
        few: RwLock<u64>,
        many: RwLock<u64>,
        every: RwLock<u64>,
    }
    let _turn = TURN.lock();
    mock_clock();
    let memory = Memory {
        few: RwLock::new(0),
        many: RwLock::new(0),
        every: RwLock::new(0),
    };
    let write = |lock: &RwLock<u64>| drop(lock.try_write_for(MS));
    let any = |lock: &RwLock<u64>| {
        drop(lock.try_read_for(MS));
        drop(lock.try_upgradable_read_for(MS));
        drop(lock.try_write_for(MS));
    };

    let few = left_by(8, &memory.few, write);
    assert!(few <= 16 * KIB, "one mode, few threads: {few} bytes");
    let many = left_by(THREADS, &memory.many, write);
    assert!(many <= 64 * KIB, "one mode: {many} bytes");
    let every = left_by(THREADS, &memory.every, any);
    assert!(every <= 64 * KIB, "three modes: {every} bytes");

    let lock = figures("Memory::every");
    for (mode, figures) in lock.modes() {
        let attempts = figures.acquisitions() + figures.timeouts();
        let main = u64::from(mode == instrumented_lock::Mode::Write);
        assert_eq!(attempts, 2 * THREADS as u64 + main, "{mode:?}");
        assert!(figures.timeouts() >= THREADS as u64, "{mode:?}");
        assert_eq!(figures.acquisitions(), figures.releases(), "{mode:?}");
        assert_eq!(figures.blocked().count(), figures.contended(), "{mode:?}");
    }
}

#[test]
fn a_million_short_lived_locks_leave_no_memory() {
    let _turn = TURN.lock();
    mock_clock();
    let make = |n: usize| {
        for _ in 0..n {
            let short_lived = instrumented_lock::drop_in::Mutex::new(0u64);
            *short_lived.lock() += 1;
        }
        LIVE.load(Ordering::Relaxed)
    };
    let before = make(1);
    let after = make(1_000_000);
    assert!(after - before < SLACK, "{} bytes more", after - before);
    let snapshot = registry::snapshot();
    let lock = snapshot
        .locks()
        .iter()
        .find(|lock| lock.write().acquisitions() == 1_000_001);
    assert_eq!(lock.expect("one class for all of them").instances(), 0);
}

/// A guard that is made to end on another thread.
#[expect(dead_code, reason = "it is only dropped")]
struct Sent(MutexGuard<'static, u32>);

// SAFETY: parking_lot's raw mutex may be unlocked on any thread; guards are not `Send` for the sake
// of its deadlock detection, which is off here.
unsafe impl Send for Sent {}

#[test]
fn a_guard_that_drops_on_another_thread_is_counted() {
    #[instrumented]
    static SENT: Mutex<u32> = Mutex::new(0);
    let _turn = TURN.lock();
    let clock = mock_clock();
    clock.advance(5 * MS);
    let guard = Sent(SENT.lock());
    thread::spawn(move || {
        clock.advance_here(2 * MS);
        // The whole of it moves in, not its field.
        drop::<Sent>(guard);
    })
    .join()
    .unwrap();
    let lock = figures("SENT");
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (1, 1)
    );
    assert!(SENT.try_lock().is_some());
}

#[test]
fn guards_that_drop_while_their_thread_is_torn_down_are_counted() {
    #[instrumented]
    static TEARDOWN: Mutex<u32> = Mutex::new(0);

    /// Ends its guard, and takes the lock once more, when the thread's locals are destroyed.
    struct Last(RefCell<Option<MutexGuard<'static, u32>>>);

    impl Drop for Last {
        fn drop(&mut self) {
            drop(self.0.take());
            *TEARDOWN.lock() += 1;
        }
    }

    thread_local! {
        // Destroyed in an order that nothing promises: before and after the library's own local.
        static FIRST: Last = const { Last(RefCell::new(None)) };
        static SECOND: Last = const { Last(RefCell::new(None)) };
    }

    let _turn = TURN.lock();
    mock_clock();
    for _ in 0..3 {
        thread::spawn(|| {
            FIRST.with(|_| ());
            let guard = TEARDOWN.lock();
            SECOND.with(|last| *last.0.borrow_mut() = Some(guard));
        })
        .join()
        .unwrap();
    }
    let snapshot = registry::snapshot();
    let lock = figures_in(&snapshot, "TEARDOWN");
    assert_eq!(
        (lock.write().acquisitions(), lock.write().releases()),
        (9, 9)
    );
    assert_eq!(*TEARDOWN.lock(), 6);
}
