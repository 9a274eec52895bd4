//! `Once`.

use super::locks::{Once, OnceState};
use crate::spawn_blocked;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

#[test]
fn of_four_calls_one_runs_and_the_others_wait_for_it() {
    static ONCE: Once = Once::new();
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                ONCE.call_once(|| {
                    RUNS.fetch_add(1, Ordering::Relaxed);
                });
                assert_eq!(RUNS.load(Ordering::Relaxed), 1);
            });
        }
    });
    assert!(ONCE.is_completed());
}

#[test]
fn a_call_that_panics_poisons_until_one_is_forced() {
    let once = Once::default();
    assert_eq!(once.state(), OnceState::New);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        once.call_once(|| {
            assert_eq!(once.state(), OnceState::InProgress);
            std::panic::resume_unwind(Box::new(()));
        });
    }));
    assert!(panicked.is_err());
    assert!(once.state().is_poisoned() && once.state().poisoned());
    once.call_once_force(|state| assert!(state.is_poisoned()));
    assert!(once.state().is_completed() && once.state().done());
    once.call_once(|| unreachable!("it has run"));
}

#[test]
fn a_wait_ends_with_the_call() {
    let once = Once::new();
    let (finish, finished) = mpsc::channel::<()>();
    thread::scope(|scope| {
        spawn_blocked(scope, || once.call_once(move || finished.recv().unwrap()));
        let waiters = [
            spawn_blocked(scope, || once.wait()),
            spawn_blocked(scope, || once.wait_force()),
        ];
        assert_eq!(once.state(), OnceState::InProgress);
        finish.send(()).unwrap();
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
    assert!(once.is_completed());
    assert_eq!(Once::new_completed().state(), OnceState::Done);
}
