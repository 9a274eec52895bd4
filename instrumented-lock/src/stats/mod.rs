//! What is recorded, from the log of a thread to the figures of a class.
//!
//! Bottom up: `durations` is a distribution, `lines` and `pairs` what
//! is kept by line, `figures` all that is kept of a class. `log` is what threads write, `record` what
//! that says, `fold` adds it to the figures, `thread` says which pages are
//! whose, `held` what each of them holds, where that is asked for. `blame` is the arithmetic of who kept whom waiting, `watch` what a lock that is waited for
//! keeps of it. `events` is what a timeline takes of it all. `sampling` says which holds are timed where not all are.

mod apportion;
mod beside;
mod blame;
mod durations;
pub(crate) mod events;
mod figures;
mod fold;
mod held;
mod instances;
mod kept;
mod lines;
mod log;
mod operations;
mod owner;
mod pairs;
mod processor;
mod record;
mod sampling;
mod scope;
mod scopes;
mod shares;
mod site;
mod sync;
pub(crate) mod tasks;
mod thread;
mod watch;
mod watches;

pub(crate) use durations::Totals;
pub(crate) use figures::{ActivityTotals, ClassStats, Scratch, StandStill};
pub(crate) use held::HeldLocks;
pub(crate) use instances::{Instance, WaitedFor};
pub(crate) use lines::LineFigures;
pub(crate) use log::{Batch, Bits, Entry, Page, Record, Waiting};
pub(crate) use pairs::Pair;
pub(crate) use record::{
    BOUNCED, Kind, SAMPLED, UNTIMED_END, UNTIMED_START, WATCHED, activity_of, as_wait, class_of,
    event, hold, holder_of, holder_word_of, kind_of, shift_of_its, site, site_of, waiting_of,
    waiting_word, what,
};
pub(crate) use scope::{OPERATIONS, OTHER_OPERATIONS, Scope};
pub(crate) use shares::{OTHER_CLASSES, Share};
pub(crate) use site::{
    Site, is_lock_apis, is_nobodys, is_of_locks, may_be_lock_apis, without_machine,
};
#[cfg(feature = "tokio")]
pub(crate) use thread::PageOfTask;
pub(crate) use thread::{
    Holder, NOBODYS_RECORD, Place, Reading, Room, Thread, heed_forks, pages_and_held, read,
    this_thread,
};
pub(crate) use watch::{Arrival, MOST_RECORDS, Watch};
pub(crate) use watches::{give_back, kept_for, take};
