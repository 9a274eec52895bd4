//! What else may stand in the line of a lock.

use super::taken;
use instrumented_lock::{Mutex, instrumented, registry};
use std::sync::Arc;

struct Lines {
	tab: Arc<Mutex<&'static str>>,
    wide: Arc<Mutex<&'static str>>,
    first: Arc<Mutex<u8>>,
    second: Arc<Mutex<u8>>,
    by_macro: Arc<Mutex<u8>>,
    in_macro: Arc<Mutex<u8>>,
}

macro_rules! lock {
    ($value:expr) => {
        Arc::new(Mutex::new($value))
    };
}

macro_rules! pass {
    ($value:expr) => {
        $value
    };
}

macro_rules! both {
    () => {
        (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)))
    };
}

#[instrumented]
#[rustfmt::skip]
impl Lines {
    fn new() -> Self {
        Lines {
	    	tab: Arc::new(	Mutex::new("	")),
            /* ＷＩＤＥ 漢字 👩‍👩‍👧 */ wide: Arc::new(Mutex::new("漢字")),
            first: Arc::new(Mutex::new(0)), second: Arc::new(Mutex::new(0)),
            by_macro: lock!(0),
            in_macro: pass!(Arc::new(Mutex::new(0))),
        }
    }
}

#[test]
fn tabs_wide_characters_and_neighbours_are_told_apart() {
    let lines = Lines::new();
    drop(lines.tab.lock());
    drop(lines.wide.lock());
    drop((lines.first.lock(), lines.second.lock()));
    drop(lines.by_macro.lock());
    drop(lines.in_macro.lock());
    for field in ["tab", "wide", "first", "second", "by_macro", "in_macro"] {
        taken(&format!("lines::Lines::{field}"), 1);
    }
}

struct Both {
    one: Arc<Mutex<u8>>,
    two: Arc<Mutex<u8>>,
}

/// Two places of one macro are one line, and nobody knows which is which.
macro_rules! make_both {
    () => {
        #[instrumented]
        impl Both {
            fn new() -> Self {
                Both {
                    one: Arc::new(Mutex::new(0)),
                    two: Arc::new(Mutex::new(0)),
                }
            }
        }
    };
}

make_both!();

#[instrumented]
fn pairs() -> u32 {
    let line = line!() + 1;
    let (one, two) = both!();
    drop((one.lock(), two.lock()));
    line
}

#[test]
fn what_a_macro_makes_twice_is_named_by_its_line() {
    let both = Both::new();
    drop((both.one.lock(), both.two.lock()));
    let line = pairs();
    let snapshot = registry::snapshot();
    let by_line = |lock: &&instrumented_lock::LockSnapshot| lock.name().contains("lines.rs:");
    let names: Vec<_> = snapshot.locks().iter().filter(by_line).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.iter().all(|lock| lock.write().acquisitions() == 2));
    let made = format!("lines.rs:{line}:");
    assert!(names.iter().any(|lock| lock.name().contains(&made)));
}

#[instrumented]
fn unnamed() -> u32 {
    fn two(_: u8, one: Arc<Mutex<u8>>, other: Arc<Mutex<u8>>) -> u8 {
        *one.lock() + *other.lock()
    }
    fn taken(lock: Arc<Mutex<u8>>) {
        drop(lock.lock());
    }
    #[rustfmt::skip]
    taken(Arc::new(Mutex::new(0)));
    two(1, Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    line!()
}

#[test]
fn a_lock_that_goes_nowhere_is_named_by_its_line() {
    let before = registry::snapshot().locks().len();
    unnamed();
    assert!(registry::snapshot().locks().len() >= before);
    assert!(super::kind("lines::unnamed").is_none());
}
