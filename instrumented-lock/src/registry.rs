//! The registry: every lock class of the process, what is recorded of it, and the snapshot of them
//! all.
//!
//! Declarations come from `inventory` at link time, so declared classes are listed before their first
//! use. The first use of a lock also makes its class, because a linked crate that nobody names can
//! lose its link-time registrations. Locks that nobody annotated have one by their creation site.
//!
//! Nothing here runs while a lock of the user's is taken, except at the first use of an inner lock.

use crate::class::{Declaration, Declarations, LockClass, LockKind, OwnSettings, Recording};
use crate::clock;
use crate::settings::{HoldTiming, InvalidSetting, Settings};
use crate::snapshot::{LockSnapshot, Snapshot};
use crate::stats::Scratch;
use std::collections::BTreeMap;
use std::panic::Location;
use std::ptr;

pub use crate::settings::ENVIRONMENT_VARIABLE;

/// An uninstrumented lock: the registry is below the locks it lists.
static REGISTRY: parking_lot::Mutex<Registry> = parking_lot::Mutex::new(Registry {
    classes: Vec::new(),
    sites: BTreeMap::new(),
    declarations_listed: false,
    settings: None,
    environment_error: None,
});

struct Registry {
    classes: Vec<Entry>,
    /// One class for a place in the source, however many copies of the [`Location`] there are.
    sites: BTreeMap<&'static Location<'static>, &'static LockClass>,
    declarations_listed: bool,
    /// `None` until the environment has been asked.
    settings: Option<Settings>,
    environment_error: Option<InvalidSetting>,
}

struct Entry {
    class: &'static LockClass,
    own: OwnSettings,
}

impl Entry {
    fn apply(&self, settings: Settings) {
        let is_on = !settings.is_off && !self.own.is_off;
        let recording = is_on.then(|| Recording {
            timing: self.own.timing.unwrap_or(settings.timing),
            call_sites: self.own.call_sites.unwrap_or(settings.call_sites),
        });
        self.class.switch(recording, settings.measurements > 0);
    }
}

impl Registry {
    /// Lists a new class, which lives as long as the process.
    fn enrol(&mut self, class: LockClass) -> &'static LockClass {
        let entry = Entry {
            class: Box::leak(Box::new(class)),
            own: OwnSettings::default(),
        };
        entry.apply(self.settings());
        let class = entry.class;
        self.classes.push(entry);
        class
    }

    fn class_of(&mut self, declaration: &Declaration) -> &'static LockClass {
        declaration.class.get_or_init(|| {
            self.enrol(LockClass::new(
                declaration.name,
                declaration.kind,
                declaration.declared_at,
                declaration.rank,
            ))
        })
    }

    fn class_of_site(
        &mut self,
        location: &'static Location<'static>,
        kind: LockKind,
    ) -> &'static LockClass {
        if let Some(class) = self.sites.get(location) {
            return class;
        }
        let name = Box::leak(location.to_string().into_boxed_str());
        let class = self.enrol(LockClass::new(name, kind, location, None));
        self.sites.insert(location, class);
        class
    }

    fn enrol_declarations(&mut self) {
        if !self.declarations_listed {
            self.declarations_listed = true;
            for declarations in inventory::iter::<Declarations> {
                for declaration in declarations.0 {
                    self.class_of(declaration);
                }
            }
        }
    }

    fn settings(&mut self) -> Settings {
        *self.settings.get_or_insert_with(|| {
            let text = std::env::var(ENVIRONMENT_VARIABLE).unwrap_or_default();
            let settings: Settings = text.parse().unwrap_or_else(|error| {
                eprintln!("{ENVIRONMENT_VARIABLE}: {error}");
                self.environment_error = Some(error);
                Settings::default()
            });
            if settings.ordered_clock {
                clock::order(true);
            }
            settings
        })
    }

    fn change(&mut self, change: impl FnOnce(&mut Settings)) {
        self.enrol_declarations();
        let mut settings = self.settings();
        change(&mut settings);
        self.settings = Some(settings);
        for entry in &self.classes {
            entry.apply(settings);
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
    let mut classes: Vec<_> = registry.classes.iter().map(|entry| entry.class).collect();
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
    let mut scratch = Scratch::new();
    let locks = classes()
        .into_iter()
        .map(|class| LockSnapshot::of(class, &mut scratch))
        .collect();
    let error = REGISTRY.lock().environment_error.clone();
    let environment = error.map(|error| format!("{ENVIRONMENT_VARIABLE}: {error}"));
    let compiled_out = cfg!(not(feature = "stats")).then(|| {
        "recording is not compiled in; turn on the feature `stats` of instrumented-lock".to_owned()
    });
    Snapshot::new(
        clock::since_start(),
        is_enabled(),
        environment.into_iter().chain(compiled_out).collect(),
        locks,
    )
}

/// Turns recording on (as it is from the start) or off, for all locks of the process.
///
/// Off, an acquisition is neither counted nor timed and costs little more than the bare lock. An
/// acquisition that was observed is recorded to its end, so acquisitions and releases stay
/// balanced; the release of one that was not, after recording has been turned on in mid-hold, is
/// counted as [unmatched](LockSnapshot::unmatched) and recorded nowhere else. Other threads notice
/// the switch within some nanoseconds.
///
/// A process can also [start](ENVIRONMENT_VARIABLE) with recording off.
pub fn set_enabled(enabled: bool) {
    REGISTRY
        .lock()
        .change(|settings| settings.is_off = !enabled);
}

/// Whether recording is on; see [`set_enabled`]. Never with the feature `stats` off.
pub fn is_enabled() -> bool {
    cfg!(feature = "stats") && !REGISTRY.lock().settings().is_off
}

/// Sets which holds are timed, for all classes that do not have it
/// [set for themselves](LockClass::set_hold_timing). Every one is, from the start, unless the
/// [environment](ENVIRONMENT_VARIABLE) says otherwise.
pub fn set_hold_timing(timing: HoldTiming) {
    REGISTRY.lock().change(|settings| settings.timing = timing);
}

/// Tells the lines apart that take locks, as from the start, or not, for all classes that do not
/// have it [set for themselves](LockClass::set_call_sites).
///
/// Without call sites everything else is recorded as before; acquisitions, waits and blame of all
/// lines are in one row, which belongs to no line. That saves what finding the line's row costs.
pub fn set_call_sites(call_sites: bool) {
    REGISTRY
        .lock()
        .change(|settings| settings.call_sites = call_sites);
}

/// The clock reads otherwise than before: classes learn whether their locks can take the fast path.
pub(crate) fn clock_changed() {
    REGISTRY.lock().change(|_| ());
}

/// A measurement begins: from here on every class notes its acquisitions.
pub(crate) fn begin_measurement() {
    REGISTRY
        .lock()
        .change(|settings| settings.measurements += 1);
}

/// A measurement ends. After the last one classes are what they were.
pub(crate) fn end_measurement() {
    REGISTRY
        .lock()
        .change(|settings| settings.measurements -= 1);
}

/// Changes what the class itself says.
pub(crate) fn change_own(class: &'static LockClass, change: impl FnOnce(&mut OwnSettings)) {
    let mut registry = REGISTRY.lock();
    let settings = registry.settings();
    let entry = registry
        .classes
        .iter_mut()
        .find(|entry| ptr::eq(entry.class, class));
    if let Some(entry) = entry {
        change(&mut entry.own);
        entry.apply(settings);
    }
}

/// A lock is used for the first time. Called before its first acquisition.
pub(crate) fn first_use(class: &LockClass, kind: LockKind) {
    if clock::start() {
        clock_changed();
    }
    class.set_kind(kind);
}

/// The class that is declared so.
pub(crate) fn class_of(declaration: &Declaration) -> &'static LockClass {
    let known = declaration.class.get().copied();
    known.unwrap_or_else(|| REGISTRY.lock().class_of(declaration))
}

/// The class of the locks that are created at `location`.
pub(crate) fn class_of_site(
    location: &'static Location<'static>,
    kind: LockKind,
) -> &'static LockClass {
    REGISTRY.lock().class_of_site(location, kind)
}
