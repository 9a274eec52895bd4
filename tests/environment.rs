//! The environment variable, in processes of their own: the test runs itself again with it set.

use instrumented_lock::{drop_in, registry};
use std::process::{Command, Output};

/// Runs the test `name` of this program alone, as the child that it then is.
fn run_child(name: &str, value: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--ignored"])
        .env(registry::ENVIRONMENT_VARIABLE, value)
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "the child of `off_and_sampling_come_from_the_environment`"]
fn child_prints_what_is_recorded() {
    let lock = drop_in::Mutex::new(0);
    for _ in 0..1000 {
        *lock.lock() += 1;
    }
    let snapshot = registry::snapshot();
    let write = snapshot.locks()[0].write();
    let diagnostics = snapshot.diagnostics();
    eprintln!(
        "enabled {} acquisitions {} exact {} diagnostics {diagnostics:?}",
        snapshot.is_enabled(),
        write.acquisitions(),
        write.hold().count() == write.releases() && write.hold().count() > 0,
    );
}

#[test]
fn off_and_sampling_come_from_the_environment() {
    let child = |value| stderr(&run_child("child_prints_what_is_recorded", value));
    assert!(child("off").contains("enabled false acquisitions 0"));
    assert!(child("exact").contains("enabled true acquisitions 1000 exact true diagnostics []"));
    assert!(child("").contains("enabled true acquisitions 1000 exact true"));
    assert!(child("1/1048576").contains("enabled true acquisitions 1000 exact false"));
}

/// Nothing panics where what is wrong cannot be said.
#[test]
#[cfg(target_os = "linux")]
fn a_first_use_goes_on_where_standard_error_cannot_be_written() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "child_counts_without_standard_error",
            "--exact",
            "--nocapture",
            "--ignored",
        ])
        .env(registry::ENVIRONMENT_VARIABLE, "nonsense")
        .stderr(full)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{printed}");
    assert!(
        printed.contains("acquisitions 1, diagnostics 1"),
        "{printed}"
    );
}

#[test]
#[ignore = "the child of `a_first_use_goes_on_where_standard_error_cannot_be_written`"]
fn child_counts_without_standard_error() {
    let lock = drop_in::Mutex::new(0);
    *lock.lock() += 1;
    let snapshot = registry::snapshot();
    let acquisitions = snapshot.locks()[0].write().acquisitions();
    println!(
        "acquisitions {acquisitions}, diagnostics {}",
        snapshot.diagnostics().len()
    );
}

/// A snapshot, or a look at a lock, is no use of one.
#[test]
fn the_mock_clock_is_not_too_late_after_a_snapshot() {
    let said = stderr(&run_child("child_installs_the_mock_after_a_snapshot", ""));
    assert!(said.contains("held 10ms"), "{said}");
}

#[test]
#[ignore = "the child of `the_mock_clock_is_not_too_late_after_a_snapshot`"]
fn child_installs_the_mock_after_a_snapshot() {
    let lock = drop_in::Mutex::new(0);
    let before = registry::snapshot();
    assert!(registry::classes().is_empty() && format!("{lock:?} {before}").contains("data"));
    assert!(!lock.is_locked());
    let clock = instrumented_lock::clock::Mock::install().expect("no lock has been used");
    let guard = lock.lock();
    clock.advance_here(std::time::Duration::from_millis(10));
    drop(guard);
    let interval = registry::snapshot().since(&before);
    eprintln!("held {:?}", interval.locks()[0].write().hold().sum());
}

#[test]
fn a_value_that_is_none_is_said_once_and_in_every_snapshot() {
    let said = stderr(&run_child("child_prints_what_is_recorded", "1/100"));
    let sentence = "INSTRUMENTED_LOCK: `1/100` is no setting for lock recording; write `on`, `off`";
    assert_eq!(
        said.matches(sentence).count(),
        2,
        "standard error and diagnostics: {said}"
    );
    assert!(
        said.contains("enabled true acquisitions 1000 exact true"),
        "as if not set"
    );
}
