//! The command as a shell sees it.

#![cfg(unix)]

#[path = "../../tests/src/signals.rs"]
mod signals;
#[path = "../../instrumented-lock-export/tests/support/mod.rs"]
mod support;

use instrumented_lock::{Mutex, Snapshot, instrumented, report};
use proptest::prelude::*;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(20);

fn lockstat(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstat"));
    command.args(arguments).env_remove("INSTRUMENTED_LOCK");
    command
}

fn run(arguments: &[&str]) -> Output {
    let mut command = lockstat(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output of what has gone well.
fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    text(&output.stdout)
}

fn write(folder: &TempDir, name: &str, content: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

fn known(folder: &TempDir) -> String {
    write(folder, "known.json", &report::json(&support::known()))
}

#[test]
fn show_prints_what_the_library_prints() {
    let folder = tempfile::tempdir().unwrap();
    let (file, known) = (known(&folder), support::known());
    assert_eq!(stdout(&["show", &file]), known.to_string());
    assert_eq!(stdout(&["show", "--wide", &file]), format!("{known:#}"));
    assert_eq!(
        stdout(&["show", "--as", "lock_stat", &file]),
        report::lock_stat(&known)
    );
    assert_eq!(
        stdout(&["show", "--as=json", &file]),
        report::json(&known) + "\n"
    );
}

#[test]
fn exports_are_those_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let (file, known) = (known(&folder), support::known());
    assert_eq!(
        stdout(&["html", &file]),
        instrumented_lock_export::html::page(&known)
    );
    assert_eq!(
        stdout(&["folded", &file]),
        instrumented_lock_export::folded::blame(&known)
    );
    let waits = instrumented_lock_export::folded::waits(&known);
    assert_eq!(stdout(&["folded", "--of", "block", &file]), waits);
    assert!(stdout(&["metrics", &file]).contains("instrumented_lock_blame_seconds_total{"));
    let profile = run(&["pprof", "--of=block", &file]).stdout;
    assert_eq!(profile, instrumented_lock_export::pprof::block(&known));
    let profile = run(&["pprof", "--of=operations", &file]).stdout;
    assert_eq!(profile, instrumented_lock_export::pprof::operations(&known));
    let profile = run(&["pprof", "--of=instances", &file]).stdout;
    assert_eq!(profile, instrumented_lock_export::pprof::instances(&known));
    let operations = instrumented_lock_export::folded::operations(&known);
    assert_eq!(stdout(&["folded", "--of", "operations", &file]), operations);
    let instances = instrumented_lock_export::folded::instances(&known);
    assert_eq!(stdout(&["folded", "--of", "instances", &file]), instances);
    let output = folder.path().join("mutex.pb.gz");
    assert_eq!(
        stdout(&["pprof", &file, "-o", output.to_str().unwrap()]),
        ""
    );
    assert_eq!(
        fs::read(output).unwrap(),
        instrumented_lock_export::pprof::mutex(&known)
    );
    assert!(stdout(&["advice", &file]).contains("no certificate"));
    assert!(stdout(&["completions", "bash"]).contains("lockstat"));
}

#[test]
fn diff_and_merge_are_those_of_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let (file, known) = (known(&folder), support::known());
    let twice: Snapshot = serde_json::from_str(&stdout(&["merge", &file, &file])).unwrap();
    assert_eq!(twice, known.merge(&known));
    let twice = write(&folder, "twice.json", &report::json(&twice));
    let difference = stdout(&["diff", &file, &twice]);
    assert!(
        difference.starts_with("4 lock classes used in"),
        "{difference}"
    );
    let nothing = stdout(&["diff", &file, &file]);
    assert!(nothing.starts_with("0 lock classes used in"), "{nothing}");
}

#[test]
fn standard_input_is_a_source_and_lines_are_intervals() {
    let one = report::json(&support::known());
    let mut child = lockstat(&["show", "--as=json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    write!(child.stdin.take().unwrap(), "{one}\n{one}\n{}", &one[..100]).unwrap();
    let output = child.wait_with_output().unwrap();
    let both: Snapshot = serde_json::from_slice(&output.stdout).unwrap();
    let acquisitions = |snapshot: &Snapshot| {
        let lock = snapshot.lock("Store::index").unwrap();
        lock.read().acquisitions()
    };
    assert_eq!(acquisitions(&both), 2 * acquisitions(&support::known()));
    assert_eq!(both.elapsed(), support::known().elapsed() * 2);
}

#[test]
fn a_url_is_a_source() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let json = report::json(&support::known());
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut request = [0; 4096];
        let n = stream.read(&mut request).unwrap();
        let length = json.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{json}"
        )
        .unwrap();
        text(&request[..n])
    });
    let shown = stdout(&["show", &format!("http://{address}")]);
    assert_eq!(shown, support::known().to_string());
    let request = server.join().unwrap();
    assert!(
        request.starts_with("GET /locks.json HTTP/1.1\r\n"),
        "{request}"
    );
}

#[test]
fn what_cannot_be_read_is_one_line_and_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let broken = write(&folder, "broken.json", "{\"elapsed_ns\": 3,\n");
    let other = write(&folder, "other.json", "{\"name\": \"x\"}\n");
    let empty = write(&folder, "empty.json", "");
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let nobody = format!("http://{nobody}");
    for source in [
        &*broken,
        &other,
        &empty,
        "/nowhere/at all",
        &nobody,
        "https://localhost/",
        "http://[",
        "-",
    ] {
        for command in [
            "show", "html", "advice", "folded", "pprof", "merge", "metrics", "top",
        ] {
            let output = run(&[command, source]);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command} {source}: {said}");
            assert_eq!(said.lines().count(), 1, "{command} {source}: {said}");
            assert!(said.starts_with("lockstat: "), "{said}");
            assert!(output.stdout.is_empty());
        }
    }
    let known = known(&folder);
    let output = run(&["html", &known, "-o", "/nowhere/x.html"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(run(&["show", "--as=pdf", &known]).status.code(), Some(2));
}

#[test]
fn a_pipe_that_is_closed_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder, "many.json", &report::json(&support::many(500)));
    let mut child = lockstat(&["html", &file])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn what_is_written_is_read_back(snapshot in support::snapshots()) {
        let folder = tempfile::tempdir().unwrap();
        let file = write(&folder, "any.json", &report::json(&snapshot));
        let read: Snapshot = serde_json::from_str(&stdout(&["show", "--as=json", &file])).unwrap();
        prop_assert!(read == snapshot);
    }
}

#[instrumented]
static LEDGER: Mutex<u32> = Mutex::new(0);

#[test]
#[ignore = "the program that is run"]
fn program_uses_a_lock() {
    for _ in 0..1000 {
        *LEDGER.lock() += 1;
    }
    match std::env::var("THEN").unwrap_or_default().as_str() {
        "exit" => std::process::exit(7),
        "go on" => {
            eprintln!("ready");
            let start = Instant::now();
            while start.elapsed() < LIMIT {
                *LEDGER.lock() += 1;
                thread::sleep(Duration::from_millis(1));
            }
        }
        _ => println!("done"),
    }
}

/// This program, run by `lockstat run`.
fn program(options: &[&str], then: &str) -> Command {
    let mut command = lockstat(&["run"]);
    command
        .args(options)
        .arg("--")
        .arg(std::env::current_exe().unwrap())
        .args(["program_uses_a_lock", "--exact", "--nocapture", "--ignored"])
        .env("THEN", then)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    signals::heeds_signals(&mut command);
    command
}

#[test]
fn run_shows_the_report_and_has_the_status_of_the_program() {
    let output = program(&[], "").output().unwrap();
    let (said, printed) = (text(&output.stderr), text(&output.stdout));
    assert!(output.status.success(), "{said}");
    assert!(
        printed.contains("done") && !printed.contains("LEDGER"),
        "{printed}"
    );
    assert_eq!(said.matches("1 lock class used in").count(), 1, "{said}");
    assert!(said.contains("    1,000 "), "{said}");
    let output = program(&[], "exit").output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert!(text(&output.stderr).contains("LEDGER"));
}

#[test]
fn run_writes_a_file_and_passes_words_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["a.json", "a.html", "a.txt", "a.pb.gz"] {
        let output = program(&["-o", &path(name), "--set", "no-call-sites,1/1048576"], "").output();
        assert!(output.unwrap().status.success());
        assert!(
            Path::new(&path(name)).metadata().unwrap().len() > 20,
            "{name}"
        );
    }
    let json = fs::read_to_string(path("a.json")).unwrap();
    let snapshot: Snapshot = serde_json::from_str(&json).unwrap();
    let lock = snapshot.lock("LEDGER").unwrap();
    assert!(lock.write().acquisitions() == 1000 && lock.call_sites()[0].is_other());
    let output = program(&["-o", "report.pdf"], "").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty(), "it has not been run");
}

#[test]
fn run_of_a_shell_shows_the_report_of_each_process() {
    let this = std::env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    let script =
        format!("for i in 1 2; do '{this}' program_uses_a_lock --exact --ignored; done; exit 3");
    let output = lockstat(&["run", "--", "sh", "-c", &script])
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(said.matches(": 1 lock class used in").count(), 2, "{said}");
}

#[test]
fn run_says_what_is_wrong() {
    let output = run(&["run", "--", "true"]);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("has left no report"));
    let output = run(&["run", "--", "/nowhere/program"]);
    assert_eq!(output.status.code(), Some(127));
    assert_eq!(text(&output.stderr).lines().count(), 1);
    assert_eq!(run(&["run", "--", "/"]).status.code(), Some(126));
    assert_eq!(
        run(&["run", "--", "sh", "-c", "kill -KILL $$"])
            .status
            .code(),
        Some(137)
    );
    assert_eq!(run(&["run"]).status.code(), Some(2));
}

/// Ends what it runs, however the test goes on.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends the signal once the program runs and the folder for temporary files is as it has to be.
fn signalled(
    options: &[&str],
    signal: libc::c_int,
    is_ready: impl Fn(&Path) -> bool,
) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut program = program(options, "go on");
    let mut running = Running(program.env("TMPDIR", folder.path()).spawn().unwrap());
    let mut said = BufReader::new(running.0.stderr.take().unwrap());
    let mut line = String::new();
    while line != "ready\n" {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    let ours = folder.path().join(format!("lockstat-{}", running.0.id()));
    let start = Instant::now();
    while !is_ready(&ours) {
        assert!(start.elapsed() < LIMIT);
        thread::sleep(Duration::from_millis(5));
    }
    let id = libc::pid_t::try_from(running.0.id()).unwrap();
    // SAFETY: the child has not been waited for, so the number is still its own.
    assert_eq!(unsafe { libc::kill(id, signal) }, 0);
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    let status = running.0.wait().unwrap();
    assert_eq!(status.signal(), None, "{rest}");
    assert!(!ours.exists(), "nothing is left behind");
    (status.code(), rest)
}

#[test]
fn run_passes_signals_on_and_shows_the_report_all_the_same() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let started = Instant::now();
        let (code, said) = signalled(&[], signal, |_| true);
        assert_eq!(code, Some(128 + signal), "{said}");
        assert!(
            said.contains("1 lock class used in") && said.contains("LEDGER"),
            "{said}"
        );
        assert!(started.elapsed() < LIMIT);
    }
}

#[test]
fn run_shows_the_intervals_of_what_was_killed() {
    // Unhandled, so the program ends at once.
    let has_a_line = |folder: &Path| {
        let mut files = fs::read_dir(folder).unwrap().flatten();
        files.any(|file| {
            file.path()
                .extension()
                .is_some_and(|ending| ending == "jsonl")
        })
    };
    let (code, said) = signalled(&["--every", "50ms"], libc::SIGUSR1, has_a_line);
    assert_eq!(code, Some(128 + libc::SIGUSR1));
    assert!(
        said.contains("did not end by itself") && said.contains("LEDGER"),
        "{said}"
    );
}
