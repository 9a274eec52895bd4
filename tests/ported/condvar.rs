//! `Condvar`.

use super::locks::{Condvar, Mutex, MutexGuard, WaitTimeoutResult};
use crate::{LONG, MS, spawn_blocked, takes, until};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_wait_lets_go_of_the_mutex_and_has_it_again() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        let waiter = spawn_blocked(scope, || {
            let mut n = mutex.lock();
            condvar.wait(&mut n);
            assert!(mutex.is_locked());
            *n
        });
        *mutex.try_lock().expect("the waiter has let go") = 1;
        assert!(condvar.notify_one());
        assert_eq!(waiter.join().unwrap(), 1);
    });
    assert!(!mutex.is_locked());
}

#[test]
fn nobody_wakes_up_without_a_notification() {
    let (mutex, condvar, woken) = (Mutex::new(()), Condvar::new(), AtomicUsize::new(0));
    thread::scope(|scope| {
        let waiters = [(); 4].map(|()| {
            spawn_blocked(scope, || {
                condvar.wait(&mut mutex.lock());
                woken.fetch_add(1, Ordering::Relaxed);
            })
        });
        for _ in 0..20 {
            drop(mutex.lock());
            for waiter in &waiters {
                waiter.thread().unpark();
            }
            thread::sleep(MS);
        }
        assert_eq!(woken.load(Ordering::Relaxed), 0);
        assert_eq!(condvar.notify_all(), 4);
    });
    assert_eq!(woken.load(Ordering::Relaxed), 4);
}

#[test]
fn notify_one_wakes_exactly_one() {
    let (mutex, condvar, woken) = (Mutex::new(()), Condvar::new(), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            spawn_blocked(scope, || {
                condvar.wait(&mut mutex.lock());
                woken.fetch_add(1, Ordering::Relaxed);
            });
        }
        for n in 1..=4 {
            assert!(condvar.notify_one());
            until(|| woken.load(Ordering::Relaxed) >= n);
            thread::sleep(5 * MS);
            assert_eq!(woken.load(Ordering::Relaxed), n);
        }
        assert!(!condvar.notify_one());
    });
}

#[test]
fn notify_all_says_how_many_it_wakes() {
    let (mutex, condvar) = (Mutex::new(()), Condvar::new());
    assert_eq!((condvar.notify_all(), condvar.notify_one()), (0, false));
    thread::scope(|scope| {
        for _ in 0..5 {
            spawn_blocked(scope, || condvar.wait(&mut mutex.lock()));
        }
        assert_eq!(condvar.notify_all(), 5);
        assert_eq!(condvar.notify_all(), 0);
    });
}

#[test]
fn a_notification_under_the_mutex_is_acted_on_after_it() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        let waiters = [(); 3].map(|()| {
            spawn_blocked(scope, || {
                let mut n = mutex.lock();
                condvar.wait(&mut n);
                *n += 1;
                *n
            })
        });
        let mut n = mutex.lock();
        assert!(condvar.notify_one());
        assert_eq!(condvar.notify_all(), 2);
        thread::sleep(5 * MS);
        assert_eq!(*n, 0, "the mutex is held");
        *n = 10;
        drop(n);
        let mut seen = waiters.map(|waiter| waiter.join().unwrap());
        seen.sort_unstable();
        assert_eq!(seen, [11, 12, 13]);
    });
}

#[test]
fn timed_waits_end_when_the_time_is_up() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    let mut n = mutex.lock();
    let woken: WaitTimeoutResult = takes(10 * MS, || condvar.wait_for(&mut n, 10 * MS));
    assert!(woken.timed_out());
    let time = Instant::now() + 10 * MS;
    assert!(condvar.wait_until(&mut n, time).timed_out());
    assert!(Instant::now() >= time);
    assert!(condvar.wait_until(&mut n, Instant::now()).timed_out());
    assert!(condvar.wait_for(&mut n, Duration::ZERO).timed_out());
    let woken = takes(10 * MS, || {
        condvar.wait_while_for(&mut n, |_| true, 10 * MS)
    });
    assert!(woken.timed_out());
    let time = Instant::now() + 10 * MS;
    assert!(condvar.wait_while_until(&mut n, |_| true, time).timed_out());
    assert!(Instant::now() >= time);
    assert!(mutex.is_locked());
    assert_eq!(condvar.notify_all(), 0, "who gave up does not wait");
}

#[test]
fn timed_waits_that_are_notified_in_time_say_so() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        let wait_for = spawn_blocked(scope, || condvar.wait_for(&mut mutex.lock(), LONG));
        let wait_until = spawn_blocked(scope, || {
            condvar.wait_until(&mut mutex.lock(), Instant::now() + LONG)
        });
        let forever = spawn_blocked(scope, || condvar.wait_for(&mut mutex.lock(), Duration::MAX));
        assert_eq!(condvar.notify_all(), 3);
        for waiter in [wait_for, wait_until, forever] {
            assert!(!waiter.join().unwrap().timed_out());
        }
    });
}

#[test]
fn wait_while_waits_as_long_as_the_condition_says_so() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    let is_small = |n: &mut u32| *n < 3;
    thread::scope(|scope| {
        let plain = spawn_blocked(scope, || {
            let mut n = mutex.lock();
            condvar.wait_while(&mut n, is_small);
            *n
        });
        let timed = spawn_blocked(scope, || {
            let mut n = mutex.lock();
            assert!(!condvar.wait_while_for(&mut n, is_small, LONG).timed_out());
            *n
        });
        let until = spawn_blocked(scope, || {
            let (mut n, time) = (mutex.lock(), Instant::now() + LONG);
            assert!(!condvar.wait_while_until(&mut n, is_small, time).timed_out());
            *n
        });
        for n in 1..=3 {
            assert!(!plain.is_finished() && !timed.is_finished() && !until.is_finished());
            *mutex.lock() = n;
            condvar.notify_all();
            thread::sleep(2 * MS);
        }
        assert_eq!(
            [plain, timed, until].map(|waiter| waiter.join().unwrap()),
            [3; 3]
        );
    });
}

#[test]
fn wait_while_does_not_wait_where_the_condition_is_false() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    let mut n = mutex.lock();
    let mut once = |n: &mut u32| {
        *n += 1;
        false
    };
    condvar.wait_while(&mut n, &mut once);
    assert!(
        !condvar
            .wait_while_for(&mut n, &mut once, Duration::ZERO)
            .timed_out()
    );
    assert!(
        !condvar
            .wait_while_until(&mut n, &mut once, Instant::now())
            .timed_out()
    );
    assert_eq!(*n, 3);
}

#[test]
fn the_condition_is_asked_once_more_when_the_time_is_up() {
    let (mutex, condvar, mut asked) = (Mutex::new(()), Condvar::new(), 0);
    let condition = |(): &mut ()| {
        asked += 1;
        asked == 1
    };
    let woken = condvar.wait_while_for(&mut mutex.lock(), condition, MS);
    assert_eq!((woken.timed_out(), asked), (false, 2));
}

#[test]
fn producers_and_consumers_lose_nothing() {
    const EACH: u64 = 2_000;
    const ROOM: usize = 4;
    #[derive(Default)]
    struct Queue {
        jobs: Mutex<VecDeque<u64>>,
        filled: Condvar,
        emptied: Condvar,
    }
    let queue = Arc::new(Queue::default());
    let producers = [(); 2].map(|()| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || {
            for job in 1..=EACH {
                let mut jobs = queue.jobs.lock();
                queue
                    .emptied
                    .wait_while(&mut jobs, |jobs| jobs.len() == ROOM);
                jobs.push_back(job);
                drop(jobs);
                queue.filled.notify_one();
            }
        })
    });
    let consumers = [(); 2].map(|()| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || {
            let mut sum = 0;
            for _ in 0..EACH {
                let mut jobs: MutexGuard<'_, _> = queue.jobs.lock();
                while jobs.is_empty() {
                    queue.filled.wait(&mut jobs);
                }
                sum += jobs.pop_front().expect("not empty");
                MutexGuard::unlock_fair(jobs);
                queue.emptied.notify_one();
            }
            sum
        })
    });
    for producer in producers {
        producer.join().unwrap();
    }
    let sums = consumers.map(|consumer| consumer.join().unwrap());
    assert_eq!(sums.iter().sum::<u64>(), EACH * (EACH + 1));
    assert!(queue.jobs.lock().is_empty());
}

#[test]
fn one_condvar_serves_one_mutex_after_another() {
    let condvar = Condvar::new();
    for mutex in [Mutex::new(1), Mutex::new(2)] {
        assert!(condvar.wait_for(&mut mutex.lock(), MS).timed_out());
    }
}

type Wait<'a> = &'a dyn Fn(&mut MutexGuard<'_, u32>);

#[test]
fn waits_with_two_mutexes_at_a_time_panic() {
    const MESSAGE: &str = "attempted to use a condition variable with more than one mutex";
    let (mutex, other, condvar) = (Mutex::new(0), Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        let waiter = spawn_blocked(scope, || condvar.wait(&mut mutex.lock()));
        let timed = spawn_blocked(scope, || {
            condvar.wait_for(&mut mutex.lock(), LONG).timed_out()
        });
        let waits: [Wait<'_>; 5] = [
            &|guard| condvar.wait(guard),
            &|guard| _ = condvar.wait_for(guard, MS),
            &|guard| _ = condvar.wait_until(guard, Instant::now() + MS),
            &|guard| condvar.wait_while(guard, |_| true),
            &|guard| _ = condvar.wait_while_for(guard, |_| true, MS),
        ];
        for wait in waits {
            let wait = AssertUnwindSafe(|| wait(&mut other.lock()));
            let panic = catch_unwind(wait).expect_err("it panics");
            let message = panic.downcast_ref::<&str>().copied();
            let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            assert_eq!(message, Some(MESSAGE));
            assert!(!other.is_locked(), "it has been let go");
        }
        assert_eq!(condvar.notify_all(), 2, "who waited still did");
        waiter.join().unwrap();
        assert!(!timed.join().unwrap());
    });
    assert!(condvar.wait_for(&mut other.lock(), MS).timed_out());
}

#[test]
fn a_condvar_may_be_used_with_another_mutex_once_all_are_notified() {
    let (mutex, other, condvar) = (Mutex::new(0), Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        for round in 0..20 {
            let (first, second) = if round % 2 == 0 {
                (&mutex, &other)
            } else {
                (&other, &mutex)
            };
            let waiters =
                [(); 3].map(|()| spawn_blocked(scope, || condvar.wait(&mut first.lock())));
            // Those that are notified cannot return yet, and wait no longer.
            let held = first.lock();
            if round % 4 < 2 {
                assert_eq!(condvar.notify_all(), 3);
            } else {
                (0..3).for_each(|_| assert!(condvar.notify_one()));
            }
            assert!(condvar.wait_for(&mut second.lock(), MS).timed_out());
            drop(held);
            for waiter in waiters {
                waiter.join().unwrap();
            }
        }
    });
}

#[test]
fn a_wait_whose_time_is_up_does_not_keep_others_from_another_mutex() {
    let (mutex, other, condvar) = (Mutex::new(0), Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        let timed = [(); 3]
            .map(|()| scope.spawn(|| condvar.wait_for(&mut mutex.lock(), 5 * MS).timed_out()));
        for waiter in timed {
            assert!(waiter.join().unwrap());
        }
        assert!(condvar.wait_for(&mut other.lock(), MS).timed_out());
        let waiter = spawn_blocked(scope, || condvar.wait(&mut mutex.lock()));
        assert!(condvar.notify_one());
        waiter.join().unwrap();
    });
}
