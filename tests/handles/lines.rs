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

const BOTH: u32 = line!() + 1;
make_both!();

#[instrumented]
fn pairs() -> u32 {
    let line = line!() + 1;
    let (one, two): (Arc<Mutex<u8>>, Arc<Mutex<u8>>) = both!();
    drop((one.lock(), two.lock()));
    line
}

#[test]
fn what_a_macro_makes_twice_is_named_by_its_line() {
    let both = Both::new();
    drop((both.one.lock(), both.two.lock()));
    let line = pairs();
    let snapshot = registry::snapshot();
    for line in [line, BOTH] {
        let by_line = format!("lines.rs:{line}:");
        let locks = snapshot.locks().iter();
        let found: Vec<_> = locks
            .filter(|lock| lock.name().contains(&by_line))
            .collect();
        assert_eq!(found.len(), 1, "{by_line}");
        assert_eq!(found[0].write().acquisitions(), 2, "{by_line}");
    }
}

#[instrumented]
fn unnamed() -> u32 {
    fn two(_: u8, one: Arc<Mutex<u8>>, other: Arc<Mutex<u8>>) -> u8 {
        *one.lock() + *other.lock()
    }
    let line = line!() + 1;
    two(1, Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    line
}

#[test]
fn a_lock_that_goes_nowhere_is_named_by_its_line() {
    let line = unnamed();
    let by_line = format!("lines.rs:{line}:");
    let snapshot = registry::snapshot();
    let locks = snapshot.locks().iter();
    assert_eq!(
        locks.filter(|lock| lock.name().contains(&by_line)).count(),
        2
    );
    assert!(super::kind("lines::unnamed").is_none());
}
