//! Reports that nobody's code asks for, in processes of their own: the test runs itself again with the
//! environment variable set.

#[cfg(unix)]
#[path = "src/signals.rs"]
mod signals;

use instrumented_lock::{CallSite, Mutex, Snapshot, instrumented, registry};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(20);

#[instrumented]
static LEDGER: Mutex<u32> = Mutex::new(0);

fn use_lock(times: u32) {
    for _ in 0..times {
        *LEDGER.lock() += 1;
    }
}

/// This program as the child that it then is, in a folder of its own.
fn child(name: &str, value: &str, folder: &TempDir) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([name, "--exact", "--nocapture", "--ignored"])
        .env(registry::ENVIRONMENT_VARIABLE, value)
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    signals::heeds_signals(&mut command);
    command
}

fn run(name: &str, value: &str, folder: &TempDir) -> Output {
    child(name, value, folder).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| {
        panic!("{name}: {error}; there are {:?}", names(folder.path()));
    })
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn snapshot(json: &str) -> Snapshot {
    serde_json::from_str(json).unwrap()
}

fn acquisitions(snapshot: &Snapshot) -> u64 {
    let lock = snapshot.lock("LEDGER");
    lock.map_or(0, |lock| lock.write().acquisitions())
}

/// Waits for something that happens soon.
fn wait_for<T>(what: &str, mut it: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if let Some(it) = it() {
            return it;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} has not happened within {LIMIT:?}");
}

#[test]
#[ignore = "a child"]
fn child_uses_a_lock_and_returns() {
    use_lock(1000);
}

#[test]
#[ignore = "a child"]
fn child_uses_no_lock() {}

#[test]
#[ignore = "a child"]
fn child_exits() {
    use_lock(1000);
    std::process::exit(7);
}

#[test]
#[ignore = "a child"]
fn child_panics() {
    use_lock(1000);
    let _held = LEDGER.lock();
    panic!("as it has to");
}

#[test]
#[ignore = "a child"]
fn child_holds_a_lock_and_exits() {
    use_lock(999);
    let _held = LEDGER.lock();
    std::process::exit(0);
}

#[test]
#[ignore = "a child"]
fn child_changes_its_folder() {
    use_lock(1000);
    fs::create_dir("elsewhere").unwrap();
    std::env::set_current_dir("elsewhere").unwrap();
}

/// Goes on until it is killed, or the limit is over.
#[test]
#[ignore = "a child"]
fn child_goes_on() {
    use_lock(1000);
    eprintln!("ready");
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        use_lock(1);
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn report_prints_the_table_when_main_returns_and_nothing_where_it_is_not_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let said = stderr(&run("child_uses_a_lock_and_returns", "report", &folder));
    assert_eq!(said.matches("lock class used in").count(), 1, "{said}");
    assert!(
        said.contains("LEDGER") && said.contains("    1,000 "),
        "{said}"
    );
    for (child, value) in [
        ("child_uses_a_lock_and_returns", ""),
        ("child_uses_a_lock_and_returns", "1/64"),
        ("child_uses_no_lock", "report,report=x.txt,every=1s"),
    ] {
        let said = stderr(&run(child, value, &folder));
        assert_eq!(said, "", "{child} {value}");
    }
    assert!(names(folder.path()).is_empty());
}

#[test]
fn report_comes_also_by_exit_by_a_panic_and_with_a_lock_held() {
    let folder = tempfile::tempdir().unwrap();
    let exited = run("child_exits", "report", &folder);
    assert_eq!(exited.status.code(), Some(7));
    assert!(stderr(&exited).contains("LEDGER"), "{}", stderr(&exited));
    let panicked = run("child_panics", "report=x.json", &folder);
    assert!(!panicked.status.success());
    assert_eq!(acquisitions(&snapshot(&read(&folder, "x.json"))), 1001);
    run("child_holds_a_lock_and_exits", "report=y.json", &folder);
    let held = snapshot(&read(&folder, "y.json"));
    assert_eq!(acquisitions(&held), 1000);
    assert_eq!(held.in_flight().len(), 1);
}

#[test]
fn files_have_the_form_of_their_ending_and_words_go_together() {
    let folder = tempfile::tempdir().unwrap();
    let value =
        "report=a.txt, report=a.json,report=a.lock_stat,no-call-sites,1/1048576,report=a.jsonl";
    let said = stderr(&run("child_uses_a_lock_and_returns", value, &folder));
    assert_eq!(said, "");
    assert!(read(&folder, "a.txt").starts_with("1 lock class used in"));
    assert!(read(&folder, "a.lock_stat").starts_with("lock_stat version 0.4"));
    let json = read(&folder, "a.json");
    assert_eq!(read(&folder, "a.jsonl").lines().count(), 1);
    let snapshot = snapshot(&json);
    assert_eq!(acquisitions(&snapshot), 1000);
    let lock = snapshot.lock("LEDGER").unwrap();
    assert!(lock.write().hold().count() != 1000);
    assert!(lock.call_sites().iter().all(CallSite::is_other));
}

#[test]
fn names_are_relative_to_the_first_folder_and_may_have_the_number_of_the_process() {
    let folder = tempfile::tempdir().unwrap();
    run("child_changes_its_folder", "report=a-%p.txt", &folder);
    let names = names(folder.path());
    let number = names[0]
        .strip_prefix("a-")
        .and_then(|rest| rest.strip_suffix(".txt"));
    assert!(
        number.is_some_and(|number| number.parse::<u32>().is_ok()),
        "{names:?}"
    );
    assert_eq!(names[1..], ["elsewhere"]);
}

#[test]
fn what_cannot_be_written_is_a_line_and_the_program_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for value in [
        "report=nowhere/a.txt",
        "every=1h,report=nowhere/a.jsonl",
        "timeline=nowhere/a.json",
        "timeline=nowhere/a.json,1ms",
        "report=a.pdf",
        "every=soon",
    ] {
        let output = run("child_uses_a_lock_and_returns", value, &folder);
        let said = stderr(&output);
        assert!(output.status.success(), "{value}: {said}");
        assert_eq!(said.lines().count(), 1, "{value}: {said}");
        assert!(said.starts_with("INSTRUMENTED_LOCK: `"), "{said}");
    }
    assert!(names(folder.path()).is_empty());
}

/// The holds of the ledger in a trace.
fn holds(trace: &str) -> usize {
    let trace: serde_json::Value = serde_json::from_str(trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let is_hold = |event: &&serde_json::Value| {
        event["cat"] == "hold" && event["args"]["lock"].as_str().unwrap().ends_with("LEDGER")
    };
    events.iter().filter(is_hold).count()
}

#[test]
fn a_timeline_is_written_at_the_end_where_it_would_be_longer() {
    let folder = tempfile::tempdir().unwrap();
    for (name, value, expected) in [
        ("child_uses_a_lock_and_returns", "timeline=a.json,1h", 1000),
        ("child_exits", "timeline=b.json,1h,report=b.txt", 1000),
        (
            "child_holds_a_lock_and_exits",
            "timeline=c.json,1h,every=1h",
            1000,
        ),
        ("child_uses_no_lock", "timeline=d.json", 0),
    ] {
        let output = run(name, value, &folder);
        assert_eq!(stderr(&output), "", "{value}");
        let file = value.split([',', '=']).nth(1).unwrap();
        if expected > 0 {
            assert_eq!(holds(&read(&folder, file)), expected, "{value}");
        }
    }
    assert_eq!(
        names(folder.path()),
        [
            "a.json",
            "b.json",
            "b.txt",
            "c.json",
            "instrumented-lock.jsonl"
        ]
    );
}

#[test]
fn a_timeline_is_written_when_its_time_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let value = "timeline=a-%p.json,20ms";
    let _running = Running(child("child_goes_on", value, &folder).spawn().unwrap());
    let trace = wait_for("a trace", || {
        let name = names(folder.path()).pop()?;
        let trace = read(&folder, &name);
        serde_json::from_str::<serde_json::Value>(&trace).ok()?;
        Some(trace)
    });
    assert!(holds(&trace) >= 1000);
}

/// Ends a child, however the test goes on.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_killed_program_has_left_its_intervals() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.jsonl"), "of another program\n").unwrap();
    let value = "every=50ms,report=a.jsonl";
    let started = Instant::now();
    let mut running = Running(child("child_goes_on", value, &folder).spawn().unwrap());
    let lines = wait_for("the third line", || {
        let text = fs::read_to_string(folder.path().join("a.jsonl")).ok()?;
        (text.lines().count() >= 3 && !text.starts_with("of another")).then_some(text)
    });
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    let lived = started.elapsed();
    let text = read(&folder, "a.jsonl");
    assert!(
        text.starts_with(&lines),
        "lines are added, not written anew"
    );
    let intervals: Vec<_> = text.lines().map(snapshot).collect();
    let all: u64 = intervals.iter().map(acquisitions).sum();
    assert!(all > 1000 && acquisitions(&intervals[1]) < 1000, "{all}");
    let elapsed: Duration = intervals.iter().map(Snapshot::elapsed).sum();
    assert!(elapsed <= lived * 2, "{elapsed:?} of {lived:?}");
}

#[test]
fn the_intervals_of_a_program_that_ends_add_up_to_everything() {
    let folder = tempfile::tempdir().unwrap();
    let said = stderr(&run(
        "child_uses_a_lock_and_returns",
        "every=1h,report=a.txt",
        &folder,
    ));
    assert_eq!(said, "");
    let text = read(&folder, "instrumented-lock.jsonl");
    let intervals: Vec<_> = text.lines().map(snapshot).collect();
    assert_eq!(intervals.iter().map(acquisitions).sum::<u64>(), 1000);
    assert!(read(&folder, "a.txt").contains("    1,000 "));
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    #[test]
    #[ignore = "a child"]
    fn child_forks() {
        use_lock(1000);
        // SAFETY: the child uses locks and ends, which is what is being tested.
        let forked = unsafe { libc::fork() };
        if forked == 0 {
            use_lock(1);
            std::process::exit(0);
        }
        let mut status = 0;
        // SAFETY: `forked` is a child of this process, and `status` is there to be written.
        unsafe { libc::waitpid(forked, &raw mut status, 0) };
        println!("child {forked}");
        std::process::exit(status);
    }

    #[test]
    #[ignore = "a child"]
    fn child_has_a_handler_of_its_own() {
        // SAFETY: ignores a signal.
        unsafe { libc::signal(libc::SIGUSR1, libc::SIG_IGN) };
        use_lock(1);
        // SAFETY: sends this process a signal that it ignores.
        unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) };
        thread::sleep(Duration::from_millis(300));
    }

    #[test]
    fn a_child_of_fork_writes_files_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let value = "report,report=a.json,report=b-%p.json,every=1h,report=a.jsonl,on-signal";
        let output = run("unix::child_forks", value, &folder);
        assert!(output.status.success(), "{output:?}");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = printed.split_once("child ").unwrap().1;
        let number = number.lines().next().unwrap();
        let of = |name: &str| acquisitions(&snapshot(&read(&folder, name)));
        assert_eq!(of("a.json"), 1000, "the parent's");
        assert_eq!(of(&format!("a.{number}.json")), 1001);
        assert_eq!(of(&format!("b-{number}.json")), 1001);
        assert_eq!(names(folder.path()).len(), 5, "{:?}", names(folder.path()));
        assert_eq!(read(&folder, "a.jsonl").lines().count(), 1);
        let said = stderr(&output);
        assert_eq!(said.matches("used in").count(), 2, "{said}");
        let heading = format!("process {number}, a child of ");
        assert_eq!(said.matches(&heading).count(), 1, "{said}");
    }

    fn signal(running: &Running, number: libc::c_int) {
        let child = libc::pid_t::try_from(running.0.id()).unwrap();
        // SAFETY: the child has not been waited for, so the number is still its own.
        assert_eq!(unsafe { libc::kill(child, number) }, 0);
    }

    #[test]
    fn a_signal_brings_a_report_as_often_as_it_comes() {
        for (value, number) in [
            ("on-signal", libc::SIGUSR1),
            ("on-signal=USR2,report", libc::SIGUSR2),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let mut running = Running(child("child_goes_on", value, &folder).spawn().unwrap());
            let mut said = BufReader::new(running.0.stderr.take().unwrap()).lines();
            let mut find = |what: &str| {
                said.find(|line| line.as_ref().is_ok_and(|line| line.contains(what)))
                    .is_some()
            };
            assert!(find("ready"));
            for _ in 0..2 {
                signal(&running, number);
                assert!(find("1 lock class used in"), "{value}");
                assert!(find("LEDGER"));
            }
            assert!(running.0.try_wait().unwrap().is_none(), "it goes on");
        }
    }

    #[test]
    fn a_signal_writes_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let value = "on-signal,report=a.json";
        let mut running = Running(child("child_goes_on", value, &folder).spawn().unwrap());
        let mut said = BufReader::new(running.0.stderr.take().unwrap()).lines();
        assert!(said.any(|line| line.is_ok_and(|line| line == "ready")));
        let path = folder.path().join("a.json");
        let mut before = 0;
        for _ in 0..2 {
            signal(&running, libc::SIGUSR1);
            before = wait_for("a newer file", || {
                let json = fs::read_to_string(&path).ok()?;
                let written: Snapshot = serde_json::from_str(&json).ok()?;
                Some(acquisitions(&written)).filter(|now| *now > before)
            });
        }
        assert!(before > 1000);
    }

    #[test]
    fn a_signal_that_ends_the_program_ends_it_with_a_report() {
        for (word, number) in [
            ("INT", libc::SIGINT),
            ("TERM", libc::SIGTERM),
            ("HUP", libc::SIGHUP),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let value = format!("report=a.json,every=1h,on-signal,on-signal={word}");
            let mut running = Running(child("child_goes_on", &value, &folder).spawn().unwrap());
            let mut said = BufReader::new(running.0.stderr.take().unwrap()).lines();
            assert!(said.any(|line| line.is_ok_and(|line| line == "ready")));
            signal(&running, number);
            let status = wait_for("its end", || running.0.try_wait().unwrap());
            assert_eq!(status.signal(), Some(number));
            let whole = snapshot(&read(&folder, "a.json"));
            assert!(acquisitions(&whole) > 1000);
            let interval = snapshot(&read(&folder, "instrumented-lock.jsonl"));
            assert!(acquisitions(&interval) > 1000);
        }
    }

    #[test]
    fn a_signal_that_the_program_ignores_stays_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let output = run("unix::child_has_a_handler_of_its_own", "on-signal", &folder);
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        assert_eq!(
            said,
            "INSTRUMENTED_LOCK: `on-signal`: the program handles that signal itself\n"
        );
    }
}
