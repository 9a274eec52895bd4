//! A timeline as a picture, in the manner of the viewers: a row for each thread, and below it how many wait.

use instrumented_lock::timeline::{Event, EventKind, Timeline};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

const WIDTH: f64 = 1080.0;
const LEFT: f64 = 96.0;
const TOP: f64 = 66.0;
const ROW: f64 = 46.0;
const BAR: f64 = 26.0;
const COUNTER: f64 = 40.0;

/// One for each lock.
const COLOURS: [&str; 6] = [
    "#3b7dd8", "#2f9e62", "#9b59b6", "#d08a1d", "#17a2a2", "#6c757d",
];

const STYLE: &str = "\
text { font: 13px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #24292f; }
.caption { font-weight: 600; }
.small { font-size: 11px; fill: #57606a; }
.on { font-size: 11px; fill: #fff; }
.wait { fill: url(#wait); stroke: #cf222e; }
.arrow { fill: none; stroke: #24292f; stroke-width: 1.2; marker-end: url(#head); }
.grid { stroke: #d0d7de; }
";

/// What is drawn, and where.
struct Picture<'a> {
    out: String,
    timeline: &'a Timeline,
    /// What is drawn begins and ends here.
    from: Duration,
    to: Duration,
    /// The row of each track, by name.
    rows: BTreeMap<String, usize>,
    locks: Vec<&'a str>,
}

/// The picture, as SVG. Above the first event of a lock stands what `captions` say of it.
pub(crate) fn svg(timeline: &Timeline, captions: &[(&str, &str)]) -> String {
    let names = timeline.events().map(|event| event.thread());
    let mut rows: BTreeMap<_, _> = names.map(|name| (name, 0)).collect();
    rows.values_mut().enumerate().for_each(|(i, row)| *row = i);
    let mut locks = Vec::new();
    for event in timeline.events() {
        if !locks.contains(&event.lock()) {
            locks.push(event.lock());
        }
    }
    let from = timeline.events().map(|event| event.start()).min();
    let to = timeline.events().map(|event| event.end()).max();
    let mut picture = Picture {
        out: String::new(),
        timeline,
        from: from.unwrap_or_default(),
        to: to.unwrap_or_default(),
        rows,
        locks,
    };
    picture.draw(captions);
    picture.out
}

impl<'a> Picture<'a> {
    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Into memory nothing fails.
        let _ = writeln!(self.out, "{text}");
    }

    fn draw(&mut self, captions: &[(&str, &str)]) {
        let height = self.counters() + COUNTER * self.locks.len() as f64 + 20.0;
        self.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\">\n<style>{STYLE}</style>\n<defs>\n\
             <pattern id=\"wait\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#fff1f0\"/>\
             <rect width=\"2\" height=\"6\" fill=\"#f5a3a0\"/></pattern>\n\
             <marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" \
             orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"#24292f\"/></marker>\n</defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
        ));
        self.legend();
        self.grid();
        for (lock, caption) in captions {
            self.caption(lock, caption);
        }
        for event in self.timeline.events() {
            self.slice(&event);
        }
        for event in self.timeline.events() {
            self.arrow(&event);
        }
        for (number, lock) in self.locks.clone().into_iter().enumerate() {
            self.counter(number, lock);
        }
        self.put(format_args!("</svg>"));
    }

    fn x(&self, at: Duration) -> f64 {
        let part = (at.saturating_sub(self.from)).as_secs_f64();
        let all = self.to.saturating_sub(self.from).as_secs_f64();
        LEFT + (WIDTH - LEFT - 12.0) * part / all.max(1e-9)
    }

    fn y(&self, event: &Event<'_>) -> f64 {
        let row = self.rows.get(&event.thread()).copied().unwrap_or(0);
        TOP + ROW * row as f64
    }

    /// Where the counters begin.
    fn counters(&self) -> f64 {
        TOP + ROW * self.rows.len() as f64 + 8.0
    }

    fn colour(&self, lock: &str) -> &'static str {
        let number = self.locks.iter().position(|known| *known == lock);
        COLOURS[number.unwrap_or(0) % COLOURS.len()]
    }

    fn legend(&mut self) {
        let mut x = LEFT;
        for lock in self.locks.clone() {
            let colour = self.colour(lock);
            let name = short(lock);
            self.put(format_args!(
                "<rect x=\"{x:.0}\" y=\"10\" width=\"14\" height=\"14\" rx=\"2\" fill=\"{colour}\"/>\
                 <text x=\"{:.0}\" y=\"22\">{name} held</text>",
                x + 20.0
            ));
            x += 150.0;
        }
        self.put(format_args!(
            "<rect x=\"{x:.0}\" y=\"10\" width=\"14\" height=\"14\" rx=\"2\" class=\"wait\"/>\
             <text x=\"{:.0}\" y=\"22\">waiting</text>\
             <path class=\"arrow\" d=\"M{:.0} 17h28\"/><text x=\"{:.0}\" y=\"22\">the release that ended a wait</text>",
            x + 20.0,
            x + 92.0,
            x + 126.0
        ));
    }

    fn grid(&mut self) {
        let end = self.counters() + COUNTER * self.locks.len() as f64;
        let mut at = Duration::ZERO;
        while at <= self.to.saturating_sub(self.from) {
            let x = self.x(self.from + at);
            self.put(format_args!(
                "<path class=\"grid\" d=\"M{x:.1} {:.0}V{end:.0}\"/>\
                 <text class=\"small\" x=\"{:.1}\" y=\"{:.0}\">{} ms</text>",
                TOP - 8.0,
                x + 3.0,
                end + 12.0,
                at.as_millis()
            ));
            at += Duration::from_millis(5);
        }
        for (name, row) in self.rows.clone() {
            let y = TOP + ROW * row as f64 + BAR / 2.0 + 5.0;
            self.put(format_args!("<text x=\"10\" y=\"{y:.0}\">{name}</text>"));
        }
    }

    fn caption(&mut self, lock: &str, caption: &str) {
        let first = self
            .timeline
            .events()
            .find(|event| event.lock().ends_with(lock));
        if let Some(first) = first {
            let x = self.x(first.start());
            self.put(format_args!(
                "<text class=\"caption\" x=\"{x:.1}\" y=\"{:.0}\">{caption}</text>",
                TOP - 14.0
            ));
        }
    }

    fn slice(&mut self, event: &Event<'_>) {
        let (x, end, y) = (self.x(event.start()), self.x(event.end()), self.y(event));
        let width = (end - x).max(1.0);
        let look = match event.kind() {
            EventKind::Hold => format!("fill=\"{}\" stroke=\"#fff\"", self.colour(event.lock())),
            _ => "class=\"wait\"".to_owned(),
        };
        let mode = event
            .mode()
            .map_or_else(String::new, |mode| mode.to_string());
        self.put(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.0}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\" {look}>\
             <title>{:?} of {} ({mode}), {:?}, {}</title></rect>",
            event.kind(),
            short(event.lock()),
            event.duration(),
            event.location()
        ));
        let said = match event.kind() {
            EventKind::Hold => mode,
            _ => format!("waits to {}", mode.trim_end_matches("able")),
        };
        if width > 7.0 * said.len() as f64 {
            let class = if event.kind() == EventKind::Hold {
                "on"
            } else {
                "small"
            };
            self.put(format_args!(
                "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.0}\">{said}</text>",
                x + 4.0,
                y + BAR / 2.0 + 4.0
            ));
        }
    }

    fn arrow(&mut self, wait: &Event<'_>) {
        let Some(release) = wait.released_by() else {
            return;
        };
        let (from, to) = (self.y(&release), self.y(wait));
        let (x, end) = (self.x(release.end()), self.x(wait.end()));
        let (from, to) = if from < to {
            (from + BAR, to)
        } else {
            (from, to + BAR)
        };
        self.put(format_args!(
            "<path class=\"arrow\" d=\"M{x:.1} {from:.0}L{end:.1} {to:.0}\"/>"
        ));
    }

    /// How many threads wait for a lock.
    fn counter(&mut self, number: usize, lock: &'a str) {
        let mut changes = BTreeMap::<Duration, i32>::new();
        let is_its = |event: &Event<'_>| event.lock() == lock && event.kind() == EventKind::Wait;
        for wait in self.timeline.events().filter(is_its) {
            *changes.entry(wait.start()).or_default() += 1;
            *changes.entry(wait.end()).or_default() -= 1;
        }
        let floor = self.counters() + COUNTER * (number + 1) as f64 - 4.0;
        let mut path = format!("M{LEFT:.0} {floor:.0}");
        let (mut waiting, mut most) = (0, 0);
        for (at, change) in changes {
            waiting += change;
            most = most.max(waiting);
            let _ = write!(
                path,
                "H{:.1}V{:.0}",
                self.x(at),
                floor - 9.0 * f64::from(waiting)
            );
        }
        let _ = write!(path, "H{:.0}", WIDTH - 12.0);
        let colour = self.colour(lock);
        self.put(format_args!(
            "<path d=\"{path}\" fill=\"{colour}\" fill-opacity=\"0.3\" stroke=\"{colour}\"/>\
             <text class=\"small\" x=\"10\" y=\"{:.0}\">≤ {most} wait</text>",
            floor - 4.0
        ));
    }
}

/// Without the path of its module.
fn short(lock: &str) -> &str {
    let start = lock.rmatch_indices("::").nth(1).map_or(0, |(at, _)| at + 2);
    &lock[start..]
}
