//! The order of locks: what is learnt from locks that are taken while others are held, and what is wrong
//! with it. Tests of one process share what has been learnt, so each looks at locks of its own.

use instrumented_lock::order::{self, Finding, FindingKind, Reaction};
use instrumented_lock::{
    Condvar, FairMutex, Mode, Mutex, MutexGuard, RecursiveRwLock, ReentrantMutex, RwLock,
    instrumented, registry, report,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The findings of which every lock has a name that begins with this.
fn findings(prefix: &str) -> Vec<Finding> {
    let is_of = |finding: &Finding| {
        let mut ends = finding
            .edges()
            .iter()
            .flat_map(|edge| [edge.held(), edge.wanted()]);
        ends.all(|end| end.lock().starts_with(prefix))
    };
    let mut all = order::findings();
    all.retain(is_of);
    all
}

fn follow() {
    order::follow(Reaction::Collect);
}

/// Runs it on a thread of that name, to its end.
fn on_thread<T: Send>(name: &str, f: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(name.to_owned());
        thread.spawn_scoped(scope, f).unwrap().join().unwrap()
    })
}

#[instrumented(prefix = "three")]
#[derive(Default)]
struct Three {
    a: Mutex<u32>,
    b: Mutex<u32>,
    c: Mutex<u32>,
}

#[test]
fn a_circle_of_three_that_never_was_a_deadlock_is_one_finding_of_three_edges() {
    follow();
    let three = Three::default();
    on_thread("one", || {
        let _a = three.a.lock();
        drop(three.b.lock());
    });
    on_thread("two", || {
        let _b = three.b.lock();
        drop(three.c.lock());
    });
    assert!(findings("three::").is_empty());
    let line = line!() + 3;
    on_thread("three", || {
        let _c = three.c.lock();
        drop(three.a.lock());
    });
    // Once.
    on_thread("four", || {
        let _c = three.c.lock();
        drop(three.a.lock());
    });
    let found = findings("three::");
    assert_eq!(found.len(), 1, "{found:?}");
    let finding = &found[0];
    assert_eq!(finding.kind(), FindingKind::Circle);
    let edges = finding.edges();
    assert_eq!(edges.len(), 3);
    for (at, edge) in edges.iter().enumerate() {
        assert_eq!(edge.wanted().lock(), edges[(at + 1) % 3].held().lock());
        assert_eq!(
            (edge.held().mode(), edge.wanted().mode()),
            (Mode::Write, Mode::Write)
        );
        assert!(edge.held().location().file().ends_with("order.rs"));
    }
    let last = &edges[0];
    assert_eq!(last.held().lock(), "three::Three::c");
    assert_eq!(
        (last.thread(), last.held().location().line()),
        (Some("three"), line - 1)
    );
    assert_eq!(last.wanted().location().line(), line);
    let text = finding.to_string();
    assert!(
        text.contains("three had three::Three::c (write) at "),
        "{text}"
    );
    assert_eq!(text.lines().count(), 7);
}

#[instrumented(prefix = "attempts")]
#[derive(Default)]
struct Attempts {
    a: Mutex<u32>,
    b: Mutex<u32>,
}

#[test]
fn an_attempt_is_no_edge_but_what_it_has_is_held() {
    follow();
    let locks = Attempts::default();
    {
        let _a = locks.a.lock();
        assert!(locks.b.try_lock().is_some());
    }
    {
        let _b = locks.b.lock();
        drop(locks.a.lock());
    }
    assert!(findings("attempts::").is_empty());
    {
        let _a = locks.a.try_lock().unwrap();
        drop(locks.b.lock());
    }
    assert_eq!(findings("attempts::").len(), 1);
}

#[instrumented(prefix = "shards")]
struct Shards {
    shards: Vec<Mutex<u32>>,
}

#[test]
fn locks_of_one_name_may_be_taken_upwards_or_downwards_but_not_both() {
    follow();
    let shards = Shards {
        shards: (0..1000).map(Mutex::new).collect(),
    };
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for pair in shards.shards.windows(2) {
                    let _first = pair[0].lock();
                    *pair[1].lock() += 1;
                }
            });
        }
    });
    assert!(findings("shards::").is_empty());
    let edges: Vec<_> = registry::snapshot().order().edges().to_vec();
    let of_shards: Vec<_> = edges
        .iter()
        .filter(|e| e.held().lock() == "shards::Shards::shards")
        .collect();
    assert_eq!(of_shards.len(), 1);
    assert!(!of_shards[0].is_downwards());
    // Each thread tells the first time and every 64th.
    let count = of_shards[0].count();
    assert!((8 * (999 - 64)..=8 * 999).contains(&count), "{count}");
    {
        let _last = shards.shards[999].lock();
        drop(shards.shards[0].lock());
    }
    let found = findings("shards::");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].edges().len(), 2);
    assert!(found[0].edges()[0].is_downwards());
    assert!(found[0].to_string().contains("both directions"));
}

#[instrumented(prefix = "tree")]
#[derive(Default)]
struct Tree {
    nodes: [Mutex<u32>; 2],
}

#[test]
fn where_nesting_is_allowed_any_order_of_one_name_is_fine() {
    follow();
    let tree = Tree::default();
    let classes = registry::classes();
    let class = classes
        .iter()
        .find(|class| class.name() == "tree::Tree::nodes")
        .unwrap();
    class.allow_nesting("parents come before their children");
    assert_eq!(class.nesting(), Some("parents come before their children"));
    for (one, other) in [(0, 1), (1, 0)] {
        let _parent = tree.nodes[one].lock();
        drop(tree.nodes[other].lock());
    }
    assert!(findings("tree::").is_empty());
}

#[instrumented(prefix = "forest")]
#[derive(Default)]
struct Forest {
    #[lock(nested = "parents come before their children")]
    nodes: [Mutex<u32>; 2],
    #[lock(nested = "no two threads are here at once", name = "forest weights")]
    weights: [RwLock<u32>; 2],
}

#[test]
fn a_reason_in_the_attribute_is_as_good_as_one_that_is_given_later() {
    follow();
    let forest = Forest::default();
    let reason = |name: &str| {
        let classes = registry::classes();
        let class = classes.iter().find(|class| class.name() == name).unwrap();
        class.nesting()
    };
    let expected = "parents come before their children";
    assert_eq!(reason("forest::Forest::nodes"), Some(expected));
    for (one, other) in [(0, 1), (1, 0)] {
        let _parent = forest.nodes[one].lock();
        drop(forest.nodes[other].lock());
        let _weight = forest.weights[one].read();
        drop(forest.weights[other].write());
    }
    let is_about = |finding: &Finding| finding.to_string().contains("forest");
    assert!(!order::findings().iter().any(is_about));
}

#[instrumented(prefix = "ranks")]
#[derive(Default)]
struct Ranks {
    #[lock(rank = 1)]
    low: Mutex<u32>,
    #[lock(rank = 2)]
    high: RwLock<u32>,
}

#[test]
fn ranks_are_checked_across_functions() {
    fn take_low(ranks: &Ranks) {
        *ranks.low.lock() += 1;
    }
    follow();
    let ranks = Ranks::default();
    {
        let _low = ranks.low.lock();
        drop(ranks.high.read());
    }
    assert!(findings("ranks::").is_empty());
    {
        let _high = ranks.high.read();
        take_low(&ranks);
    }
    let found: Vec<_> = findings("ranks::").iter().map(Finding::kind).collect();
    assert!(found.contains(&FindingKind::Rank), "{found:?}");
}

#[instrumented(prefix = "readers")]
#[derive(Default)]
struct Readers {
    a: RwLock<u32>,
    b: RwLock<u32>,
    c: RecursiveRwLock<u32>,
    d: RecursiveRwLock<u32>,
}

#[test]
fn readers_that_queue_behind_writers_are_dangerous_to_each_other() {
    follow();
    let locks = Readers::default();
    for _ in 0..2 {
        let _c = locks.c.read();
        drop(locks.d.read());
    }
    {
        let _d = locks.d.read();
        drop(locks.c.read());
    }
    assert!(findings("readers::").is_empty());
    {
        let _a = locks.a.read();
        drop(locks.b.read());
    }
    {
        let _b = locks.b.read();
        drop(locks.a.read());
    }
    assert_eq!(findings("readers::").len(), 1);
}

#[instrumented(prefix = "recursion")]
#[derive(Default)]
struct Recursion {
    mutex: Mutex<u32>,
    rwlock: RwLock<u32>,
}

#[test]
fn who_is_about_to_wait_for_itself_is_told_before() {
    follow();
    let locks = Recursion::default();
    let held_at = line!() + 1;
    let held = locks.mutex.lock();
    let short = Duration::from_millis(1);
    assert!(locks.mutex.try_lock_for(short).is_none());
    assert!(locks.mutex.try_lock().is_none());
    drop(held);
    let found = findings("recursion::");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind(), FindingKind::Recursion);
    assert_eq!(found[0].edges()[0].held().location().line(), held_at);
    // A second read is fine as long as no writer waits.
    let read = locks.rwlock.read();
    drop(locks.rwlock.read());
    assert_eq!(findings("recursion::").len(), 1);
    // A write after a read never is.
    assert!(locks.rwlock.try_write_for(short).is_none());
    assert_eq!(findings("recursion::").len(), 2);
    let (told, tell) = mpsc::channel();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            told.send(()).unwrap();
            drop(locks.rwlock.write());
        });
        tell.recv().unwrap();
        let is_waiting = || {
            let snapshot = registry::snapshot();
            let lock = snapshot.lock("recursion::Recursion::rwlock").unwrap();
            lock.write().waiting().count() == 1
        };
        while !is_waiting() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(20));
        assert!(locks.rwlock.try_read_for(short).is_none());
        drop(read);
        writer.join().unwrap();
    });
    let found = findings("recursion::");
    assert_eq!(found.len(), 3);
    let edge = &found[2].edges()[0];
    assert_eq!(
        (edge.held().mode(), edge.wanted().mode()),
        (Mode::Read, Mode::Read)
    );
}

#[instrumented(prefix = "sleeper")]
#[derive(Default)]
struct Sleeper {
    other: Mutex<u32>,
    state: Mutex<u32>,
    changed: Condvar,
}

#[test]
fn a_sleep_with_another_lock_held_is_a_finding_with_both_lines() {
    follow();
    let sleeper = Sleeper::default();
    let short = Duration::from_millis(1);
    {
        let mut state = sleeper.state.lock();
        sleeper.changed.wait_for(&mut state, short);
    }
    assert!(findings("sleeper::").is_empty());
    let other_at = line!() + 1;
    let _other = sleeper.other.lock();
    let mut state = sleeper.state.lock();
    let sleeps_at = line!() + 1;
    sleeper.changed.wait_for(&mut state, short);
    let found = findings("sleeper::");
    assert_eq!(found.len(), 1, "{found:?}");
    let edge = &found[0].edges()[0];
    assert_eq!(found[0].kind(), FindingKind::Sleep);
    assert_eq!(edge.held().location().line(), other_at);
    assert_eq!(edge.wanted().location().line(), sleeps_at);
    assert_eq!(edge.wanted().lock(), "sleeper::Sleeper::changed");
}

#[instrumented(prefix = "strangers")]
#[derive(Default)]
struct Strangers {
    one: Mutex<u32>,
    other: Mutex<u32>,
}

#[test]
fn locks_at_an_address_that_others_had_are_strangers() {
    follow();
    for _ in 0..100 {
        let locks = Box::new(Strangers::default());
        let _one = locks.one.lock();
        drop(locks.other.lock());
    }
    for _ in 0..100 {
        let one = Box::new(Mutex::<u32>::new(0));
        drop(one.lock());
        drop(one);
        let locks = Box::new(Strangers::default());
        drop(locks.other.lock());
        drop(locks.one.lock());
    }
    assert!(findings("strangers::").is_empty());
}

#[instrumented(prefix = "many")]
#[derive(Default)]
struct Many {
    outer: Mutex<u32>,
    held: [Mutex<u32>; 31],
    inner: Mutex<u32>,
}

#[test]
fn what_is_let_go_in_any_order_is_held_no_longer() {
    follow();
    let many = Many::default();
    for round in 0..200 {
        let outer = many.outer.lock();
        let mut held: Vec<_> = many.held.iter().map(|lock| lock.lock()).collect();
        // The oldest first, or the newest, or from the middle.
        match round % 3 {
            0 => held.drain(..).for_each(drop),
            1 => held.drain(..).rev().for_each(drop),
            _ => drop(held.split_off(15)),
        }
        drop(outer);
        drop(held);
        // Nothing is held now.
        drop(many.inner.lock());
    }
    {
        let _inner = many.inner.lock();
        drop(many.outer.lock());
    }
    assert!(findings("many::").is_empty(), "{:?}", findings("many::"));
    let order = registry::snapshot().order().clone();
    let outer_to_inner = |edge: &&order::OrderEdge| {
        edge.held().lock().ends_with("Many::outer") && edge.wanted().lock().ends_with("Many::inner")
    };
    assert_eq!(order.edges().iter().find(outer_to_inner), None);
}

#[instrumented(prefix = "conversions")]
#[derive(Default)]
struct Conversions {
    converted: RwLock<u32>,
    other: Mutex<u32>,
}

#[test]
fn what_is_converted_is_still_held() {
    use instrumented_lock::RwLockWriteGuard;

    follow();
    let locks = Conversions::default();
    let read = RwLockWriteGuard::downgrade(locks.converted.write());
    drop(locks.other.lock());
    drop(read);
    let order = registry::snapshot().order().clone();
    let edges = order.edges().iter();
    let of: Vec<_> = edges
        .filter(|edge| edge.held().lock().ends_with("Conversions::converted"))
        .collect();
    assert_eq!(of.len(), 1);
    assert_eq!(of[0].held().mode(), Mode::Read);
}

#[instrumented(prefix = "sent")]
#[derive(Default)]
struct Sent {
    a: Mutex<u32>,
    b: Mutex<u32>,
}

/// What is let go on another thread.
struct Guard<'a>(MutexGuard<'a, u32>);
// SAFETY: the feature `send_guard` says the same of every guard: `parking_lot`'s mutexes do not care which
// thread lets them go.
unsafe impl Send for Guard<'_> {}

#[test]
fn a_guard_that_was_sent_away_and_dropped_there_leaves_no_edge() {
    follow();
    let locks = &Sent::default();
    let (send, receive) = mpsc::channel::<Guard<'_>>();
    let (dropped, is_dropped) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            for Guard(guard) in receive {
                drop(guard);
                dropped.send(()).unwrap();
            }
        });
        for _ in 0..3 {
            send.send(Guard(locks.a.lock())).unwrap();
            is_dropped.recv_timeout(Duration::from_secs(20)).unwrap();
            // This thread, which has acquired `a`, has it no longer.
            drop(locks.b.lock());
        }
        drop(send);
    });
    on_thread("the other way around", || {
        let _b = locks.b.lock();
        drop(locks.a.lock());
    });
    assert!(findings("sent::").is_empty(), "{:?}", findings("sent::"));
    let edges = registry::snapshot().order().edges().to_vec();
    let of_these = |edge: &&order::OrderEdge| edge.held().lock().starts_with("sent::");
    assert_eq!(edges.iter().filter(of_these).count(), 1);
}

#[instrumented(prefix = "again")]
#[derive(Default)]
struct Again {
    mutex: Mutex<u32>,
    other: Mutex<u32>,
    fair: FairMutex<u32>,
    reentrant: ReentrantMutex<u32>,
    inner: Mutex<u32>,
}

/// `unlocked` asks for its lock again while what was taken later is still held, whatever the order was before.
#[test]
fn what_is_let_go_for_a_while_is_taken_again_after_what_is_held_meanwhile() {
    follow();
    let again = Again::default();
    let mut mutex = again.mutex.lock();
    let other = again.other.lock();
    assert!(findings("again::Again::mutex").is_empty());
    MutexGuard::unlocked(&mut mutex, || {});
    drop((mutex, other));
    let is_it = |finding: &Finding| {
        let ends = finding.edges().iter().map(|edge| edge.held().lock());
        let mut ends: Vec<_> = ends.collect();
        ends.sort_unstable();
        ends == ["again::Again::mutex", "again::Again::other"]
    };
    assert_eq!(findings("again::").iter().filter(|it| is_it(it)).count(), 1);
}

#[test]
fn entering_a_reentrant_mutex_again_is_no_recursion_and_other_kinds_of_mutexes_are_followed() {
    follow();
    let again = Again::default();
    {
        let _first = again.reentrant.lock();
        let _again = again.reentrant.lock();
        drop(again.fair.lock());
    }
    assert!(findings("again::Again::reentrant").is_empty());
    {
        let _fair = again.fair.lock();
        drop(again.reentrant.lock());
    }
    let is_it = |finding: &&Finding| finding.to_string().contains("again::Again::fair");
    let found = findings("again::");
    let found: Vec<_> = found.iter().filter(is_it).collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind(), FindingKind::Circle);
    // Two edges, one of them learnt under the second of two holds of one thread.
    assert_eq!(found[0].edges().len(), 2);
    drop(again.inner.lock());
}

#[instrumented(prefix = "deep")]
struct Deep {
    locks: [Mutex<u32>; 40],
    last: Mutex<u32>,
}

/// A thread notes 32 locks at once; the others are counted, and the order of those that are noted stays known.
#[test]
fn of_more_locks_than_are_noted_the_others_are_counted() {
    follow();
    let deep = Deep {
        locks: std::array::from_fn(|_| Mutex::new(0)),
        last: Mutex::new(0),
    };
    let before = registry::snapshot().order().unlisted();
    let held: Vec<_> = deep.locks.iter().map(|lock| lock.lock()).collect();
    drop(deep.last.lock());
    drop(held);
    let order = registry::snapshot().order().clone();
    // Eight of the array, and the last one.
    assert_eq!(order.unlisted() - before, 9);
    let is_it = |edge: &&order::OrderEdge| edge.wanted().lock() == "deep::Deep::last";
    let edge = order.edges().iter().find(is_it).unwrap();
    assert_eq!(edge.held().lock(), "deep::Deep::locks");
    assert!(findings("deep::").is_empty());
}

#[instrumented(prefix = "data")]
#[derive(Default)]
struct Data {
    a: Mutex<u32>,
    b: Mutex<u32>,
}

#[test]
fn findings_are_data_and_reported() {
    follow();
    let locks = Data::default();
    {
        let _a = locks.a.lock();
        drop(locks.b.lock());
    }
    let before = registry::snapshot();
    {
        let _b = locks.b.lock();
        drop(locks.a.lock());
    }
    let after = registry::snapshot();
    let own = |order: &order::Order| {
        let edges = order.edges().iter();
        let edges = edges
            .filter(|edge| edge.held().lock().starts_with("data::"))
            .count();
        let is_own = |finding: &&Finding| finding.edges()[0].held().lock().starts_with("data::");
        (edges, order.findings().iter().filter(is_own).count())
    };
    assert_eq!(own(before.order()), (1, 0));
    assert_eq!(own(after.order()), (2, 1));
    assert_eq!(own(after.since(&before).order()), (1, 1));
    assert_eq!(own(before.merge(&after).order()), (2, 1));
    assert_eq!(own(before.since(&after).order()), (0, 0));
    let json = serde_json::to_string(&after).unwrap();
    let back: instrumented_lock::Snapshot = serde_json::from_str(&json).unwrap();
    assert_eq!(back.order(), after.order());
    let table = after.to_string();
    assert!(table.contains("locks are taken in a circle"), "{table}");
    let dot = report::dot(&after);
    assert!(dot.starts_with("digraph"), "{dot}");
    assert!(
        dot.contains("\"data::Data::a\" -> \"data::Data::b\""),
        "{dot}"
    );
    let panicked = catch_unwind(|| order::assert_clean!()).unwrap_err();
    let message = panicked.downcast_ref::<String>().unwrap();
    assert!(message.contains("data::Data::a"), "{message}");
}

/// Runs one of the ignored tests below in a process of its own; returns what it says on standard error.
fn child(name: &str, environment: &str) -> (bool, String) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--ignored", "--nocapture"])
        .env(registry::ENVIRONMENT_VARIABLE, environment)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), said)
}

#[instrumented(prefix = "child")]
#[derive(Default)]
struct Child {
    a: Mutex<u32>,
    b: Mutex<u32>,
}

#[test]
#[ignore = "a child of `what_is_done_with_findings_is_said_from_outside`"]
fn child_takes_locks_in_both_orders() {
    let locks = Child::default();
    {
        let _a = locks.a.lock();
        drop(locks.b.lock());
    }
    let other = catch_unwind(AssertUnwindSafe(|| {
        let _b = locks.b.lock();
        drop(locks.a.lock());
    }));
    // Whatever happened, nothing is left locked.
    assert!(locks.a.try_lock().is_some() && locks.b.try_lock().is_some());
    println!("{}", if other.is_ok() { "went on" } else { "panicked" });
    let found = order::findings().len();
    eprintln!(
        "found {found}, {}",
        if other.is_ok() { "went on" } else { "panicked" }
    );
}

#[test]
fn what_is_done_with_findings_is_said_from_outside() {
    let says = |environment: &str| {
        let (is_ok, said) = child("child_takes_locks_in_both_orders", environment);
        assert!(is_ok, "{said}");
        said
    };
    let said = says("order");
    assert!(
        said.contains("found 1, went on") && !said.contains("circle"),
        "{said}"
    );
    let said = says("order=log");
    assert!(
        said.contains("found 1, went on") && said.contains("circle"),
        "{said}"
    );
    let said = says("order=panic");
    assert!(
        said.contains("found 1, panicked") && said.contains("circle"),
        "{said}"
    );
    assert!(says("order=off").contains("found 0, went on"));
    assert!(says("off").contains("found 0, went on"));
    // The same whatever else is recorded.
    for more in [
        "1/64",
        "no-call-sites",
        "1/8,no-call-sites",
        "ordered-clock",
    ] {
        let said = says(&format!("order=panic,{more}"));
        assert!(said.contains("found 1, panicked"), "{more}: {said}");
    }
    let said = says("order=often");
    assert!(said.contains("`order=panic`"), "{said}");
}
