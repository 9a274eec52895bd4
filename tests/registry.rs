//! The registry lists every class: declared ones before their first use, the others from it on.

use instrumented_lock::{LockClass, LockKind, Mutex, RwLock, drop_in, instrumented, registry};
use instrumented_lock_tests::{ELSEWHERE, figures};

fn class(name: &str) -> Option<&'static LockClass> {
    registry::classes()
        .into_iter()
        .find(|class| class.name().ends_with(name))
}

#[test]
fn a_declared_class_is_listed_before_its_first_use() {
    #[instrumented]
    static NEVER_USED: RwLock<u32> = RwLock::new(0);
    let class = class("NEVER_USED").expect("declared");
    assert_eq!(class.kind(), LockKind::RwLock);
    assert_eq!(class.declared_at().file(), file!());
    assert_eq!(figures("NEVER_USED").instances(), 0);
    assert!(NEVER_USED.data_ptr().is_aligned());
}

#[test]
fn a_class_of_another_crate_is_listed() {
    assert_eq!(*ELSEWHERE.read(), 0);
    let lock = figures("instrumented_lock_tests::ELSEWHERE");
    assert_eq!(lock.read().acquisitions(), 1);
    assert!(lock.declared_at().file().ends_with("lib.rs"));
}

#[test]
fn un_annotated_locks_are_named_by_their_creation_site() {
    let line = line!() + 1;
    let locks = [(); 3].map(|()| drop_in::Mutex::new(0));
    let name = format!("{}:{line}:", file!());
    let find = || class_starting_with(&name);
    assert!(find().is_none(), "not used yet");
    for lock in &locks[..2] {
        *lock.lock() += 1;
    }
    let found = find().expect("enrolled by its first use");
    assert_eq!(
        (found.declared_at().line(), found.kind()),
        (line, LockKind::Mutex)
    );
    let lock = figures(found.name());
    assert_eq!((lock.write().acquisitions(), lock.instances()), (2, 2));
    drop(locks);
    assert_eq!(figures(found.name()).instances(), 0);
}

fn class_starting_with(name: &str) -> Option<&'static LockClass> {
    registry::classes()
        .into_iter()
        .find(|class| class.name().starts_with(name))
}

#[test]
fn two_classes_of_one_name_are_told_apart_with_a_diagnostic() {
    #[instrumented(name = "twice")]
    static ONE: Mutex<u32> = Mutex::new(0);
    #[instrumented(name = "twice")]
    static TWO: Mutex<u32> = Mutex::new(0);
    *ONE.lock() += 1;
    *TWO.lock() += 1;
    *TWO.lock() += 1;

    let snapshot = registry::snapshot();
    let both: Vec<_> = snapshot
        .locks()
        .iter()
        .filter(|lock| lock.name() == "twice")
        .collect();
    let counts: Vec<_> = both
        .iter()
        .map(|lock| lock.write().acquisitions())
        .collect();
    assert_eq!(counts, [1, 2]);
    assert!(both[0].declared_at().line() < both[1].declared_at().line());
    assert!(
        snapshot.lock("twice").is_none(),
        "an ambiguous name finds nothing"
    );
    let said = snapshot
        .diagnostics()
        .iter()
        .find(|said| said.contains("`twice`"))
        .unwrap();
    for lock in both {
        assert!(said.contains(&lock.declared_at().to_string()), "{said}");
    }
}

#[test]
fn a_tail_of_the_name_finds_the_lock_if_it_is_unambiguous() {
    mod left {
        use instrumented_lock::{Mutex, instrumented};

        #[instrumented]
        pub(super) static SIDE: Mutex<u8> = Mutex::new(0);
    }
    mod right {
        use instrumented_lock::{Mutex, instrumented};

        #[instrumented]
        pub(super) static SIDE: Mutex<u8> = Mutex::new(0);
    }
    *left::SIDE.lock() += 1;
    *right::SIDE.lock() += 2;
    let snapshot = registry::snapshot();
    assert!(snapshot.lock("left::SIDE").is_some());
    assert!(snapshot.lock("registry::right::SIDE").is_some());
    assert!(snapshot.lock("SIDE").is_none(), "two locks answer to it");
    assert!(
        snapshot.lock("eft::SIDE").is_none(),
        "a tail is whole segments"
    );
}

#[test]
fn every_lock_type_has_its_own_kind() {
    let first = line!();
    let reentrant = drop_in::ReentrantMutex::new(0);
    let fair = drop_in::FairMutex::new(0);
    let recursive = drop_in::RecursiveRwLock::new(0);
    let condvar = drop_in::Condvar::new();
    drop((
        reentrant.lock(),
        reentrant.lock(),
        fair.lock(),
        recursive.read(),
    ));
    let mutex = drop_in::Mutex::new(0);
    condvar.wait_for(&mut mutex.lock(), std::time::Duration::from_millis(1));
    let kinds: Vec<_> = registry::snapshot()
        .locks()
        .iter()
        .filter(|lock| lock.declared_at().line() > first && lock.name().contains(file!()))
        .map(|lock| {
            (
                lock.kind(),
                lock.write().acquisitions() + lock.read().acquisitions(),
            )
        })
        .collect();
    let expected = [
        (LockKind::ReentrantMutex, 1),
        (LockKind::FairMutex, 1),
        (LockKind::RecursiveRwLock, 1),
        (LockKind::Condvar, 0),
        (LockKind::Mutex, 2),
    ];
    for kind in expected {
        assert!(kinds.contains(&kind), "{kind:?} in {kinds:?}");
    }
}
