//! Operations: what the program was doing when it waited for locks and held them.
//!
//! A class says which lock is waited for, a line where it is asked for; neither says for which kind of request.
//! An operation does. While its [`Scope`] is open, what the thread acquires belongs to it, and
//! [`Snapshot::operations`](crate::Snapshot::operations) has for each operation how often it was opened, and
//! what it waited for and held of each lock:
//!
//! ```
//! use instrumented_lock::{Mutex, instrumented, operation, registry};
//! use std::collections::HashMap;
//!
//! #[instrumented]
//! #[derive(Default)]
//! struct Store {
//!     keys: Mutex<HashMap<String, u64>>,
//! }
//!
//! impl Store {
//!     fn get(&self, key: &str) -> Option<u64> {
//!         let _operation = operation("GET /keys");
//!         self.keys.lock().get(key).copied()
//!     }
//!
//!     fn put(&self, key: &str, value: u64) {
//!         let _operation = operation("PUT /keys");
//!         self.keys.lock().insert(key.to_owned(), value);
//!     }
//! }
//!
//! let store = Store::default();
//! store.put("a", 1);
//! store.put("b", 2);
//! assert_eq!(store.get("a"), Some(1));
//!
//! # if cfg!(feature = "stats") {
//! let snapshot = registry::snapshot();
//! let put = snapshot.operation("PUT /keys").unwrap();
//! assert_eq!(put.opened(), 2);
//! assert_eq!(put.lock("Store::keys").unwrap().acquisitions(), 2);
//! println!("{snapshot}");
//! # }
//! ```
//!
//! # What is counted
//!
//! An acquisition belongs to the operation that is open on its thread when it is made: the innermost one, and to
//! no other. It still does where its guard outlives the scope or is dropped by another thread. Acquisitions
//! outside of any operation are in the figures of the lock only. Of each pair of an operation and a lock class
//! there are the acquisitions whose holds have ended, what they held, the waits and how long they were, and the
//! blame: how long others waited while the operation held the lock. What is in flight is not in it yet.
//!
//! Counts and sums are exact, as those of the lock; held times are an estimate where not [every hold is
//! timed](crate::HoldTiming). Figures of operations are read in the same snapshot as those of the locks, but not
//! at the same moment: while threads run, they may be some records apart.
//!
//! # How many
//!
//! 127 operations have figures of their own, those that are named first; all later ones share those of
//! `(other)`, and so do 2,048 pairs of an operation and a class: further classes are `(other)` within their
//! operation. A lock that is waited for tells eight pairs of a holding line and an operation apart; the blame of
//! further ones is in no operation.
//!
//! # Cost
//!
//! To open and close one takes some nanoseconds and allocates nothing, but for the first time of a name, and of
//! a thread (1.7 KiB, and 80 bytes for each pair of an operation and a class that the thread has used, up to 10
//! KiB). An acquisition takes no instruction more in an operation than outside of it; its thread's log, once in
//! some fifty acquisitions, takes some nanoseconds more for each. A program that opens none pays nothing.
//!
//! # Tasks
//!
//! A scope is a thread's. In a future it must not be held across an `.await`, and the compiler says so where the
//! future is to be `Send`. With the feature `tracing-layer`, spans can be the operations, also across `.await`:
//! see the module `operation::layer`.

use crate::brief::{self, Inside};
use crate::fork::{self, Hooks, Whose};
use crate::stats::{self, OPERATIONS, OTHER_OPERATIONS};
use parking_lot::Mutex;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

#[cfg(feature = "tracing-layer")]
pub mod layer;

/// What stands in reports for all operations beyond those that are told apart.
pub(crate) const OTHER: &str = "(other)";

/// The operations that are told apart, by number, from 1.
static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// Opens the operation of this name on the calling thread, until what is returned is dropped.
///
/// They nest: what is acquired belongs to the innermost one. See [the module](self) for what is counted. The name
/// is looked up by its address first, so this is for names that are written in the program; for others there
/// is [`Operation::named`].
///
/// ```
/// use instrumented_lock::operation;
///
/// fn handle(request: &str) {
///     let _operation = operation("GET /keys");
///     // …
/// # let _ = request;
/// }
/// # handle("");
/// ```
#[inline]
pub fn operation(name: &'static str) -> Scope {
    Operation::of(name).open()
}

/// An operation, to be opened: cheap to copy and to keep.
///
/// ```
/// use instrumented_lock::Operation;
///
/// // For names that are only known when the program runs; to look one up takes a lock of the library's own.
/// let operations: Vec<_> = ["users", "orders"]
///     .map(|table| Operation::named(&format!("GET /{table}")))
///     .into();
/// let _scope = operations[1].open();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operation {
    /// 0 where nothing is recorded.
    number: u8,
}

/// Places of the calling thread's list of names.
const RECENT: usize = 16;

thread_local! {
    /// The names that the thread looked for last, where they are, and their numbers. Without a destructor.
    static LAST: [Cell<(*const u8, usize, u8)>; RECENT] =
        const { [const { Cell::new((std::ptr::null(), 0, 0)) }; RECENT] };
}

impl Operation {
    /// The operation of this name. Allocates where it is new.
    pub fn named(name: &str) -> Self {
        if cfg!(not(feature = "stats")) {
            return Operation { number: 0 };
        }
        // What an allocator does for the library is nobody's operation.
        if brief::is_inside() {
            return Operation { number: 0 };
        }
        let _inside = Inside::enter();
        fork::call(Whose::Names, AT_FORK);
        let find = |names: &[&str]| {
            let found = names.iter().position(|known| *known == name);
            let number = found.map(|place| place + 1);
            number.or_else(|| (names.len() >= OPERATIONS).then_some(usize::from(OTHER_OPERATIONS)))
        };
        let known = find(&brief::lock(&NAMES));
        let number = known.unwrap_or_else(|| {
            // Allocated, and freed if somebody else has been faster, without the lock.
            let new: Box<str> = Box::from(name);
            let mut room = Vec::with_capacity(OPERATIONS);
            let mut names = brief::lock(&NAMES);
            if names.capacity() == 0 {
                std::mem::swap(&mut *names, &mut room);
            }
            if let Some(number) = find(&names) {
                drop(names);
                number
            } else {
                names.push(Box::leak(new));
                names.len()
            }
        });
        let number = u8::try_from(number).unwrap_or(OTHER_OPERATIONS);
        Operation { number }
    }

    /// The operation of a name that is always the same where it has the same address.
    #[inline]
    fn of(name: &'static str) -> Self {
        if cfg!(not(feature = "stats")) {
            return Operation { number: 0 };
        }
        let (start, length) = (name.as_ptr(), name.len());
        LAST.with(|last| {
            let place = &last[(start.addr() ^ start.addr() >> 4 ^ length) % RECENT];
            let (known, its_length, number) = place.get();
            if std::ptr::eq(known, start) && its_length == length {
                return Operation { number };
            }
            let found = Operation::named(name);
            if found.number != 0 {
                place.set((start, length, found.number));
            }
            found
        })
    }

    /// Opens it on the calling thread, until what is returned is dropped.
    #[inline]
    pub fn open(self) -> Scope {
        let before = if self.number == 0 {
            0
        } else {
            stats::this_thread().open_operation(self.number).operation()
        };
        Scope {
            is_open: self.number != 0,
            before,
            is_this_threads: PhantomData,
        }
    }

    /// It has been opened, by other means than [`open`](Self::open).
    #[cfg(feature = "tracing-layer")]
    fn count(self) {
        if self.number != 0 {
            stats::this_thread().count_operation(self.number);
        }
    }

    /// Its name; `(other)` where it is one of those that are not told apart.
    pub fn name(self) -> &'static str {
        let place = usize::from(self.number).checked_sub(1);
        let name = place.and_then(|place| brief::lock(&NAMES).get(place).copied());
        name.unwrap_or(OTHER)
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Operation").field(&self.name()).finish()
    }
}

/// An operation that is open on this thread, until this is dropped; from [`operation`].
///
/// Those that are opened later are closed earlier. One that is forgotten stays open until an outer one is closed.
#[must_use = "the operation is closed when this is dropped: give it a name, such as `_operation`"]
pub struct Scope {
    is_open: bool,
    /// The number of the one before.
    before: u8,
    is_this_threads: PhantomData<*const ()>,
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        if self.is_open {
            set_current(self.before);
        }
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// The thread is in this operation, which it has not opened once more.
#[inline]
fn set_current(operation: u8) {
    let thread = stats::this_thread();
    thread.set_scope(thread.scope().with_operation(operation));
}

/// The names of the operations, by their numbers from 1.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names = Vec::with_capacity(OPERATIONS);
    names.extend_from_slice(&brief::lock(&NAMES));
    names
}

/// At a fork nobody has the lock.
const AT_FORK: Hooks = Hooks {
    before: || std::mem::forget(brief::lock(&NAMES)),
    // SAFETY: `before` has locked it and forgotten the guard, on this thread.
    after: |_| unsafe { NAMES.force_unlock(brief::state()) },
};
