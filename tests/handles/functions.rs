//! Locks that become no field have the names of the function and the variable.

use super::taken;
use instrumented_lock::{Mutex, RwLock, instrumented};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, LazyLock, OnceLock};
use std::task::{Context, Poll, Waker};
use std::thread;

#[instrumented]
fn sums(parts: u64) -> u64 {
    let total = Arc::new(Mutex::new(0));
    thread::scope(|scope| {
        for part in 0..parts {
            let total = Arc::clone(&total);
            scope.spawn(move || *total.lock() += part);
        }
    });
    *total.lock()
}

#[instrumented]
fn owned() {
    let count = Mutex::new(0);
    *count.lock() += 1;
    let listed = [Mutex::new(0_u8), Mutex::<u8>::new(1)];
    drop(listed[0].lock());
}

#[instrumented]
fn made() -> Arc<RwLock<u8>> {
    Arc::new(RwLock::new(0))
}

struct Worker;

#[instrumented]
impl Worker {
    fn run(&self) {
        let state = Arc::new(Mutex::new(0_u8));
        drop(state.lock());
    }

    async fn later(&self) -> u8 {
        let state = Arc::new(Mutex::new(0_u8));
        let inside = {
            let state = state.clone();
            async move {
                let inner = Arc::new(Mutex::new(1_u8));
                drop(inner.lock());
                *state.lock()
            }
        };
        inside.await + *state.lock()
    }
}

#[instrumented]
fn wrapped() {
    struct State<T>(T);
    let shared = Arc::new(Mutex::new(0_u8));
    let state = State(shared.clone());
    drop(state.0.lock());
    drop(shared.lock());
}

#[instrumented]
fn helped() {
    fn helper() {
        let own = Arc::new(Mutex::new(0_u8));
        drop(own.lock());
    }
    static FIRST: LazyLock<Mutex<u8>> = LazyLock::new(|| Mutex::new(0));
    static ONCE: OnceLock<Arc<Mutex<u8>>> = OnceLock::new();
    static CONST: Mutex<u8> = Mutex::new(0);
    helper();
    drop(FIRST.lock());
    drop(ONCE.get_or_init(|| Arc::new(Mutex::new(0))).lock());
    drop(CONST.lock());
}

#[test]
fn a_function_and_a_variable_name_a_lock() {
    assert_eq!(sums(4), 6);
    taken("functions::sums::total", 5);
    owned();
    taken("functions::owned::count", 1);
    taken("functions::owned::listed", 1);
    drop(made().read());
    taken("functions::made", 1);
    Worker.run();
    taken("functions::Worker::run::state", 1);
    wrapped();
    taken("functions::wrapped::shared", 2);
    helped();
    taken("functions::helper::own", 1);
    taken("functions::helped::FIRST", 1);
    taken("functions::helped::ONCE", 1);
    taken("functions::helped::CONST", 1);
}

#[test]
fn a_function_that_waits_names_its_locks_too() {
    let mut later = pin!(Worker.later());
    let polled = later.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Ready(0));
    taken("functions::Worker::later::state", 2);
    taken("functions::Worker::later::inner", 1);
}
