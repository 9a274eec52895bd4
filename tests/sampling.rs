//! Which holds are timed differs from process to process: the tests run themselves again as children.

use instrumented_lock::clock::Mock;
use instrumented_lock::{HoldTiming, Mutex, instrumented, registry};
use instrumented_lock_tests::figures;
use std::collections::HashSet;
use std::process::Command;
use std::time::Duration;

const NS: Duration = Duration::from_nanos(1);
const CHILDREN: usize = 24;

/// Runs the test `name` of this program alone, as the child that it then is. Returns what it has printed in
/// the line that begins so.
fn run_child(name: &str, line: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--ignored"])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}");
    let found = printed.lines().find_map(|it| it.split_once(line));
    found
        .unwrap_or_else(|| panic!("no `{line}` in {printed}"))
        .1
        .to_owned()
}

/// The places, among the first 2000 holds of a thread, of those that are timed.
#[test]
#[ignore = "the child of `every_process_times_other_holds`"]
fn child_prints_which_holds_are_timed() {
    #[instrumented]
    static PLACES: Mutex<()> = Mutex::new(());
    let clock = Mock::install().unwrap();
    registry::set_hold_timing(HoldTiming::one_in(64).unwrap());
    for place in 1..=2000 {
        let _guard = PLACES.lock();
        clock.advance_here(place * NS);
    }
    let snapshot = registry::snapshot();
    let hold = snapshot.lock("PLACES").unwrap().write().hold();
    println!(
        "timed {} of {:?} to {:?}",
        hold.count(),
        hold.min(),
        hold.max()
    );
    println!("sum {}", hold.sum().as_nanos());
}

#[test]
fn every_process_times_other_holds() {
    let child = |_| run_child("child_prints_which_holds_are_timed", "timed ");
    let timed: HashSet<String> = (0..CHILDREN).map(child).collect();
    assert!(timed.len() > CHILDREN / 2, "{timed:?}");
}

#[test]
fn over_processes_the_estimate_is_unbiased() {
    let child = |_| {
        let sum = run_child("child_prints_which_holds_are_timed", "sum ");
        sum.parse::<f64>().unwrap()
    };
    let mean = (0..CHILDREN).map(child).sum::<f64>() / CHILDREN as f64;
    let n = 2000.0;
    let expected = n * (n + 1.0) / 2.0;
    // Each hold of n ns counts 64 n with probability 1/64: variance 63 n².
    let variance = 63.0 * n * (n + 1.0) * (2.0 * n + 1.0) / 6.0;
    let error = (variance / CHILDREN as f64).sqrt();
    assert!(
        (mean - expected).abs() < 6.0 * error,
        "{mean}, not {expected}"
    );
}

/// A child of `fork` goes on with another generator than its parent and its siblings.
#[test]
#[cfg(unix)]
fn children_of_fork_time_other_holds_than_their_parent() {
    #[instrumented]
    static FORKED: Mutex<()> = Mutex::new(());
    registry::set_hold_timing(HoldTiming::one_in(16).unwrap());
    // The gap has been drawn before the fork.
    drop(FORKED.lock());
    let first_timed = || {
        let mut place = 0u8;
        let timed = || figures("FORKED").write().hold().count();
        let before = timed();
        while place < 250 && timed() == before {
            drop(FORKED.lock());
            place += 1;
        }
        place
    };
    let child = |_| {
        // SAFETY: the child uses its own memory, the C library's allocator, and what is being tested.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: nothing handles the signal: it ends the child.
                unsafe { libc::alarm(20) };
                let place = first_timed();
                // SAFETY: ends the child without any destructor.
                unsafe { libc::_exit(i32::from(place)) }
            }
            child => {
                let mut status = 0;
                // SAFETY: `child` is a child of this process, and `status` is there to be written.
                assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                assert!(libc::WIFEXITED(status));
                libc::WEXITSTATUS(status)
            }
        }
    };
    let places: HashSet<i32> = (0..CHILDREN).map(child).collect();
    assert!(places.len() > 4, "{places:?}");
}
