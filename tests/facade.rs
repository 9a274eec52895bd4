//! The lock types behave as `parking_lot`'s do, whatever their class.

use instrumented_lock::{Mutex, MutexGuard, RwLock, drop_in, instrumented};
use std::sync::Arc;
use std::thread;

#[instrumented]
#[derive(Default, Debug)]
struct Annotated {
    mutex: Mutex<Vec<u8>>,
    rwlock: RwLock<String>,
    boxed: Option<Box<RwLock<u8>>>,
}

/// Any lock, whatever its class.
fn push(mutex: &Mutex<Vec<u8>>, value: u8) -> MutexGuard<'_, Vec<u8>> {
    let mut guard = mutex.lock();
    guard.push(value);
    guard
}

#[test]
fn a_function_takes_locks_of_every_class() {
    let annotated = Annotated::default();
    let plain = drop_in::Mutex::new(Vec::new());
    assert_eq!(push(&annotated.mutex, 1).len(), 1);
    assert_eq!(push(&plain, 2).len(), 1);
    assert_eq!(push(&plain, 3).len(), 2);
}

#[test]
fn the_value_is_reached_without_locking() {
    let mut annotated = Annotated {
        mutex: Mutex::new(vec![1]),
        rwlock: RwLock::from(String::new()),
        boxed: None,
    };
    annotated.mutex.get_mut().push(2);
    annotated.rwlock.get_mut().push('x');
    assert_eq!(annotated.mutex.into_inner(), [1, 2]);
    assert_eq!(annotated.rwlock.into_inner(), "x");
}

#[test]
fn debug_shows_the_value_or_that_it_is_locked() {
    let annotated = Annotated::default();
    assert!(annotated.boxed.is_none());
    let text = format!("{:?}", annotated.mutex);
    assert_eq!(
        text,
        format!("{:?}", parking_lot::Mutex::new(Vec::<u8>::new()))
    );
    let _guard = annotated.mutex.lock();
    assert!(format!("{annotated:?}").contains("<locked>"));
}

#[test]
fn unsized_values_and_trait_objects_work() {
    let slice: Box<Mutex<[u8]>> = Box::new(drop_in::Mutex::new([1, 2, 3]));
    slice.lock()[0] = 9;
    assert_eq!(slice.lock().iter().sum::<u8>(), 14);
    let object: Arc<RwLock<dyn Fn() -> u8 + Send + Sync>> = Arc::new(drop_in::RwLock::new(|| 7));
    assert_eq!((object.read())(), 7);
    let from_arc = Arc::clone(&object);
    assert_eq!((from_arc.read_arc())(), 7);
}

#[test]
fn locks_are_send_and_sync_as_their_values_allow() {
    fn is<T: Send + Sync>() {}
    is::<Annotated>();
    is::<Mutex<std::cell::Cell<u8>>>();
    is::<drop_in::RwLock<Vec<u8>>>();
}

#[cfg(feature = "stats")]
#[test]
fn a_lock_is_at_most_two_words_larger_than_parking_lots() {
    let words = |ours: usize, theirs: usize| (ours - theirs) / size_of::<usize>();
    let mutex = words(
        size_of::<Mutex<u64>>(),
        size_of::<parking_lot::Mutex<u64>>(),
    );
    let rwlock = words(
        size_of::<RwLock<u64>>(),
        size_of::<parking_lot::RwLock<u64>>(),
    );
    assert_eq!((mutex, rwlock), (1, 2));
}

#[test]
fn threads_exclude_each_other() {
    let counter = Arc::new(drop_in::Mutex::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || {
                for _ in 0..10_000 {
                    let mut guard = counter.lock();
                    let seen = *guard;
                    std::hint::spin_loop();
                    *guard = seen + 1;
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(*counter.lock(), 40_000);
}

#[test]
fn values_serialise_as_themselves() {
    let annotated = drop_in::Mutex::new(vec![1, 2]);
    assert_eq!(serde_json::to_string(&annotated).unwrap(), "[1,2]");
    let back: drop_in::RwLock<Vec<u8>> = serde_json::from_str("[1,2]").unwrap();
    assert_eq!(*back.read(), [1, 2]);
}
