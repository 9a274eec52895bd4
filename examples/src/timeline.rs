//! Four threads and three things that a report has as figures, and a timeline shows at a glance: a convoy behind one
//! long hold, a writer that readers starve, and two threads that take a lock from each other all the time.

use instrumented_lock::timeline::{self, Event, EventKind, Timeline};
use instrumented_lock::{FairMutex, Mode, Mutex, RecursiveRwLock, instrumented};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Threads.
const WORKERS: usize = 4;

/// Reads that follow each other without a gap, and turns of the two threads.
const READS: usize = 12;
const TURNS: usize = 12;

/// A shop that four workers run.
#[instrumented]
#[derive(Default)]
struct Shop {
    stock: Mutex<u64>,
    /// Its readers do not stand back for a writer that waits: it is for reads inside of reads.
    prices: RecursiveRwLock<u64>,
    till: FairMutex<u64>,
}

/// What the workers have to agree on.
struct Day {
    shop: Shop,
    all: Barrier,
    /// The read that may begin next, and how many have begun.
    next_read: AtomicUsize,
    reads: AtomicUsize,
}

/// Records the three, one after the other. On one of them each thread works some milliseconds.
///
/// # Panics
///
/// Where somebody else records a timeline.
pub fn run() -> Timeline {
    let day = Day {
        shop: Shop::default(),
        all: Barrier::new(WORKERS),
        next_read: AtomicUsize::new(0),
        reads: AtomicUsize::new(0),
    };
    let recording = timeline::start().expect("nobody else records");
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let day = &day;
            let builder = thread::Builder::new().name(format!("worker {worker}"));
            let spawned = builder.spawn_scoped(scope, move || {
                for part in [convoy, starving_writer, ping_pong] {
                    day.all.wait();
                    part(day, worker);
                }
            });
            spawned.expect("there is memory for four threads");
        }
    });
    recording.stop()
}

fn work(milliseconds: u64) {
    thread::sleep(Duration::from_millis(milliseconds));
}

/// One counts the stock, and has the lock all the while; each of the others wants it for a moment only.
fn convoy(day: &Day, worker: usize) {
    if worker > 0 {
        work(worker as u64);
    }
    let mut stock = day.shop.stock.lock();
    *stock += 1;
    work(if worker == 0 { 8 } else { 1 });
}

/// Readers take turns so that one of them always has the lock, and the last one wants to write.
fn starving_writer(day: &Day, worker: usize) {
    if worker == WORKERS - 1 {
        work(2);
        let mut prices = day.shop.prices.write();
        *prices += 1;
        return work(1);
    }
    let reach = |counter: &AtomicUsize, least: usize| {
        while counter.load(Ordering::SeqCst) < least {
            thread::yield_now();
        }
    };
    for turn in (worker..READS).step_by(WORKERS - 1) {
        reach(&day.next_read, turn);
        let prices = day.shop.prices.read();
        day.reads.store(turn + 1, Ordering::SeqCst);
        work(1);
        day.next_read.store(turn + 1, Ordering::SeqCst);
        // The next one has it before this one lets go of it.
        reach(&day.reads, (turn + 2).min(READS));
        work(1);
        drop(prices);
    }
}

/// Two want the same lock again as soon as they have let go of it.
fn ping_pong(day: &Day, worker: usize) {
    if worker > 1 {
        return;
    }
    for _ in 0..TURNS {
        let mut till = day.shop.till.lock();
        *till += 1;
        work(1);
    }
}

/// What a timeline of [`run`] shows, in three sentences.
///
/// # Panics
///
/// Where it does not show one of the three.
pub fn assert_found(timeline: &Timeline) -> Vec<String> {
    if cfg!(not(feature = "stats")) {
        return Vec::new();
    }
    let of = |lock: &'static str, kind: EventKind| {
        let is_it = move |event: &Event<'_>| event.lock().ends_with(lock) && event.kind() == kind;
        timeline.events().filter(is_it).collect::<Vec<_>>()
    };
    let (waits, holds) = (EventKind::Wait, EventKind::Hold);

    let longest = of("Shop::stock", holds)
        .into_iter()
        .max_by_key(Event::duration);
    let longest = longest.expect("the stock has been counted");
    let waited_for_it = |wait: &Event<'_>| {
        wait.start() < longest.end()
            && wait.end() >= longest.end()
            && wait.track() != longest.track()
    };
    let behind = of("Shop::stock", waits)
        .into_iter()
        .filter(waited_for_it)
        .count();
    assert_eq!(behind, WORKERS - 1, "{timeline:#?}");

    let mut writes = of("Shop::prices", waits);
    writes.retain(|wait| wait.mode() == Some(Mode::Write));
    let [starved] = writes[..] else {
        panic!("one wait to write: {writes:#?}");
    };
    let reads = of("Shop::prices", holds);
    let began_meanwhile = |read: &&Event<'_>| {
        read.mode() == Some(Mode::Read)
            && read.start() > starved.start()
            && read.end() <= starved.end()
    };
    let overtaken = reads.iter().filter(began_meanwhile).count();
    assert!(overtaken > READS / 2, "{overtaken} {timeline:#?}");

    let turns = of("Shop::till", holds);
    let changes = turns
        .windows(2)
        .filter(|turn| turn[0].track() != turn[1].track());
    let changes = changes.count();
    assert!(changes > TURNS, "{changes} {timeline:#?}");

    vec![
        format!(
            "convoy: {behind} threads queue behind one hold of {:?} at {}",
            longest.duration(),
            longest.location()
        ),
        format!(
            "starving writer: {} waits {:?} to write, and {overtaken} reads begin meanwhile",
            starved.thread(),
            starved.duration()
        ),
        format!(
            "ping-pong: of {} holds one after the other, {changes} are another thread's than the last",
            turns.len()
        ),
    ]
}
