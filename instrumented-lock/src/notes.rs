//! What measurements note: each acquisition of the threads that belong to one.
//!
//! A thread looks here only while a class says so, so nobody pays who does
//! not measure, and who measures counts the same whatever is recorded.

use crate::brief::{self, Inside};
use crate::class::LockClass;
use crate::mode::Mode;
use crate::stats::{self, Scope, Share, Site};
use std::cell::RefCell;
use std::sync::Arc;
use std::{mem, ptr};

thread_local! {
    /// The measurements that the thread belongs to at the moment, none twice.
    static ACTIVE: RefCell<Vec<Arc<Notes>>> = const { RefCell::new(Vec::new()) };
}

/// How often one line has acquired a lock of one class in one mode.
#[derive(Clone, Copy)]
pub(crate) struct Note {
    pub(crate) class: &'static LockClass,
    pub(crate) mode: Mode,
    pub(crate) location: Site,
    pub(crate) acquisitions: u64,
}

/// What a measurement has noted.
#[derive(Default)]
pub(crate) struct Noted {
    /// In the order in which the lines came first.
    pub(crate) lines: Vec<Note>,
    pub(crate) times: Vec<LockTime>,
}

/// What has been waited for and held of one class.
#[derive(Clone, Copy)]
pub(crate) struct LockTime {
    pub(crate) class: &'static LockClass,
    pub(crate) share: Share,
}

/// The notes of one measurement; `None` once it has ended.
pub(crate) struct Notes(parking_lot::Mutex<Option<Noted>>);

impl Notes {
    pub(crate) fn new() -> Self {
        Notes(parking_lot::Mutex::new(Some(Noted::default())))
    }

    /// The measurements that the calling thread belongs to.
    pub(crate) fn active() -> Vec<Arc<Notes>> {
        let _inside = Inside::enter();
        let active = ACTIVE.try_with(|active| active.borrow().clone());
        active.unwrap_or_default()
    }

    /// Ends the measurement.
    pub(crate) fn take(&self) -> Noted {
        brief::lock(&self.0).take().unwrap_or_default()
    }

    /// Makes room for further lines.
    fn reserve(&self) {
        loop {
            let length = match &*brief::lock(&self.0) {
                Some(Noted { lines, .. }) if lines.capacity() - lines.len() < ROOM => lines.len(),
                _ => return,
            };
            // Allocated and freed without the lock, which is asked for with an allocator's lock held.
            let mut larger = Vec::with_capacity(2 * (length + ROOM));
            if let Some(Noted { lines, .. }) = &mut *brief::lock(&self.0)
                && lines.len() <= length
            {
                larger.append(lines);
                mem::swap(lines, &mut larger);
            }
        }
    }

    fn add(&self, new: Note) {
        if let Some(Noted { lines: notes, .. }) = &mut *brief::lock(&self.0) {
            // The compiler may keep several locations for a line.
            let same = notes.iter_mut().find(|note| {
                ptr::eq(note.class, new.class)
                    && note.mode == new.mode
                    && note.location == new.location
            });
            match same {
                Some(note) => note.acquisitions += 1,
                None => notes.push(new),
            }
        }
    }
}

impl Notes {
    /// Adds what a thread has waited for and held.
    fn add_times(&self, new: &[LockTime]) {
        loop {
            let length = match &mut *brief::lock(&self.0) {
                Some(Noted { times, .. }) if times.capacity() - times.len() < new.len() => {
                    times.len()
                }
                Some(Noted { times, .. }) => {
                    for time in new {
                        match times
                            .iter_mut()
                            .find(|known| ptr::eq(known.class, time.class))
                        {
                            Some(known) => known.share.add(&time.share),
                            None => times.push(*time),
                        }
                    }
                    return;
                }
                None => return,
            };
            // As in `reserve`.
            let mut larger = Vec::with_capacity(2 * (length + new.len()));
            if let Some(Noted { times, .. }) = &mut *brief::lock(&self.0)
                && times.len() <= length
            {
                larger.append(times);
                mem::swap(times, &mut larger);
            }
        }
    }
}

/// The calling thread's waits and holds are measured while this lives.
pub(crate) struct Timing {
    before: Option<Scope>,
}

impl Timing {
    pub(crate) fn begin() -> Self {
        let is_on = cfg!(feature = "stats") && !brief::is_inside();
        Timing {
            before: is_on.then(|| stats::this_thread().begin_measurement()),
        }
    }

    /// What the thread has waited for and held since, by class.
    pub(crate) fn end(mut self) -> Vec<LockTime> {
        self.times()
    }

    fn times(&mut self) -> Vec<LockTime> {
        let Some(before) = self.before.take() else {
            return Vec::new();
        };
        let mut times = Vec::<LockTime>::new();
        for row in stats::this_thread().end_measurement(before) {
            if row.class == stats::OTHER_CLASSES {
                continue;
            }
            let class = LockClass::of_record(row.class);
            match times.iter_mut().find(|known| ptr::eq(known.class, class)) {
                Some(known) => known.share.add(&row.share),
                None => times.push(LockTime {
                    class,
                    share: row.share,
                }),
            }
        }
        times
    }
}

impl Drop for Timing {
    fn drop(&mut self) {
        self.times();
    }
}

/// Free places that a list of notes has when a lock is asked for: at least one for each thread that may then
/// add one at the same time.
const ROOM: usize = 64;

/// Makes room for what [`note`] is going to note. Before an attempt, since it may allocate.
#[cold]
pub(crate) fn reserve() {
    let _inside = Inside::enter();
    let _ = ACTIVE.try_with(|active| active.borrow().iter().for_each(|notes| notes.reserve()));
}

/// Notes a successful acquisition with every measurement that the calling thread belongs to.
pub(crate) fn note(class: &'static LockClass, mode: Mode, location: Site) {
    // A thread that is being torn down belongs to none.
    let _ = ACTIVE.try_with(|active| {
        for notes in active.borrow().iter() {
            notes.add(Note {
                class,
                mode,
                location,
                acquisitions: 1,
            });
        }
    });
}

/// The calling thread belongs to further measurements while this lives.
pub(crate) struct Taking {
    /// Measurements that it belonged to before.
    before: usize,
    /// Where there are further ones now.
    timing: Option<Timing>,
}

impl Taking {
    /// `notes` that the thread takes already are not taken twice.
    pub(crate) fn start(notes: &[Arc<Notes>]) -> Self {
        let inside = Inside::enter();
        let counts = ACTIVE.try_with(|active| {
            let mut active = active.borrow_mut();
            let before = active.len();
            for new in notes {
                if !active.iter().any(|known| Arc::ptr_eq(known, new)) {
                    active.push(Arc::clone(new));
                }
            }
            (before, active.len())
        });
        drop(inside);
        let (before, now) = counts.unwrap_or((0, 0));
        Taking {
            before,
            timing: (now > before).then(Timing::begin),
        }
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let times = self.timing.take().map_or_else(Vec::new, Timing::end);
        let _inside = Inside::enter();
        let ended = ACTIVE.try_with(|active| active.borrow_mut().split_off(self.before));
        for notes in ended.unwrap_or_default() {
            notes.add_times(&times);
        }
    }
}
