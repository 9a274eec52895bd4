//! A timeline has every wait and hold of its time, or says how many it has not; and a viewer can show its trace.

use instrumented_lock::timeline::{self, AlreadyRecording, Event, EventKind, Timeline};
use instrumented_lock::{
    Condvar, LockSnapshot, Mode, Mutex, MutexGuard, RwLock, Snapshot, instrumented, registry,
};
use instrumented_lock_examples::timeline as example;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
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

/// When a slice of a trace begins and ends.
fn ends(slice: &Value) -> (i64, i64) {
    let start = ns(&slice["ts"]);
    (start, start + ns(&slice["dur"]))
}

/// The trace of a timeline, which is checked for what viewers need.
fn trace(timeline: &Timeline) -> Value {
    let trace: Value = serde_json::from_str(&timeline.to_trace()).unwrap();
    let length = i64::try_from(timeline.length().as_nanos()).unwrap();
    let slices = with_phase(&trace, "X");
    assert_eq!(slices.len(), timeline.events().len());
    let mut tracks = BTreeMap::<u64, Vec<(i64, i64)>>::new();
    for slice in &slices {
        let (start, end) = ends(slice);
        assert!(0 <= start && start <= end && end <= length, "{slice}");
        for key in ["lock", "line", "mode"] {
            assert!(slice["args"][key].is_string(), "{slice}");
        }
        tracks
            .entry(slice["tid"].as_u64().unwrap())
            .or_default()
            .push((start, end));
    }
    let named = with_phase(&trace, "M")
        .into_iter()
        .filter(|it| it["name"] == "thread_name");
    let named: HashSet<_> = named.map(|it| it["tid"].as_u64().unwrap()).collect();
    for (track, slices) in &mut tracks {
        assert!(named.contains(track), "{track}");
        slices.sort_by_key(|&(start, end)| (start, -end));
        let mut open: Vec<i64> = Vec::new();
        for &(start, end) in &*slices {
            open.retain(|&outer| outer > start);
            assert!(
                open.iter().all(|&outer| end <= outer),
                "{track}: {start} to {end} in {open:?}"
            );
            open.push(end);
        }
    }
    let mut arrows = HashMap::new();
    for begin in with_phase(&trace, "s") {
        arrows.insert(begin["id"].as_u64().unwrap(), begin);
    }
    let ended = with_phase(&trace, "f");
    assert_eq!(arrows.len(), ended.len());
    let is_in_slice = |at: &Value, kind: &str| {
        let ns = ns(&at["ts"]);
        slices.iter().any(|slice| {
            let (start, end) = ends(slice);
            slice["tid"] == at["tid"] && slice["cat"] == kind && start <= ns && ns <= end
        })
    };
    // Of very many a part.
    for end in ended.into_iter().take(300) {
        let begin = arrows[&end["id"].as_u64().unwrap()];
        assert!(ns(&begin["ts"]) <= ns(&end["ts"]), "{begin} {end}");
        assert!(
            is_in_slice(begin, "hold") && is_in_slice(end, "wait"),
            "{begin} {end}"
        );
    }
    for counter in with_phase(&trace, "C") {
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
            drop(held);
        });
    });
    let holds = of(&timeline, EventKind::Hold);
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
    assert_eq!(with_phase(&trace, "s").len(), 1);
    let waiting = with_phase(&trace, "C");
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
    assert_eq!(trace["otherData"]["holds"], 0);
    assert!(with_phase(&trace, "C").is_empty());
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
    assert_eq!(trace["otherData"]["holds_left_out"], timeline.left_out());
    assert_eq!(trace["otherData"]["what"], text);
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
        let waiting = with_phase(&trace, "C");
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
    let slices = with_phase(&trace, "X");
    let lanes: HashSet<_> = slices.iter().map(|slice| slice["tid"].as_u64()).collect();
    assert_eq!((slices.len(), lanes.len()), (3, 2));
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
            scope.spawn(|| assert!(simple.held.try_lock_for(A_WHILE).is_none()));
            thread::sleep(2 * A_WHILE);
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
    let slices = with_phase(&trace, "X");
    let of = |lock: &str, category: &str, mode: &str| {
        let is_it = |slice: &&&Value| {
            let args = &slice["args"];
            args["lock"].as_str().unwrap().ends_with(lock)
                && slice["cat"] == category
                && args["mode"] == mode
        };
        slices.iter().filter(is_it).copied().collect::<Vec<_>>()
    };
    let length = |slice: &&Value| ns(&slice["dur"]);

    // All others wait behind one hold.
    let longest = of("Shop::stock", "hold", "write")
        .into_iter()
        .max_by_key(length)
        .unwrap();
    let (_, released) = ends(longest);
    let waits = of("Shop::stock", "wait", "write");
    let behind = waits.iter().filter(|wait| {
        let (start, end) = ends(wait);
        wait["tid"] != longest["tid"] && start < released && end >= released
    });
    let behind: HashSet<_> = behind.map(|wait| wait["tid"].as_u64()).collect();
    assert_eq!(behind.len(), 3);
    // The queue that formed.
    let counts = with_phase(&trace, "C").into_iter();
    let counts = counts.filter(|it| it["name"].as_str().unwrap().ends_with("Shop::stock"));
    assert_eq!(
        counts.map(|it| it["args"]["threads"].as_u64()).max(),
        Some(Some(3))
    );

    // One wait to write overlaps with many reads.
    let starved = of("Shop::prices", "wait", "write");
    assert_eq!(starved.len(), 1);
    let (start, end) = ends(starved[0]);
    let reads = of("Shop::prices", "hold", "read");
    let during = reads
        .iter()
        .map(|read| ends(read))
        .filter(|read| read.0 < end && read.1 > start);
    assert!(during.count() > 6);

    // The owners alternate.
    let mut turns = of("Shop::till", "hold", "write");
    turns.sort_by_key(|turn| ends(turn));
    let changes = turns
        .windows(2)
        .filter(|two| two[0]["tid"] != two[1]["tid"])
        .count();
    assert!(
        turns.len() == 24 && changes > 12,
        "{changes} of {}",
        turns.len()
    );
    // Each turn but the first ends a wait of the other.
    assert!(with_phase(&trace, "s").len() > 12);
}
