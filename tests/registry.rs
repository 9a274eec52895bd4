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

include!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/elsewhere/src/creations.rs"
));

#[cfg(feature = "stats")]
#[test]
fn a_lock_created_in_a_dependency_is_named_without_the_path_of_the_machine() {
    let (one, (first, second)) = (one_a_line(), two_a_line());
    drop((one.lock(), second.lock()));
    drop((second.lock(), first.lock()));
    let one = class("elsewhere/src/creations.rs:4").expect("named by its line");
    assert_eq!(one.name(), "elsewhere/src/creations.rs:4");
    // Of a line that creates two, the one that is used first has the line's name.
    assert_eq!(figures("elsewhere/src/creations.rs:9").instances(), 1);
    assert_eq!(
        figures("elsewhere/src/creations.rs:9")
            .write()
            .acquisitions(),
        2
    );
    let other = figures("elsewhere/src/creations.rs:9:6");
    assert_eq!(other.write().acquisitions(), 1);
    assert_eq!(other.declared_at().file(), "elsewhere/src/creations.rs");
}

#[cfg(feature = "stats")]
#[test]
fn locks_that_are_made_with_one_name_are_of_one_class() {
    use instrumented_lock::{Condvar, FairMutex, RecursiveRwLock, ReentrantMutex};

    let kind = |name: &str| figures(name).kind();
    let make = || Mutex::named("named journal", 1);
    let line = line!() - 1;
    let (first, second) = (make(), make());
    let third = Mutex::named(&format!("named {}", "journal"), 2);
    drop((first.lock(), second.lock()));
    let journal = figures("named journal");
    assert_eq!(
        (journal.instances(), journal.declared_at().line()),
        (2, line)
    );
    drop((third.lock(), first.lock()));
    let journal = figures("named journal");
    assert_eq!((journal.instances(), journal.kind()), (3, LockKind::Mutex));
    assert_eq!(journal.write().acquisitions(), 4);
    drop((first, second, third));
    assert_eq!(figures("named journal").instances(), 0);

    drop(RwLock::named("named index", 1).read());
    drop(FairMutex::named("named queue", 1).lock());
    drop(RecursiveRwLock::named("named tree", 1).read());
    let nodes = ReentrantMutex::named("named nodes", 1);
    let outer = nodes.lock();
    drop((nodes.lock(), outer));
    let filled = Condvar::named("named filled");
    let jobs = Mutex::named("named jobs", 1);
    assert!(
        filled
            .wait_for(&mut jobs.lock(), std::time::Duration::ZERO)
            .timed_out()
    );
    assert_eq!(kind("named index"), LockKind::RwLock);
    assert_eq!(kind("named queue"), LockKind::FairMutex);
    assert_eq!(kind("named tree"), LockKind::RecursiveRwLock);
    assert_eq!(kind("named nodes"), LockKind::ReentrantMutex);
    assert_eq!(figures("named nodes").nested(), 1);
    assert_eq!(kind("named filled"), LockKind::Condvar);
    assert_eq!(figures("named filled").sleep().waits(), 1);
}

#[cfg(feature = "stats")]
#[test]
fn a_lock_made_with_the_name_of_an_annotated_one_is_of_its_class() {
    #[instrumented(name = "shared name")]
    static ANNOTATED: Mutex<u32> = Mutex::new(0);
    let line = line!() - 1;
    let named = Mutex::named("shared name", 0);
    drop((named.lock(), ANNOTATED.lock()));
    let lock = figures("shared name");
    assert_eq!((lock.instances(), lock.declared_at().line()), (2, line));
    assert_eq!(lock.write().acquisitions(), 2);
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

#[test]
fn locks_that_are_gone_are_counted_among_those_that_were_used() {
    for i in 0..3 {
        let lock = instrumented_lock::drop_in::Mutex::named("comes and goes", i);
        *lock.lock() += 1;
    }
    let kept = instrumented_lock::drop_in::Mutex::named("comes and goes", 3);
    *kept.lock() += 1;
    let lock = instrumented_lock_tests::figures("comes and goes");
    assert_eq!((lock.instances(), lock.used()), (1, 4));
    let twice = registry::snapshot().merge(&registry::snapshot());
    assert_eq!(twice.lock("comes and goes").unwrap().used(), 8);
}

#[test]
fn by_crate_has_the_sums_of_all_classes_and_each_once() {
    *instrumented_lock_tests::ELSEWHERE.write() += 1;
    let lock = instrumented_lock::drop_in::Mutex::named("of this program", 0);
    *lock.lock() += 1;
    let snapshot = registry::snapshot();
    let crates = snapshot.by_crate();
    let modes = || {
        snapshot
            .locks()
            .iter()
            .flat_map(|lock| [lock.read(), lock.write(), lock.upgradable()])
    };
    let all: u64 = modes()
        .map(instrumented_lock::ModeSnapshot::acquisitions)
        .sum();
    assert_eq!(
        crates
            .iter()
            .map(instrumented_lock::CrateSnapshot::acquisitions)
            .sum::<u64>(),
        all
    );
    let held: std::time::Duration = modes().map(|mode| mode.hold().sum()).sum();
    assert_eq!(
        crates
            .iter()
            .map(instrumented_lock::CrateSnapshot::held)
            .sum::<std::time::Duration>(),
        held
    );
    let names: std::collections::HashSet<_> = crates
        .iter()
        .map(instrumented_lock::CrateSnapshot::name)
        .collect();
    assert_eq!(names.len(), crates.len());
    // A file of this crate, and one of its library's `src`: both have no folder of their own, or theirs.
    assert!(
        crates
            .iter()
            .all(|of_crate| of_crate.classes() > 0 && of_crate.locks() > 0),
        "{crates:?}"
    );
    assert!(crates[0].to_string().contains("acquisitions"));
}
