//! Locks as values: constructors, conversions, statics, formats.

use super::locks::{
    Condvar, FairMutex, Mutex, MutexGuard, Once, RecursiveRwLock, ReentrantMutex,
    ReentrantMutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fmt::Display;
use std::sync::Arc;
use std::thread;

#[test]
fn statics_and_constants_need_no_initialisation() {
    static MUTEX: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    static FAIR: FairMutex<u8> = FairMutex::new(1);
    static REENTRANT: ReentrantMutex<Cell<u8>> = ReentrantMutex::new(Cell::new(1));
    static RWLOCK: RwLock<&str> = RwLock::new("one");
    static RECURSIVE: RecursiveRwLock<Option<u8>> = RecursiveRwLock::new(None);
    static CONDVAR: Condvar = Condvar::new();
    static ONCE: Once = Once::new();
    static MANY: [Mutex<u8>; 3] = [const { Mutex::new(1) }; 3];
    ONCE.call_once(|| MUTEX.lock().push(1));
    *FAIR.lock() += 1;
    REENTRANT.lock().set(2);
    *RWLOCK.write() = "two";
    *RECURSIVE.write() = Some(2);
    *MANY[1].lock() += 1;
    assert!(!CONDVAR.notify_one());
    assert_eq!(
        (MUTEX.lock().len(), *FAIR.lock(), REENTRANT.lock().get()),
        (1, 2, 2)
    );
    assert_eq!((*RWLOCK.read(), *RECURSIVE.read()), ("two", Some(2)));
    assert_eq!(MANY.each_ref().map(|mutex| *mutex.lock()), [1, 2, 1]);
}

#[test]
fn types_are_inferred_where_they_were() {
    struct Holder<T> {
        mutex: Mutex<T>,
        shards: Vec<RwLock<u64>>,
    }
    fn add(mutex: &Mutex<i64>, n: i64) -> MutexGuard<'_, i64> {
        let mut guard = mutex.lock();
        *guard += n;
        guard
    }
    let local = Mutex::new(1);
    let holder = Holder {
        mutex: Mutex::new(2),
        shards: (0..4).map(RwLock::new).collect(),
    };
    assert_eq!(*add(&local, 1) + *add(&holder.mutex, 1), 5);
    assert_eq!(
        holder.shards.iter().map(|shard| *shard.read()).sum::<u64>(),
        6
    );
    let shared = Arc::new(Mutex::new(local));
    let theirs = Arc::clone(&shared);
    thread::spawn(move || *theirs.lock().lock() += 1)
        .join()
        .unwrap();
    assert_eq!(
        Arc::into_inner(shared).unwrap().into_inner().into_inner(),
        3
    );
}

#[test]
fn methods_are_named_by_paths() {
    let mutexes = [Mutex::new(1), Mutex::new(2)];
    assert_eq!(mutexes.iter().map(Mutex::lock).map(|n| *n).sum::<u32>(), 3);
    assert_eq!(
        mutexes
            .each_ref()
            .map(Mutex::try_lock)
            .into_iter()
            .flatten()
            .count(),
        2
    );
    assert_eq!(mutexes.map(Mutex::into_inner), [1, 2]);
    let rwlocks = [RwLock::new(1), RwLock::new(2)];
    assert_eq!(rwlocks.iter().map(RwLock::read).map(|n| *n).sum::<u32>(), 3);
    assert!(!rwlocks.iter().any(RwLock::is_locked));
}

#[test]
fn values_of_unknown_size_are_locked_too() {
    let slice: Arc<Mutex<[u8]>> = Arc::new(Mutex::new([1, 2, 3]));
    slice.lock()[1] = 5;
    assert_eq!(slice.lock().iter().sum::<u8>(), 9);
    let trait_object: Box<RwLock<dyn Display + Send>> = Box::new(RwLock::new(7));
    assert_eq!(trait_object.read().to_string(), "7");
    let unsized_borrow: &ReentrantMutex<dyn Display> = &ReentrantMutex::new("seven");
    assert_eq!(unsized_borrow.lock().to_string(), "seven");
}

#[test]
fn default_from_get_mut_and_into_inner_need_no_lock() {
    let mut mutex = Mutex::<u8>::default();
    *mutex.get_mut() += 1;
    assert_eq!(mutex.into_inner(), 1);
    let mut fair = FairMutex::from(1);
    *fair.get_mut() += 1;
    assert_eq!(fair.into_inner(), 2);
    let mut rwlock: RwLock<u8> = 2.into();
    *rwlock.get_mut() += 1;
    assert_eq!(rwlock.into_inner(), 3);
    let mut recursive = RecursiveRwLock::from(3);
    *recursive.get_mut() += 1;
    assert_eq!(recursive.into_inner(), 4);
    let mut reentrant = ReentrantMutex::from(4);
    *reentrant.get_mut() += 1;
    assert_eq!(reentrant.into_inner(), 5);
    assert_eq!(*RwLock::<String>::default().read(), "");
    assert_eq!(*FairMutex::<u8>::default().lock(), 0);
    assert_eq!(*RecursiveRwLock::<u8>::default().read(), 0);
    assert_eq!(*ReentrantMutex::<u8>::default().lock(), 0);
}

#[test]
fn debug_shows_the_value_of_a_free_lock_and_none_of_a_locked_one() {
    let mutex = Mutex::new(1);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 1 }");
    let guard = mutex.lock();
    assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked> }");
    assert_eq!(format!("{guard:?} {guard}"), "1 1");
    drop(guard);
    assert!(!mutex.is_locked(), "to look is not to lock");
    assert_eq!(
        format!("{:?}", FairMutex::new("a")),
        "Mutex { data: \"a\" }"
    );
    assert_eq!(format!("{:#?}", Mutex::new(1)), "Mutex {\n    data: 1,\n}");

    let rwlock = RwLock::new(2);
    let read = rwlock.read();
    assert_eq!(format!("{rwlock:?}"), "RwLock { data: 2 }");
    drop(read);
    let write = rwlock.write();
    assert_eq!(format!("{rwlock:?}"), "RwLock { data: <locked> }");
    assert_eq!(format!("{write:?} {write}"), "2 2");
    let mapped = RwLockWriteGuard::map(write, |n| n);
    assert_eq!(format!("{mapped:?} {mapped}"), "2 2");
    drop(mapped);
    let mapped = RwLockReadGuard::map(rwlock.read(), |n| n);
    assert_eq!(format!("{mapped:?} {mapped}"), "2 2");

    let reentrant = ReentrantMutex::new(3);
    let guard = ReentrantMutexGuard::map(reentrant.lock(), |n| n);
    assert_eq!(format!("{reentrant:?}"), "ReentrantMutex { data: 3 }");
    assert_eq!(format!("{guard:?} {guard}"), "3 3");
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(
                format!("{reentrant:?}"),
                "ReentrantMutex { data: <locked> }"
            );
        });
    });
    assert_eq!(format!("{:?}", Condvar::new()), "Condvar { .. }");
}

#[test]
fn serde_sees_the_value_alone() {
    #[derive(Serialize, Deserialize)]
    struct Config {
        mutex: Mutex<u8>,
        fair: FairMutex<u8>,
        reentrant: ReentrantMutex<u8>,
        rwlock: RwLock<Vec<u8>>,
        recursive: RecursiveRwLock<String>,
    }
    let json = r#"{"mutex":1,"fair":2,"reentrant":3,"rwlock":[4],"recursive":"5"}"#;
    let config: Config = serde_json::from_str(json).unwrap();
    *config.mutex.lock() += 1;
    assert_eq!(
        serde_json::to_string(&config).unwrap(),
        json.replace(":1", ":2")
    );
    assert!(!config.rwlock.is_locked());
}
