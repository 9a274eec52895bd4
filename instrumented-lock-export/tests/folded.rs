//! Folded stacks: a golden file each, and what holds for any snapshot.

mod support;

use instrumented_lock::{CallSite, LockSnapshot};
use instrumented_lock_export::folded;
use proptest::prelude::*;
use support::{assert_golden, known, snapshots};

#[test]
fn folded_stacks_are_as_recorded() {
    assert_golden("waits.folded", &folded::waits(&known()));
    assert_golden("blame.folded", &folded::blame(&known()));
    assert_golden("operations.folded", &folded::operations(&known()));
    assert_golden("instances.folded", &folded::instances(&known()));
}

/// A lock that has been waited for, with stacks that come to so much of that.
fn with_stacks(ns: u64) -> instrumented_lock::Snapshot {
    let none = support::mode(&[], &[], 0);
    let mut lock = support::lock(
        "app::Lock",
        "Mutex",
        &[none.clone(), none.clone(), none],
        &[
            ("src/helper.rs".to_owned(), 800),
            ("src/helper.rs".to_owned(), 200),
        ],
    );
    lock["stacks"] = serde_json::json!([
        support::stack("waiter", 1, ns, &["app::help", "app::get", "main"]),
        support::stack("holder", 1, ns / 2, &["app::help", "app::scan", "main"]),
    ]);
    support::snapshot(vec![lock])
}

#[test]
fn captured_stacks_stand_in_place_of_as_much_of_the_lines() {
    let part = with_stacks(600);
    let waits = folded::waits(&part);
    let waits = parse(&waits);
    assert_eq!(
        waits[0],
        (vec!["app::Lock", "main", "app::get", "app::help"], 600)
    );
    let rest: Vec<_> = waits[1..].iter().map(|(_, ns)| *ns).collect();
    assert_eq!(rest, [320, 80]);
    let blame = folded::blame(&part);
    let blame = parse(&blame);
    assert_eq!(
        blame[0],
        (vec!["app::Lock", "main", "app::scan", "app::help"], 300)
    );
    // 500 are blamed on lines, and 333 are hand-over.
    assert_eq!(
        blame.iter().map(|(_, ns)| ns).sum::<u128>(),
        500 + 800 / 3 + 200 / 3
    );
    // An estimate may be more than there was.
    let all = folded::waits(&with_stacks(1100));
    assert_eq!(
        parse(&all),
        [(vec!["app::Lock", "main", "app::get", "app::help"], 1100)]
    );
}

/// Frames and nanoseconds.
fn parse(text: &str) -> Vec<(Vec<&str>, u128)> {
    let line = |line: &'static str| {
        let (stack, ns) = line.rsplit_once(' ').unwrap();
        (stack.split(';').collect(), ns.parse().unwrap())
    };
    let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
    text.lines().map(line).collect()
}

proptest! {
    #[test]
    fn all_waiting_is_in_the_stacks(snapshot in snapshots()) {
        let sum = |time: fn(&CallSite) -> std::time::Duration| -> u128 {
            let lines = snapshot.locks().iter().flat_map(LockSnapshot::call_sites);
            lines.map(|site| time(site).as_nanos()).sum()
        };
        let waits = folded::waits(&snapshot);
        let waits = parse(&waits);
        prop_assert_eq!(waits.iter().map(|(_, ns)| ns).sum::<u128>(), sum(CallSite::blocked_total));
        prop_assert!(waits.iter().all(|(frames, _)| frames.len() == 2));
        let blame = folded::blame(&snapshot);
        let blame = parse(&blame);
        let hand_over: u128 = snapshot.locks().iter().map(|lock| lock.hand_over().as_nanos()).sum();
        let total = blame.iter().map(|(_, ns)| ns).sum::<u128>();
        prop_assert_eq!(total, sum(CallSite::blame) + hand_over);
        prop_assert!(blame.iter().all(|(frames, _)| matches!(frames.len(), 2 | 3)));
        let instances = folded::instances(&snapshot);
        let instances = parse(&instances);
        let rows = snapshot.locks().iter().flat_map(LockSnapshot::waited_for);
        let blocked: u128 = rows.map(|row| row.blocked().as_nanos()).sum();
        prop_assert_eq!(instances.iter().map(|(_, ns)| ns).sum::<u128>(), blocked);
    }
}
