//! `run`: a program with reports, and what it leaves.
//!
//! The program is told to write its snapshot into a folder of ours when it ends, also by a signal that it
//! does not handle; names have the number of the process in them, so that processes that it starts do not
//! write over each other. What is killed has left its intervals, where they are asked for.

use crate::arguments::RunArguments;
use crate::input;
use crate::output::{self, Failure};
use instrumented_lock::report::{self, TableOptions};
use instrumented_lock::{Snapshot, registry};
use instrumented_lock_export::{folded, html, pprof};
use std::collections::BTreeMap;
use std::env;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

pub(crate) fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    if let Some(output) = &arguments.output {
        // Before the program has run for an hour.
        ending(output)?;
    }
    let folder = Folder::new()?;
    let words = words(arguments, &folder.0)?;
    pass_signals_on();
    let [name, rest @ ..] = &*arguments.program else {
        return Err(Failure::Input("there is no program to run".to_owned()));
    };
    let mut command = Command::new(name);
    command
        .args(rest)
        .env(registry::ENVIRONMENT_VARIABLE, words);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let _ = writeln!(io::stderr(), "lockstat: {}: {error}", name.display());
            let is_missing = error.kind() == ErrorKind::NotFound;
            return Ok(ExitCode::from(if is_missing { 127 } else { 126 }));
        }
    };
    let id = child.id();
    let status = wait(child).map_err(|error| Failure::Output(error.to_string()))?;
    show(&folder.0, id, arguments)?;
    Ok(ExitCode::from(code(status)))
}

/// As shells have it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// A folder that only this user may look into, and that goes when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let folder = env::temp_dir().join(format!("lockstat-{}", std::process::id()));
        let folder =
            std::path::absolute(folder).map_err(|error| Failure::Output(error.to_string()))?;
        let made = DirBuilder::new().mode(0o700).create(&folder);
        let failed = |error| Failure::Output(format!("{}: {error}", folder.display()));
        made.map_err(failed)?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is in the folder for such things.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What the variable says: what it said before, what the user adds, and where to write.
fn words(arguments: &RunArguments, folder: &Path) -> Result<String, Failure> {
    let path = folder.to_str().filter(|path| !path.contains([',', '%']));
    let Some(path) = path else {
        let why = format!(
            "{}: a comma or `%` in a path cannot be passed on",
            folder.display()
        );
        return Err(Failure::Input(why));
    };
    let mut words: Vec<String> = [
        env::var(registry::ENVIRONMENT_VARIABLE).unwrap_or_default(),
        arguments.set.clone(),
    ]
    .into_iter()
    .filter(|words| !words.trim().is_empty())
    .collect();
    words.push(format!("report={path}/%p.json"));
    words.push("on-signal=INT,on-signal=TERM,on-signal=HUP".to_owned());
    if let Some(every) = &arguments.every {
        words.push(format!("every={every},report={path}/%p.jsonl"));
    }
    Ok(words.join(","))
}

/// What the processes have left, by their numbers.
fn reports(folder: &Path) -> BTreeMap<u32, (Snapshot, bool)> {
    let mut reports = BTreeMap::new();
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    for file in files {
        let path = file.path();
        let number = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse().ok());
        let Some(number) = number else { continue };
        let is_whole = path.extension().is_some_and(|ending| ending == "json");
        if !is_whole && reports.contains_key(&number) {
            continue;
        }
        // A process that was killed while it wrote has left its intervals.
        if let Some(path) = path.to_str()
            && let Ok(snapshot) = input::read(path)
        {
            reports.insert(number, (snapshot, is_whole));
        }
    }
    reports
}

/// The program's report, then those of processes that it has started.
fn show(folder: &Path, program: u32, arguments: &RunArguments) -> Result<(), Failure> {
    let mut reports = reports(folder);
    let mut text = String::new();
    let own = reports.remove(&program);
    // A shell that runs one program is as good as the program.
    let own = own.or_else(|| match reports.len() {
        1 => reports.pop_first().map(|(_, report)| report),
        _ => None,
    });
    let colour =
        io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|no| no.is_empty());
    let options = TableOptions {
        colour,
        wide: false,
    };
    let add = |text: &mut String, heading: &str, (snapshot, is_whole): &(Snapshot, bool)| {
        if !is_whole {
            text.push_str(
                "lockstat: it did not end by itself; this is what it had written before\n",
            );
        }
        text.push_str(heading);
        text.push_str(&report::table_with(snapshot, options));
    };
    match &own {
        Some(own) => add(&mut text, "", own),
        None if reports.is_empty() => {
            let name = Path::new(&arguments.program[0]).display().to_string();
            text = format!(
                "lockstat: {name} has left no report: it uses no lock of instrumented-lock, or was \
                 ended before it could\n"
            );
        }
        None => {}
    }
    for (number, report) in &reports {
        add(&mut text, &format!("process {number}: "), report);
    }
    // The status is the program's, whether or not that can be written.
    let _ = io::stderr().write_all(text.as_bytes());
    let first = own.or_else(|| reports.into_values().next());
    match (&arguments.output, first) {
        (Some(output), Some((snapshot, _))) => {
            let bytes = ending(output)?(&snapshot);
            output::file(output, &bytes)
        }
        _ => Ok(()),
    }
}

/// What is written into a file.
type Made = fn(&Snapshot) -> Vec<u8>;

/// What a file's ending says.
fn ending(file: &Path) -> Result<Made, Failure> {
    let name = file.to_string_lossy();
    let forms: [(&str, Made); 6] = [
        (".txt", |snapshot| report::table(snapshot).into()),
        (".json", |snapshot| (report::json(snapshot) + "\n").into()),
        (".lock_stat", |snapshot| report::lock_stat(snapshot).into()),
        (".html", |snapshot| html::page(snapshot).into()),
        (".folded", |snapshot| folded::blame(snapshot).into()),
        (".pb.gz", pprof::mutex),
    ];
    let form = forms.iter().find(|(ending, _)| name.ends_with(ending));
    form.map(|(_, form)| *form).ok_or_else(|| {
        let endings: Vec<_> = forms.iter().map(|(ending, _)| *ending).collect();
        Failure::Input(format!(
            "{name}: a file ends with one of {}",
            endings.join(", ")
        ))
    })
}

/// The program; 0 before it has been started and after it has ended.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// Signals that came before it was started, a bit for each.
static EARLY: AtomicU64 = AtomicU64::new(0);

/// What is passed on.
const SIGNALS: [libc::c_int; 6] = [
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

extern "C" fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the system gives a handler that has asked for it something to read.
    let is_from_terminal = unsafe { (*info).si_code } == SENT_BY_KERNEL;
    // A terminal has sent it to the program itself.
    if is_from_terminal && matches!(signal, libc::SIGINT | libc::SIGQUIT) {
        return;
    }
    match PROGRAM.load(Ordering::Relaxed) {
        0 => {
            EARLY.fetch_or(1 << signal, Ordering::Relaxed);
        }
        // SAFETY: may be called in a handler. The program has not been waited for, so the number is its own.
        program => unsafe {
            libc::kill(program, signal);
        },
    }
}

/// `SI_KERNEL` of Linux; other systems say nothing of the kind, and there such signals come twice.
const SENT_BY_KERNEL: libc::c_int = 0x80;

fn pass_signals_on() {
    for signal in SIGNALS {
        // SAFETY: all zeros is a value of this structure, of integers and pointers that may be null.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = pass_on;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
        // SAFETY: asks; `before` is there to be written.
        unsafe { libc::sigaction(signal, ptr::null(), &raw mut before) };
        // What is ignored, as after `nohup`, stays ignored by both.
        if before.sa_sigaction != libc::SIG_IGN {
            // SAFETY: the handler does what a handler may: it looks at atomics and sends a signal.
            unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
        }
    }
}

/// Waits for the program. Its number is given up before it can become somebody else's.
fn wait(mut child: Child) -> io::Result<ExitStatus> {
    let id = libc::pid_t::try_from(child.id()).unwrap_or(0);
    PROGRAM.store(id, Ordering::Relaxed);
    let early = EARLY.swap(0, Ordering::Relaxed);
    for signal in SIGNALS.iter().filter(|signal| early >> **signal & 1 == 1) {
        // SAFETY: sends a signal to a child that has not been waited for.
        unsafe { libc::kill(id, *signal) };
    }
    loop {
        // SAFETY: all zeros is a value of this structure, of integers and pointers that may be null.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: `info` is there to be written.
        let waited = unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut info, options) };
        let error = io::Error::last_os_error();
        if waited == 0 || error.kind() != ErrorKind::Interrupted {
            break;
        }
    }
    PROGRAM.store(0, Ordering::Relaxed);
    child.wait()
}
