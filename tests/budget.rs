//! Lock budgets: what is counted, what is not, and what a failed assertion says.

use instrumented_lock::{
    Condvar, HoldTiming, Mode, Mutex, MutexGuard, ReentrantMutex, RwLock,
    RwLockUpgradableReadGuard, RwLockWriteGuard, budget, instrumented, registry,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Some tests change what is recorded, for all.
static SETTINGS: parking_lot::RwLock<()> = parking_lot::RwLock::new(());

/// What `f` says when it panics.
fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(f)) else {
        panic!("no panic");
    };
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().unwrap()).to_owned(),
    }
}

/// Lock, mode, line and acquisitions.
fn lines<R>(used: &budget::Used<R>) -> Vec<(&str, Mode, u32, u64)> {
    let mut lines = Vec::new();
    for line in used.lines() {
        let name = line.lock().rsplit("::").next().unwrap();
        assert_eq!(line.location().file(), file!());
        lines.push((
            name,
            line.mode(),
            line.location().line(),
            line.acquisitions(),
        ));
    }
    lines
}

#[test]
fn acquisitions_are_counted_by_class_mode_and_line_in_order_of_occurrence() {
    #[instrumented]
    struct Conf {
        props: Mutex<u32>,
        names: RwLock<u32>,
        unused: Mutex<u32>,
    }
    let conf = Conf {
        props: Mutex::new(0),
        names: RwLock::new(0),
        unused: Mutex::new(0),
    };
    *conf.props.lock() += 1;
    let line = line!();
    let used = budget::measure(|| {
        drop(conf.names.write());
        for _ in 0..3 {
            *conf.props.lock() += 1;
        }
        drop((conf.names.read(), conf.names.read()));
        conf.names.try_write().map(|names| *names)
    });
    drop(conf.unused.lock());
    assert_eq!(
        lines(&used),
        [
            ("names", Mode::Write, line + 2, 1),
            ("props", Mode::Write, line + 4, 3),
            ("names", Mode::Read, line + 6, 1),
            ("names", Mode::Read, line + 6, 1),
            ("names", Mode::Write, line + 7, 1),
        ]
    );
    assert_eq!(used.acquisitions("Conf::props"), 3);
    assert_eq!(used.acquisitions(used.lines()[0].lock()), 4);
    assert_eq!(used.acquisitions("Conf::unused"), 0);
    assert_eq!(used.total(), 7);
    assert_eq!(*used.value(), Some(0));
    let listed = used.to_string();
    let first = format!("   1 × write {}::", module_path!());
    let last = format!("tests/budget.rs:{}:20", line + 7);
    assert!(
        listed.starts_with(&first) && listed.ends_with(&last),
        "{listed}"
    );
    assert_eq!(listed.lines().count(), 5, "{listed}");
    assert_eq!(used.into_value(), Some(0));
}

#[test]
fn attempts_that_fail_are_not_counted() {
    #[instrumented]
    static TAKEN: RwLock<u32> = RwLock::new(0);
    let guard = TAKEN.read();
    let used = budget::measure(|| {
        thread::scope(|scope| {
            let handle = budget::handle();
            let others = scope.spawn(move || {
                handle.run(|| {
                    assert!(TAKEN.try_write().is_none());
                    assert!(TAKEN.try_write_for(Duration::from_millis(1)).is_none());
                    let reader = TAKEN.upgradable_read();
                    let reader = RwLockUpgradableReadGuard::try_upgrade(reader).unwrap_err();
                    let timeout = Duration::from_millis(1);
                    assert!(RwLockUpgradableReadGuard::try_upgrade_for(reader, timeout).is_err());
                });
            });
            others.join().unwrap();
        });
    });
    drop(guard);
    assert_eq!(used.total(), 1, "{used}");
    assert_eq!(used.lines()[0].mode(), Mode::Upgradable);
}

#[test]
fn a_contended_acquisition_counts_once() {
    #[instrumented]
    static CONTENDED: Mutex<u32> = Mutex::new(0);
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let guard = CONTENDED.lock();
            send.send(()).unwrap();
            thread::sleep(Duration::from_millis(20));
            drop(guard);
        });
        receive.recv().unwrap();
        let used = budget::measure(|| *CONTENDED.lock() += 1);
        assert_eq!(used.acquisitions("CONTENDED"), 1);
    });
}

#[test]
fn conversions_count_as_the_mode_that_they_start() {
    #[instrumented]
    static CONVERTED: RwLock<u32> = RwLock::new(0);
    let line = line!();
    let used = budget::measure(|| {
        let reader = CONVERTED.upgradable_read();
        let writer = RwLockUpgradableReadGuard::upgrade(reader);
        let reader = RwLockWriteGuard::downgrade_to_upgradable(writer);
        let writer = RwLockUpgradableReadGuard::try_upgrade(reader).unwrap();
        drop(RwLockWriteGuard::downgrade(writer));
        let reader = CONVERTED.upgradable_read();
        let limit = Duration::from_secs(60);
        let writer = RwLockUpgradableReadGuard::try_upgrade_for(reader, limit);
        drop(writer.unwrap());
    });
    let expected = [
        (Mode::Upgradable, 2),
        (Mode::Write, 3),
        (Mode::Upgradable, 4),
        (Mode::Write, 5),
        (Mode::Read, 6),
        (Mode::Upgradable, 7),
        (Mode::Write, 9),
    ];
    assert_eq!(
        lines(&used),
        expected.map(|(mode, below)| ("CONVERTED", mode, line + below, 1))
    );
}

#[test]
fn locking_again_counts_at_the_line_that_locked_before() {
    #[instrumented]
    #[derive(Default)]
    struct Queue {
        jobs: Mutex<u32>,
        filled: Condvar,
    }
    let _settings = SETTINGS.read();
    let queue = Queue::default();
    let line = line!();
    let used = budget::measure(|| {
        let mut jobs = queue.jobs.lock();
        queue.filled.wait_for(&mut jobs, Duration::from_millis(1));
        MutexGuard::unlocked(&mut jobs, || ());
        MutexGuard::bump(&mut jobs);
    });
    assert_eq!(lines(&used), [("jobs", Mode::Write, line + 2, 4)]);
}

#[test]
fn nested_acquisitions_of_a_reentrant_mutex_are_not_counted() {
    #[instrumented]
    static TREE: ReentrantMutex<u32> = ReentrantMutex::new(0);
    let used = budget::measure(|| drop((TREE.lock(), TREE.lock(), TREE.lock())));
    assert_eq!(used.acquisitions("TREE"), 1);
}

#[test]
fn a_lock_that_nobody_annotated_is_named_by_its_place() {
    let lock = Mutex::<u32>::new(0);
    let place = format!("{}:{}:16", file!(), line!() - 1);
    let used = budget::measure(|| *lock.lock() += 1);
    assert_eq!(used.acquisitions(&place), 1, "{used}");
}

#[test]
fn the_count_is_the_same_whatever_is_recorded() {
    const N: u64 = 1000;
    #[instrumented]
    static RECORDED: RwLock<u32> = RwLock::new(0);
    let _settings = SETTINGS.write();
    let line = line!();
    let use_it = || {
        for _ in 0..N {
            drop(RECORDED.read());
            let reader = RECORDED.upgradable_read();
            drop(RwLockUpgradableReadGuard::upgrade(reader));
            drop(RECORDED.try_write());
        }
    };
    let expected = [
        (Mode::Read, 3),
        (Mode::Upgradable, 4),
        (Mode::Write, 5),
        (Mode::Write, 6),
    ];
    let expected = expected.map(|(mode, below)| ("RECORDED", mode, line + below, N));
    let recorded = || {
        registry::snapshot()
            .lock("RECORDED")
            .map(|lock| lock.read().acquisitions())
    };
    for (setting, n) in [
        ("exact", N),
        ("off", N),
        ("sampled", 2 * N),
        ("no call sites", 3 * N),
    ] {
        match setting {
            "off" => registry::set_enabled(false),
            "sampled" => registry::set_hold_timing(HoldTiming::one_in(64).unwrap()),
            "no call sites" => registry::set_call_sites(false),
            _ => {}
        }
        assert_eq!(lines(&budget::measure(use_it)), expected, "{setting}");
        // Settings that change in mid-measurement, too.
        let used = budget::measure(|| {
            registry::set_enabled(true);
            registry::set_hold_timing(HoldTiming::EXACT);
            registry::set_call_sites(true);
            drop(RECORDED.write());
        });
        assert_eq!(used.total(), 1, "{setting}");
        assert_eq!(
            recorded(),
            Some(n),
            "{setting}: statistics stay what they are"
        );
    }
    use_it();
    assert_eq!(recorded(), Some(4 * N));
    let snapshot = registry::snapshot();
    assert_eq!(snapshot.lock("RECORDED").unwrap().unmatched(), 0);
}

#[test]
fn measurements_nest() {
    #[instrumented]
    static NESTED: Mutex<u32> = Mutex::new(0);
    let once = || *NESTED.lock() += 1;
    let outer = budget::measure(|| {
        once();
        let inner = budget::measure(|| {
            once();
            once();
        });
        once();
        inner
    });
    assert_eq!(outer.total(), 4);
    assert_eq!(outer.value().total(), 2);
}

#[test]
fn threads_count_where_they_take_part() {
    #[instrumented]
    static SHARED: Mutex<u32> = Mutex::new(0);
    let twice = || drop((SHARED.lock(), ()));
    let used = budget::measure(|| {
        let handle = budget::handle();
        thread::scope(|scope| {
            for _ in 0..3 {
                let handle = handle.clone();
                scope.spawn(move || {
                    twice();
                    handle.run(|| {
                        twice();
                        // A thread of a thread.
                        let handle = budget::handle();
                        thread::scope(|scope| {
                            scope.spawn(move || handle.run(twice));
                        });
                    });
                    twice();
                });
            }
        });
        // Not twice where the thread takes part already.
        handle.run(twice);
        // What is counted here belongs to both.
        let inner = budget::measure(|| handle.run(twice));
        assert_eq!(inner.total(), 1);
        inner.value();
    });
    assert_eq!(used.acquisitions("SHARED"), 3 * 2 + 2);
}

#[test]
fn a_handle_of_one_measurement_counts_in_another_threads_too() {
    #[instrumented]
    static BOTH: Mutex<u32> = Mutex::new(0);
    let used = budget::measure(|| {
        let handle = budget::handle();
        let theirs = thread::spawn(move || {
            budget::measure(|| {
                *BOTH.lock() += 1;
                handle.run(|| *BOTH.lock() += 1);
            })
        });
        theirs.join().unwrap().total()
    });
    assert_eq!((used.total(), *used.value()), (1, 2));
}

#[test]
fn a_handle_that_outlives_its_measurement_counts_nowhere() {
    #[instrumented]
    static LATE: Mutex<u32> = Mutex::new(0);
    let (send, receive) = mpsc::channel::<()>();
    let used = budget::measure(|| {
        let handle = budget::handle();
        thread::spawn(move || {
            handle.run(|| {
                receive.recv().unwrap_err();
                *LATE.lock() += 1;
            });
            *LATE.lock() += 1;
            handle
        })
    });
    drop(send);
    assert_eq!(used.total(), 0);
    let handle = used.into_value().join().unwrap();
    let later = budget::measure(|| *LATE.lock() += 1);
    assert_eq!(later.total(), 1);
    assert_eq!(handle.run(|| *LATE.lock()), 3);
    assert_eq!(budget::handle().run(|| *LATE.lock()), 3);
}

#[test]
fn a_panic_leaves_nothing_of_the_measurement() {
    #[instrumented]
    static PANICKED: Mutex<u32> = Mutex::new(0);
    let message = panic_of(|| {
        budget::measure(|| {
            let _guard = PANICKED.lock();
            panic!("in the middle")
        })
    });
    assert_eq!(message, "in the middle");
    let used = budget::measure(|| *PANICKED.lock() += 1);
    assert_eq!(used.total(), 1);
    assert_eq!(
        format!("{:?}", budget::handle()),
        "Handle { measurements: 0 }"
    );
}

#[test]
fn other_threads_are_not_counted() {
    #[instrumented]
    static ELSEWHERE: Mutex<u32> = Mutex::new(0);
    let used = budget::measure(|| {
        thread::spawn(|| *ELSEWHERE.lock() += 1).join().unwrap();
    });
    assert_eq!(used.acquisitions("ELSEWHERE"), 0);
    assert_eq!(used.to_string(), "no lock was acquired");
}

#[test]
fn a_name_that_no_class_has_is_an_error_that_lists_what_was_acquired() {
    #[instrumented]
    #[derive(Default)]
    struct Spelled {
        right: Mutex<u32>,
    }
    let spelled = Spelled::default();
    let used = budget::measure(|| *spelled.right.lock() += 1);
    let message = panic_of(|| used.acquisitions("Spelled::rihgt"));
    assert!(
        message.contains("no lock class is named `Spelled::rihgt`"),
        "{message}"
    );
    assert!(
        message.contains("Spelled::right at tests/budget.rs"),
        "{message}"
    );
    let message = panic_of(|| budget::assert_at_most!(used, "pelled::right", 1));
    assert!(
        message.contains("no lock class is named `pelled::right`"),
        "{message}"
    );
}

#[test]
fn a_name_that_several_classes_have_is_an_error_that_names_them() {
    mod one {
        #[instrumented_lock::instrumented]
        pub(crate) static AMBIGUOUS: instrumented_lock::Mutex<u32> =
            instrumented_lock::Mutex::new(0);
    }
    mod two {
        #[instrumented_lock::instrumented]
        pub(crate) static AMBIGUOUS: instrumented_lock::Mutex<u32> =
            instrumented_lock::Mutex::new(0);
    }
    let used = budget::measure(|| *one::AMBIGUOUS.lock() + *two::AMBIGUOUS.lock());
    let message = panic_of(|| used.acquisitions("AMBIGUOUS"));
    assert!(
        message.contains("one::AMBIGUOUS` (tests/budget.rs:"),
        "{message}"
    );
    assert!(
        message.contains("two::AMBIGUOUS` (tests/budget.rs:"),
        "{message}"
    );
    assert_eq!(used.acquisitions("one::AMBIGUOUS"), 1);
}

#[instrumented]
#[derive(Default)]
struct Budgeted {
    props: Mutex<u32>,
    cache: RwLock<u32>,
}

/// Where [`Budgeted::parse`] begins.
const PARSE: u32 = line!() + 3;

impl Budgeted {
    fn parse(&self, text: &str) -> u32 {
        let fallback = *self.props.lock();
        let factor = *self.props.lock();
        *self.cache.write() += 1;
        text.parse().unwrap_or(fallback + factor)
    }
}

#[test]
fn assert_at_most_within_the_budget_returns_what_the_closure_does() {
    const TWICE: u64 = 2;
    let budgeted = Budgeted::default();
    let parsed = budget::assert_at_most!(2, "Budgeted::props", || budgeted.parse("3"));
    assert_eq!(parsed, 3);
    let text = String::from("4");
    let budgets = budget::assert_at_most!(
        {
            "Budgeted::props" => TWICE,
            "Budgeted::cache" => 1,
        },
        move || budgeted.parse(&text),
    );
    assert_eq!(budgets, 4);
    let budgeted = Budgeted::default();
    let name = String::from("Budgeted::props");
    let moved = String::from("5");
    budget::assert_at_most!(TWICE, &name, move || budgeted.parse(&moved), "with {}", 5);
    let used = budget::measure(|| 7);
    budget::assert_at_most!(used, "Budgeted::props", 0);
    budget::assert_at_most!(&used, { &name => 0, "Budgeted::cache" => 0 }, "of {name}");
    assert_eq!(used.into_value(), 7);
}

#[test]
fn assert_at_most_beyond_the_budget_lists_every_acquisition_with_its_line() {
    let budgeted = Budgeted::default();
    let message = panic_of(|| {
        budget::assert_at_most!(
            1,
            "Budgeted::props",
            || budgeted.parse("3"),
            "of {}",
            "parse"
        )
    });
    let name = |field| format!("{}::Budgeted::{field} at tests/budget.rs", module_path!());
    let expected = format!(
        "of parse: `Budgeted::props` acquired 2 ×, at most 1 × budgeted\n\
         all acquisitions, in the order in which they came first:\n   \
         1 × write {props}:{}:36\n   \
         1 × write {props}:{}:34\n   \
         1 × write {cache}:{}:21",
        PARSE + 1,
        PARSE + 2,
        PARSE + 3,
        props = name("props"),
        cache = name("cache"),
    );
    assert_eq!(message, expected);
    let used = budget::measure(|| budgeted.parse("3"));
    let message = panic_of(|| {
        budget::assert_at_most!(used, { "Budgeted::cache" => 0, "Budgeted::props" => 1 });
    });
    assert!(
        message.starts_with(
            "`Budgeted::cache` acquired 1 ×, at most 0 × budgeted\n\
             `Budgeted::props` acquired 2 ×, at most 1 × budgeted\n"
        ),
        "{message}"
    );
}
