//! Reports that no code asks for: when the program ends, every so often, at a signal. What the
//! [environment](crate::registry::ENVIRONMENT_VARIABLE) asks for is begun when the first lock is used.
//!
//! | when | who |
//! |---|---|
//! | the program ends | `atexit`, on the thread that ends it |
//! | an interval is over, a signal has come | a thread of our own, which `atexit` makes finish first |
//! | a timeline is over | another one, for which `atexit` waits |
//!
//! A signal handler may do next to nothing: it sets a flag, at which the thread looks. A child of `fork` has
//! no such thread; it has the same `atexit`, and finds out by the number of the process that it is a child.

use crate::brief;
use crate::collect;
use crate::report;
use crate::settings::{Destination, ENVIRONMENT_VARIABLE, Form, Reports, Signal};
use crate::snapshot::Snapshot;
use crate::timeline::{self, Recording};
use crate::watch::{self, Limits};
use parking_lot::Mutex;
use std::fs::{self, File};
use std::io::{self, Write};
use std::panic;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often the thread looks whether a signal has come.
const LOOK: Duration = Duration::from_millis(100);

/// How long the end of a program waits for a line that is being written.
const PATIENCE: Duration = Duration::from_secs(2);

/// The same of a trace, which takes some tenths of a second where nobody else writes.
const PATIENCE_FOR_TRACE: Duration = Duration::from_secs(60);

/// What has been asked for; set once.
static ASKED_FOR: OnceLock<Unattended> = OnceLock::new();

/// The signals that have asked for a report since the thread has looked, a bit for each. Relaxed: nothing else
/// is told by it.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// Reports that are under way.
struct Unattended {
    reports: Reports,
    /// What names are relative to.
    folder: PathBuf,
    /// The process that they are of; its children are others.
    process: u32,
    intervals: Mutex<Intervals>,
    /// The timeline that is being recorded. Locked while it is written.
    timeline: Mutex<Option<Recording>>,
}

/// What the lines of intervals have said so far.
struct Intervals {
    /// Nothing has been written, so the file is begun.
    is_first: bool,
    /// Where the next line begins; `None` where none is written any more.
    last: Option<Snapshot>,
}

impl Reports {
    /// Begins them.
    pub(crate) fn begin(self) {
        if let Some(limit) = self.watch
            && let Err(error) = watch::start(Limits::of_all(limit))
        {
            say(&format!("nobody watches: {error}"));
        }
        let unattended = Unattended {
            folder: std::env::current_dir().unwrap_or_default(),
            process: process::id(),
            intervals: Mutex::new(Intervals {
                is_first: true,
                last: self.every.map(|_| collect::snapshot()),
            }),
            timeline: Mutex::new(None),
            reports: self,
        };
        if ASKED_FOR.set(unattended).is_err() {
            return;
        }
        let Some(unattended) = ASKED_FOR.get() else {
            return;
        };
        // SAFETY: the function may be called at any time, and unwinds nowhere.
        if unsafe { libc::atexit(at_exit) } != 0 {
            say("there is no room to be told when the program ends");
        }
        let reports = &unattended.reports;
        let heard: Vec<bool> = reports.on_signal.iter().map(|&on| listen(on)).collect();
        let is_heard = heard.contains(&true);
        if is_heard || reports.every.is_some() {
            spawn("instrumented-lock", move || unattended.attend(is_heard));
        }
        if let Some((_, length)) = reports.timeline {
            unattended.begin_timeline(length);
        }
    }
}

extern "C" fn at_exit() {
    // A signal handler may end a program in the middle of the library, whose locks are then taken.
    if !brief::is_inside() && panic::catch_unwind(finish).is_err() {
        say("the report at the end panicked");
    }
}

fn finish() {
    let Some(unattended) = ASKED_FOR.get() else {
        return;
    };
    let is_child = process::id() != unattended.process;
    if !is_child && unattended.reports.every.is_some() {
        match unattended.intervals.try_lock_for(PATIENCE) {
            Some(mut intervals) => {
                unattended.add_interval(&mut intervals);
                intervals.last = None;
            }
            None => say("the last interval is missing: one was being written for two seconds"),
        }
    }
    if !is_child {
        unattended.end_timeline();
    }
    unattended.report(is_child, &unattended.reports.to);
}

impl Unattended {
    /// Writes a report to each place but the file of intervals.
    fn report(&self, is_child: bool, to: &[Destination]) {
        if to.is_empty() {
            return;
        }
        let snapshot = collect::snapshot();
        for destination in to {
            match destination {
                Destination::Terminal => {
                    let table = report::table(&snapshot);
                    let whose = if is_child {
                        format!("process {}, a child of {}: ", process::id(), self.process)
                    } else {
                        String::new()
                    };
                    // What cannot be said cannot be complained about.
                    let _ = to_stderr(&format!("{whose}{table}"));
                }
                Destination::File(_, Form::JsonLines) if self.reports.every.is_some() => {}
                Destination::File(name, form) => {
                    let path = self.path(name, is_child);
                    let text = match form {
                        Form::Table => report::table(&snapshot),
                        Form::LockStat => report::lock_stat(&snapshot),
                        Form::Json | Form::JsonLines => report::json(&snapshot) + "\n",
                    };
                    complain(&path, &fs::write(&path, text));
                }
            }
        }
    }

    /// Adds the time since the last line.
    fn add_interval(&self, intervals: &mut Intervals) {
        let Some(last) = &intervals.last else {
            return;
        };
        let now = collect::snapshot();
        let line = report::json(&now.since(last).without_idle()) + "\n";
        let path = self.path(self.reports.file_of_intervals(), false);
        let mut options = File::options();
        options.create(true);
        // What a process before this one has left is not continued.
        if intervals.is_first {
            options.write(true).truncate(true);
        } else {
            options.append(true);
        }
        let written = options
            .open(&path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        if complain(&path, &written) {
            intervals.last = Some(now);
            intervals.is_first = false;
        } else {
            // Said once, not every ten seconds.
            intervals.last = None;
        }
    }

    /// The file that is meant by a name.
    fn path(&self, name: &str, is_child: bool) -> PathBuf {
        let number = process::id().to_string();
        let mut name = name.replace("%p", &number);
        if is_child && !name.contains(&number) {
            let ending = name.rfind('.').unwrap_or(name.len());
            name.insert_str(ending, &format!(".{number}"));
        }
        self.folder.join(name)
    }

    /// Begins a timeline, and a thread that ends it after so long.
    fn begin_timeline(&'static self, length: Duration) {
        match timeline::start() {
            Ok(recording) => *self.timeline.lock() = Some(recording),
            Err(error) => return say(&format!("`timeline`: {error}")),
        }
        spawn("lock-timeline", move || {
            thread::sleep(length);
            self.end_timeline();
        });
    }

    /// Writes the timeline, if that has not been done; if it is being done, waits for that.
    fn end_timeline(&self) {
        let Some(mut timeline) = self.timeline.try_lock_for(PATIENCE_FOR_TRACE) else {
            return say("`timeline`: it was being written for a minute");
        };
        if let (Some(recording), Some((file, _))) = (timeline.take(), &self.reports.timeline) {
            let path = self.path(file, false);
            let file = File::create(&path);
            let timeline = recording.stop();
            complain(&path, &file.and_then(|file| timeline.write_trace(file)));
        }
    }

    fn attend(&self, is_heard: bool) {
        let mut next = self.reports.every.map(|every| Instant::now() + every);
        loop {
            let left = next.map(|next| next.saturating_duration_since(Instant::now()));
            let look = is_heard.then_some(LOOK);
            let pause = left.into_iter().chain(look).min().unwrap_or(LOOK);
            thread::sleep(pause);
            let asked = ASKED.swap(0, Ordering::Relaxed);
            if let Some(deadly) = deadly(asked) {
                finish();
                die_of(deadly);
            } else if asked != 0 {
                let to: &[_] = match &self.reports.to[..] {
                    [] => &[Destination::Terminal],
                    to => to,
                };
                self.report(false, to);
            }
            if let Some((at, every)) = next.zip(self.reports.every)
                && at <= Instant::now()
            {
                self.add_interval(&mut self.intervals.lock());
                // Where the machine slept, one line for all of it.
                let after = Instant::now();
                next = Some((at + every).max(after + every / 2));
            }
        }
    }
}

/// Makes a thread, which no signal interrupts.
fn spawn(name: &str, attend: impl FnOnce() + Send + 'static) {
    let spawned = without_signals(|| {
        let builder = thread::Builder::new().name(name.to_owned());
        builder.spawn(attend)
    });
    if let Err(error) = spawned {
        say(&format!("there is no thread `{name}`: {error}"));
    }
}

/// One line on standard error.
fn say(what: &str) {
    let _ = to_stderr(&format!("{ENVIRONMENT_VARIABLE}: {what}\n"));
}

/// Says what has gone wrong with a file. Returns whether nothing has.
fn complain(path: &Path, written: &io::Result<()>) -> bool {
    if let Err(error) = written {
        say(&format!("`{}`: {error}", path.display()));
    }
    written.is_ok()
}

/// Not by the standard library's lock, which in a child of `fork` may be taken for good.
#[cfg(unix)]
fn to_stderr(text: &str) -> io::Result<()> {
    use std::os::fd::FromRawFd as _;
    // SAFETY: the number is that of standard error, which stays open: the file is not dropped. Where the
    // program has closed it, writing fails.
    let file = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDERR_FILENO) });
    (&*file).write_all(text.as_bytes())
}

#[cfg(not(unix))]
fn to_stderr(text: &str) -> io::Result<()> {
    io::stderr().write_all(text.as_bytes())
}

#[cfg(unix)]
fn number_of(signal: Signal) -> libc::c_int {
    match signal {
        Signal::Usr1 => libc::SIGUSR1,
        Signal::Usr2 => libc::SIGUSR2,
        Signal::Int => libc::SIGINT,
        Signal::Term => libc::SIGTERM,
        Signal::Hup => libc::SIGHUP,
    }
}

/// Has a bit of [`ASKED`] set at a signal. Returns whether it is.
#[cfg(unix)]
fn listen(signal: Signal) -> bool {
    extern "C" fn handler(signal: libc::c_int) {
        ASKED.fetch_or(1 << signal, Ordering::Relaxed);
    }
    let number = number_of(signal);
    // SAFETY: all zeros is a value of this structure, of integers and pointers that may be null.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut known: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks only; `known` is there to be written.
    let asked = unsafe { libc::sigaction(number, std::ptr::null(), &raw mut known) };
    if asked != 0 || known.sa_sigaction != libc::SIG_DFL {
        // A program that handles what would end it ends as it likes, and reports then.
        if matches!(signal, Signal::Usr1 | Signal::Usr2) {
            say("`on-signal`: the program handles that signal itself");
        }
        return false;
    }
    let handler: extern "C" fn(libc::c_int) = handler;
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the handler changes an atomic, which may be done at any time.
    let set = unsafe { libc::sigaction(number, &raw const action, std::ptr::null_mut()) };
    if set != 0 {
        say(&format!("`on-signal`: {}", io::Error::last_os_error()));
    }
    set == 0
}

/// The signal at which the program is to end, if one has come.
#[cfg(unix)]
fn deadly(asked: u64) -> Option<libc::c_int> {
    let deadly = [Signal::Int, Signal::Term, Signal::Hup].map(number_of);
    deadly.into_iter().find(|signal| asked >> signal & 1 == 1)
}

/// Ends the process as the signal would have done.
#[cfg(unix)]
fn die_of(signal: libc::c_int) {
    // SAFETY: all zeros is a value of this structure, of integers.
    let mut only: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: gives the signal back to the system, lets it through to this thread, which has blocked all, and
    // sends it there. The set is there to be written and read.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::sigemptyset(&raw mut only);
        libc::sigaddset(&raw mut only, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
        libc::raise(signal);
    }
}

#[cfg(not(unix))]
fn listen(_: Signal) -> bool {
    say("`on-signal`: there are no such signals on this system");
    false
}

#[cfg(not(unix))]
fn deadly(_: u64) -> Option<i32> {
    None
}

#[cfg(not(unix))]
fn die_of(_: i32) {}

/// A thread that is made inside is not interrupted: a program that blocks signals in all its threads before it
/// makes them does not know of this one.
#[cfg(unix)]
fn without_signals<T>(make: impl FnOnce() -> T) -> T {
    // SAFETY: all zeros is a value of this structure, of integers.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: fills the set that it is given.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: both sets are there, the one filled, the other to be written.
    let blocked =
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) } == 0;
    let result = make();
    if blocked {
        // SAFETY: `before` has been written by the call above.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        }
    }
    result
}

#[cfg(not(unix))]
fn without_signals<T>(make: impl FnOnce() -> T) -> T {
    make()
}
