//! What is shown, and what keys do to it. Knows nothing of terminals.

use super::rows::{self, Choice, Column, Key, Row};
use instrumented_lock::{LockSnapshot, Snapshot};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a program has answered: the whole run, and the time since the answer before.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub(super) whole: Snapshot,
    /// `None` of the first answer of a process.
    pub(super) interval: Option<Snapshot>,
}

/// Which screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// All locks.
    Locks,
    /// The chosen lock: its lines, who waits for whom, what is in flight.
    Lock,
    /// What is in flight, of all locks.
    InFlight,
    /// What the columns and the keys are.
    Help,
}

/// What the program around this has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Todo {
    Draw,
    Pause,
    GoOn,
    Quit,
}

pub(super) struct State {
    /// Where the figures come from.
    pub(super) url: String,
    pub(super) figures: Figures,
    /// Why there are no newer ones.
    pub(super) problem: Option<String>,
    pub(super) view: View,
    /// The one before the help.
    before_help: View,
    pub(super) choice: Choice,
    /// Whether keys are letters of the filter.
    pub(super) is_typing: bool,
    pub(super) is_paused: bool,
    /// Figures of the whole run in place of the last interval.
    pub(super) is_whole: bool,
    /// `None`: whatever comes first.
    pub(super) chosen: Option<Key>,
    /// The first line that is shown, and how many there is room for, as it was drawn last.
    pub(super) scroll: usize,
    pub(super) room: usize,
}

impl State {
    pub(super) fn new(url: &str, figures: Figures) -> Self {
        State {
            url: url.to_owned(),
            figures,
            problem: None,
            view: View::Locks,
            before_help: View::Locks,
            choice: Choice {
                by: Column::Waited,
                is_reversed: false,
                filter: String::new(),
            },
            is_typing: false,
            is_paused: false,
            is_whole: false,
            chosen: None,
            scroll: 0,
            room: 1,
        }
    }

    /// An answer, or why there is none.
    pub(super) fn answer(&mut self, answer: Result<Figures, String>) {
        match answer {
            // Asked for before the pause began.
            Ok(_) if self.is_paused => {}
            Ok(figures) => {
                self.figures = figures;
                self.problem = None;
            }
            Err(why) => self.problem = Some(why),
        }
    }

    /// The last interval, or the whole run where there is none or it is asked for.
    pub(super) fn recent(&self) -> &Snapshot {
        let interval = self.figures.interval.as_ref();
        interval
            .filter(|_| !self.is_whole)
            .unwrap_or(&self.figures.whole)
    }

    pub(super) fn rows(&self) -> Vec<Row<'_>> {
        rows::rows(&self.figures.whole, self.recent(), &self.choice)
    }

    /// The number of the chosen row.
    pub(super) fn chosen_among(&self, rows: &[Row<'_>]) -> usize {
        let chosen = self.chosen.as_ref();
        let at = chosen.and_then(|key| rows.iter().position(|row| row.is(key)));
        at.unwrap_or(0)
    }

    /// The chosen lock, though it may be filtered out by now.
    pub(super) fn lock(&self) -> Option<&LockSnapshot> {
        let key = self.chosen.as_ref()?;
        let is_it = |lock: &&LockSnapshot| {
            lock.name() == key.lock && lock.declared_at() == &key.declared_at
        };
        self.recent().locks().iter().find(is_it)
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Todo {
        let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if with_control => Todo::Quit,
            _ if with_control || key.modifiers.contains(KeyModifiers::ALT) => Todo::Draw,
            code if self.is_typing => {
                self.letter(code);
                Todo::Draw
            }
            KeyCode::Char('q') => Todo::Quit,
            KeyCode::Char('p' | ' ') => {
                self.is_paused = !self.is_paused;
                if self.is_paused {
                    Todo::Pause
                } else {
                    Todo::GoOn
                }
            }
            code => {
                self.command(code);
                Todo::Draw
            }
        }
    }

    fn letter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.choice.filter.clear();
            }
            KeyCode::Backspace => {
                self.choice.filter.pop();
            }
            KeyCode::Char(c) => self.choice.filter.push(c),
            _ => {}
        }
    }

    fn command(&mut self, code: KeyCode) {
        match code {
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => {
                let (next, before) = match self.view {
                    View::Help => (self.before_help, View::Locks),
                    view => (View::Help, view),
                };
                (self.view, self.before_help, self.scroll) = (next, before, 0);
            }
            KeyCode::Char('i') => {
                let next = match self.view {
                    View::InFlight => View::Locks,
                    _ => View::InFlight,
                };
                self.show(next);
            }
            KeyCode::Char('t') => self.is_whole = !self.is_whole,
            KeyCode::Esc if self.view == View::Locks => self.choice.filter.clear(),
            KeyCode::Esc | KeyCode::Backspace => {
                let next = match self.view {
                    View::Help => self.before_help,
                    _ => View::Locks,
                };
                self.show(next);
            }
            KeyCode::Down | KeyCode::Char('j') => self.step(1, true),
            KeyCode::Up | KeyCode::Char('k') => self.step(1, false),
            KeyCode::PageDown => self.step(self.room, true),
            KeyCode::PageUp => self.step(self.room, false),
            KeyCode::Home | KeyCode::Char('g') => self.step(usize::MAX, false),
            KeyCode::End | KeyCode::Char('G') => self.step(usize::MAX, true),
            _ if self.view != View::Locks => {}
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Right | KeyCode::Char('>' | 'l') => self.sort_by_next(1),
            KeyCode::Left | KeyCode::Char('<') => self.sort_by_next(Column::ALL.len() - 1),
            KeyCode::Char('r') => self.choice.is_reversed = !self.choice.is_reversed,
            KeyCode::Enter => {
                let rows = self.rows();
                let row = rows.get(self.chosen_among(&rows));
                if let Some(key) = row.map(Row::key) {
                    self.chosen = Some(key);
                    self.show(View::Lock);
                }
            }
            _ => {}
        }
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.scroll = 0;
    }

    /// Moves the choice in the list, and else the text.
    fn step(&mut self, by: usize, is_down: bool) {
        let next = |at: usize| {
            if is_down {
                at.saturating_add(by)
            } else {
                at.saturating_sub(by)
            }
        };
        if self.view != View::Locks {
            // Drawing knows where it ends.
            self.scroll = next(self.scroll);
            return;
        }
        let rows = self.rows();
        let last = rows.len().saturating_sub(1);
        let row = rows.get(next(self.chosen_among(&rows)).min(last));
        if let Some(key) = row.map(Row::key) {
            self.chosen = Some(key);
        }
    }

    fn sort_by_next(&mut self, by: usize) {
        let at = (self.choice.by as usize + by) % Column::ALL.len();
        self.choice.by = Column::ALL[at];
        self.choice.is_reversed = false;
    }
}
