//! The screens.

use super::details;
use super::look::Look;
use super::rows::{Column, Row};
use super::state::{State, View};
use super::text::{self, Head, line};
use instrumented_lock::{LockSnapshot, ModeSnapshot, Snapshot, report};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Draws all of it, and moves the text so that there is something to see.
pub(super) fn draw(frame: &mut Frame<'_>, state: &mut State, look: Look) {
    let area = frame.area();
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    // A title, a summary, a hint; where it is very low, the body only.
    let around = if height >= 6 { 3 } else { 0 };
    let room = height - around;
    let mut lines = Vec::with_capacity(height);
    if around > 0 {
        lines.extend([title(state, width, look), summary(state, width)]);
    }
    let body = match state.view {
        View::Locks => list(state, width, room, look),
        view => {
            let body = match view {
                View::Lock => details::of_lock(state, width, look),
                View::InFlight => details::in_flight(state, width, look),
                _ => details::help(look, width),
            };
            state.room = room;
            state.scroll = state.scroll.min(body.len().saturating_sub(room));
            body.into_iter().skip(state.scroll).take(room).collect()
        }
    };
    let used = body.len();
    lines.extend(body);
    lines.extend((used..room).map(|_| Line::default()));
    if around > 0 {
        lines.push(foot(state, width, look));
    }
    let all = Rect::new(area.x, area.y, area.width, area.height);
    frame.render_widget(Paragraph::new(lines), all);
}

/// Parts of a line, as many as there is room for.
fn joined(parts: impl IntoIterator<Item = String>, width: usize) -> String {
    let mut out = String::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let between = if out.is_empty() { "" } else { " · " };
        if text::width_of(&out) + text::width_of(between) + text::width_of(&part) > width {
            if out.is_empty() {
                out = text::tail(&part, width);
            }
            break;
        }
        out.push_str(between);
        out.push_str(&part);
    }
    out
}

fn title(state: &State, width: usize, look: Look) -> Line<'static> {
    let whole = &state.figures.whole;
    let host = state.url.trim_start_matches("http://");
    let mut parts = vec![format!("lockstat {}", host.trim_end_matches('/'))];
    let figures = match &state.figures.interval {
        Some(interval) if !state.is_whole => format!("last {}", report::time(interval.elapsed())),
        _ => format!("all of {}", report::time(whole.elapsed())),
    };
    parts.push(figures);
    if state.is_paused {
        parts.push("PAUSED".to_owned());
    }
    if !whole.is_enabled() {
        parts.push("recording is off".to_owned());
    }
    if !state.choice.filter.is_empty() && !state.is_typing {
        parts.push(format!("only `{}`", state.choice.filter));
    }
    let text = joined(parts, width);
    let is_odd = state.is_paused || !whole.is_enabled();
    Line::styled(text, if is_odd { look.warning() } else { look.head() })
}

fn summary(state: &State, width: usize) -> Line<'static> {
    let recent: &Snapshot = state.recent();
    let seconds = recent.elapsed().as_secs_f64().max(1e-9);
    let modes = || recent.locks().iter().flat_map(LockSnapshot::modes);
    let sum = |of: fn(&ModeSnapshot) -> u64| modes().map(|(_, mode)| of(mode)).sum::<u64>();
    let (acquired, contended) = (
        sum(ModeSnapshot::acquisitions),
        sum(ModeSnapshot::contended),
    );
    let waited = modes().map(|(_, mode)| mode.waited()).sum();
    let share = contended as f64 / acquired.max(1) as f64;
    let parts = [
        format!("{} acquisitions/s", text::rate(acquired as f64 / seconds)),
        format!("{} contended", text::percent(share.min(1.0))),
        format!("{} waited/s", text::share(waited, seconds)),
        format!(
            "{} waiting",
            report::count(sum(|mode| mode.waiting().count()))
        ),
        format!(
            "{} holding",
            report::count(sum(|mode| mode.holding().count()))
        ),
    ];
    Line::raw(joined(parts, width))
}

fn foot(state: &State, width: usize, look: Look) -> Line<'static> {
    if state.is_typing {
        let text = format!("filter: {}_", state.choice.filter);
        return Line::styled(text::tail(&text, width), look.head());
    }
    if let Some(problem) = &state.problem {
        let text: String = problem.chars().take(width).collect();
        return Line::styled(text.replace(char::is_control, " "), look.warning());
    }
    let hints: &[&str] = match state.view {
        View::Locks => &[
            "? help",
            "q quit",
            "enter a lock",
            "←→ sort",
            "/ filter",
            "p pause",
            "i in flight",
            "t all or last",
            "r reverse",
        ],
        View::Help => &["esc back", "q quit", "↑↓ move"],
        View::Lock | View::InFlight => &["esc back", "? help", "q quit", "↑↓ move", "p pause"],
    };
    Line::raw(joined(hints.iter().map(|&hint| hint.to_owned()), width))
}

fn list(state: &mut State, width: usize, room: usize, look: Look) -> Vec<Line<'static>> {
    let heads = Column::ALL.map(Column::head);
    let rows = state.rows();
    let at = state.chosen_among(&rows);
    let room = room.saturating_sub(1).max(1);
    // As little as the chosen row needs.
    let scroll = state.scroll.clamp((at + 1).saturating_sub(room), at);
    let scroll = scroll.min(rows.len().saturating_sub(room));
    let mut lines = vec![head_of_list(state, &heads, width, look)];
    for (i, row) in rows.iter().enumerate().skip(scroll).take(room) {
        lines.push(row_of_list(row, &heads, width, i == at, look));
    }
    if rows.is_empty() {
        let why = if state.choice.filter.is_empty() {
            "no lock has been used"
        } else {
            "no lock goes with the filter; Esc shows all"
        };
        lines.push(Line::raw(text::tail(why, width)));
    }
    (state.scroll, state.room) = (scroll, room);
    lines
}

/// The heads, and an arrow at what it is sorted by; where there is no room for that, its name.
fn head_of_list(state: &State, heads: &[Head; 14], width: usize, look: Look) -> Line<'static> {
    let by = state.choice.by;
    let arrow = if state.choice.is_reversed == by.head().is_text {
        '▼'
    } else {
        '▲'
    };
    let mut names = heads.map(|head| head.name);
    let hidden = format!("lock, by {arrow}{}", by.head().name);
    let is_shown = (by as usize) < text::fitting(heads, width);
    if !is_shown {
        names[0] = &hidden;
    }
    let mark = is_shown.then_some((by as usize, arrow));
    let text = text::marked(heads, names.into_iter(), width, mark);
    Line::styled(text, look.head().add_modifier(Modifier::UNDERLINED))
}

fn row_of_list(
    row: &Row<'_>,
    heads: &[Head],
    width: usize,
    is_chosen: bool,
    look: Look,
) -> Line<'static> {
    let mut text = line(heads, row.cells(), width);
    let mut style = Style::new();
    if row.is_waited_for() {
        style = look.warning();
    }
    if is_chosen {
        style = style.add_modifier(Modifier::REVERSED);
        let pad = width.saturating_sub(text::width_of(&text));
        text.push_str(&" ".repeat(pad));
    }
    Line::from(Span::styled(text, style))
}
