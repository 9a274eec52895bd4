//! With the feature `tracing`, what the watch sees and what is wrong with the order of locks are events with
//! fields.

use instrumented_lock::watch::{self, Limits};
use instrumented_lock::{Mutex, instrumented, order};
use std::collections::HashMap;
use std::fmt;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

const LIMIT: Duration = Duration::from_secs(20);

#[derive(Debug)]
struct Emitted {
    target: String,
    level: Level,
    fields: HashMap<String, String>,
}

impl Emitted {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    fn number(&self, name: &str) -> f64 {
        self.field(name).parse().unwrap()
    }
}

impl Visit for Emitted {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.to_string(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.to_string(), format!("{value:?}"));
    }
}

/// Sends on all events of this library. As subscribers do, it takes a lock meanwhile, and one of this library.
struct Sends {
    to: Mutex<mpsc::Sender<Emitted>>,
}

impl Subscriber for Sends {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("instrumented_lock")
    }

    fn event(&self, event: &Event<'_>) {
        let mut emitted = Emitted {
            target: event.metadata().target().to_owned(),
            level: *event.metadata().level(),
            fields: HashMap::new(),
        };
        event.record(&mut emitted);
        let _ = self.to.lock().send(emitted);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[instrumented(prefix = "bank")]
#[derive(Default)]
struct Bank {
    accounts: Mutex<u32>,
    journal: Mutex<u32>,
    slow: Mutex<u32>,
    one: Mutex<u32>,
    other: Mutex<u32>,
}

/// The next event that is as it has to be.
fn next(events: &mpsc::Receiver<Emitted>, is_it: impl Fn(&Emitted) -> bool) -> Emitted {
    let start = Instant::now();
    loop {
        let left = LIMIT.saturating_sub(start.elapsed());
        let event = events.recv_timeout(left).expect("an event in time");
        if is_it(&event) {
            return event;
        }
    }
}

/// One test: a process has one subscriber and one watch.
#[test]
fn findings_long_holds_and_deadlocks_are_events_with_fields() {
    let (to, events) = mpsc::channel();
    let subscriber = Sends { to: Mutex::new(to) };
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let bank: &'static Bank = Box::leak(Box::default());

    order::follow(order::Reaction::Log);
    {
        let _accounts = bank.accounts.lock();
        *bank.journal.lock() += 1;
    }
    {
        let _journal = bank.journal.lock();
        *bank.accounts.lock() += 1;
    }
    order::follow(order::Reaction::Collect);
    let finding = next(&events, |event| event.target == "instrumented_lock::order");
    assert_eq!(finding.level, Level::WARN);
    assert_eq!(finding.field("kind"), "circle");
    assert_eq!(finding.field("edges"), "2");
    let locks = finding.field("locks");
    assert!(
        locks.contains("bank::Bank::journal -> bank::Bank::accounts")
            && locks.contains("bank::Bank::accounts -> bank::Bank::journal"),
        "{locks}"
    );
    let file = file!().rsplit('/').next().unwrap();
    assert!(finding.field("finding").contains(file), "{finding:?}");

    watch::start(Limits::of_all(Duration::from_millis(200))).unwrap();
    let line = line!() + 3;
    thread::scope(|scope| {
        let hold = || {
            let _held = bank.slow.lock();
            thread::sleep(Duration::from_millis(900));
        };
        let named = thread::Builder::new().name("holder".to_owned());
        named.spawn_scoped(scope, hold).unwrap();
    });
    let is_of_slow = |event: &Emitted| event.field("lock") == "bank::Bank::slow";
    let long = next(&events, is_of_slow);
    assert_eq!(long.target, "instrumented_lock::watch");
    assert_eq!(long.level, Level::WARN);
    let fields = ["state", "mode", "thread"].map(|name| long.field(name));
    assert_eq!(fields, ["holding", "write", "holder"]);
    let location = long.field("location");
    assert!(location.contains(&format!("{file}:{line}:")), "{location}");
    assert!((0.2..0.9).contains(&long.number("age_seconds")), "{long:?}");
    assert_eq!(long.field("waiting_threads"), "0");
    let over = next(&events, |event| {
        is_of_slow(event) && event.level == Level::INFO
    });
    assert!(over.number("age_seconds") >= long.number("age_seconds"));

    // Never joined: they wait for each other until the process ends.
    let both_hold: &'static std::sync::Barrier = Box::leak(Box::new(std::sync::Barrier::new(2)));
    let pairs: [(_, &Mutex<u32>, &Mutex<u32>); 2] = [
        ("left", &bank.one, &bank.other),
        ("right", &bank.other, &bank.one),
    ];
    for (name, first, second) in pairs {
        let wait_for_ever = move || {
            let _first = first.lock();
            both_hold.wait();
            let _second = second.lock();
        };
        let thread = thread::Builder::new().name(name.to_owned());
        thread.spawn(wait_for_ever).unwrap();
    }
    let mut threads = [(); 2].map(|()| {
        let stuck = next(&events, |event| event.level == Level::ERROR);
        assert_eq!(stuck.target, "instrumented_lock::watch");
        assert!(stuck.number("waiting_seconds") >= 0.0);
        (
            stuck.field("thread").to_owned(),
            stuck.field("holder").to_owned(),
            stuck.field("lock").to_owned(),
        )
    });
    threads.sort();
    let expected = [
        ("left", "right", "bank::Bank::other"),
        ("right", "left", "bank::Bank::one"),
    ];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(threads, expected);
}
