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
    }
}
