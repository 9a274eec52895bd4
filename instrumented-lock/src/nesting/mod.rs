//! Locks that are taken while others are held: what is learnt from it, and what is wrong with it.
//!
//! A thread is asked before it acquires, where waiting is what it may do, and once it has. The edges from
//! what it holds to what it asks for are looked up in a small table of the thread; a new one is added to the
//! [`graph`] of the process, which says whether it closes a circle. Nothing here runs unless the order of
//! locks is followed.

pub(crate) mod graph;

use crate::brief::{self, Inside};
use crate::class::LockClass;
use crate::fork::{self, Hooks, Whose};
use crate::lock_kind::LockKind;
use crate::mode::{Activity, Mode};
use crate::settings::{self, Reaction};
use crate::snapshot::{Finding, FindingKind, Location, Order, OrderEdge, OrderEnd};
use crate::stats::{self, HeldLocks, Record, Site, Thread};
use graph::{Added, DOWNWARDS, Edge, End, Graph, Size, activity_of, class_of};
use parking_lot::Mutex;
use std::cell::Cell;
use std::io::{self, Write as _};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Something that is wrong, and what shows it.
#[derive(Clone)]
struct Shown {
    kind: FindingKind,
    by: By,
}

#[derive(Clone)]
enum By {
    /// The edge of this index, of a circle the one that closes it.
    Edge(u32),
    /// One that is none of the order.
    Other(Edge),
}

/// Findings that are kept.
const MOST_FINDINGS: usize = 256;

/// What has been learnt.
struct Learnt {
    graph: Graph,
    findings: Vec<Shown>,
    /// Edges and findings that there was no room for, and locks beyond those that are noted of a thread.
    unlisted: u64,
}

impl Learnt {
    fn new() -> Self {
        Learnt {
            graph: Graph::with_more_room(Size::default()),
            findings: Vec::with_capacity(MOST_FINDINGS),
            unlisted: 0,
        }
    }
}

/// Whether there is little room left. Relaxed: nothing else hangs on it.
static IS_SHORT: AtomicBool = AtomicBool::new(false);

/// `None` until a thread notes what it holds. Nothing is allocated or freed while this is locked: it is asked
/// for with locks of the user's held, and one of them may be an allocator's.
static LEARNT: Mutex<Option<Learnt>> = Mutex::new(None);

/// Calls `f` with what has been learnt.
fn with<T>(f: impl FnOnce(&mut Option<Learnt>) -> T) -> T {
    let _inside = Inside::enter();
    fork::call(
        Whose::Nesting,
        Hooks {
            before: || mem::forget(brief::lock(&LEARNT)),
            // SAFETY: `before` has locked it and forgotten the guard, on this thread.
            after: |_| unsafe { LEARNT.force_unlock(brief::state()) },
        },
    );
    f(&mut brief::lock(&LEARNT))
}

/// Calls `f` with what has been learnt, if anything has.
fn with_learnt<T>(f: impl FnOnce(&mut Learnt) -> T) -> Option<T> {
    with(|learnt| learnt.as_mut().map(f))
}

/// From now on there is something to learn in.
fn begin() {
    let mut new = Some(Learnt::new());
    with(|learnt| {
        if learnt.is_none() {
            mem::swap(learnt, &mut new);
        }
    });
}

/// What has been learnt, as plain data.
pub(crate) fn order() -> Order {
    let _inside = Inside::enter();
    let copy = copy();
    let mut edges: Vec<_> = copy.graph.edges().map(|edge| plain_edge(&edge)).collect();
    edges.sort_by(|a, b| a.identity().cmp(&b.identity()));
    let mut graph = copy.graph;
    let findings = copy.findings.iter();
    Order {
        edges,
        findings: findings.map(|shown| plain(&mut graph, shown)).collect(),
        unlisted: copy.unlisted,
    }
}

fn copy() -> Learnt {
    let mut copy = Learnt::new();
    loop {
        let is_whole = with_learnt(|learnt| {
            let size = learnt.graph.size();
            let has_room = copy.graph.has_room_for(size);
            if has_room {
                copy.graph.copy(&learnt.graph);
                copy.findings.extend(learnt.findings.iter().cloned());
                copy.unlisted = learnt.unlisted;
            }
            has_room.then_some(()).ok_or(size)
        });
        match is_whole {
            Some(Err(size)) => copy.graph = Graph::with_more_room(size),
            Some(Ok(())) | None => return copy,
        }
    }
}

fn plain(graph: &mut Graph, shown: &Shown) -> Finding {
    let edges = match (&shown.by, shown.kind) {
        (By::Other(edge), _) => vec![plain_edge(edge)],
        (&By::Edge(edge), FindingKind::Circle) => {
            let circle = graph.circle(edge).into_iter();
            circle.map(|at| plain_edge(&graph.edge(at))).collect()
        }
        (&By::Edge(edge), _) => vec![plain_edge(&graph.edge(edge))],
    };
    Finding {
        kind: shown.kind,
        edges,
    }
}

fn plain_edge(edge: &Edge) -> OrderEdge {
    let end = |end: End, at: Option<Site>| {
        let class = class(end);
        OrderEnd {
            lock: class.name().to_owned(),
            mode: activity_of(end).mode().unwrap_or(Mode::Write),
            location: Location::of_site(at, class.declared_at()),
        }
    };
    OrderEdge {
        held: end(edge.held, edge.held_at),
        wanted: end(edge.wanted, edge.wanted_at),
        downwards: edge.wanted & DOWNWARDS != 0,
        thread: edge.thread.as_deref().map(str::to_owned),
        count: edge.count,
    }
}

/// Forgets it all.
pub(crate) fn forget() {
    let mut old = Some(Learnt::new());
    with(|learnt| {
        if learnt.is_some() {
            mem::swap(learnt, &mut old);
        }
    });
    ERA.fetch_add(1, Ordering::Relaxed);
}

/// How often what has been learnt was forgotten: what threads know of older times is nothing. Relaxed: who
/// has not seen it yet counts for what has been forgotten.
static ERA: AtomicU32 = AtomicU32::new(0);

/// Edges that a thread knows.
const KNOWN: usize = 64;

/// How often an edge has been seen until that is told.
const OFTEN: u32 = 64;

/// An edge that the thread knows, and how often it has been seen since that was told. With no ends it is none.
struct Known {
    held: Cell<End>,
    wanted: Cell<End>,
    edge: Cell<u32>,
    count: Cell<u32>,
}

impl Known {
    const fn none() -> Self {
        Known {
            held: Cell::new(0),
            wanted: Cell::new(0),
            edge: Cell::new(0),
            count: Cell::new(0),
        }
    }

    fn set(&self, held: End, wanted: End, edge: u32) {
        self.held.set(held);
        self.wanted.set(wanted);
        self.edge.set(edge);
        self.count.set(0);
    }

    /// Counts the edge, if it is this and need not be told yet.
    #[inline(always)]
    fn counts(&self, held: End, wanted: End) -> bool {
        let count = self.count.get();
        let is_it = self.held.get() == held && self.wanted.get() == wanted && count < OFTEN;
        if is_it {
            self.count.set(count + 1);
        }
        is_it
    }
}

thread_local! {
    // Without a destructor, so that it stays readable while the thread is being torn down.
    static ERA_HERE: Cell<u32> = const { Cell::new(0) };
    static KNOWN_HERE: [Known; KNOWN] = const { [const { Known::none() }; KNOWN] };
}

/// What a lock is about to be acquired for, or has been.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) class: &'static LockClass,
    /// The address of the lock.
    pub(crate) lock: usize,
    pub(crate) activity: Activity,
    pub(crate) at: Site,
}

impl Request {
    #[inline(always)]
    fn end(&self) -> End {
        stats::hold(&self.class.stats, self.activity)
    }
}

/// The list of what the thread holds. Before an attempt, since it may allocate.
#[inline]
pub(crate) fn held(thread: &Thread) -> Option<&'static HeldLocks> {
    thread.held().or_else(|| begin_to_note(thread))
}

#[cold]
#[inline(never)]
fn begin_to_note(thread: &Thread) -> Option<&'static HeldLocks> {
    // What an allocator does for the lines below is not noted.
    if brief::is_inside() {
        return None;
    }
    let _inside = Inside::enter();
    begin();
    thread.note_held()
}

/// Somebody is about to acquire a lock, and may wait for it.
#[inline]
pub(crate) fn is_about_to_acquire(thread: &Thread, request: &Request) {
    let Some(held) = held(thread) else { return };
    if held.depth() > 0 {
        is_about_to_nest(thread, held, request);
    } else if IS_SHORT.load(Ordering::Relaxed) {
        make_room();
    }
}

/// Makes room for what is going to be learnt. Where nothing is held, since it allocates.
#[cold]
#[inline(never)]
fn make_room() {
    if brief::is_inside() {
        return;
    }
    let _inside = Inside::enter();
    let size = with_learnt(|learnt| learnt.graph.size()).unwrap_or_default();
    let mut larger = Graph::with_more_room(size);
    with_learnt(|learnt| {
        if learnt.graph.is_short() && larger.has_room_for(learnt.graph.size()) {
            larger.take_over(&learnt.graph);
            mem::swap(&mut learnt.graph, &mut larger);
        }
    });
    IS_SHORT.store(false, Ordering::Relaxed);
}

/// Whether the thread, which holds one lock, knows the edge from there to another one that it asks for: then
/// that is counted, and there is nothing to learn.
#[inline(always)]
pub(crate) fn knows_edge(held: &HeldLocks, request: &Request) -> bool {
    let only = held.first().filter(|(lock, _)| *lock != request.lock);
    only.is_some_and(|(lock, record)| is_known(ends(lock, record, request)))
}

#[inline(never)]
fn is_about_to_nest(thread: &Thread, held: &HeldLocks, request: &Request) {
    for (lock, record) in held.iter() {
        // What is held of the lock itself matters where it has to be waited for.
        if lock == request.lock {
            continue;
        }
        let ends = ends(lock, record, request);
        if !is_known(ends) {
            learn(thread, record, ends, request);
        }
    }
}

/// Those of the edge from a lock that is held to the one that is asked for.
#[inline(always)]
fn ends(lock: usize, record: &Record, request: &Request) -> (End, End) {
    let (held, mut wanted) = (end_of(record), request.end());
    if class_of(held) == class_of(wanted) && request.lock < lock {
        wanted |= DOWNWARDS;
    }
    (held, wanted)
}

/// Whether the thread knows the edge and need not tell of it: then it is counted.
#[inline(always)]
fn is_known((held, wanted): (End, End)) -> bool {
    let is_counted = KNOWN_HERE.with(|known| known[place_of(held, wanted)].counts(held, wanted));
    is_counted && ERA_HERE.get() == ERA.load(Ordering::Relaxed)
}

#[inline(always)]
fn place_of(held: End, wanted: End) -> usize {
    // Classes lie 256 bytes apart at least.
    let mixed = (held >> 8 ^ held << 3) ^ (wanted >> 8 ^ wanted << 1).wrapping_mul(0x9e37);
    (mixed ^ mixed >> 7) % KNOWN
}

/// The end of an edge that a hold is.
#[inline(always)]
fn end_of(record: &Record) -> End {
    let what = record.what();
    stats::class_of(what) | stats::activity_of(what) as usize
}

/// The class of an end.
pub(crate) fn class(end: End) -> &'static LockClass {
    LockClass::of_record(class_of(end))
}

fn conflicts(class_at: usize, held: Activity, wanted: Activity) -> bool {
    let is_exclusive = held.is_exclusive() || wanted.is_exclusive();
    let both_may_upgrade = held == Activity::Upgradable && wanted == Activity::Upgradable;
    // Elsewhere a reader queues behind a writer who waits for a reader.
    is_exclusive || both_may_upgrade || class(class_at).kind() != LockKind::RecursiveRwLock
}

/// An edge that the thread does not know, or has not told of for long.
#[cold]
#[inline(never)]
fn learn(thread: &Thread, record: &Record, (held, wanted): (End, End), request: &Request) {
    // Inside an allocator nothing is learnt: it would allocate.
    if brief::is_inside() {
        return;
    }
    let inside = Inside::enter();
    let era = ERA.load(Ordering::Relaxed);
    if ERA_HERE.replace(era) != era {
        KNOWN_HERE.with(|known| known.iter().for_each(|known| known.set(0, 0, 0)));
    }
    let edge = Edge {
        held,
        wanted,
        held_at: stats::site_of(record.site()),
        wanted_at: Some(request.at),
        thread: thread.name(),
        count: 0,
    };
    // The one that was in its place, and may be the same.
    let old = KNOWN_HERE.with(|known| {
        let old = &known[place_of(held, wanted)];
        let was = (old.edge.get(), old.count.get());
        old.set(0, 0, 0);
        was
    });
    let learnt = with_learnt(|learnt| {
        let (edge_before, count) = old;
        if count > 0 {
            learnt.graph.count(edge_before, u64::from(count));
        }
        learnt.learn(&edge)
    });
    let Some(learnt) = learnt else { return };
    if let Some(edge) = learnt.edge {
        KNOWN_HERE.with(|known| known[place_of(held, wanted)].set(held, wanted, edge));
    }
    drop(inside);
    if learnt.findings > 0 {
        react(learnt.findings);
    }
}

/// What became of an edge.
struct News {
    /// Its index, if there was room.
    edge: Option<u32>,
    /// How many findings it has led to.
    findings: usize,
}

impl Learnt {
    /// Adds an edge, or counts it.
    fn learn(&mut self, edge: &Edge) -> News {
        let (held, wanted) = (class(edge.held), class(edge.wanted));
        let mut findings = 0;
        let index = match self.graph.add(edge, conflicts) {
            Added::Known(index) => Some(index),
            Added::New(index, is_circle) => {
                let is_within = ptr::eq(held, wanted);
                if is_circle && !(is_within && held.nesting().is_some()) {
                    findings += 1;
                    self.keep(FindingKind::Circle, By::Edge(index));
                }
                let ranks = held.rank().zip(wanted.rank());
                if ranks.is_some_and(|(held, wanted)| !is_within && wanted <= held) {
                    findings += 1;
                    self.keep(FindingKind::Rank, By::Edge(index));
                }
                Some(index)
            }
            // Without room at the moment it is learnt when it is seen next, which may be never.
            Added::NoRoom | Added::Full => {
                self.unlisted += 1;
                None
            }
        };
        if self.graph.is_short() {
            IS_SHORT.store(true, Ordering::Relaxed);
        }
        if let Some(index) = index {
            self.graph.count(index, 1);
        }
        News {
            edge: index,
            findings,
        }
    }

    fn keep(&mut self, kind: FindingKind, by: By) {
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(Shown { kind, by });
        } else {
            self.unlisted += 1;
        }
    }

    /// Keeps what one edge shows that is none of the order, unless it is known. Returns whether it was not.
    fn keep_new(&mut self, kind: FindingKind, edge: Edge) -> bool {
        let is_same = |shown: &Shown| match &shown.by {
            By::Other(known) => {
                shown.kind == kind
                    && (known.held, known.wanted) == (edge.held, edge.wanted)
                    && (known.held_at, known.wanted_at) == (edge.held_at, edge.wanted_at)
            }
            By::Edge(_) => false,
        };
        let is_new = !self.findings.iter().any(is_same);
        if is_new {
            self.keep(kind, By::Other(edge));
        }
        is_new
    }
}

/// The hold of a lock begins, in this record.
#[inline]
pub(crate) fn has_acquired(thread: &Thread, lock: usize, record: &'static Record) {
    if let Some(held) = thread.held()
        && !held.push(lock, record)
    {
        has_too_many();
    }
}

#[cold]
#[inline(never)]
fn has_too_many() {
    with_learnt(|learnt| learnt.unlisted += 1);
}

/// Somebody is about to wait for a lock, which may be one that it has itself.
#[cold]
#[inline(never)]
pub(crate) fn is_about_to_wait(thread: &Thread, request: &Request) {
    let Some(held) = thread.held() else { return };
    let own = held.iter().find(|(lock, _)| *lock == request.lock);
    if let Some((_, record)) = own {
        tell(thread, FindingKind::Recursion, record, request);
    }
}

/// Somebody is about to sleep, and lets go of one lock only, whose address this is.
#[cold]
#[inline(never)]
pub(crate) fn is_about_to_sleep(thread: &Thread, lets_go_of: usize, request: &Request) {
    let Some(held) = thread.held() else { return };
    for (_, record) in held.iter().filter(|(lock, _)| *lock != lets_go_of) {
        tell(thread, FindingKind::Sleep, record, request);
    }
}

/// Tells, once, what one edge shows to be wrong.
fn tell(thread: &Thread, kind: FindingKind, record: &Record, request: &Request) {
    if brief::is_inside() {
        return;
    }
    let edge = Edge {
        held: end_of(record),
        wanted: request.end(),
        held_at: stats::site_of(record.site()),
        wanted_at: Some(request.at),
        thread: thread.name(),
        count: 1,
    };
    let is_new = with_learnt(|learnt| learnt.keep_new(kind, edge.clone())) == Some(true);
    let reaction = settings::reaction();
    // A program that is to panic does so each time: it would hang.
    if is_new && reaction == Reaction::Log || reaction == Reaction::Panic {
        let edges = vec![plain_edge(&edge)];
        say(&Finding { kind, edges });
    }
}

/// Does with the last findings what is to be done.
///
/// # Panics
///
/// Where that is what is to be done.
#[cold]
fn react(findings: usize) {
    if settings::reaction() == Reaction::Collect {
        return;
    }
    let mut copy = copy();
    let first = copy.findings.len().saturating_sub(findings);
    for shown in &copy.findings[first..] {
        say(&plain(&mut copy.graph, shown));
    }
}

/// Says a finding, or panics with it.
fn say(finding: &Finding) {
    let panics = settings::reaction() == Reaction::Panic && !std::thread::panicking();
    assert!(!panics, "{finding}");
    let _inside = Inside::enter();
    #[cfg(feature = "tracing")]
    if tracing::dispatcher::has_been_set() {
        return emit(finding);
    }
    let text = format!("{finding}\n");
    // Nothing is to be done where it cannot be written: it is still among the findings.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// A finding as an event.
#[cfg(feature = "tracing")]
fn emit(finding: &Finding) {
    let ends = finding
        .edges()
        .iter()
        .map(|edge| (edge.held(), edge.wanted()));
    let locks = ends.map(|(held, wanted)| format!("{} -> {}", held.lock(), wanted.lock()));
    tracing::warn!(
        target: "instrumented_lock::order",
        kind = %finding.kind(),
        locks = locks.collect::<Vec<_>>().join(", "),
        edges = finding.edges().len(),
        finding = %finding,
        "locks are taken in an order that can end in a deadlock",
    );
}
