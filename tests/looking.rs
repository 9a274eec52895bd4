//! To look at a lock is not to use it: `Debug`, `is_locked` and serialisation leave every figure as it was.

#![allow(
    clippy::items_after_statements,
    reason = "a test takes its turn before anything else"
)]

use instrumented_lock::raw::Instrumented;
use instrumented_lock::{
    FairMutex, InFlightState, LockSnapshot, Mutex, RecursiveRwLock, ReentrantMutex, RwLock, budget,
    drop_in, instrumented, lock_api, registry,
};
use instrumented_lock_tests::{figures, mock_clock};
use serde::Serialize;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

type Raw = parking_lot::RawMutex;
type RawMutex<T> = lock_api::Mutex<Instrumented<Raw>, T>;
type RawRwLock<T> = lock_api::RwLock<Instrumented<parking_lot::RawRwLock>, T>;

#[instrumented]
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
struct Annotated {
    mutex: Mutex<u32>,
    fair: FairMutex<u32>,
    reentrant: ReentrantMutex<u32>,
    rwlock: RwLock<u32>,
    recursive: RecursiveRwLock<u32>,
}

#[derive(Debug, serde::Serialize)]
struct Plain {
    mutex: drop_in::Mutex<u32>,
    fair: drop_in::FairMutex<u32>,
    reentrant: drop_in::ReentrantMutex<u32>,
    rwlock: drop_in::RwLock<u32>,
    recursive: drop_in::RecursiveRwLock<u32>,
    raw_mutex: RawMutex<u32>,
    raw_rwlock: RawRwLock<u32>,
    shared: Box<drop_in::Mutex<u32>>,
}

impl Plain {
    fn new() -> Self {
        Plain {
            mutex: drop_in::Mutex::new(1),
            fair: drop_in::FairMutex::new(2),
            reentrant: drop_in::ReentrantMutex::new(3),
            rwlock: drop_in::RwLock::new(4),
            recursive: drop_in::RecursiveRwLock::new(5),
            raw_mutex: RawMutex::from_raw(Instrumented::new(lock_api::RawMutex::INIT), 6),
            raw_rwlock: RawRwLock::from_raw(Instrumented::new(lock_api::RawRwLock::INIT), 7),
            shared: Box::new(drop_in::Mutex::new(8)),
        }
    }

    fn use_all(&self) {
        drop(self.mutex.lock());
        drop(self.fair.lock());
        drop(self.reentrant.lock());
        drop((self.rwlock.read(), self.rwlock.try_write()));
        drop(self.recursive.write());
        drop(self.raw_mutex.lock());
        drop(self.raw_rwlock.upgradable_read());
        drop(self.shared.lock());
    }
}

/// The tests take turns: each looks at the figures of all locks.
static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

fn all_figures() -> Vec<LockSnapshot> {
    registry::snapshot().locks().to_vec()
}

/// Does `look`, on this thread and on another one, and sees to it that nothing has been recorded.
fn only_looks(look: impl Fn() + Sync) {
    let before = all_figures();
    let classes = registry::classes().len();
    let used = budget::measure(&look);
    assert_eq!(used.total(), 0, "{used}");
    thread::scope(|scope| scope.spawn(&look).join().unwrap());
    look();
    assert_eq!(registry::classes().len(), classes, "no class is made known");
    assert_eq!(all_figures(), before);
}

fn debug(value: &(impl Debug + ?Sized)) -> String {
    format!("{value:?} {value:#?}")
}

#[test]
fn debug_of_a_free_lock_shows_its_value_and_records_nothing() {
    let _turn = TURN.lock();
    mock_clock();
    let (plain, annotated) = (Plain::new(), Annotated::default());
    let look = || {
        let text = debug(&plain) + &debug(&annotated);
        assert!(!text.contains("locked"), "{text}");
        for value in 1..=8 {
            assert!(text.contains(&format!("data: {value}")), "{text}");
        }
    };
    only_looks(look);
    plain.use_all();
    drop((annotated.mutex.lock(), annotated.rwlock.read()));
    drop((annotated.reentrant.lock(), annotated.reentrant.lock()));
    only_looks(look);
}

#[test]
fn debug_through_lock_apis_own_type_records_nothing() {
    let _turn = TURN.lock();
    mock_clock();
    let plain = Plain::new();
    let look = || {
        let mutex: &lock_api::Mutex<instrumented_lock::RawMutex, u32> = &plain.mutex;
        let rwlock: &lock_api::RwLock<instrumented_lock::RawRwLock, u32> = &plain.rwlock;
        debug(mutex);
        debug(rwlock);
        serde_json::to_string(mutex).unwrap();
        serde_json::to_string(rwlock).unwrap();
    };
    only_looks(look);
    plain.use_all();
    only_looks(look);
}

#[test]
fn debug_of_a_lock_that_is_held_is_no_failed_try() {
    let _turn = TURN.lock();
    mock_clock();
    let plain = Plain::new();
    plain.use_all();
    let (let_go, wait) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let plain = &plain;
        scope.spawn(move || {
            let held = (
                plain.mutex.lock(),
                plain.fair.lock(),
                plain.reentrant.lock(),
                plain.rwlock.write(),
                plain.recursive.write(),
                plain.raw_mutex.lock(),
                plain.raw_rwlock.write(),
                plain.shared.lock(),
            );
            tell.send(()).unwrap();
            wait.recv().unwrap();
            drop(held);
        });
        told.recv().unwrap();
        only_looks(|| {
            let text = debug(plain);
            assert_eq!(text.matches("<locked>").count(), 2 * 8, "{text}");
        });
        let_go.send(()).unwrap();
    });
}

#[test]
fn debug_of_what_this_thread_holds_records_nothing() {
    let _turn = TURN.lock();
    mock_clock();
    let plain = Plain::new();
    let _reentrant = plain.reentrant.lock();
    let _reader = plain.rwlock.read();
    let before = all_figures();
    let text = debug(&plain.reentrant) + &debug(&plain.rwlock);
    assert!(
        text.contains("data: 3") && text.contains("data: 4"),
        "{text}"
    );
    assert_eq!(all_figures(), before);
}

#[test]
fn asking_whether_it_is_locked_records_nothing() {
    let _turn = TURN.lock();
    mock_clock();
    let mut plain = Plain::new();
    let look = |plain: &Plain| {
        assert!(!plain.mutex.is_locked() && !plain.fair.is_locked());
        assert!(!plain.reentrant.is_locked() && !plain.reentrant.is_owned_by_current_thread());
        assert!(!plain.rwlock.is_locked() && !plain.rwlock.is_locked_exclusive());
        assert!(!plain.recursive.is_locked() && !plain.recursive.is_locked_exclusive());
        assert!(!plain.raw_mutex.is_locked());
        assert!(!plain.raw_rwlock.is_locked() && !plain.raw_rwlock.is_locked_exclusive());
        assert!(!plain.mutex.data_ptr().is_null());
    };
    only_looks(|| look(&plain));
    plain.use_all();
    only_looks(|| look(&plain));
    let before = all_figures();
    *plain.mutex.get_mut() += *plain.rwlock.get_mut() + *plain.reentrant.get_mut();
    assert_eq!(all_figures(), before);
}

#[test]
fn serialisation_records_nothing() {
    let _turn = TURN.lock();
    mock_clock();
    let (plain, annotated) = (Plain::new(), Annotated::default());
    let json = |value: &dyn Fn() -> serde_json::Result<String>| value().unwrap();
    let look = || {
        let text = json(&|| serde_json::to_string(&plain));
        assert_eq!(
            text,
            r#"{"mutex":1,"fair":2,"reentrant":3,"rwlock":4,"recursive":5,"raw_mutex":6,"raw_rwlock":7,"shared":8}"#
        );
        let text = json(&|| serde_json::to_string(&annotated));
        let read: Annotated = serde_json::from_str(&text).unwrap();
        assert_eq!(json(&|| serde_json::to_string(&read)), text);
    };
    only_looks(look);
    plain.use_all();
    only_looks(look);
}

#[test]
fn a_lock_that_is_used_while_another_one_is_looked_at_is_used() {
    let _turn = TURN.lock();
    mock_clock();

    /// Looks at a lock properly: it locks.
    struct Locks(Arc<drop_in::Mutex<u32>>);

    impl Debug for Locks {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{}", *self.0.lock())
        }
    }

    impl Serialize for Locks {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_u32(*self.0.lock())
        }
    }

    let inner = Arc::new(drop_in::Mutex::new(5));
    let outer = drop_in::ReentrantMutex::new(drop_in::RwLock::new(Locks(Arc::clone(&inner))));
    let used = budget::measure(|| {
        assert!(format!("{outer:?}").contains("data: 5"));
        assert_eq!(serde_json::to_string(&outer).unwrap(), "5");
        assert_eq!(*outer.lock().read().0.lock(), 5);
    });
    let lines: Vec<_> = used
        .lines()
        .iter()
        .map(|line| (line.location().file().to_owned(), line.acquisitions()))
        .collect();
    assert_eq!(used.total(), 2 + 3, "{used}");
    assert!(lines.iter().all(|(file, _)| file == file!()), "{lines:?}");
}

#[test]
fn a_look_changes_nothing_for_who_waits() {
    let _turn = TURN.lock();
    mock_clock();
    #[instrumented]
    static WAITED: Mutex<u32> = Mutex::new(0);
    let guard = WAITED.lock();
    thread::scope(|scope| {
        scope.spawn(|| drop(WAITED.lock()));
        let waits = || {
            let snapshot = registry::snapshot();
            let mut all = snapshot.in_flight().iter();
            all.any(|entry| entry.state() == InFlightState::Waiting)
        };
        let mut looks = 0;
        while !waits() {
            thread::sleep(Duration::from_millis(1));
            looks += 1;
            assert!(looks < 20_000, "nobody waits");
        }
        assert!(format!("{WAITED:?}").contains("<locked>"));
        drop(guard);
    });
    let lock = figures("WAITED");
    let write = lock.write();
    assert_eq!((write.acquisitions(), write.contended()), (2, 1));
    assert_eq!((write.try_failures(), write.bounces()), (0, 1));
    let mut lines = lock.call_sites().iter().map(|site| site.location().file());
    assert!(lines.all(|file| file == file!()));
}
