//! What is on the screen, as golden files, and what keys do.

use super::draw::draw;
use super::look::Look;
use super::rows::Column;
use super::state::{Figures, State, Todo, View};
use super::{after, figures, wait};
use instrumented_lock::{Snapshot, report};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

#[path = "../../../instrumented-lock-export/tests/support/mod.rs"]
mod support;

/// A program that has been asked twice, at two seconds, and at four.
fn twice(snapshot: &Snapshot) -> State {
    let figures = Figures {
        whole: snapshot.then(snapshot),
        interval: Some(snapshot.clone()),
    };
    State::new("http://127.0.0.1:6070", figures)
}

fn press(state: &mut State, keys: &[KeyCode]) {
    for key in keys {
        state.key(KeyEvent::new(*key, KeyModifiers::NONE));
    }
}

fn letters(text: &str) -> Vec<KeyCode> {
    text.chars().map(KeyCode::Char).collect()
}

fn buffer(state: &mut State, (width, height): (u16, u16), has_colour: bool) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let look = Look { has_colour };
    terminal.draw(|frame| draw(frame, state, look)).unwrap();
    terminal.backend().buffer().clone()
}

fn screen(state: &mut State, size: (u16, u16)) -> String {
    let buffer = buffer(state, size, true);
    let rows = buffer.content().chunks(usize::from(size.0).max(1));
    let rows = rows.map(|cells| {
        cells
            .iter()
            .map(ratatui::buffer::Cell::symbol)
            .collect::<String>()
    });
    rows.map(|row| row.trim_end().to_owned() + "\n").collect()
}

/// With `BLESS` in the environment the file is written anew; read the difference.
fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} has changed; it is now:\n{text}");
}

#[test]
fn screens_are_as_recorded() {
    let mut all = String::new();
    let mut add = |what: &str, keys: &[KeyCode], size: (u16, u16)| {
        let mut state = twice(&support::known());
        press(&mut state, keys);
        let _ = writeln!(all, "== {what}, {} by {}", size.0, size.1);
        all.push_str(&screen(&mut state, size));
    };
    add("the list", &[], (150, 12));
    add("the list", &[], (80, 12));
    add("the list", &[], (40, 12));
    add("the list", &[], (20, 3));
    let by_mode = [&[KeyCode::Left; 3][..], &letters("r")].concat();
    add("by the mode, the other way round", &by_mode, (80, 12));
    add(
        "by what there is no room for",
        &[KeyCode::Left; 6],
        (80, 12),
    );
    add("a filter", &letters("/journal"), (80, 8));
    let nothing = [letters("/nothing"), vec![KeyCode::Enter]].concat();
    add("a filter that nothing goes with", &nothing, (80, 8));
    add("a pause and the whole run", &letters("pt"), (80, 8));
    add("a lock", &[KeyCode::Down, KeyCode::Enter], (110, 30));
    add("a lock", &[KeyCode::Down, KeyCode::Enter], (60, 30));
    add("what is in flight", &letters("i"), (110, 8));
    add("the help", &letters("?"), (80, 36));
    assert_golden("top.txt", &all);
}

#[test]
fn a_state_without_an_interval_shows_the_whole_run() {
    let known = support::known();
    let first = Figures {
        whole: known.clone(),
        interval: None,
    };
    let mut state = State::new("http://[::1]:1/", first);
    assert!(screen(&mut state, (80, 10)).starts_with("lockstat [::1]:1 · all of 2 s\n"));
    // The program has gone on for two seconds with the same again.
    let mut before = known.clone();
    let next = figures(&mut before, known.then(&known));
    assert_eq!(
        next.interval
            .as_ref()
            .unwrap()
            .lock("Store::index")
            .unwrap()
            .read()
            .acquisitions(),
        4
    );
    state.answer(Ok(next));
    assert!(screen(&mut state, (80, 10)).starts_with("lockstat [::1]:1 · last "));
    // It has been started again.
    let again = figures(&mut before, known.clone());
    assert!(again.interval.is_none());
}

#[test]
fn what_goes_wrong_is_said_below_and_the_figures_stay() {
    let mut state = twice(&support::known());
    state.answer(Err("http://127.0.0.1:6070: Connection refused".to_owned()));
    let shown = screen(&mut state, (80, 10));
    assert!(
        shown.ends_with("\nhttp://127.0.0.1:6070: Connection refused\n"),
        "{shown}"
    );
    assert!(shown.contains("Store::index"));
    let (two, most) = (Duration::from_secs(2), Duration::from_secs(30));
    assert_eq!(
        [1, 2, 9].map(|failures| after(two, failures)),
        [2 * two, 4 * two, most]
    );
    assert_eq!(after(2 * most, 1), 2 * most);
}

#[test]
fn the_list_is_sorted_by_any_column_and_the_choice_stays_with_its_lock() {
    let mut state = twice(&support::many(30));
    press(&mut state, &[KeyCode::Down; 3]);
    let chosen = state.chosen.clone().unwrap();
    for _ in 0..Column::ALL.len() {
        for _ in 0..2 {
            let rows = state.rows();
            let at = state.choice.by as usize;
            let shown: Vec<_> = rows
                .iter()
                .map(|row| row.cells().nth(at).unwrap().to_owned())
                .collect();
            assert_eq!(shown.len(), 30);
            if state.choice.by == Column::Lock {
                let is_sorted = if state.choice.is_reversed {
                    shown.is_sorted_by(|a, b| a >= b)
                } else {
                    shown.is_sorted()
                };
                assert!(is_sorted, "{shown:?}");
            }
            assert!(rows[state.chosen_among(&rows)].is(&chosen));
            press(&mut state, &letters("r"));
        }
        press(&mut state, &[KeyCode::Right]);
    }
    assert_eq!(state.choice.by, Column::Waited);
    let rows = state.rows();
    let waited: Vec<_> = rows.iter().map(|row| row.lock.write().waited()).collect();
    assert!(waited.is_sorted_by(|a, b| a >= b), "{waited:?}");
    // As far down as it goes, and it can be seen.
    press(&mut state, &[KeyCode::End]);
    let last = state.chosen.clone().unwrap();
    assert!(screen(&mut state, (42, 10)).contains(&last.lock));
    press(&mut state, &[KeyCode::Home]);
    assert!(!screen(&mut state, (42, 10)).contains(&last.lock));
}

#[test]
fn keys_say_what_is_to_be_done() {
    let mut state = twice(&support::known());
    let key = |state: &mut State, c: char, with: KeyModifiers| {
        state.key(KeyEvent::new(KeyCode::Char(c), with))
    };
    let (none, control) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
    assert_eq!(key(&mut state, 'p', none), Todo::Pause);
    state.answer(Ok(Figures {
        whole: support::many(1),
        interval: None,
    }));
    assert!(
        state.figures.interval.is_some(),
        "an answer in a pause is not shown"
    );
    assert_eq!(key(&mut state, 'p', none), Todo::GoOn);
    assert_eq!(key(&mut state, 'q', none), Todo::Quit);
    // In a filter it is a letter.
    key(&mut state, '/', none);
    assert_eq!(key(&mut state, 'q', none), Todo::Draw);
    assert_eq!(state.choice.filter, "q");
    assert_eq!(key(&mut state, 'c', control), Todo::Quit);
    press(&mut state, &[KeyCode::Esc, KeyCode::Enter]);
    assert_eq!((state.view, state.choice.filter.as_str()), (View::Lock, ""));
    press(&mut state, &letters("??"));
    assert_eq!(state.view, View::Lock);
    press(
        &mut state,
        &[KeyCode::Char('?'), KeyCode::Esc, KeyCode::Esc],
    );
    assert_eq!(state.view, View::Locks);
}

#[test]
fn without_colours_there_are_none() {
    let mut state = twice(&support::known());
    press(&mut state, &letters("p"));
    for view in ["", "i", "?"] {
        press(&mut state, &letters(view));
        let has_colour = |with| {
            let buffer = buffer(&mut twice(&support::known()), (100, 20), with);
            buffer
                .content()
                .iter()
                .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
        };
        assert!(has_colour(true) && !has_colour(false), "{view}");
    }
}

#[test]
fn a_pause_lasts_until_it_is_over() {
    let (ask, asks) = channel();
    let start = Instant::now();
    assert!(wait(Duration::from_millis(5), &asks));
    ask.send(super::Ask::Pause).unwrap();
    ask.send(super::Ask::GoOn).unwrap();
    assert!(
        wait(Duration::from_secs(3600), &asks),
        "asked at once after a pause"
    );
    drop(ask);
    assert!(!wait(Duration::from_secs(3600), &asks));
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_thousand_locks_are_drawn_in_a_few_milliseconds() {
    let mut state = twice(&support::many(1000));
    let text = report::json(&support::many(1000));
    let start = Instant::now();
    let shown = screen(&mut state, (200, 50));
    let drawn = start.elapsed();
    println!("{drawn:?} to draw; {} bytes of JSON", text.len());
    assert!(shown.contains("storage::module_"));
    assert!(drawn < Duration::from_secs(1), "{drawn:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_snapshot_fits_any_terminal(
        snapshot in support::snapshots(),
        keys in prop::collection::vec(prop_oneof![
            prop::sample::select(&[
                KeyCode::Enter, KeyCode::Esc, KeyCode::Left, KeyCode::Right, KeyCode::Up, KeyCode::Down,
                KeyCode::PageDown, KeyCode::End, KeyCode::Home, KeyCode::Backspace,
            ][..]),
            prop::sample::select(&[' ', '/', '?', 'i', 'r', 't', 'x'][..]).prop_map(KeyCode::Char),
        ], 0..12),
        width in 0..130u16,
        height in 0..40u16,
    ) {
        let mut state = twice(&snapshot);
        for key in &keys {
            press(&mut state, std::slice::from_ref(key));
            let buffer = buffer(&mut state, (width, height), true);
            let controls = |cell: &ratatui::buffer::Cell| cell.symbol().chars().any(char::is_control);
            prop_assert!(!buffer.content().iter().any(controls));
        }
    }
}
