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
