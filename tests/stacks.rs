//! Stacks: who called those that waited, and those that made them wait. What they come to is what the class has, in
//! full where all waits are chosen, and on average where some are.

use instrumented_lock::{
    CallSite, Frame, InFlight, InFlightState, LockSnapshot, Mode, Mutex, RwLock, StackRole,
    StackSnapshot, Stacks, drop_in, instrumented, registry, report,
};
use instrumented_lock_tests::figures;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const LIMIT: Duration = Duration::from_secs(20);

/// One test at a time, which says which stacks it wants. None are captured afterwards.
struct Turn {
    _alone: std::sync::MutexGuard<'static, ()>,
}

impl Turn {
    fn with(stacks: Stacks) -> Self {
        static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let alone = ALONE
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        registry::set_stacks(stacks);
        Turn { _alone: alone }
    }

    fn all() -> Self {
        Self::with(Stacks::ALL)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        registry::set_stacks(Stacks::OFF);
    }
}

fn until_waiting(name: &str) {
    let limit = Instant::now() + LIMIT;
    let waits = |it: &InFlight| it.lock().ends_with(name) && it.state() == InFlightState::Waiting;
    while !registry::snapshot().in_flight().iter().any(waits) {
        assert!(Instant::now() < limit, "nobody waits for {name}");
        thread::yield_now();
    }
}

fn of_role(lock: &LockSnapshot, role: StackRole) -> Vec<&StackSnapshot> {
    let of_role = lock.stacks().iter().filter(|stack| stack.role() == role);
    of_role.collect()
}

fn count(stacks: &[&StackSnapshot]) -> u64 {
    stacks.iter().map(|stack| stack.count()).sum()
}

/// Whether both are the same up to what converting ticks a moment later makes of it.
fn is_about(one: Duration, other: Duration) -> bool {
    one.abs_diff(other) <= one / 1000 + Duration::from_nanos(2)
}

fn total(stacks: &[&StackSnapshot]) -> Duration {
    stacks.iter().map(|stack| stack.total()).sum()
}

/// Whether these functions called each other, the first one the innermost.
fn is_called_by(stack: &StackSnapshot, functions: &[&str]) -> bool {
    let name = |frame: &Frame| frame.function().rsplit("::").next().map(str::to_owned);
    let names: Vec<_> = stack.frames().iter().filter_map(name).collect();
    names
        .windows(functions.len())
        .any(|window| window == functions)
}

#[instrumented]
struct Shared {
    found: Mutex<u64>,
    both: RwLock<u64>,
    timed: Mutex<u64>,
    long: Mutex<u64>,
    many: Mutex<u64>,
    some: Mutex<u64>,
    quiet: Mutex<u64>,
    moved: Mutex<u64>,
    named: Mutex<u64>,
}

static SHARED: Shared = Shared {
    found: Mutex::new(0),
    both: RwLock::new(0),
    timed: Mutex::new(0),
    long: Mutex::new(0),
    many: Mutex::new(0),
    some: Mutex::new(0),
    quiet: Mutex::new(0),
    moved: Mutex::new(0),
    named: Mutex::new(0),
};

/// A helper that takes a lock for others.
#[inline(never)]
fn helper<T>(lock: &Mutex<T>, f: impl FnOnce(&mut T)) {
    f(&mut lock.lock());
    is_no_tail_call();
}

/// Who calls this at its end is still there while it calls what stands before.
fn is_no_tail_call() {
    std::hint::black_box(());
}

#[inline(never)]
fn holds_long() {
    holds_longer();
    is_no_tail_call();
}

#[inline(never)]
fn holds_longer() {
    helper(&SHARED.found, |_| {
        until_waiting("Shared::found");
        thread::sleep(30 * MS);
    });
    is_no_tail_call();
}

#[inline(never)]
fn asks() {
    helper(&SHARED.found, |n| *n += 1);
    is_no_tail_call();
}

#[test]
fn callers_of_a_helper_are_told_apart_and_add_up_to_what_the_class_has() {
    let _turn = Turn::all();
    let is_held = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            helper(&SHARED.found, |_| is_held.store(true, Ordering::Release));
            holds_long();
        });
        scope.spawn(|| {
            while !is_held.load(Ordering::Acquire) {
                thread::yield_now();
            }
            while SHARED.found.try_lock().is_some() {
                thread::yield_now();
            }
            asks();
        });
    });
    let lock = figures("Shared::found");
    let waiters = of_role(&lock, StackRole::Waiter);
    assert_eq!(count(&waiters), lock.write().contended(), "{waiters:#?}");
    assert!(
        is_about(total(&waiters), lock.write().blocked().sum()),
        "{waiters:#?}"
    );
    assert!(
        is_called_by(waiters[0], &["helper", "asks"]),
        "{waiters:#?}"
    );
    let holders = of_role(&lock, StackRole::Holder);
    let calls = ["helper", "holds_longer", "holds_long"];
    assert!(is_called_by(holders[0], &calls), "{holders:#?}");
    assert_eq!(holders[0].mode(), Mode::Write);
    // It lasts three hundred times as long as what is chosen on average, so it is chosen for certain.
    let blame: Duration = lock.call_sites().iter().map(CallSite::blame).sum();
    assert!(
        holders[0].total().abs_diff(blame) < MS,
        "{holders:#?} {blame:?}"
    );
    assert_eq!(holders[0].count(), 1);
    // Nothing of this library, of the standard library before it, or of what starts threads.
    for stack in lock.stacks() {
        let [first, .., last] = stack.frames() else {
            panic!("{stack:#?}");
        };
        assert!(first.function().ends_with("helper"), "{stack:#?}");
        let file = first.file().unwrap_or_default();
        assert!(
            file.ends_with("stacks.rs") && !file.starts_with('/'),
            "{stack:#?}"
        );
        assert!(first.line().is_some());
        assert!(!last.function().contains("lang_start"), "{stack:#?}");
        assert!(!last.function().contains("__rust_begin"), "{stack:#?}");
    }
}

#[test]
fn readers_and_writers_have_stacks_of_their_modes() {
    let _turn = Turn::all();
    thread::scope(|scope| {
        let reader = SHARED.both.read();
        scope.spawn(|| *SHARED.both.write() += 1);
        until_waiting("Shared::both");
        thread::sleep(10 * MS);
        drop(reader);
    });
    thread::scope(|scope| {
        let writer = SHARED.both.write();
        scope.spawn(|| *SHARED.both.read());
        until_waiting("Shared::both");
        thread::sleep(20 * MS);
        drop(writer);
    });
    let lock = figures("Shared::both");
    for mode in [Mode::Read, Mode::Write] {
        let of = |role| {
            let stacks = of_role(&lock, role).into_iter();
            stacks
                .filter(|stack| stack.mode() == mode)
                .collect::<Vec<_>>()
        };
        let waiters = of(StackRole::Waiter);
        assert_eq!(count(&waiters), lock.mode(mode).contended(), "{waiters:#?}");
        assert!(
            is_about(total(&waiters), lock.mode(mode).blocked().sum()),
            "{waiters:#?}"
        );
        let sites = lock.call_sites().iter().filter(|site| site.mode() == mode);
        let blame: Duration = sites.map(CallSite::blame).sum();
        let held = total(&of(StackRole::Holder));
        assert!(held.abs_diff(blame) < MS, "{mode}: {held:?}, not {blame:?}");
    }
}

#[test]
fn who_gives_up_has_waited() {
    let _turn = Turn::all();
    let guard = SHARED.timed.lock();
    thread::scope(|scope| {
        scope.spawn(|| assert!(SHARED.timed.try_lock_for(10 * MS).is_none()));
    });
    drop(guard);
    let lock = figures("Shared::timed");
    let waiters = of_role(&lock, StackRole::Waiter);
    assert_eq!((count(&waiters), lock.write().timeouts()), (1, 1));
    assert!(
        is_about(total(&waiters), lock.write().waited()),
        "{waiters:#?}"
    );
    // Nobody waited any more when it was let go.
    assert_eq!(of_role(&lock, StackRole::Holder).len(), 0);
}

#[test]
fn waits_that_are_shorter_than_asked_for_have_no_stacks() {
    let _turn = Turn::with(Stacks::longer_than(50 * MS));
    for hold in [5 * MS, 80 * MS] {
        thread::scope(|scope| {
            let guard = SHARED.long.lock();
            scope.spawn(|| *SHARED.long.lock() += 1);
            until_waiting("Shared::long");
            thread::sleep(hold);
            drop(guard);
        });
    }
    let lock = figures("Shared::long");
    assert_eq!(lock.write().contended(), 2);
    let (waiters, holders) = (
        of_role(&lock, StackRole::Waiter),
        of_role(&lock, StackRole::Holder),
    );
    assert_eq!(
        (count(&waiters), count(&holders)),
        (1, 1),
        "{:#?}",
        lock.stacks()
    );
    let longest = lock.write().blocked().max().unwrap_or_default();
    assert!(is_about(total(&waiters), longest), "{waiters:#?}");
    assert!(total(&holders) >= 50 * MS);
}

/// One of 2^`bits` different stacks.
#[inline(never)]
fn left_or_right(path: u32, bits: u32) {
    match (bits, path & 1) {
        (0, _) => assert!(SHARED.many.try_lock_for(Duration::from_nanos(1)).is_none()),
        (_, 0) => left(path, bits),
        _ => right(path, bits),
    }
    is_no_tail_call();
}

#[inline(never)]
fn left(path: u32, bits: u32) {
    left_or_right(path >> 1, bits - 1);
    is_no_tail_call();
}

#[inline(never)]
fn right(path: u32, bits: u32) {
    left_or_right(path >> 1, bits - 1);
    std::hint::black_box(bits);
}

/// In a child, since nothing would find a place afterwards.
#[test]
#[cfg(unix)]
fn stacks_that_find_no_place_are_counted() {
    let _turn = Turn::all();
    in_a_child(|| {
        let before = registry::snapshot();
        let guard = SHARED.many.lock();
        thread::scope(|scope| {
            scope.spawn(|| (0..2048).for_each(|path| left_or_right(path, 11)));
        });
        drop(guard);
        let interval = registry::snapshot().since(&before);
        let lock = interval.lock("Shared::many").unwrap();
        let kept = count(&of_role(lock, StackRole::Waiter));
        assert_eq!(kept + interval.stacks_dropped(), 2048);
        assert!((512..=1024).contains(&kept), "{kept}");
        assert!(report::table(&interval).contains("stacks were not kept"));
        assert!(report::json(&interval).contains("\"stacks_dropped\":"));
    });
}

#[test]
fn one_in_so_many_stands_for_all() {
    // Waits end with the time they are given, which nobody can shorten.
    const WAITS: u64 = 40_000;
    let _turn = Turn::with(Stacks::one_in(16).unwrap());
    let guard = SHARED.some.lock();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..WAITS {
                assert!(SHARED.some.try_lock_for(Duration::from_nanos(1)).is_none());
            }
        });
    });
    drop(guard);
    let lock = figures("Shared::some");
    let waiters = of_role(&lock, StackRole::Waiter);
    assert_eq!(lock.write().timeouts(), WAITS);
    // Six standard errors of what 2,500 that are chosen on average stand for.
    let of_all = WAITS as f64;
    let error = 6.0 * (of_all * 15.0).sqrt();
    let estimate = count(&waiters) as f64;
    assert!((estimate - of_all).abs() < error, "{estimate}");
}

#[test]
fn short_holders_are_chosen_by_the_time_they_keep_others_waiting() {
    // Two threads take turns with holds of some microseconds, which are shorter than what is chosen on average: what
    // their stacks stand for is what they are blamed for.
    let _turn = Turn::all();
    let shared: &'static drop_in::Mutex<u64> = Box::leak(Box::new(drop_in::Mutex::new(0)));
    let before = registry::snapshot();
    let end = Instant::now() + 700 * MS;
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while Instant::now() < end {
                    let mut n = shared.lock();
                    let hold = Instant::now() + Duration::from_micros(20);
                    while Instant::now() < hold {
                        *n += 1;
                    }
                }
            });
        }
    });
    let interval = registry::snapshot().since(&before);
    let used = |lock: &&LockSnapshot| lock.write().acquisitions() > 100;
    let lock = interval.locks().iter().find(used).unwrap();
    let (waiters, holders) = (
        of_role(lock, StackRole::Waiter),
        of_role(lock, StackRole::Holder),
    );
    assert!(
        is_about(total(&waiters), lock.write().blocked().sum()),
        "{waiters:#?}"
    );
    let blame: Duration = lock.call_sites().iter().map(CallSite::blame).sum();
    let ratio = total(&holders).as_secs_f64() / blame.as_secs_f64();
    // Some thousand are chosen. A waiter that comes and one that was there make it up to a third more.
    assert!((0.85..1.35).contains(&ratio), "{ratio}: {lock:#?}");
    assert!(count(&holders) <= lock.write().releases() * 2);
}

#[test]
fn nothing_is_captured_unless_asked_for() {
    let turn = Turn::with(Stacks::OFF);
    thread::scope(|scope| {
        let guard = SHARED.quiet.lock();
        scope.spawn(|| *SHARED.quiet.lock() += 1);
        until_waiting("Shared::quiet");
        drop(guard);
    });
    drop(turn);
    assert_eq!(figures("Shared::quiet").write().contended(), 1);
    assert_eq!(figures("Shared::quiet").stacks(), []);
}

#[test]
fn reports_have_stacks_and_snapshots_subtract_and_add_them() {
    let _turn = Turn::all();
    let wait = || {
        thread::scope(|scope| {
            let guard = SHARED.moved.lock();
            scope.spawn(|| helper(&SHARED.moved, |n| *n += 1));
            until_waiting("Shared::moved");
            thread::sleep(2 * MS);
            drop(guard);
        });
        registry::snapshot()
    };
    let (first, second) = (wait(), wait());
    let waits = |snapshot: &instrumented_lock::Snapshot| {
        count(&of_role(
            snapshot.lock("Shared::moved").unwrap(),
            StackRole::Waiter,
        ))
    };
    let interval = second.since(&first);
    assert_eq!((waits(&first), waits(&interval), waits(&second)), (1, 1, 2));
    let sum = first.then(&interval);
    let of = |snapshot: &instrumented_lock::Snapshot| {
        snapshot.lock("Shared::moved").unwrap().stacks().to_vec()
    };
    assert_eq!(of(&sum), of(&second));
    assert_eq!(waits(&second.merge(&second)), 4);
    let table = report::table(&second);
    assert!(table.contains("  waiters    about "), "{table}");
    assert!(table.contains("  holders    about "), "{table}");
    assert!(
        table.lines().all(|line| line.chars().count() <= 100),
        "{table}"
    );
    let json = report::json(&second);
    assert_eq!(json, serde_json::to_string(&second).unwrap());
    let back: instrumented_lock::Snapshot = serde_json::from_str(&json).unwrap();
    assert_eq!(back, second);
}

#[test]
#[cfg(unix)]
fn a_child_of_fork_captures_and_names_stacks() {
    static FORKED: drop_in::Mutex<u64> = drop_in::Mutex::new(0);
    let _turn = Turn::all();
    let child_waits = || {
        let guard = FORKED.lock();
        thread::scope(|scope| {
            scope.spawn(|| assert!(FORKED.try_lock_for(MS).is_none()));
        });
        drop(guard);
        let snapshot = registry::snapshot();
        let mut stacks = snapshot.locks().iter().flat_map(LockSnapshot::stacks);
        let is_here = |stack: &StackSnapshot| {
            let mut frames = stack.frames().iter();
            frames.any(|frame| frame.function().contains("a_child_of_fork"))
                || is_called_by(stack, &["{closure#0}"])
        };
        assert!(stacks.any(is_here), "{snapshot}");
    };
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // Somebody always looks for names while others fork.
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                let guard = SHARED.named.lock();
                assert!(SHARED.named.try_lock_for(Duration::from_nanos(1)).is_none());
                drop(guard);
                let _ = registry::snapshot();
            }
        });
        let done = std::panic::catch_unwind(|| (0..20).for_each(|_| in_a_child(child_waits)));
        stop.store(true, Ordering::Release);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Does `f` in a child of this process. The child is ended where that takes long.
///
/// # Panics
///
/// Where `f` does, or takes long.
#[cfg(unix)]
fn in_a_child(f: impl Fn() + std::panic::RefUnwindSafe) {
    // SAFETY: the child uses locks of this library and standard error, and ends without cleaning up.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let done = std::panic::catch_unwind(&f);
        // SAFETY: ends the process.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    let start = Instant::now();
    let mut status = -1;
    // SAFETY: `child` is a child of this process, and `status` is there to be written.
    while unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > LIMIT {
            // SAFETY: it has not been waited for, so the number is still its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
            break;
        }
        thread::sleep(Duration::from_micros(100));
    }
    assert_eq!(status, 0);
}
