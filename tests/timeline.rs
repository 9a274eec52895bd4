//! A timeline has every wait and hold of its time, or says how many it has not; and a viewer can show its trace.

use instrumented_lock::timeline::{self, AlreadyRecording, Event, EventKind, Timeline};
use instrumented_lock::{
    Condvar, LockSnapshot, Mode, Mutex, MutexGuard, RwLock, Snapshot, instrumented, registry,
};
use instrumented_lock_examples::timeline as example;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// There is one timeline at a time.
static ALONE: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

const A_WHILE: Duration = Duration::from_millis(20);

fn of(timeline: &Timeline, kind: EventKind) -> Vec<Event<'_>> {
    timeline
        .events()
        .filter(|event| event.kind() == kind)
        .collect()
}

/// The events of a trace with this `ph`.
fn with_phase<'a>(trace: &'a Value, phase: &str) -> Vec<&'a Value> {
    let events = trace["traceEvents"].as_array().unwrap();
    events.iter().filter(|event| event["ph"] == phase).collect()
}

/// A time of a trace, which has microseconds with three places, in nanoseconds.
fn ns(time: &Value) -> i64 {
    let text = time.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    format!("{whole}{part:0<3}").parse().unwrap()
}

/// A slice, as a viewer finds it in a trace.
#[derive(Debug)]
struct Slice {
    track: u64,
    start: i64,
    end: i64,
    begin: Value,
}

impl Slice {
    fn is(&self, category: &str) -> bool {
        self.begin["cat"] == category
    }

    fn arg(&self, key: &str) -> &str {
        self.begin["args"][key].as_str().unwrap()
    }

    fn lock(&self) -> &str {
        self.arg("lock")
    }
}

/// A trace, as a viewer understands it.
struct Trace {
    json: Value,
    slices: Vec<Slice>,
    /// From one slice to another.
    arrows: Vec<(usize, usize)>,
}

impl Trace {
    /// As Perfetto does it: all events by their times, those of one time in their order; an arrow begins in the slice
    /// that is open, and leads to that or to the next one.
    fn read(text: &str) -> Self {
        let json: Value = serde_json::from_str(text).unwrap();
        let (mut slices, mut arrows) = (Vec::<Slice>::new(), Vec::new());
        let mut events: Vec<_> = json["traceEvents"].as_array().unwrap().iter().collect();
        let timed = |event: &&Value| event["ph"] != "M";
        events.retain(timed);
        events.sort_by_key(|event| ns(&event["ts"]));
        let mut open: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut to_next: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut begun: HashMap<u64, usize> = HashMap::new();
        for event in events {
            let Some(track) = event["tid"].as_u64() else {
                continue;
            };
            assert!((1..1 << 32).contains(&track), "{event}");
            let open = open.entry(track).or_default();
            let id = || event["id"].as_u64().unwrap();
            match event["ph"].as_str().unwrap() {
                "B" => {
                    let place = slices.len();
                    for from in to_next.remove(&track).into_iter().flatten() {
                        arrows.push((from, place));
                    }
                    let start = ns(&event["ts"]);
                    open.push(place);
                    slices.push(Slice {
                        track,
                        start,
                        end: start,
                        begin: event.clone(),
                    });
                }
                "E" => slices[open.pop().unwrap()].end = ns(&event["ts"]),
                "s" => _ = begun.insert(id(), *open.last().unwrap()),
                "f" if event["bp"] == "e" => arrows.push((begun[&id()], *open.last().unwrap())),
                "f" => to_next.entry(track).or_default().push(begun[&id()]),
                other => panic!("{other}"),
            }
        }
        assert!(open.values().all(Vec::is_empty) && to_next.is_empty());
        assert_eq!(arrows.len(), begun.len());
        Trace {
            json,
            slices,
            arrows,
        }
    }

    /// The slices of this lock, category and mode.
    fn of(&self, lock: &str, category: &str, mode: &str) -> Vec<&Slice> {
        let is_it = |slice: &&Slice| {
            slice.lock().ends_with(lock) && slice.is(category) && slice.arg("mode") == mode
        };
        self.slices.iter().filter(is_it).collect()
    }
}

/// The trace of a timeline, which is checked for what viewers need.
fn trace(timeline: &Timeline) -> Trace {
    let trace = Trace::read(&timeline.to_trace());
    let length = i64::try_from(timeline.length().as_nanos()).unwrap();
    assert_eq!(trace.slices.len(), timeline.events().len());
    let named = with_phase(&trace.json, "M").into_iter();
    let named = named.filter(|it| it["name"] == "thread_name");
    let named: HashSet<_> = named.map(|it| it["tid"].as_u64().unwrap()).collect();
    let mut last = HashMap::new();
    for slice in &trace.slices {
        let (start, end) = (slice.start, slice.end);
        assert!(0 <= start && start <= end && end <= length, "{slice:?}");
        for key in ["lock", "line", "mode"] {
            assert!(!slice.arg(key).is_empty(), "{slice:?}");
        }
        assert!(named.contains(&slice.track), "{slice:?}");
        // Of those that are open, each is inside the one before.
        let open: &mut Vec<i64> = last.entry(slice.track).or_default();
        open.retain(|&outer| outer > start);
        assert!(open.iter().all(|&outer| end <= outer), "{slice:?}");
        open.push(end);
    }
    let released = timeline.events().filter(|it| it.released_by().is_some());
    assert_eq!(trace.arrows.len(), released.count());
    for &(from, to) in &trace.arrows {
        let (from, to) = (&trace.slices[from], &trace.slices[to]);
        let arrives = if to.is("hold") { to.start } else { to.end };
        assert!(from.is("hold") && from.end <= arrives, "{from:?} {to:?}");
        assert!(
            from.lock() == to.lock() && !to.is("sleep"),
            "{from:?} {to:?}"
        );
    }
    for counter in with_phase(&trace.json, "C") {
        assert!(
            counter["args"]["threads"].as_i64().unwrap() >= 0,
            "{counter}"
        );
    }
    trace
}

/// The counts of a timeline are those of its events, and of what was acquired meanwhile.
fn assert_adds_up(timeline: &Timeline, meanwhile: &Snapshot) {
    let over = timeline.events().filter(Event::is_over);
    let (holds, waits): (Vec<_>, Vec<_>) = over.partition(|event| event.kind() == EventKind::Hold);
    assert_eq!(
        holds.len() as u64 + timeline.left_out() + timeline.untimed(),
        timeline.holds()
    );
    assert_eq!(waits.len() as u64 + timeline.dropped(), timeline.waits());
    let modes = || meanwhile.locks().iter().flat_map(LockSnapshot::modes);
    let releases: u64 = modes().map(|(_, mode)| mode.releases()).sum();
    assert_eq!(timeline.holds(), releases, "{timeline} {meanwhile}");
    let waited: u64 = modes()
        .map(|(_, mode)| mode.contended() + mode.timeouts())
        .sum();
    let sleeps: u64 = meanwhile
        .locks()
        .iter()
        .map(|lock| lock.sleep().waits())
        .sum();
    assert_eq!(timeline.waits(), waited + sleeps, "{timeline} {meanwhile}");
}

/// Records what `f` does.
fn recorded(f: impl FnOnce()) -> Timeline {
    let before = registry::snapshot();
    let recording = timeline::start().unwrap();
    f();
    let timeline = recording.stop();
    assert_adds_up(&timeline, &registry::snapshot().since(&before));
    timeline
}

#[instrumented]
#[derive(Default)]
struct Simple {
    held: Mutex<u64>,
    other: Mutex<u64>,
    shared: RwLock<u64>,
    each: [Mutex<u64>; 2],
}

#[test]
fn a_wait_is_between_the_hold_that_it_waited_for_and_its_own() {
    let _alone = ALONE.lock();
    let simple = Simple::default();
    let timeline = recorded(|| {
        thread::scope(|scope| {
            let held = simple.held.lock();
            let waiter = thread::Builder::new().name("waiter".to_owned());
            let wait = || *simple.held.lock() += 1;
            waiter.spawn_scoped(scope, wait).unwrap();
            thread::sleep(A_WHILE);
            // Not the hold that is waited for, though the last one before.
            drop(simple.other.lock());
            drop(held);
        });
    });
    let mut holds = of(&timeline, EventKind::Hold);
    holds.retain(|hold| hold.lock().ends_with("held"));
    let [before, after] = holds[..] else {
        panic!("{holds:?}");
    };
    let waits = of(&timeline, EventKind::Wait);
    let [wait] = waits[..] else {
        panic!("{waits:?}");
    };
    assert_eq!(
        (wait.thread(), after.thread()),
        ("waiter".to_owned(), "waiter".to_owned())
    );
    assert_ne!(before.track(), wait.track());
    let release = wait.released_by().unwrap();
    assert_eq!(
        (release.start(), release.end()),
        (before.start(), before.end())
    );
    assert!(before.start() <= wait.start() && before.end() <= wait.end());
    assert_eq!(wait.end(), after.start());
    assert_eq!(wait.blamed_on(), Some(before.location()));
    assert!(before.duration() >= A_WHILE && timeline.length() >= after.end());
    let trace = trace(&timeline);
    // To the hold that follows the wait.
    let [(from, to)] = trace.arrows[..] else {
        panic!("{:?}", trace.arrows);
    };
    let (from, to) = (&trace.slices[from], &trace.slices[to]);
    assert!(from.track != to.track && from.is("hold") && to.is("hold"));
    let waiting = with_phase(&trace.json, "C");
    let waiting: Vec<_> = waiting
        .iter()
        .map(|it| it["args"]["threads"].as_u64())
        .collect();
    assert_eq!(waiting, [Some(1), Some(0)]);
}

#[test]
fn there_is_one_at_a_time_and_another_one_afterwards() {
    let _alone = ALONE.lock();
    let recording = timeline::start().unwrap();
    let refused: AlreadyRecording = timeline::start().unwrap_err();
    let error = timeline::record(Duration::from_secs(100)).unwrap_err();
    assert_eq!(refused, error);
    assert_eq!(
        error.to_string(),
        "a timeline is being recorded already; there is one at a time"
    );
    drop(recording);
    assert!(
        timeline::record(Duration::from_millis(1)).unwrap().length() >= Duration::from_millis(1)
    );
}

#[test]
fn a_timeline_in_which_nothing_happens_is_an_empty_trace() {
    let _alone = ALONE.lock();
    let simple = Simple::default();
    for _ in 0..1000 {
        *simple.held.lock() += 1;
    }
    let timeline = recorded(|| ());
    assert_eq!((timeline.holds(), timeline.waits()), (0, 0));
    assert_eq!(timeline.events().len(), 0);
    assert!((timeline.sampled() - 1.0).abs() < f64::EPSILON && timeline.sampled_below().is_none());
    let trace = trace(&timeline);
    assert_eq!(trace.json["otherData"]["holds"], 0);
    assert!(with_phase(&trace.json, "C").is_empty() && with_phase(&trace.json, "i").is_empty());
}

#[test]
fn of_more_than_fits_the_rest_is_counted_and_what_is_long_stays() {
    const PAIRS: u64 = 400_000;
    let _alone = ALONE.lock();
    let simple = Simple::default();
    let timeline = recorded(|| {
        thread::scope(|scope| {
            for lock in &simple.each {
                scope.spawn(|| {
                    for n in 0..PAIRS {
                        if n == PAIRS / 4 || n == PAIRS - 1 {
                            let _long = simple.shared.read();
                            thread::sleep(Duration::from_millis(5));
                        }
                        *lock.lock() += 1;
                    }
                });
            }
        });
    });
    let all = 2 * PAIRS + 4;
    assert_eq!(timeline.holds(), all);
    let kept = timeline.events().len() as u64;
    assert_eq!(timeline.left_out(), all - kept);
    assert!((20_000..=131_072).contains(&kept), "{kept}");
    let share = kept as f64 / all as f64;
    assert!((timeline.sampled() - share).abs() < 1e-9);
    // Others may be as long, where their threads had no processor.
    let long = timeline
        .events()
        .filter(|event| event.lock().ends_with("shared"));
    assert_eq!(long.count(), 4);
    let text = timeline.to_string();
    assert!(
        text.contains("of the holds") && text.contains("are shown"),
        "{text}"
    );
    let trace = trace(&timeline);
    let other = &trace.json["otherData"];
    assert_eq!(other["holds_left_out"], timeline.left_out());
    assert_eq!(other["what"], text);
    // Where somebody sees it who only looks.
    assert_eq!(with_phase(&trace.json, "i")[0]["name"], text);
}

#[test]
fn holds_that_are_not_timed_are_counted_only() {
    let _alone = ALONE.lock();
    let simple = Simple::default();
    *simple.held.lock() += 1;
    let classes = registry::classes();
    let class = classes
        .iter()
        .find(|class| class.name().ends_with("Simple::held"))
        .unwrap();
    class.set_hold_timing(Some("1/64".parse().unwrap()));
    let timeline = recorded(|| (0..64_000).for_each(|_| *simple.held.lock() += 1));
    class.set_hold_timing(None);
    assert_eq!(timeline.holds(), 64_000);
    let timed = timeline.events().len() as u64;
    assert!((500..2000).contains(&timed), "{timed}");
    assert_eq!(timeline.untimed(), 64_000 - timed);
    trace(&timeline);
}

/// What began before, what goes on, and what is in between.
#[test]
fn what_is_not_whole_is_cut_and_not_counted() {
    let _alone = ALONE.lock();
    let simple = Simple::default();
    thread::scope(|scope| {
        let before = simple.shared.read();
        thread::sleep(Duration::from_millis(1));
        let recording = timeline::start().unwrap();
        drop(before);
        let goes_on = simple.held.lock();
        let waiter = scope.spawn(|| {
            *simple.held.lock() += 1;
        });
        thread::sleep(A_WHILE);
        let timeline = recording.stop();
        drop(goes_on);
        waiter.join().unwrap();
        assert_eq!((timeline.holds(), timeline.waits()), (1, 0));
        let events: Vec<_> = timeline.events().collect();
        assert_eq!(events.len(), 3, "{events:?}");
        let [read, held, wait] = events[..] else {
            unreachable!()
        };
        assert!(read.began_before() && read.is_over() && read.start().is_zero());
        assert_eq!(
            (read.mode(), read.kind()),
            (Some(Mode::Read), EventKind::Hold)
        );
        assert!(!held.began_before() && !held.is_over() && held.end() == timeline.length());
        assert_eq!((wait.kind(), wait.is_over()), (EventKind::Wait, false));
        assert!(wait.released_by().is_none());
        let trace = trace(&timeline);
        let waiting = with_phase(&trace.json, "C");
        assert_eq!(waiting.len(), 1);
    });
}

#[test]
fn a_hold_is_its_thread_s_that_acquired_whoever_ends_it_and_however() {
    struct Sent<'a>(Option<MutexGuard<'a, u64>>);
    // SAFETY: parking_lot's mutex may be unlocked by any thread.
    unsafe impl Send for Sent<'_> {}

    let _alone = ALONE.lock();
    let simple = Simple::default();
    let timeline = recorded(|| {
        let mut sent = Sent(Some(simple.held.lock()));
        thread::scope(|scope| {
            let sent = &mut sent;
            scope.spawn(move || {
                let sent = sent;
                drop(sent.0.take());
            });
        });
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _held = simple.other.lock();
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(unwound.is_err());
    });
    let events: Vec<_> = timeline.events().collect();
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events[0].track(), events[1].track());
    assert!(events[0].lock().ends_with("held") && events[1].lock().ends_with("other"));
    trace(&timeline);
}

#[test]
fn holds_that_overlap_are_in_lanes_of_their_own() {
    let _alone = ALONE.lock();
    let simple = Simple::default();
    let timeline = recorded(|| {
        let first = simple.held.lock();
        let second = simple.other.lock();
        drop(first);
        let third = simple.held.lock();
        drop(second);
        drop(third);
    });
    let trace = trace(&timeline);
    let lanes: HashSet<_> = trace.slices.iter().map(|slice| slice.track).collect();
    assert_eq!((trace.slices.len(), lanes.len()), (3, 2));
    let tracks: HashSet<_> = timeline.events().map(|event| event.track()).collect();
    assert_eq!(tracks.len(), 1);
}

#[test]
fn waits_in_vain_and_sleeps_are_in_it() {
    let _alone = ALONE.lock();
    let simple = Simple::default();
    let condvar = Condvar::new();
    let timeline = recorded(|| {
        thread::scope(|scope| {
            let held = simple.held.lock();
            let gives_up = scope.spawn(|| simple.held.try_lock_for(A_WHILE).is_none());
            assert!(gives_up.join().unwrap());
            drop(held);
        });
        let mut held = simple.other.lock();
        assert!(condvar.wait_for(&mut held, A_WHILE).timed_out());
    });
    let gave_up = of(&timeline, EventKind::GaveUp);
    let [gave_up] = gave_up[..] else {
        panic!("{gave_up:?}");
    };
    assert!(gave_up.duration() >= A_WHILE && gave_up.lock().ends_with("held"));
    let sleeps: Vec<_> = of(&timeline, EventKind::Sleep).into_iter().collect();
    assert!(!sleeps.is_empty());
    assert!(
        sleeps
            .iter()
            .all(|it| it.duration() >= A_WHILE && it.mode().is_none()),
        "{sleeps:?}"
    );
    trace(&timeline);
}

/// More than there is room for names.
#[test]
fn of_many_threads_each_has_a_track() {
    const THREADS: usize = 4200;
    let _alone = ALONE.lock();
    let simple = Simple::default();
    let timeline = recorded(|| {
        for n in 0..THREADS {
            let thread = thread::Builder::new().name(format!("one of many {n}"));
            thread::scope(|scope| {
                let once = || *simple.held.lock() += 1;
                thread.spawn_scoped(scope, once).unwrap();
            });
        }
    });
    let tracks: HashMap<_, _> = timeline
        .events()
        .map(|it| (it.track(), it.thread()))
        .collect();
    assert_eq!(tracks.len(), THREADS);
    let threads: HashSet<_> = tracks.into_values().collect();
    assert_eq!(threads.len(), THREADS);
    let named = threads
        .iter()
        .filter(|name| name.starts_with("one of many"))
        .count();
    assert!((4096..THREADS).contains(&named), "{named}");
    trace(&timeline);
}

/// Somebody folds, ends and begins all the time, while one timeline follows the other.
#[test]
fn timelines_may_begin_and_end_at_any_time() {
    let _alone = ALONE.lock();
    let simple = Simple::default();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    thread::scope(|scope| {
                        scope.spawn(|| (0..500).for_each(|_| *simple.shared.write() += 1));
                    });
                    (0..500).for_each(|_| drop(simple.held.lock()));
                }
            });
        }
        let mut events = 0;
        for n in 0..60 {
            let recording = timeline::start().unwrap();
            thread::sleep(Duration::from_millis(n % 4));
            let timeline = recording.stop();
            events += timeline.events().len();
            let over = timeline.events().filter(Event::is_over).count() as u64;
            let all = timeline.holds() + timeline.waits();
            assert_eq!(
                over + timeline.left_out() + timeline.dropped(),
                all,
                "{timeline}"
            );
            if n % 20 == 0 {
                trace(&timeline);
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(events > 0);
    });
}

#[cfg(unix)]
#[test]
fn in_a_child_of_fork_nobody_records() {
    let _alone = ALONE.lock();
    let simple = Simple::default();
    let mut recording = Some(timeline::start().unwrap());
    *simple.held.lock() += 1;
    // SAFETY: the child uses what a child of a process with threads may use: its own memory, the allocator of a C
    // library that takes care of it, and what is being tested.
    let child = unsafe { libc::fork() };
    if child == 0 {
        (0..1000).for_each(|_| *simple.held.lock() += 1);
        let of_parent = recording.take().unwrap().stop();
        let own = timeline::start().map(|own| {
            (0..1000).for_each(|_| *simple.held.lock() += 1);
            own.stop()
        });
        let status = match own {
            _ if of_parent.events().len() > 0 => 1,
            Err(_) => 2,
            Ok(own) if own.holds() != 1000 => 3,
            Ok(own) if own.events().len() != 1000 => 4,
            Ok(_) => 0,
        };
        // SAFETY: ends the child without any destructor.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: `child` is a child of this process, and `status` is there to be written.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(libc::WEXITSTATUS(status), 0);
    assert_eq!(recording.unwrap().stop().holds(), 1);
}

/// As a viewer finds it: from the trace only.
#[test]
fn the_example_shows_a_convoy_a_starving_writer_and_ping_pong() {
    let _alone = ALONE.lock();
    let timeline = example::run();
    example::assert_found(&timeline);
    let trace = trace(&timeline);

    // All others wait behind one hold.
    let holds = trace.of("Shop::stock", "hold", "write");
    let longest = holds
        .iter()
        .max_by_key(|hold| hold.end - hold.start)
        .unwrap();
    let behind = trace
        .of("Shop::stock", "wait", "write")
        .into_iter()
        .filter(|wait| {
            wait.track != longest.track && wait.start < longest.end && wait.end >= longest.end
        });
    let behind: HashSet<_> = behind.map(|wait| wait.track).collect();
    assert_eq!(behind.len(), 3);
    // The queue that formed.
    let counts = with_phase(&trace.json, "C").into_iter();
    let counts = counts.filter(|it| it["name"].as_str().unwrap().ends_with("Shop::stock"));
    let most = counts.map(|it| it["args"]["threads"].as_u64()).max();
    assert_eq!(most, Some(Some(3)));

    // One wait to write overlaps with many reads.
    let starved = trace.of("Shop::prices", "wait", "write");
    let [starved] = starved[..] else {
        panic!("{starved:?}");
    };
    let reads = trace.of("Shop::prices", "hold", "read").into_iter();
    let during = reads.filter(|read| read.start < starved.end && read.end > starved.start);
    assert!(during.count() > 6);

    // The owners alternate, and each turn is led to by the one before.
    let turns = trace.of("Shop::till", "hold", "write");
    let changes = turns
        .windows(2)
        .filter(|two| two[0].track != two[1].track)
        .count();
    assert!(
        turns.len() == 24 && changes > 12,
        "{changes} of {}",
        turns.len()
    );
    let to_turn = |to: &usize| trace.slices[*to].lock().ends_with("Shop::till");
    let led = trace.arrows.iter().filter(|(_, to)| to_turn(to));
    assert!(led.count() > 12);
}
