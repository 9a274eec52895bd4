//! What is held or waited for too long is said: once, as it doubles, and when it is over.

use instrumented_lock::watch::{self, Limits, Long, Report};
use instrumented_lock::{InFlightState, Mode, Mutex, instrumented};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

#[instrumented(prefix = "slow")]
#[derive(Default)]
struct Slow {
    lock: Mutex<u32>,
    patient: Mutex<u32>,
    one: Mutex<u32>,
    other: Mutex<u32>,
}

/// One test: there is one watch.
#[test]
fn long_holds_long_waits_and_deadlocks_are_said() {
    let (say, said) = mpsc::channel();
    let limits =
        Limits::of_all(Duration::from_millis(300)).and("Slow::patient", Duration::from_secs(60));
    watch::start_with(limits, move |report| _ = say.send(report.clone())).unwrap();
    let slow = &Slow::default();
    let line = line!() + 6;
    thread::scope(|scope| {
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let (locked, is_locked) = mpsc::channel();
        let holder = move || {
            let _patient = slow.patient.lock();
            let _held = slow.lock.lock();
            locked.send(()).unwrap();
            thread::sleep(Duration::from_millis(1500));
        };
        named("holder").spawn_scoped(scope, holder).unwrap();
        is_locked.recv().unwrap();
        named("waiter")
            .spawn_scoped(scope, || drop(slow.lock.lock()))
            .unwrap();
    });
    // It is over when the next look has not seen it.
    let all = reports(&said, |all| {
        all.iter().filter(|it| it.is_over()).count() == 2
    });
    let of = |state| {
        all.iter()
            .filter(move |it| it.state() == state)
            .collect::<Vec<_>>()
    };
    let holds = of(InFlightState::Holding);
    assert!(
        all.iter()
            .all(|it| it.lock() == "slow::Slow::lock" && it.mode() == Mode::Write),
        "{all:?}"
    );
    assert!((3..=5).contains(&holds.len()), "{holds:?}");
    assert_eq!(
        (holds[0].thread(), holds[0].location().line()),
        (Some("holder"), line)
    );
    assert_eq!(holds[0].waiting(), [Some("waiter".to_owned())]);
    for pair in holds.windows(2).filter(|pair| !pair[1].is_over()) {
        assert!(pair[1].age() >= pair[0].age() * 2);
    }
    let last = holds.last().unwrap();
    assert!(
        last.is_over() && last.age() > Duration::from_millis(1000),
        "{last:?}"
    );
    let waits = of(InFlightState::Waiting);
    assert_eq!(waits[0].thread(), Some("waiter"));
    assert!(waits.last().unwrap().is_over());

    // A deadlock is said at once, and once.
    let limit = Duration::from_millis(1200);
    thread::scope(|scope| {
        let (one, other): (&Mutex<u32>, &Mutex<u32>) = (&slow.one, &slow.other);
        for (first, second) in [(one, other), (other, one)] {
            scope.spawn(move || {
                let _first = first.lock();
                thread::sleep(Duration::from_millis(100));
                drop(second.try_lock_for(limit));
            });
        }
    });
    let deadlocks = said
        .try_iter()
        .filter(|report| matches!(report, Report::Deadlock(_)));
    assert_eq!(deadlocks.count(), 1);
    watch::stop();
}

/// What is said of long holds and waits, until it is enough.
fn reports(said: &mpsc::Receiver<Report>, is_enough: impl Fn(&[Long]) -> bool) -> Vec<Long> {
    let end = Instant::now() + Duration::from_secs(20);
    let mut all = Vec::new();
    while !is_enough(&all) {
        match said.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Report::Long(long)) => all.push(long),
            Ok(other) => panic!("{other}"),
            Err(error) => panic!("{error}: {all:?}"),
        }
    }
    all
}
