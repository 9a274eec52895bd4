//! Threads that wait for each other are found, named, and told from those that only wait. Locks with a time
//! limit, so that the threads go on once they have been found.

use instrumented_lock::deadlock::{self, Deadlock};
use instrumented_lock::order::{self, Reaction};
use instrumented_lock::{Mode, Mutex, RwLock, instrumented, registry};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Tries to have a lock until it has it, or the deadlock has been looked at. A try lasts long enough to be found
/// in, and not much longer than the test then takes.
fn try_until<T>(is_over: &AtomicBool, mut attempt: impl FnMut(Duration) -> Option<T>) -> Option<T> {
    let limit = Instant::now() + Duration::from_secs(20);
    while !is_over.load(Ordering::Relaxed) && Instant::now() < limit {
        let got = attempt(Duration::from_millis(400));
        if got.is_some() {
            return got;
        }
    }
    None
}

/// The deadlocks of locks whose names begin with this, once there is one; none after a second.
fn found(prefix: &str) -> Vec<Deadlock> {
    let start = Instant::now();
    loop {
        let mut all = deadlock::find();
        let is_of = |found: &Deadlock| {
            found
                .threads()
                .iter()
                .all(|it| it.lock().starts_with(prefix))
        };
        all.retain(is_of);
        if !all.is_empty() || start.elapsed() > Duration::from_secs(1) {
            return all;
        }
    }
}

#[instrumented(prefix = "table")]
#[derive(Default)]
struct Table {
    forks: [Mutex<u32>; 5],
}

#[test]
fn five_philosophers_are_found_within_a_second() {
    for is_followed in [true, false] {
        if is_followed {
            order::follow(Reaction::Collect);
        } else {
            order::stop();
        }
        let table = Table::default();
        let (all_have_one, is_over) = (Barrier::new(5), AtomicBool::new(false));
        thread::scope(|scope| {
            for n in 0..5 {
                let (table, all_have_one, is_over) = (&table, &all_have_one, &is_over);
                let philosopher = move || {
                    let _left = table.forks[n].lock();
                    all_have_one.wait();
                    let right = &table.forks[(n + 1) % 5];
                    drop(try_until(is_over, |limit| right.try_lock_for(limit)));
                };
                let thread = thread::Builder::new().name(format!("philosopher {n}"));
                thread.spawn_scoped(scope, philosopher).unwrap();
            }
            let found = found("table::");
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(found.len(), 1, "{found:?}");
            let threads = found[0].threads();
            assert_eq!(threads.len(), 5);
            for (at, stuck) in threads.iter().enumerate() {
                let next = &threads[(at + 1) % 5];
                assert_eq!(stuck.holder(), next.thread());
                assert!(stuck.thread().unwrap().starts_with("philosopher "));
                assert_eq!((stuck.mode(), stuck.held()), (Mode::Write, Mode::Write));
                assert!(stuck.held_at().line() < stuck.location().line());
                assert!(!stuck.holder_has_ended() && stuck.held_for().is_some());
            }
            let text = found[0].to_string();
            assert!(text.starts_with("5 threads wait for each other:"), "{text}");
            assert_eq!(text.lines().count(), 11, "{text}");
        });
    }
}

#[instrumented(prefix = "busy")]
#[derive(Default)]
struct Busy {
    a: Mutex<u32>,
    b: RwLock<u32>,
}

#[test]
fn threads_that_only_wait_are_no_deadlock() {
    let busy = Busy::default();
    let end = Instant::now() + Duration::from_millis(300);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while Instant::now() < end {
                    let mut a = busy.a.lock();
                    *a += 1;
                    drop(busy.b.read());
                    *busy.b.write() += 1;
                }
            });
        }
        while Instant::now() < end {
            let all = deadlock::find();
            let of_busy = all
                .iter()
                .find(|it| it.threads()[0].lock().starts_with("busy::"));
            assert!(of_busy.is_none(), "{}", of_busy.unwrap());
        }
    });
}

#[instrumented(prefix = "alone")]
#[derive(Default)]
struct Alone {
    lock: RwLock<u32>,
}

#[test]
fn a_thread_can_wait_for_itself() {
    let (alone, is_over) = (Alone::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("alone".to_owned());
        let waits = thread.spawn_scoped(scope, || {
            let _read = alone.lock.read();
            assert!(try_until(&is_over, |limit| alone.lock.try_write_for(limit)).is_none());
        });
        let found = found("alone::");
        is_over.store(true, Ordering::Relaxed);
        waits.unwrap().join().unwrap();
        assert_eq!(found.len(), 1);
        let [stuck] = found[0].threads() else {
            panic!("{}", found[0]);
        };
        assert_eq!(
            (stuck.thread(), stuck.holder()),
            (Some("alone"), Some("alone"))
        );
        assert_eq!((stuck.mode(), stuck.held()), (Mode::Write, Mode::Read));
        assert!(
            found[0]
                .to_string()
                .starts_with("a thread waits for itself:")
        );
    });
}

#[instrumented(prefix = "forgotten")]
#[derive(Default)]
struct Forgotten {
    lock: Mutex<u32>,
}

#[test]
fn a_lock_whose_guard_a_thread_forgot_that_has_ended_is_never_let_go() {
    let (forgotten, is_over) = (Forgotten::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope
            .spawn(|| std::mem::forget(forgotten.lock.lock()))
            .join()
            .unwrap();
        let waits = scope
            .spawn(|| try_until(&is_over, |limit| forgotten.lock.try_lock_for(limit)).is_none());
        let found = found("forgotten::");
        is_over.store(true, Ordering::Relaxed);
        assert!(waits.join().unwrap());
        assert_eq!(found.len(), 1);
        let stuck = &found[0].threads()[0];
        assert!(stuck.holder_has_ended());
        assert_eq!(stuck.holder(), None);
        let holding = registry::snapshot();
        let holding = holding
            .lock("forgotten::Forgotten::lock")
            .unwrap()
            .write()
            .holding()
            .count();
        assert_eq!(holding, 1);
    });
}

#[instrumented(prefix = "readers")]
#[derive(Default)]
struct Readers {
    shared: RwLock<u32>,
    other: Mutex<u32>,
}

#[test]
fn a_deadlock_through_one_of_many_readers_is_found() {
    let locks = Readers::default();
    order::follow(Reaction::Collect);
    let (ready, is_over) = (Barrier::new(3), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _shared = locks.shared.read();
            ready.wait();
            drop(try_until(&is_over, |limit| locks.other.try_lock_for(limit)));
        });
        scope.spawn(|| {
            let _other = locks.other.lock();
            ready.wait();
            // Another reader, and the last one.
            let other = locks.shared.read();
            drop(other);
            drop(try_until(&is_over, |limit| {
                locks.shared.try_write_for(limit)
            }));
        });
        ready.wait();
        let found = found("readers::");
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].threads().len(), 2);
    });
}
