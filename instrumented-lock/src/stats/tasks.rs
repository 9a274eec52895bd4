//! Which task's hold or wait a record is, for the locks of tasks. Beside the pages, which have no room left: a
//! page gets a list once it is a task's, or a task has held something in it.

use super::beside::Beside;
use super::log::Page;
#[cfg(feature = "tokio")]
use super::log::Record;
use super::owner::PAGE_RECORDS;
#[cfg(feature = "tokio")]
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// For each record of a page the number of a task, or 0.
type Tasks = [AtomicU64; PAGE_RECORDS];

static TASKS: Beside<Tasks> = Beside::new();

fn tasks(page: &Page) -> Option<&'static Tasks> {
    TASKS.get(page)
}

/// Room to note tasks of this page. May allocate: before an attempt. For the owner of the page.
#[cfg(feature = "tokio")]
#[inline]
pub(crate) fn make_room(page: &Page) {
    if tasks(page).is_none() {
        let _inside = crate::brief::Inside::enter();
        TASKS.make(page, || [const { AtomicU64::new(0) }; PAGE_RECORDS]);
    }
}

#[cfg(feature = "tokio")]
thread_local! {
    /// The page whose list the thread looked for last, and the list.
    static LAST: std::cell::Cell<(usize, Option<&'static Tasks>)> =
        const { std::cell::Cell::new((0, None)) };
}

/// The list of the page, which is likely that of the last one who asked here.
#[cfg(feature = "tokio")]
#[inline]
fn last(page: &Page) -> Option<&'static Tasks> {
    LAST.with(|last| {
        let (of, tasks) = last.get();
        if of == ptr::from_ref(page).addr() {
            return tasks;
        }
        look(page)
    })
}

#[cfg(feature = "tokio")]
#[cold]
fn look(page: &Page) -> Option<&'static Tasks> {
    let tasks = tasks(page);
    if tasks.is_some() {
        LAST.set((ptr::from_ref(page).addr(), tasks));
    }
    tasks
}

/// Whether there is [room](make_room) to note the task of a record.
#[cfg(feature = "tokio")]
#[inline]
pub(crate) fn has_room(record: &Record) -> bool {
    last(Page::place_of(record).0).is_some()
}

/// Notes which task begins the hold that is going to be published in this record; 0 where it is none. For the owner
/// of its page.
#[cfg(feature = "tokio")]
#[inline]
pub(crate) fn set(record: &Record, task: u64) {
    let (page, record) = Page::place_of(record);
    if let Some(task_of) = last(page).and_then(|tasks| tasks.get(record as usize)) {
        // Relaxed: who finds the record published finds this too.
        task_of.store(task, Ordering::Relaxed);
    }
}

/// Notes that all that is going to be published in this page is of one task, where there is room to; 0 where it is of
/// none. For the owner of the page.
#[cfg(feature = "tokio")]
pub(super) fn set_all(page: &Page, task: u64) {
    // What the page's former owner has left behind and is not over stays its own.
    let left = page.unconsumed();
    for (index, task_of) in tasks(page).into_iter().flatten().enumerate() {
        if left >> index & 1 == 0 {
            task_of.store(task, Ordering::Relaxed);
        }
    }
}

/// The task whose hold or wait this record is, if it is one's, and of a lock for tasks.
pub(crate) fn get(page: &Page, record: u32) -> Option<u64> {
    let task = tasks(page)?[record as usize].load(Ordering::Relaxed);
    (task != 0).then_some(task)
}

/// What reports call the task of this number.
pub(crate) fn name(task: u64) -> String {
    format!("task {task}")
}
