//! A timeline has every wait and hold of its time, or says how many it has not.

use instrumented_lock::timeline::{self, EventKind};
use instrumented_lock::{Mutex, instrumented};
use parking_lot::Mutex as PlainMutex;
use std::thread;
use std::time::Duration;

/// There is one timeline at a time.
static ALONE: PlainMutex<()> = PlainMutex::new(());

#[instrumented]
struct Simple {
    held: Mutex<u64>,
}

#[test]
fn a_wait_is_between_the_hold_that_it_waited_for_and_its_own() {
    let _alone = ALONE.lock();
    let simple = Simple {
        held: Mutex::new(0),
    };
    let recording = timeline::start().unwrap();
    thread::scope(|scope| {
        let held = simple.held.lock();
        let waiter = thread::Builder::new().name("waiter".to_owned());
        waiter
            .spawn_scoped(scope, || *simple.held.lock() += 1)
            .unwrap();
        thread::sleep(Duration::from_millis(20));
        drop(held);
    });
    let timeline = recording.stop();
    println!("{timeline}\n{}", timeline.to_trace());
    let of = |kind| timeline.events().filter(move |event| event.kind() == kind);
    let holds: Vec<_> = of(EventKind::Hold).collect();
    assert_eq!(holds.len(), 2);
    let wait = of(EventKind::Wait).next().unwrap();
    assert_eq!(wait.thread(), "waiter");
    let release = wait.released_by().unwrap();
    assert_eq!(release.start(), holds[0].start());
    assert!(wait.start() >= release.start() && wait.end() >= release.end());
    assert_eq!(wait.end(), holds[1].start());
}
