//! LU-7988: every request of a coordinator is in one list under one lock, and whoever wants
//! anything scans the whole list.
//!
//! [`Scanning`] is that list. [`Indexed`] has an index by state, does housekeeping in bounded rounds
//! and is listed in chunks. The locks beside that of the requests are the same in both.

use crate::incident::{Driven, Incident, Options, Shape, Until, drive, grouped, table_of};
use instrumented_lock::{ModeSnapshot, Mutex, RwLock, Snapshot, instrumented, registry, report};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hint::black_box;
use std::io::{self, Write};
use std::ops::Bound;
use std::time::{Duration, Instant};

/// The example.
pub const INCIDENT: Incident = Incident {
    name: "hsm_coordinator",
    about: "A coordinator that scans its list of requests under one lock (LU-7988).",
    threads: "4",
    seconds: "how long each shape runs at each of three list lengths; default: 1",
    run,
};

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody works on it.
    Waiting,
    /// An agent does.
    Started,
    /// To be removed by housekeeping.
    Done,
}

/// Archive or restore this file.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// In the order of arrival.
    pub id: u64,
    /// Of which there is one request at a time.
    pub file: u64,
    /// How far it is.
    pub state: State,
}

/// What both shapes can do.
pub trait Coordinator: Sync {
    /// Adds a request unless the file has one; returns whether it did.
    fn add(&self, file: u64) -> bool;
    /// Starts the oldest request that waits.
    fn start(&self) -> Option<u64>;
    /// Ends a request.
    fn finish(&self, id: u64);
    /// Removes requests that are done; returns how many.
    fn housekeep(&self) -> usize;
    /// All requests, in the order of arrival.
    fn list(&self) -> Vec<Request>;
}

/// The slow shape: everything is a scan of the whole list.
#[instrumented(prefix = "hsm_coordinator")]
#[derive(Default)]
pub struct Scanning {
    requests: Mutex<List>,
}

#[derive(Default)]
struct List {
    last_id: u64,
    all: Vec<Request>,
}

impl Coordinator for Scanning {
    fn add(&self, file: u64) -> bool {
        let mut list = self.requests.lock();
        // As the original does, to the end of the list even when it has found one.
        let known = list
            .all
            .iter()
            .filter(|request| request.file == file)
            .count();
        if known == 0 {
            list.last_id += 1;
            let id = list.last_id;
            let state = State::Waiting;
            list.all.push(Request { id, file, state });
        }
        known == 0
    }

    fn start(&self) -> Option<u64> {
        let mut list = self.requests.lock();
        let waiting = list
            .all
            .iter_mut()
            .filter(|request| request.state == State::Waiting);
        let oldest = waiting.min_by_key(|request| request.id)?;
        oldest.state = State::Started;
        Some(oldest.id)
    }

    fn finish(&self, id: u64) {
        let mut list = self.requests.lock();
        for request in list.all.iter_mut().filter(|request| request.id == id) {
            request.state = State::Done;
        }
    }

    fn housekeep(&self) -> usize {
        let mut list = self.requests.lock();
        let before = list.all.len();
        list.all.retain(|request| request.state != State::Done);
        before - list.all.len()
    }

    fn list(&self) -> Vec<Request> {
        self.requests.lock().all.clone()
    }
}

/// The fixed shape: nothing is a scan.
#[instrumented(prefix = "hsm_coordinator")]
#[derive(Default)]
pub struct Indexed {
    requests: Mutex<Index>,
}

#[derive(Default)]
struct Index {
    last_id: u64,
    all: BTreeMap<u64, Request>,
    of_file: HashMap<u64, u64>,
    waiting: BTreeSet<u64>,
    done: VecDeque<u64>,
}

/// Requests that one round of housekeeping removes, and that one hold of the lock lists.
const CHUNK: usize = 128;

impl Coordinator for Indexed {
    fn add(&self, file: u64) -> bool {
        let mut index = self.requests.lock();
        if index.of_file.contains_key(&file) {
            return false;
        }
        index.last_id += 1;
        let id = index.last_id;
        let state = State::Waiting;
        index.all.insert(id, Request { id, file, state });
        index.of_file.insert(file, id);
        index.waiting.insert(id);
        true
    }

    fn start(&self) -> Option<u64> {
        let mut index = self.requests.lock();
        let id = index.waiting.pop_first()?;
        if let Some(request) = index.all.get_mut(&id) {
            request.state = State::Started;
        }
        Some(id)
    }

    fn finish(&self, id: u64) {
        let mut index = self.requests.lock();
        if let Some(request) = index.all.get_mut(&id) {
            request.state = State::Done;
            index.done.push_back(id);
        }
    }

    fn housekeep(&self) -> usize {
        let mut index = self.requests.lock();
        let n = index.done.len().min(CHUNK);
        for _ in 0..n {
            let id = index.done.pop_front();
            let request = id.and_then(|id| index.all.remove(&id));
            if let Some(request) = request {
                index.of_file.remove(&request.file);
            }
        }
        n
    }

    fn list(&self) -> Vec<Request> {
        let (mut listed, mut after) = (Vec::new(), Bound::Unbounded);
        loop {
            let index = self.requests.lock();
            let before = listed.len();
            let rest = index.all.range((after, Bound::Unbounded));
            listed.extend(rest.take(CHUNK).map(|(_, request)| *request));
            drop(index);
            match listed.last() {
                Some(last) if listed.len() > before => after = Bound::Excluded(last.id),
                _ => return listed,
            }
        }
    }
}

/// What else requests pass: locks that are as busy, and no trouble.
#[instrumented(prefix = "hsm_coordinator")]
#[derive(Default)]
struct Server {
    /// Who carries requests out.
    agents: RwLock<Vec<String>>,
    /// Requests started and ended.
    totals: Mutex<(u64, u64)>,
}

/// The class of the lock of a shape's requests.
pub fn lock_of(shape: Shape) -> &'static str {
    match shape {
        Shape::Slow => "hsm_coordinator::Scanning::requests",
        Shape::Fixed => "hsm_coordinator::Indexed::requests",
    }
}

fn coordinator(shape: Shape) -> Box<dyn Coordinator> {
    match shape {
        Shape::Slow => Box::new(Scanning::default()),
        Shape::Fixed => Box::new(Indexed::default()),
    }
}

/// What came of a load.
#[derive(Debug)]
pub struct Loaded {
    /// Requests added, started and ended.
    pub driven: Driven,
    /// How long it took to add the requests that were there before.
    pub filled_in: Duration,
    /// How long it took to list them.
    pub listed_in: Duration,
    /// At the end.
    pub report: Snapshot,
    /// What was done in between.
    pub interval: Snapshot,
}

/// Rounds of housekeeping: one after so many requests of a thread.
const HOUSEKEEPING: u64 = 16;

/// Listings: one after so many requests of a thread.
const LISTING: u64 = 2048;

/// Fills a coordinator with `length` requests, then adds and ends as many, so that it stays as full.
pub fn load(shape: Shape, length: u64, threads: usize, until: Until) -> Loaded {
    let coordinator = &*coordinator(shape);
    let server = Server {
        agents: RwLock::new((0..threads).map(|n| format!("agent-{n}")).collect()),
        ..Server::default()
    };
    let start = Instant::now();
    for file in 0..length {
        coordinator.add(file);
    }
    let filled_in = start.elapsed();
    let start = Instant::now();
    black_box(coordinator.list());
    let listed_in = start.elapsed();

    let before = registry::snapshot();
    let driven = drive(threads, until, |thread, n| {
        coordinator.add(length + n * threads as u64 + thread as u64);
        if let Some(id) = coordinator.start() {
            server.totals.lock().0 += 1;
            black_box(server.agents.read().get(thread));
            carry_out(id);
            coordinator.finish(id);
            server.totals.lock().1 += 1;
        }
        if n % HOUSEKEEPING == HOUSEKEEPING - 1 {
            coordinator.housekeep();
        }
        if n % LISTING == LISTING - 1 {
            black_box(coordinator.list());
        }
    });
    let report = registry::snapshot();
    let interval = report.since(&before);
    Loaded {
        driven,
        filled_in,
        listed_in,
        report,
        interval,
    }
}

/// What an agent does for a request, without any lock: some microseconds.
fn carry_out(id: u64) {
    let step = |hash: u64, _| (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    black_box((0..2000).fold(id, step));
}

/// The lengths of the list that are compared; the longest is the reported one.
const LENGTHS: [u64; 3] = [2_500, 5_000, 10_000];

fn run(options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let threads = options.threads.unwrap_or(4);
    let each = options.seconds.unwrap_or(Duration::from_secs(1));
    writeln!(
        out,
        "hsm_coordinator: one list under one lock, scanned for everything (LU-7988)\n\n\
         Expected, as reported: with 10,000 requests 27,134 acquisitions, 6,296 contentions, 43 s \
         of wait and\n138 s of hold in all; to add 250,000 requests took 11,822 s, to list them \
         11 min 45 s. Every hold is\nas long as the list.\n\n\
         Measured: {threads} threads that add, start and end requests, {each:?} for each line\n"
    )?;
    writeln!(
        out,
        "  {:<6}{:>8}{:>10}{:>10}{:>12}{:>13}{:>11}{:>11}{:>11}{:>11}{:>11}",
        "",
        "list",
        "added in",
        "listed in",
        "requests/s",
        "acquisitions",
        "contended",
        "wait",
        "hold",
        "mean hold",
        "p50 hold"
    )?;
    let mut loads = Vec::new();
    for &shape in &options.shapes {
        for length in LENGTHS {
            let loaded = load(shape, length, threads, Until::Elapsed(each));
            let figures = figures(&loaded.interval, shape);
            writeln!(
                out,
                "  {shape:<6}{:>8}{:>10}{:>10}{:>12.0}{:>13}{:>11}{:>11}{:>11}{:>11}{:>11}",
                grouped(length),
                format!("{:.1?}", loaded.filled_in),
                format!("{:.1?}", loaded.listed_in),
                loaded.driven.rate(),
                grouped(figures.acquisitions()),
                grouped(figures.contended()),
                format!("{:.2?}", figures.blocked().sum()),
                format!("{:.2?}", figures.hold().sum()),
                format!("{:.2?}", figures.hold().mean().unwrap_or_default()),
                format!("{:.2?}", figures.hold().quantile(0.5).unwrap_or_default()),
            )?;
            loads.push((shape, loaded));
        }
    }
    for &shape in &options.shapes {
        let mut of_shape = loads
            .iter()
            .filter(|(of, _)| *of == shape)
            .map(|(_, loaded)| loaded);
        let (Some(first), Some(last)) = (of_shape.next(), of_shape.next_back()) else {
            continue;
        };
        writeln!(
            out,
            "\nThe report, {shape}, 10,000 requests, in lock_stat's format:\n"
        )?;
        writeln!(out, "{}", ranking(&last.interval))?;
        writeln!(
            out,
            "The same lock in the table:\n{}",
            table_of(&last.interval, lock_of(shape))
        )?;
        let advice = last.report.advice_since(&first.report);
        for advice in advice
            .iter()
            .filter(|advice| advice.lock() == lock_of(shape))
        {
            writeln!(out, "{advice}")?;
        }
    }
    writeln!(
        out,
        "\nThe cause: the lock of the requests is first in the report, and its holds grow with the \
         list at every line\nthat takes it: each is a scan. With an index, bounded rounds of \
         housekeeping and listing in chunks a hold is\nas short with 10,000 requests as with 2,500."
    )
}

/// The figures of a shape's lock.
pub fn figures(report: &Snapshot, shape: Shape) -> ModeSnapshot {
    let lock = report.lock(lock_of(shape));
    lock.map_or_else(ModeSnapshot::default, |lock| lock.write().clone())
}

/// The classes of this example in [`report::lock_stat`], which has them by their contentions: the
/// first with its lines, of the others the figures.
pub fn ranking(report: &Snapshot) -> String {
    let text = report::lock_stat(report);
    // A dotted line stands behind each class that was waited for, a colon behind each name.
    let is_end = |line: &&str| line.trim_start().starts_with('.');
    let is_ours = |line: &&str| line.contains("hsm_coordinator::") && line.contains(": ");
    let first = text.lines().take_while(|line| !is_end(line));
    let others = text
        .lines()
        .skip_while(|line| !is_end(line))
        .filter(is_ours);
    first.chain(others).flat_map(|line| [line, "\n"]).collect()
}
