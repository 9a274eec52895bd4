//! What measurements note: each acquisition of the threads that belong to one.
//!
//! A thread looks here only while a class says so, so nobody pays who does
//! not measure, and who measures counts the same whatever is recorded.

use crate::brief::{self, Inside};
use crate::class::LockClass;
use crate::mode::Mode;
use crate::stats::Site;
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

/// The notes of one measurement, in the order in which the lines came first; `None` once it has
/// ended.
pub(crate) struct Notes(parking_lot::Mutex<Option<Vec<Note>>>);

impl Notes {
    pub(crate) fn new() -> Self {
        Notes(parking_lot::Mutex::new(Some(Vec::new())))
    }

    /// The measurements that the calling thread belongs to.
    pub(crate) fn active() -> Vec<Arc<Notes>> {
        let _inside = Inside::enter();
        let active = ACTIVE.try_with(|active| active.borrow().clone());
        active.unwrap_or_default()
    }

    /// Ends the measurement.
    pub(crate) fn take(&self) -> Vec<Note> {
        brief::lock(&self.0).take().unwrap_or_default()
    }

    /// Makes room for further lines.
    fn reserve(&self) {
        loop {
            let length = match &*brief::lock(&self.0) {
                Some(notes) if notes.capacity() - notes.len() < ROOM => notes.len(),
                _ => return,
            };
            // Allocated and freed without the lock, which is asked for with an allocator's lock held.
            let mut larger = Vec::with_capacity(2 * (length + ROOM));
            if let Some(notes) = &mut *brief::lock(&self.0)
                && notes.len() <= length
            {
                larger.append(notes);
                mem::swap(notes, &mut larger);
            }
        }
    }

    fn add(&self, new: Note) {
        if let Some(notes) = &mut *brief::lock(&self.0) {
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
}

impl Taking {
    /// `notes` that the thread takes already are not taken twice.
    pub(crate) fn start(notes: &[Arc<Notes>]) -> Self {
        let _inside = Inside::enter();
        let before = ACTIVE.try_with(|active| {
            let mut active = active.borrow_mut();
            let before = active.len();
            for new in notes {
                if !active.iter().any(|known| Arc::ptr_eq(known, new)) {
                    active.push(Arc::clone(new));
                }
            }
            before
        });
        Taking {
            before: before.unwrap_or(0),
        }
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let _inside = Inside::enter();
        let _ = ACTIVE.try_with(|active| active.borrow_mut().truncate(self.before));
    }
}
