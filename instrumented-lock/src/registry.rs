//! The registry: every lock class of the process, and the snapshot of them all.
//!
//! Declared classes come from `inventory` at link time, so they are listed before their first use.
//! A class also enrols itself at its first use, because a linked crate that nobody names can lose
//! its link-time registrations. Locks that nobody annotated enrol by their creation site.
//!
//! Nothing here runs while a lock of the user's is taken, except at the first use of an inner lock.

use crate::class::{Declaration, LockClass, LockKind};
use crate::clock;
use crate::snapshot::{LockSnapshot, Snapshot};
use std::collections::BTreeMap;
use std::panic::Location;

/// An uninstrumented lock: the registry is below the locks it lists.
static REGISTRY: parking_lot::Mutex<Registry> = parking_lot::Mutex::new(Registry {
    classes: Vec::new(),
    sites: BTreeMap::new(),
    declarations_listed: false,
    is_off: false,
});

struct Registry {
    classes: Vec<&'static LockClass>,
    /// One class for a place in the source, however many copies of the [`Location`] there are.
    sites: BTreeMap<&'static Location<'static>, &'static LockClass>,
    declarations_listed: bool,
    is_off: bool,
}

impl Registry {
    fn enrol(&mut self, class: &'static LockClass) {
        if !class.is_enrolled() {
            self.classes.push(class);
            class.switch(!self.is_off);
        }
    }

    fn enrol_declarations(&mut self) {
        if !self.declarations_listed {
            self.declarations_listed = true;
            for declaration in inventory::iter::<Declaration> {
                self.enrol(declaration.0);
            }
        }
    }
}

/// Every lock class of the program, by name: all that `#[instrumented]` declares, used or not, and
/// every un-annotated lock's class from its first use on.
///
/// Cost: some microseconds; takes the registry's own lock and no instrumented one.
pub fn classes() -> Vec<&'static LockClass> {
    let mut registry = REGISTRY.lock();
    registry.enrol_declarations();
    let mut classes = registry.classes.clone();
    drop(registry);
    classes.sort_by_key(|class| (class.name(), class.declared_at()));
    classes
}

/// The figures of every class at this moment.
///
/// Counted is everything that has happened since the start of the process, in all threads, those
/// that have ended included. Each thread's figures are seen whole: in every distribution the count
/// is the sum of the buckets, and sum, squares, minimum and maximum belong to that count.
/// Acquisitions are at least releases plus the holds in progress at that moment, and at most that
/// plus what other threads do meanwhile.
///
/// Cost: about a microsecond for each thread slot that has used a class. No instrumented lock is
/// taken and no thread is stopped, so this works while the program hangs.
pub fn snapshot() -> Snapshot {
    clock::refine();
    let locks = classes().into_iter().map(LockSnapshot::of).collect();
    Snapshot::new(clock::since_start(), is_enabled(), locks)
}

/// Turns recording on (as it is from the start) or off, for all locks of the process.
///
/// Off, an acquisition is neither counted nor timed and costs little more than the bare lock. An
/// acquisition that was observed is recorded to its end, so acquisitions and releases stay
/// balanced; the release of one that was not, after recording has been turned on in mid-hold, is
/// counted as [unmatched](LockSnapshot::unmatched) and recorded nowhere else. Other threads notice
/// the switch within some nanoseconds.
pub fn set_enabled(enabled: bool) {
    let mut registry = REGISTRY.lock();
    registry.enrol_declarations();
    registry.is_off = !enabled;
    for class in &registry.classes {
        class.switch(enabled);
    }
}

/// Whether recording is on; see [`set_enabled`].
pub fn is_enabled() -> bool {
    !REGISTRY.lock().is_off
}

/// Lists the class if it is not listed yet. Called before the first acquisition of every lock.
pub(crate) fn enrol(class: &'static LockClass, kind: LockKind) {
    clock::start();
    class.set_kind(kind);
    if !class.is_enrolled() {
        REGISTRY.lock().enrol(class);
    }
}

/// The class of the locks that are created at `location`.
pub(crate) fn class_of_site(
    location: &'static Location<'static>,
    kind: LockKind,
) -> &'static LockClass {
    let mut registry = REGISTRY.lock();
    registry.sites.entry(location).or_insert_with(|| {
        let name = Box::leak(location.to_string().into_boxed_str());
        Box::leak(Box::new(LockClass::new(name, kind, location)))
    })
}
