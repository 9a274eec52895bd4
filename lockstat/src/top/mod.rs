//! `top`: what the locks of a running program do, live.
//!
//! A thread asks the program and works intervals out, another one reads keys, a third one waits for signals;
//! all of them send to this one, which draws only when there is something new. `state` is what is shown and
//! what keys do to it, `rows` the list, `draw` and `details` the screens, `text` figures and columns.

mod details;
mod draw;
mod look;
mod rows;
mod state;
#[cfg(test)]
mod tests;
mod text;

use crate::input;
use crate::output::Failure;
use instrumented_lock::Snapshot;
use look::Look;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use state::{Figures, State, Todo};
use std::env;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How much longer than working an answer out takes it is waited for the next one: at most a thirtieth of a
/// processor goes into that, however many locks there are.
const REST: u32 = 30;

/// A program that does not answer is asked less and less often, down to this.
const LONGEST: Duration = Duration::from_secs(30);

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What this thread waits for.
enum Happening {
    Answer(Box<Result<Figures, String>>),
    Terminal(Event),
    /// The terminal is gone.
    Gone,
    #[cfg(unix)]
    Signal(i32),
}

/// What the thread that asks is told.
enum Ask {
    Pause,
    GoOn,
}

pub(crate) fn run(url: &str, every: Duration) -> Result<ExitCode, Failure> {
    if !url.starts_with("http") {
        let why = format!(
            "{url}: `top` looks at a running program, under its http:// address; `lockstat show` shows a file"
        );
        return Err(Failure::Input(why));
    }
    let first = input::read_url(url, PATIENCE)?;
    if !io::stdout().is_terminal() {
        let why = format!("`top` needs a terminal; `lockstat show {url}` prints a table");
        return Err(Failure::Input(why));
    }
    let (happens, happenings) = channel();
    let (ask, asks) = channel();
    watch_signals(&happens)?;
    let mut terminal = ratatui::try_init().map_err(|error| Failure::Output(error.to_string()))?;
    let figures = Figures {
        whole: first.clone(),
        interval: None,
    };
    let mut state = State::new(url, figures);
    let keys = happens.clone();
    thread::spawn(move || read_keys(&keys));
    let from = url.to_owned();
    thread::spawn(move || keep_asking(&from, every, first, &asks, &happens));
    let look = Look {
        has_colour: env::var_os("NO_COLOR").is_none_or(|no| no.is_empty()),
    };
    let ended = show(&mut terminal, &mut state, look, &happenings, &ask);
    // What cannot be restored is gone.
    let _ = ratatui::try_restore();
    ended.map_err(|error| Failure::Output(format!("the terminal: {error}")))
}

/// Draws whenever something has happened, until it is enough.
fn show(
    terminal: &mut ratatui::DefaultTerminal,
    state: &mut State,
    look: Look,
    happenings: &Receiver<Happening>,
    ask: &Sender<Ask>,
) -> io::Result<ExitCode> {
    loop {
        terminal.draw(|frame| draw::draw(frame, state, look))?;
        // Whatever has come by then is drawn at once.
        let Ok(first) = happenings.recv() else {
            return Ok(ExitCode::SUCCESS);
        };
        for happening in std::iter::once(first).chain(happenings.try_iter()) {
            match happening {
                Happening::Answer(answer) => state.answer(*answer),
                Happening::Gone => return Ok(ExitCode::SUCCESS),
                #[cfg(unix)]
                Happening::Signal(number) => {
                    let status = u8::try_from(128 + number).unwrap_or(1);
                    return Ok(ExitCode::from(status));
                }
                Happening::Terminal(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    match state.key(key) {
                        Todo::Draw => {}
                        // It ends where this one does.
                        Todo::Pause => drop(ask.send(Ask::Pause)),
                        Todo::GoOn => drop(ask.send(Ask::GoOn)),
                        Todo::Quit => return Ok(ExitCode::SUCCESS),
                    }
                }
                Happening::Terminal(_) => {}
            }
        }
    }
}

fn read_keys(happens: &Sender<Happening>) {
    loop {
        let (happening, is_last) = match event::read() {
            Ok(event) => (Happening::Terminal(event), false),
            Err(_) => (Happening::Gone, true),
        };
        if happens.send(happening).is_err() || is_last {
            return;
        }
    }
}

/// Ends as usual, with the terminal as it was, when a signal says so.
fn watch_signals(happens: &Sender<Happening>) -> Result<(), Failure> {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        let signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]);
        let mut signals = signals.map_err(|error| Failure::Output(error.to_string()))?;
        let happens = happens.clone();
        thread::spawn(move || {
            for number in signals.forever() {
                if happens.send(Happening::Signal(number)).is_err() {
                    return;
                }
            }
        });
    }
    #[cfg(not(unix))]
    let _ = happens;
    Ok(())
}

/// Asks the program again and again, and works out what has happened between two answers.
fn keep_asking(
    url: &str,
    every: Duration,
    first: Snapshot,
    asks: &Receiver<Ask>,
    happens: &Sender<Happening>,
) {
    let mut before = first;
    let (mut rest, mut failures) = (every, 0);
    loop {
        if !wait(rest, asks) {
            return;
        }
        let started = Instant::now();
        let answer = match input::fetch(url, PATIENCE) {
            Ok(text) => {
                let fetched = Instant::now();
                let answer = input::parse(&text).map(|now| figures(&mut before, now));
                rest = every.max(fetched.elapsed() * REST);
                answer
            }
            Err(why) => Err(why),
        };
        if answer.is_ok() {
            failures = 0;
        } else {
            failures += 1;
            rest = after(every, failures);
        }
        // As often as asked for, however long the answer took.
        rest = rest.saturating_sub(started.elapsed()).max(every / 2);
        let answer = answer.map_err(|why| format!("{url}: {why}"));
        if happens.send(Happening::Answer(Box::new(answer))).is_err() {
            return;
        }
    }
}

/// How long it is waited after so many failures in a row.
fn after(every: Duration, failures: u32) -> Duration {
    let longer = every.saturating_mul(1 << failures.min(10));
    longer.min(LONGEST.max(every))
}

fn figures(before: &mut Snapshot, now: Snapshot) -> Figures {
    // A process that has been started since begins anew.
    let is_same = now.elapsed() >= before.elapsed();
    let interval = is_same.then(|| now.since(before));
    *before = now.clone();
    Figures {
        whole: now,
        interval,
    }
}

/// Waits for so long, and as long as there is a pause. Whether there is anybody left to ask for.
fn wait(rest: Duration, asks: &Receiver<Ask>) -> bool {
    let until = Instant::now() + rest;
    loop {
        match asks.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Ask::Pause) => loop {
                match asks.recv() {
                    Ok(Ask::GoOn) => return true,
                    Ok(Ask::Pause) => {}
                    Err(_) => return false,
                }
            },
            Ok(Ask::GoOn) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}
