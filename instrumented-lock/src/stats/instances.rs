//! Which locks of a class are waited for.
//!
//! [`PLACES`] locks are told apart, and all that have a label; the others share a row. A lock is given a place
//! when it is first waited for. Once all are taken, the lock that has been waited for least loses its place as
//! soon as those without one have been waited for longer, all together: so the few that matter stay, and
//! one that becomes hot later comes in.
//!
//! A lock knows its place by an [`Instance`], which also says the how many-th lock it is that has the place. So
//! what belongs to the last one is not added to the next, and what lies at an address does not matter.

use crate::brief;
use parking_lot::Mutex;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};

/// Locks without a label that are told apart.
const PLACES: usize = 1 << SERIAL;

/// The most that a class takes for locks without a label.
pub(super) const MOST_BYTES: usize = size_of::<Instances>() + PLACES * size_of::<Place>();

/// Labels that a class keeps; a lock that is given one beyond that has none.
const LABELS: usize = LABELLED as usize - 1;

/// Locks that are gone and had a label stay in the report, so many of them.
const GONE: usize = 1024;

/// Which lock of its class one is, in 16 bits.
///
/// | bits | |
/// |---|---|
/// | 0 | not known |
/// | without `LABELLED` | a place, and above it which of the locks that have had it, from 1 on |
/// | with `LABELLED` | a label |
/// | all | one of those that are not told apart |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instance(u16);

const LABELLED: u16 = 1 << 15;
const SERIAL: u32 = 6;
const FIRST_SERIAL: u16 = 1 << SERIAL;

/// Where one is.
enum At {
    Place(usize),
    Label(usize),
}

impl Instance {
    pub(crate) const UNKNOWN: Instance = Instance(0);
    const OTHER: Instance = Instance(u16::MAX);

    fn labelled(place: usize) -> Self {
        Instance(LABELLED | u16::try_from(place).unwrap_or(u16::MAX))
    }

    #[inline]
    pub(crate) fn to_bits(self) -> u16 {
        self.0
    }

    #[inline]
    pub(crate) fn from_bits(bits: u16) -> Self {
        Instance(bits)
    }

    #[inline]
    fn at(self) -> Option<At> {
        match self {
            Self::UNKNOWN | Self::OTHER => None,
            Instance(bits) if bits & LABELLED == 0 => Some(At::Place(usize::from(bits) % PLACES)),
            Instance(bits) => Some(At::Label(usize::from(bits & !LABELLED))),
        }
    }

    /// Of the next lock in the same place.
    fn next(self) -> Self {
        match (self.0 + FIRST_SERIAL) & !LABELLED {
            place if place < FIRST_SERIAL => Instance(place + FIRST_SERIAL),
            next => Instance(next),
        }
    }
}

/// What has been waited for one lock.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WaitedFor {
    /// Waits that ended with the lock taken; how long they lasted in all and at most. Nanoseconds.
    pub(crate) contended: u64,
    pub(crate) blocked: u64,
    pub(crate) blocked_max: u64,
    /// How long others waited while somebody had the lock, also where they gave up. Nanoseconds.
    pub(crate) blame: u64,
}

impl WaitedFor {
    pub(super) fn add_wait(&mut self, ns: u64) {
        self.contended += 1;
        self.blocked = self.blocked.saturating_add(ns);
        self.blocked_max = self.blocked_max.max(ns);
    }

    pub(super) fn add_blame(&mut self, ns: u64) {
        self.blame = self.blame.saturating_add(ns);
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.contended == 0 && self.blame == 0
    }

    fn add(&mut self, more: &WaitedFor) {
        self.contended += more.contended;
        self.blocked = self.blocked.saturating_add(more.blocked);
        self.blocked_max = self.blocked_max.max(more.blocked_max);
        self.blame = self.blame.saturating_add(more.blame);
    }

    fn cost(&self) -> u64 {
        self.blocked.saturating_add(self.blame)
    }
}

/// A lock that is told apart.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) instance: Instance,
    /// Where the lock was when it was given this; what is waited for without a label is looked up again.
    pub(crate) address: usize,
    pub(crate) label: Option<Arc<str>>,
    pub(crate) is_gone: bool,
    pub(crate) waited_for: WaitedFor,
    /// It has a label by now: what was recorded before goes there.
    labelled: Option<Instance>,
}

impl Place {
    fn new(instance: Instance, address: usize) -> Self {
        Place {
            instance,
            address,
            label: None,
            is_gone: false,
            waited_for: WaitedFor::default(),
            labelled: None,
        }
    }
}

/// The locks of a class that have been waited for or have a label.
pub(crate) struct Instances {
    table: Mutex<Table>,
    /// Which locks have the places. Written with the table locked.
    current: [AtomicU16; PLACES],
    /// Where they are.
    addresses: [AtomicUsize; PLACES],
    /// Whether one more lock may have a place.
    may_enter: AtomicBool,
}

struct Table {
    /// With room for all from the start, since nothing is allocated while the table is locked.
    places: Vec<Place>,
    labels: Vec<Place>,
    /// Of the labels, those whose locks are gone; with room for all.
    gone: Vec<u16>,
    others: WaitedFor,
    /// What the others have been waited for since the last time that one lost its place; nanoseconds.
    outside: u64,
}

// Relaxed, everywhere: the table has a lock of its own, and who looks beside it and is late by one wait is
// counted among the others for it.
impl Instances {
    pub(super) fn new() -> Self {
        Instances {
            table: Mutex::new(Table {
                places: Vec::with_capacity(PLACES),
                labels: Vec::new(),
                gone: Vec::new(),
                others: WaitedFor::default(),
                outside: 0,
            }),
            current: [const { AtomicU16::new(0) }; PLACES],
            addresses: [const { AtomicUsize::new(0) }; PLACES],
            may_enter: AtomicBool::new(true),
        }
    }

    /// Whether the lock at `address` still is this.
    #[inline]
    pub(crate) fn is_current(&self, instance: Instance, address: usize) -> bool {
        match instance.at() {
            Some(At::Label(_)) => true,
            Some(At::Place(place)) => {
                let is_it = self.current[place].load(Ordering::Relaxed) == instance.0;
                if is_it && self.addresses[place].load(Ordering::Relaxed) != address {
                    self.addresses[place].store(address, Ordering::Relaxed);
                }
                is_it
            }
            None => instance == Instance::OTHER && !self.may_enter.load(Ordering::Relaxed),
        }
    }

    /// Which lock the one at `address` is that remembers to be `known`: it is given a place if it has none, and
    /// if there is one for it. For one whom no `fork` comes in between.
    pub(crate) fn enter(&self, known: Instance, address: usize) -> Instance {
        let mut table = brief::lock(&self.table);
        if table.find(known).is_some() {
            return known;
        }
        let place = table.places.len();
        let instance = if place < PLACES {
            let first = Instance(u16::try_from(place).unwrap_or(0)).next();
            table.places.push(Place::new(first, address));
            first
        } else if let Some(place) = table.cheapest() {
            let next = table.places[place].instance.next();
            let before = mem::replace(&mut table.places[place], Place::new(next, address));
            table.others.add(&before.waited_for);
            table.outside = 0;
            next
        } else {
            return Instance::OTHER;
        };
        if let Some(At::Place(place)) = instance.at() {
            self.addresses[place].store(address, Ordering::Relaxed);
            self.current[place].store(instance.0, Ordering::Relaxed);
        }
        self.set_may_enter(&table);
        instance
    }

    fn set_may_enter(&self, table: &Table) {
        let may = table.places.len() < PLACES || table.cheapest().is_some();
        self.may_enter.store(may, Ordering::Relaxed);
    }

    /// Gives the lock at `address`, which remembers to be `known`, a label. Returns what it is from now on; that of
    /// before where there is no room for one more label. For one whom no `fork` comes in between, and who may
    /// allocate.
    pub(crate) fn set_label(&self, known: Instance, address: usize, label: Arc<str>) -> Instance {
        // What is replaced is freed when the table is not locked any more.
        let mut spare = Spare::default();
        loop {
            let mut table = brief::lock(&self.table);
            if let Some(At::Label(place)) = known.at() {
                let of = &mut table.labels[place];
                spare.label = of.label.replace(label);
                of.address = address;
                return known;
            }
            let again = table.again(&label);
            if again.is_none() && table.labels.len() >= LABELS {
                return known;
            }
            if again.is_none() && table.labels.len() == table.labels.capacity() {
                let more = (2 * table.labels.len()).clamp(16, LABELS);
                if spare.labels.capacity() < more {
                    drop(table);
                    spare.labels = Vec::with_capacity(more);
                    spare.gone = Vec::with_capacity(more);
                    continue;
                }
                table.grow(&mut spare);
            }
            let place = again.unwrap_or(table.labels.len());
            let instance = Instance::labelled(place);
            let mut new = Place::new(instance, address);
            // What it was waited for without a label comes with it.
            if let Some(before) = table.find(known) {
                new.waited_for = mem::take(&mut before.waited_for);
                before.is_gone = true;
                before.labelled = Some(instance);
            }
            new.label = Some(label);
            if again.is_some() {
                let before = mem::replace(&mut table.labels[place], new);
                if before.label == table.labels[place].label {
                    table.labels[place].waited_for.add(&before.waited_for);
                } else {
                    table.others.add(&before.waited_for);
                }
                spare.label = before.label;
            } else {
                table.labels.push(new);
            }
            return instance;
        }
    }

    /// The lock that remembers to be `known` is gone. For one whom no `fork` comes in between.
    pub(crate) fn is_gone(&self, known: Instance) {
        let mut table = brief::lock(&self.table);
        if let Some(of) = table.find(known) {
            of.is_gone = true;
            if let Some(At::Label(place)) = known.at() {
                table.gone.push(u16::try_from(place).unwrap_or(0));
            }
        }
    }

    /// Adds what has been waited for a lock. For who folds.
    pub(super) fn add(&self, instance: Instance, waited_for: &WaitedFor) {
        let mut table = brief::lock(&self.table);
        let labelled = table.find(instance).map(|of| of.labelled);
        if let Some(labelled) = labelled
            && let Some(of) = table.find(labelled.unwrap_or(instance))
        {
            of.waited_for.add(waited_for);
        } else {
            table.others.add(waited_for);
            table.outside = table.outside.saturating_add(waited_for.cost());
            self.set_may_enter(&table);
        }
    }

    /// All that are told apart, and what all others have been waited for. For who has the class stand still.
    pub(super) fn read(&self) -> (Vec<Place>, WaitedFor) {
        let mut all = Vec::new();
        loop {
            let table = brief::lock(&self.table);
            let count = table.places.len() + table.labels.len();
            if all.capacity() >= count {
                let places = table.places.iter().zip(&self.addresses);
                all.extend(places.map(|(place, address)| Place {
                    address: address.load(Ordering::Relaxed),
                    ..place.clone()
                }));
                all.extend_from_slice(&table.labels);
                return (all, table.others);
            }
            drop(table);
            all.reserve_exact(count);
        }
    }
}

/// What is allocated before the table is locked, and freed after.
#[derive(Default)]
struct Spare {
    labels: Vec<Place>,
    gone: Vec<u16>,
    label: Option<Arc<str>>,
}

impl Table {
    /// The lock that is told apart as this, if it still is.
    fn find(&mut self, instance: Instance) -> Option<&mut Place> {
        let of = match instance.at()? {
            At::Place(place) => self.places.get_mut(place),
            At::Label(place) => self.labels.get_mut(place),
        };
        of.filter(|of| of.instance == instance)
    }

    /// The place of the lock that has been waited for least, if it may be given to another one.
    fn cheapest(&self) -> Option<usize> {
        let places = self.places.iter().enumerate();
        let (place, cheapest) = places.min_by_key(|(_, place)| place.waited_for.cost())?;
        (self.outside > cheapest.waited_for.cost()).then_some(place)
    }

    /// The label of a lock that is gone, which may be used again: the same one, or where there are many any.
    fn again(&mut self, label: &Arc<str>) -> Option<usize> {
        let is_it = |&gone: &u16| self.labels[usize::from(gone)].label.as_ref() == Some(label);
        let same = self.gone.iter().position(is_it);
        let again = same.or_else(|| (self.gone.len() >= GONE).then_some(0))?;
        Some(usize::from(self.gone.remove(again)))
    }

    /// Moves to what is larger.
    fn grow(&mut self, spare: &mut Spare) {
        spare.labels.append(&mut self.labels);
        mem::swap(&mut self.labels, &mut spare.labels);
        spare.gone.append(&mut self.gone);
        mem::swap(&mut self.gone, &mut spare.gone);
    }
}
