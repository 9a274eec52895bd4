//! `Condvar`.

use super::locks::{Arc, Condvar, Mutex};
use crate::{LONG, in_time};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn smoke() {
    static STATIC: Condvar = Condvar::new();
    STATIC.notify_one();
    let c = Condvar::new();
    c.notify_one();
    c.notify_all();
    assert_eq!(
        format!("{c:?} {:?}", Condvar::default()),
        "Condvar { .. } Condvar { .. }"
    );
}

#[test]
fn notify_one_wakes_one() {
    in_time(|| {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let other = Arc::clone(&pair);
        let guard = pair.0.lock().unwrap();
        thread::spawn(move || {
            let _guard = other.0.lock().unwrap();
            other.1.notify_one();
        });
        drop(pair.1.wait(guard).unwrap());
    });
}

#[test]
fn notify_all_wakes_all() {
    const THREADS: usize = 10;
    in_time(|| {
        let data = Arc::new((Mutex::new(0), Condvar::new()));
        let (tell, told) = mpsc::channel();
        for _ in 0..THREADS {
            let (data, tell) = (Arc::clone(&data), tell.clone());
            thread::spawn(move || {
                let (lock, condvar) = &*data;
                let mut count = lock.lock().unwrap();
                *count += 1;
                if *count == THREADS {
                    tell.send(()).unwrap();
                }
                while *count != 0 {
                    count = condvar.wait(count).unwrap();
                }
                tell.send(()).unwrap();
            });
        }
        drop(tell);
        let (lock, condvar) = &*data;
        told.recv().unwrap();
        *lock.lock().unwrap() = 0;
        condvar.notify_all();
        for _ in 0..THREADS {
            told.recv().unwrap();
        }
    });
}

#[test]
fn wait_while_returns_when_the_condition_is_over() {
    in_time(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        thread::spawn(move || {
            let (lock, condvar) = &*other;
            *lock.lock().unwrap() = true;
            condvar.notify_one();
        });
        let (lock, condvar) = &*pair;
        let guard = condvar.wait_while(lock.lock().unwrap(), |started| !*started);
        assert!(*guard.unwrap());
    });
}

#[test]
fn a_wait_with_a_limit_ends_without_a_notification() {
    let (m, c) = (Mutex::new(()), Condvar::new());
    let (_guard, result) = c
        .wait_timeout(m.lock().unwrap(), Duration::from_millis(1))
        .unwrap();
    assert!(result.timed_out());
}

#[test]
fn a_wait_without_a_moment_ends_at_once() {
    let (m, c) = (Mutex::new(()), Condvar::new());
    let (_guard, result) = c.wait_timeout(m.lock().unwrap(), Duration::ZERO).unwrap();
    assert!(result.timed_out());
}

#[test]
fn wait_timeout_while_whose_condition_stays_times_out() {
    let (m, c) = (Mutex::new(()), Condvar::new());
    let limit = Duration::from_millis(1);
    let (_guard, result) = c
        .wait_timeout_while(m.lock().unwrap(), limit, |()| true)
        .unwrap();
    assert!(result.timed_out());
}

#[test]
fn wait_timeout_while_whose_condition_is_over_does_not_wait() {
    let (m, c) = (Mutex::new(()), Condvar::new());
    let (_guard, result) = c
        .wait_timeout_while(m.lock().unwrap(), Duration::ZERO, |()| false)
        .unwrap();
    assert!(!result.timed_out());
}

#[test]
fn wait_timeout_while_is_woken() {
    in_time(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let (m, c) = &*pair;
        let guard = m.lock().unwrap();
        let waker = thread::spawn(move || {
            let (lock, condvar) = &*other;
            *lock.lock().unwrap() = true;
            condvar.notify_one();
        });
        let (guard, result) = c
            .wait_timeout_while(guard, LONG, |notified| !*notified)
            .unwrap();
        assert!(!result.timed_out());
        assert!(*guard);
        drop(guard);
        waker.join().unwrap();
    });
}

#[test]
fn wait_timeout_that_is_woken_says_so() {
    in_time(|| {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let other = Arc::clone(&pair);
        let (m, c) = &*pair;
        let start = Instant::now();
        let guard = m.lock().unwrap();
        let waker = thread::spawn(move || {
            let _guard = other.0.lock().unwrap();
            other.1.notify_one();
        });
        let (guard, result) = c.wait_timeout(guard, LONG).unwrap();
        assert!(!result.timed_out());
        assert!(start.elapsed() < LONG);
        drop(guard);
        waker.join().unwrap();
    });
}

#[test]
fn a_limit_too_far_away_to_say_is_none() {
    in_time(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let (m, c) = &*pair;
        let guard = m.lock().unwrap();
        let waker = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let (guard, result) = c
            .wait_timeout_while(guard, Duration::MAX, |done| !*done)
            .unwrap();
        assert!(*guard && !result.timed_out());
        drop(guard);
        waker.join().unwrap();
    });
}

#[test]
#[expect(deprecated, reason = "it is there all the same")]
fn wait_timeout_ms_says_whether_it_was_notified() {
    let (m, c) = (Mutex::new(()), Condvar::new());
    let (_guard, was_notified) = c.wait_timeout_ms(m.lock().unwrap(), 1).unwrap();
    assert!(!was_notified);
}

#[test]
fn every_wait_says_that_the_mutex_is_poisoned() {
    let (m, c) = (Mutex::new(0), Condvar::new());
    crate::panics(|| {
        let _guard = m.lock().unwrap();
        panic!("with the mutex");
    });
    let guard = m.lock().unwrap_err().into_inner();
    let error = c.wait_timeout(guard, Duration::from_millis(1)).unwrap_err();
    let (guard, result) = error.into_inner();
    assert!(result.timed_out());
    let error = c
        .wait_timeout_while(guard, Duration::from_millis(1), |_| true)
        .unwrap_err();
    drop(error.into_inner().0);
    // Who does not wait is not told.
    let guard = m.lock().unwrap_err().into_inner();
    assert!(c.wait_while(guard, |_| false).is_ok());
}
