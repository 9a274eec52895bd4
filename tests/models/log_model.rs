//! The log of `stats/log.rs`, under every interleaving that loom finds.
//!
//! The file is compiled here against loom's atomics and pages of a few records; everything else in it
//! is what the library ships. The figures of a class are a loom mutex.

mod sync {
    pub(super) use loom::hint::spin_loop;
    use loom::sync::atomic;
    pub(super) use loom::sync::atomic::{
        AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence,
    };
    pub(super) use loom::thread::yield_now;

    /// The page's lock swaps in a 1 where there may be one already. That changes nothing, but loom takes
    /// it for a store that may come after the unlock, and then spins for ever.
    pub(super) struct AtomicU32(atomic::AtomicU32);

    impl AtomicU32 {
        #[track_caller]
        pub(super) fn new(n: u32) -> Self {
            AtomicU32(atomic::AtomicU32::new(n))
        }

        pub(super) fn load(&self, order: Ordering) -> u32 {
            self.0.load(order)
        }

        pub(super) fn store(&self, n: u32, order: Ordering) {
            self.0.store(n, order);
        }

        pub(super) fn swap(&self, n: u32, order: Ordering) -> u32 {
            let swapped = self.0.compare_exchange(1 - n, n, order, Ordering::Relaxed);
            swapped.unwrap_or_else(|it| it)
        }
    }
}

mod owner {
    pub(crate) const PAGE_RECORDS: usize = 3;
    pub(crate) const PAGE_NUMBERS: u32 = 64;

    pub(crate) struct PageOwner;

    impl PageOwner {
        pub(crate) fn first_number(&self) -> u32 {
            PAGE_NUMBERS
        }
    }
}

use owner::PageOwner;

#[path = "../../instrumented-lock/src/stats/log.rs"]
mod log;

use crate::model;
use log::{Bits, Entry, Locked, Page, Record};
use loom::sync::{Arc, Mutex};
use loom::thread;

/// What records say here: a hold, and what belongs to one.
const HOLD: usize = 1;
const BELONGS: usize = 2;
/// Of another class.
const OTHER: usize = 3;

/// What is kept of a class: how many of each there were, and the sum of what they lasted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Figures {
    holds: u64,
    belongs: u64,
    total: u64,
}

/// A thread's page, and the class that all its records are of.
struct Class {
    page: Page,
    figures: Mutex<Figures>,
    /// Those of another class: how many.
    others: Mutex<u64>,
}

/// What somebody sees of it at one moment.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Holds that have begun, and those that have ended.
    begun: u64,
    ended: u64,
    /// Those that are not in the figures: as a snapshot sees it, they are held.
    held: u64,
    belongs: u64,
}

impl Class {
    fn new() -> Arc<Self> {
        let class = Arc::new(Class {
            page: Page::new(PageOwner),
            figures: Mutex::new(Figures::default()),
            others: Mutex::new(0),
        });
        class.page.lock().open();
        class
    }

    /// As `fold` does it: of a page that is locked, all that has ended is added to the figures.
    fn fold(&self, page: &Locked<'_>) {
        let left = page.unconsumed();
        let mut others = 0;
        for index in Bits(left) {
            let record = page.page.record(index);
            others |= u64::from(record.what() == OTHER) << index;
        }
        self.fold_own(page, left & !others);
        for index in Bits(others) {
            let record = page.page.record(index);
            if record.end().is_some() {
                let mut figures = self.others.lock().unwrap();
                *figures += 1;
                page.consume(1 << index);
            }
        }
    }

    fn fold_own(&self, page: &Locked<'_>, left: u64) {
        if !Bits(left).any(|index| page.page.record(index).end().is_some()) {
            return;
        }
        let mut figures = self.figures.lock().unwrap();
        let mut consumed = 0;
        for index in Bits(left) {
            let record = page.page.record(index);
            let (what, start) = (record.what(), record.start());
            let Some(end) = record.end() else {
                continue;
            };
            match what {
                HOLD => {
                    assert_eq!(record.site(), site_of(start), "of another hold");
                    assert_eq!(end, end_of(start), "another hold's end");
                    figures.holds += 1;
                    figures.total += end - start;
                }
                BELONGS => figures.belongs += 1,
                _ => panic!("a record that nobody has written: {what}"),
            }
            consumed |= 1 << index;
        }
        page.consume(consumed);
    }

    /// As a snapshot does it: folds, and counts what is then in flight.
    fn look(&self) -> Seen {
        self.fold(&self.page.lock());
        self.look_only()
    }

    /// As it goes on: the figures, and what is not in them.
    fn look_only(&self) -> Seen {
        let figures = self.figures.lock().unwrap();
        assert_eq!(figures.total, figures.holds * LASTS);
        let mut seen = Seen {
            begun: figures.holds,
            ended: figures.holds,
            held: 0,
            belongs: figures.belongs,
        };
        for index in Bits(self.page.unconsumed()) {
            let record = self.page.record(index);
            let start = record.start();
            match record.what() {
                HOLD => {
                    assert_eq!(record.site(), site_of(start), "of another hold");
                    seen.begun += 1;
                    seen.held += 1;
                    seen.ended += u64::from(record.end().is_some());
                }
                BELONGS => seen.belongs += 1,
                what => panic!("a record that nobody has written: {what}"),
            }
        }
        seen
    }

    /// A hold begins that is told from others by its start. For the owner, where there is room.
    fn begin(&self, start: u64) -> &Record {
        let window = self.page.window();
        let next = window.next().expect("room for a record");
        window.begin_hold(next, (HOLD, site_of(start)), || start, |_| ());
        next
    }

    /// As when there is no room: the owner folds, and opens another window.
    fn make_room(&self) {
        let page = self.page.lock();
        self.fold(&page);
        page.open();
    }
}

/// What a hold lasts.
const LASTS: u64 = 100;

fn end_of(start: u64) -> u64 {
    start + LASTS
}

fn site_of(start: u64) -> usize {
    start as usize * 16
}

fn end(record: &Record, start: u64) {
    record.finish(end_of(start));
}

/// Holds that have certainly begun and ended: what happened before is seen.
fn at_least(seen: Seen, begun: u64, ended: u64) {
    assert!(seen.begun >= begun && seen.ended >= ended, "{seen:?}");
    assert!(seen.ended <= seen.begun, "{seen:?}");
}

/// What another thread does with the class meanwhile.
fn beside(class: &Arc<Class>, act: impl FnOnce(&Class) + Send + 'static) -> thread::JoinHandle<()> {
    let class = Arc::clone(class);
    thread::spawn(move || act(&class))
}

// In all of these the owner is the model's main thread: loom branches where a load meets another
// thread's store, and the one who loads first would hide what it loads from the other.

#[test]
fn releases_and_holds_in_flight_are_the_acquisitions() {
    model(None, || {
        let class = Class::new();
        let first = class.begin(1);
        let reader = beside(&class, |class| {
            let seen = class.look();
            at_least(seen, 1, 0);
            let again = class.look();
            at_least(again, seen.begun, seen.ended);
            assert!(again.begun <= 2);
        });
        end(first, 1);
        let second = class.begin(2);
        end(second, 2);
        reader.join().unwrap();
        let seen = class.look();
        assert_eq!((seen.begun, seen.ended), (2, 2));
    });
}

#[test]
fn a_place_is_used_again_while_somebody_looks() {
    model(3, || {
        let class = Class::new();
        let held = class.begin(1);
        for start in [2, 3] {
            end(class.begin(start), start);
        }
        let reader = beside(&class, |class| {
            let seen = class.look_only();
            at_least(seen, 3, 2);
            assert!(seen.begun <= 4, "{seen:?}");
        });
        class.make_room();
        end(class.begin(4), 4);
        end(held, 1);
        reader.join().unwrap();
        let seen = class.look();
        assert_eq!((seen.begun, seen.ended), (4, 4));
    });
}

#[test]
fn a_fold_of_the_owner_and_that_of_a_snapshot_take_turns() {
    model(3, || {
        let class = Class::new();
        for start in [1, 2] {
            end(class.begin(start), start);
        }
        let reader = beside(&class, |class| {
            let seen = class.look();
            at_least(seen, 2, 2);
            assert!(seen.begun <= 3, "{seen:?}");
        });
        class.make_room();
        end(class.begin(3), 3);
        reader.join().unwrap();
        let seen = class.look();
        assert_eq!((seen.begun, seen.ended), (3, 3));
    });
}

/// As when a writer becomes a reader: one hold is published before the other one ends.
#[test]
fn who_goes_on_holding_is_seen_to_hold() {
    model(None, || {
        let class = Class::new();
        let first = class.begin(1);
        let reader = beside(&class, |class| {
            let seen = class.look();
            assert!(seen.held >= 1, "{seen:?}");
        });
        class.begin(2);
        end(first, 1);
        reader.join().unwrap();
        let seen = class.look();
        assert_eq!((seen.begun, seen.ended), (2, 1));
    });
}

#[test]
fn classes_are_folded_one_after_the_other() {
    model(None, || {
        let class = Class::new();
        end(class.begin(1), 1);
        let window = class.page.window();
        let other = window.next().expect("room for a record");
        window.begin_hold(other, (OTHER, 0), || 2, |_| ());
        let reader = beside(&class, |class| class.fold(&class.page.lock()));
        class.fold(&class.page.lock());
        end(other, 2);
        reader.join().unwrap();
        class.fold(&class.page.lock());
        assert_eq!(class.page.unconsumed(), 0);
        assert_eq!(class.figures.lock().unwrap().holds, 1);
        assert_eq!(*class.others.lock().unwrap(), 1);
    });
}

#[test]
fn what_is_published_at_once_is_seen_at_once() {
    model(None, || {
        let class = Class::new();
        let reader = beside(&class, |class| {
            let seen = class.look();
            assert_eq!(seen.begun, seen.belongs, "{seen:?}");
            let seen = class.look_only();
            assert_eq!(seen.begun, seen.belongs, "{seen:?}");
        });
        let hold = Entry {
            what: HOLD,
            site: site_of(1),
            start: 1,
            end: 0,
        };
        let belongs = Entry {
            what: BELONGS,
            site: 0,
            start: 7,
            end: 8,
        };
        let mut batch = class.page.batch();
        let record = batch.push(&hold);
        batch.push(&belongs);
        batch.publish();
        end(record, 1);
        reader.join().unwrap();
        let seen = class.look();
        assert_eq!((seen.begun, seen.ended, seen.belongs), (1, 1, 1));
    });
}

#[test]
fn a_thread_leaves_its_page_while_another_one_ends_its_hold() {
    model(None, || {
        let class = Class::new();
        let unowned = Arc::new(Mutex::new(false));
        // Sent to another thread, as a guard is.
        let sent = class.begin(1);
        let index = Page::place_of(sent).1;
        end(class.begin(2), 2);
        let other = beside(&class, move |class| end(class.page.record(index), 1));
        let next_owner = {
            let (class, unowned) = (Arc::clone(&class), Arc::clone(&unowned));
            thread::spawn(move || {
                let is_unowned = *unowned.lock().unwrap();
                if !is_unowned {
                    return 0;
                }
                class.make_room();
                end(class.begin(3), 3);
                1
            })
        };
        class.make_room();
        *unowned.lock().unwrap() = true;
        let more = next_owner.join().unwrap();
        other.join().unwrap();
        let seen = class.look();
        assert_eq!((seen.begun, seen.ended), (2 + more, 2 + more));
    });
}

#[test]
fn who_is_seen_waiting_has_not_acquired() {
    model(2, || {
        let class = Class::new();
        let acquired = Arc::new(loom::sync::atomic::AtomicU64::new(0));
        let reader = {
            let (class, acquired) = (Arc::clone(&class), Arc::clone(&acquired));
            thread::spawn(move || {
                use loom::sync::atomic::Ordering::Acquire;
                let before = acquired.load(Acquire);
                if let Some(waiting) = class.page.in_flight().0 {
                    let since = waiting.since;
                    assert_eq!(waiting.what, HOLD + since as usize, "of another wait");
                    assert_eq!(waiting.site, site_of(since), "of another wait");
                    assert!(since > before, "had acquired by then");
                }
            })
        };
        for since in [1, 2] {
            let outer = class.page.outer_wait();
            class
                .page
                .begin_wait(HOLD + since as usize, site_of(since), since, 0);
            let hold = Entry {
                what: HOLD,
                site: site_of(since),
                start: since,
                end: 0,
            };
            class.page.publish(&hold);
            acquired.store(since, loom::sync::atomic::Ordering::Release);
            class.page.end_wait(outer);
        }
        reader.join().unwrap();
    });
}

#[test]
fn who_waits_or_holds_is_seen_to_do_either() {
    model(2, || {
        let class = Class::new();
        let outer = class.page.outer_wait();
        class.page.begin_wait(HOLD, site_of(1), 1, 0);
        let reader = beside(&class, |class| {
            let waits = class.page.in_flight().0.is_some();
            assert!(waits || class.look_only().held == 1, "neither");
        });
        let hold = Entry {
            what: HOLD,
            site: site_of(1),
            start: 1,
            end: 0,
        };
        class.page.publish(&hold);
        class.page.end_wait(outer);
        reader.join().unwrap();
    });
}
