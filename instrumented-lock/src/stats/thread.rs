//! The calling thread, as the statistics know it: the pages of its log, and how it draws samples.
//!
//! A thread gets its first page when it first uses a lock, and another one when the ones it has are full
//! of holds that have not ended. When it ends it folds them and leaves them to threads that come later,
//! with what it still holds in them. A lock that is used after that, by the destructor of another
//! thread-local, borrows a page for as long as the acquisition takes.
//!
//! After a `fork` there is one thread. It finds every lock of ours free, because the others could not
//! have one at that moment; what they had open is nobody's any more.

use super::apportion;
use super::events;
use super::fold;
use super::held::HeldLocks;
use super::log::{Bits, Locked, Page, Record, Window};
use super::operations;
use super::owner::{PAGE_NUMBERS, PAGE_RECORDS, PageOwner};
use super::record::{Kind, UNTIMED_END, kind_of};
use super::sampling::{self, Sampling};
use super::scope::Scope;
use super::scopes::{self, Scopes};
use super::shares::Row;
#[cfg(feature = "tokio")]
use super::tasks;
use super::watch::MOST_RECORDS;
use crate::brief::{self, Inside};
use crate::clock;
use crate::fork::{self, Hooks, Whose};
use parking_lot::{Mutex, MutexGuard};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

const PAGE_BYTES: usize = 2048;
const _: () = assert!(size_of::<Page>() == PAGE_BYTES && align_of::<Page>() == PAGE_BYTES);

/// Free records that a page must have left after it has been folded; with fewer it is full of holds,
/// and folding it again would bring little.
const ENOUGH: usize = 16;
const _: () = assert!(ENOUGH >= MOST_RECORDS);

/// Pages that must lie idle before one of them is given to another thread, so that locks have forgotten
/// by then that its last owner had them.
const REST: usize = 32;

/// The number of a record: what a lock remembers of who had it last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder(u32);

impl Holder {
    const NOBODY: Holder = Holder(0);

    /// Who is going to have the next record of this window.
    #[inline(always)]
    pub(crate) fn next(window: &Window) -> Self {
        Holder(window.next_number())
    }

    /// Whether both records are on the same page, and so of the same thread: a page is another thread's
    /// only after [`REST`] others have been.
    #[inline(always)]
    pub(crate) fn is_same_page(self, other: Holder) -> bool {
        self.0 ^ other.0 < PAGE_NUMBERS
    }

    #[inline(always)]
    pub(crate) fn to_bits(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub(crate) fn from_bits(bits: u32) -> Self {
        Holder(bits)
    }

    /// The record; `None` for nobody, and beyond the directory.
    pub(crate) fn record(self) -> Option<&'static Record> {
        let page = directory::find((self.0 / PAGE_NUMBERS).checked_sub(1)?)?;
        Some(page.record(self.0 % PAGE_NUMBERS))
    }
}

/// Where a page is, by its number, to be found without any lock. The first 2^18 pages are in it.
mod directory {
    use super::Page;
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, Ordering};

    const PART: usize = 512;
    type Part = [AtomicPtr<Page>; PART];

    static PARTS: [AtomicPtr<Part>; PART] = [const { AtomicPtr::new(ptr::null_mut()) }; PART];

    /// Enters a page. One at a time.
    pub(super) fn enter(number: u32, page: &'static Page) {
        let number = number as usize;
        let Some(part) = PARTS.get(number / PART) else {
            return;
        };
        if part.load(Ordering::Relaxed).is_null() {
            let new: Part = [const { AtomicPtr::new(ptr::null_mut()) }; PART];
            // Release, here and below: who finds it finds it complete.
            part.store(Box::into_raw(Box::new(new)), Ordering::Release);
        }
        // SAFETY: made above, now or before, and never freed.
        let part = unsafe { &*part.load(Ordering::Relaxed) };
        part[number % PART].store(ptr::from_ref(page).cast_mut(), Ordering::Release);
    }

    pub(super) fn find(number: u32) -> Option<&'static Page> {
        let part = PARTS.get(number as usize / PART)?;
        // SAFETY: null, or made by `enter` and never freed. Acquire: pairs with the release there.
        let part = unsafe { part.load(Ordering::Acquire).as_ref() }?;
        let page = part[number as usize % PART].load(Ordering::Acquire);
        // SAFETY: null, or a page, and pages are never freed.
        unsafe { page.as_ref() }
    }
}

/// A thread as the statistics know it: all that they keep in thread-local storage, so that an
/// acquisition looks there once, and a release not at all. In a library that look is a call, as far as
/// the compiler knows.
pub(crate) struct Thread {
    /// That of the page; an empty one where there is no page.
    window: Cell<&'static Window>,
    /// The page that it writes now; none before the first use, and none once the thread has ended.
    page: Cell<Option<&'static Page>>,
    /// Whether it has further pages.
    has_more: Cell<bool>,
    /// What it holds, once somebody has asked for that.
    held: Cell<Option<&'static HeldLocks>>,
    pub(crate) sampling: Sampling,
    /// What it is doing.
    scope: Cell<Scope>,
    /// What stands beside the page, once it has had a scope.
    scopes: Cell<Option<&'static Scopes>>,
    /// Measurements that it has begun.
    measurements: Cell<u64>,
}

/// Where a thread writes next.
pub(crate) struct Place {
    pub(crate) window: Cell<&'static Window>,
    /// The record that is taken next.
    pub(crate) next: Cell<&'static Record>,
}

/// That of a thread without a page.
static EMPTY: Window = Window {
    next: AtomicPtr::new(ptr::null_mut()),
    limit: AtomicPtr::new(ptr::null_mut()),
    next_number: AtomicU32::new(0),
    first: AtomicU32::new(0),
};

/// What stands for the hold of one who only looks at a lock. Nobody reads it.
pub(crate) static NOBODYS_RECORD: Record = Record {
    what: AtomicUsize::new(0),
    site: AtomicUsize::new(0),
    start: AtomicU64::new(0),
    end: AtomicU64::new(0),
};

thread_local! {
    /// This thread. Without a destructor, so that it stays readable while the thread is being torn
    /// down.
    static THREAD: Thread = const {
        Thread {
            window: Cell::new(&EMPTY),
            page: Cell::new(None),
            has_more: Cell::new(false),
            held: Cell::new(None),
            sampling: Sampling::new(),
            scope: Cell::new(Scope::NONE),
            scopes: Cell::new(None),
            measurements: Cell::new(0),
        }
    };

    /// All pages of this thread. Gives them up when the thread ends.
    static PAGES: Lease = const { Lease(RefCell::new(Vec::new())) };
}

/// The calling thread.
#[inline(always)]
pub(crate) fn this_thread() -> &'static Thread {
    // `with` is not inlined where what it calls is long.
    let thread = THREAD.with(ptr::from_ref);
    // SAFETY: without a destructor it lives until the last code of the thread has run. It is not `Sync`, so
    // nothing that has it leaves the thread.
    unsafe { &*thread }
}

const _: fn() = || {
    /// Calls of `it` are ambiguous for what is `Sync`.
    trait Ambiguous<A> {
        fn it() {}
    }
    struct Other;
    impl<T> Ambiguous<()> for T {}
    impl<T: Sync> Ambiguous<Other> for T {}
    let _ = <Thread as Ambiguous<_>>::it;
};

impl Thread {
    /// Where the thread writes next, if its window is not used up.
    #[inline(always)]
    pub(crate) fn place(&self) -> Option<Place> {
        let window = self.window.get();
        Some(Place {
            window: Cell::new(window),
            next: Cell::new(window.next()?),
        })
    }

    /// Opens another window where the last one is used up. Before an attempt, since it may fold and
    /// allocate.
    #[inline]
    pub(crate) fn open_window(&self) {
        if self.place().is_none() {
            self.make_room();
        }
    }

    /// Room for one record. Before an attempt, since it may fold and allocate.
    #[inline]
    pub(crate) fn room_for_one(&self) -> Room {
        self.room(1)
    }

    /// Room for all that a wait has to say. Before an attempt, since it may fold and allocate.
    #[inline]
    pub(crate) fn room_for_wait(&self) -> Room {
        self.room(MOST_RECORDS)
    }

    #[inline]
    fn room(&self, least: usize) -> Room {
        match self.page.get() {
            Some(page) if page.room() >= least => Room {
                page,
                is_borrowed: false,
            },
            _ => self.make_room(),
        }
    }

    /// What the thread holds, as far as it has been noted there.
    #[inline]
    pub(crate) fn held(&self) -> Option<&'static HeldLocks> {
        self.held.get()
    }

    /// The same, from now on. `None` for a thread that is being torn down. May allocate.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_held(&self) -> Option<&'static HeldLocks> {
        let _inside = Inside::enter();
        self.room(1);
        self.page.get()?;
        let unused = brief::lock(&LOGS).unused_held.pop();
        let held = unused.unwrap_or_else(|| {
            let held: &'static HeldLocks = Box::leak(Box::new(HeldLocks::new()));
            let mut logs = brief::lock(&LOGS);
            logs.held.push(held);
            // Who ends need not allocate.
            let others = logs.held.len();
            logs.unused_held.reserve(others);
            held
        });
        self.held.set(Some(held));
        Some(held)
    }

    /// The name of the thread, if it has one.
    pub(crate) fn name(&self) -> Option<Arc<str>> {
        self.page.get()?.owner.name()
    }

    /// What the thread is doing.
    #[inline]
    pub(crate) fn scope(&self) -> Scope {
        self.scope.get()
    }

    /// From now on, what the thread acquires belongs to this scope. Returns that before.
    #[inline]
    pub(crate) fn set_scope(&self, scope: Scope) -> Scope {
        let before = self.scope.replace(scope);
        match (self.scopes.get(), self.page.get()) {
            (Some(scopes), Some(page)) => scopes.mark(page, scope),
            _ if scope == Scope::NONE => {}
            _ => self.begin_scopes(),
        }
        before
    }

    /// The same for an operation in what the thread is doing, which is opened once more.
    #[inline]
    pub(crate) fn open_operation(&self, operation: u8) -> Scope {
        let before = self.set_scope(self.scope.get().with_operation(operation));
        self.count_operation(operation);
        before
    }

    /// An operation has been opened once more.
    #[inline]
    pub(crate) fn count_operation(&self, operation: u8) {
        match self.scopes.get() {
            Some(scopes) => scopes.count(operation),
            None => operations::count(operation),
        }
    }

    /// The first scope of the thread, or of its page.
    #[cold]
    #[inline(never)]
    fn begin_scopes(&self) {
        if brief::is_inside() {
            return;
        }
        let _inside = Inside::enter();
        operations::heed_forks();
        if self.page.get().is_none() {
            self.make_room();
        }
        if let Some(page) = self.page.get() {
            self.bring_scope_to(page);
        }
    }

    /// What is published in this page, which is the thread's, belongs to what it is doing. May allocate.
    fn bring_scope_to(&self, page: &'static Page) {
        let scope = self.scope.get();
        let scopes = if scope == Scope::NONE {
            scopes::beside(page)
        } else {
            scopes::make(page)
        };
        if let Some(scopes) = scopes {
            scopes.mark(page, scope);
        }
        self.scopes.set(scopes);
    }

    /// Begins to measure what the thread does. Returns the scope before, with which the measurement ends.
    pub(crate) fn begin_measurement(&self) -> Scope {
        let measurement = self.measurements.get() + 1;
        self.measurements.set(measurement);
        let before = self.set_scope(self.scope.get().with_measurement(measurement));
        let _inside = Inside::enter();
        if before.measurement() == 0 {
            // What has been acquired in an earlier one and has ended since belongs to none.
            for page in own_pages() {
                apportion::forget_measured(&page.lock());
            }
        }
        before
    }

    /// Ends the measurement that began in the scope `before`. Returns what locks of each class the thread has
    /// waited for and held since: those that it still holds, up to now.
    pub(crate) fn end_measurement(&self, before: Scope) -> Vec<Row> {
        let _inside = Inside::enter();
        let scope = self.scope.get();
        let (measurement, outer) = (scope.measurement(), before.measurement());
        // An operation that was opened meanwhile and is not closed stays open.
        self.set_scope(scope.with_measurement(outer));
        take_measured(measurement, outer)
    }

    #[cold]
    #[inline(never)]
    fn make_room(&self) -> Room {
        let _inside = Inside::enter();
        if let Some(held) = self.held.get() {
            held.forget_ended();
        }
        let scope = self.scope.get();
        let mut page = self.page.get().filter(|page| fold_own(page, scope));
        if page.is_none() {
            page = self.other_page();
        } else if scope != Scope::NONE && self.scopes.get().is_none() {
            // It began inside the library.
            if let Some(page) = page {
                self.bring_scope_to(page);
            }
        }
        // Without one, the thread is being torn down: it could not give a page up.
        page.map_or_else(Room::borrow, |page| Room {
            page,
            is_borrowed: false,
        })
    }

    /// Another page of this thread, or one more.
    fn other_page(&self) -> Option<&'static Page> {
        let page = PAGES.try_with(|pages| {
            // What is recorded meanwhile, by an allocator, looks at the pages too: they are not borrowed for
            // longer than this takes.
            let mut all = pages.0.take();
            let scope = self.scope.get();
            let known = all.iter().copied().find(|page| fold_own(page, scope));
            let page = known.unwrap_or_else(|| {
                let page = enrol(std::thread::current().name());
                let own = all.first().map(|page| page.owner.thread());
                let number = own.unwrap_or_else(|| THREADS.fetch_add(1, Ordering::Relaxed));
                page.owner.set_thread(number);
                all.push(page);
                page
            });
            self.has_more.set(all.len() > 1);
            self.window.set(page.window());
            self.page.set(Some(page));
            *pages.0.borrow_mut() = all;
            self.scopes.set(None);
            self.bring_scope_to(page);
            page
        });
        page.ok()
    }

    /// Whether a lock that `last` had before is now had by another thread, which is this one. Both are not
    /// of the same page.
    #[inline(never)]
    pub(crate) fn is_other(&self, last: Holder) -> bool {
        last != Holder::NOBODY && !(self.has_more.get() && is_on_own_page(last))
    }
}

/// What the calling thread has had in this measurement and those in it, which from now on an outer one has.
fn take_measured(measurement: u64, outer: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    for page in own_pages() {
        let Some(scopes) = scopes::beside(page) else {
            continue;
        };
        let locked = page.lock();
        fold::fold(&locked);
        rows.extend(apportion::take_measured(
            &locked,
            scopes,
            measurement,
            outer,
        ));
        rows.extend(apportion::in_flight(page, scopes, measurement));
    }
    rows
}

fn own_pages() -> Vec<&'static Page> {
    let pages = PAGES.try_with(|pages| pages.0.borrow().clone());
    pages.unwrap_or_default()
}

#[cold]
#[inline(never)]
fn is_on_own_page(last: Holder) -> bool {
    let is_on = |page: &&'static Page| last.is_same_page(Holder(page.owner.first_number()));
    let on_own = PAGES.try_with(|pages| pages.0.borrow().iter().any(is_on));
    on_own.unwrap_or(false)
}

/// Folds a page of the calling thread. Returns whether it then has enough free records.
/// What is published in it next belongs to this scope.
fn fold_own(page: &Page, scope: Scope) -> bool {
    // A snapshot that has been descheduled while it reads the page may keep it for long.
    if let Some(locked) = page.try_lock(200) {
        fold_and_open(&locked, scope);
    }
    page.room() >= ENOUGH
}

/// Folds a page, and makes free what has been folded. What is published in it next belongs to this scope.
fn fold_and_open(locked: &Locked<'_>, scope: Scope) {
    fold::fold(locked);
    let page = locked.page;
    let in_flight = locked.open();
    page.owner.have_ended_of(in_flight);
    if let Some(scopes) = scopes::beside(page) {
        scopes.reopened(page, in_flight, scope);
    }
}

/// A page that the calling thread may write.
pub(crate) struct Room {
    pub(crate) page: &'static Page,
    is_borrowed: bool,
}

impl Room {
    #[cold]
    fn borrow() -> Self {
        Room {
            page: enrol(None),
            is_borrowed: true,
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.is_borrowed {
            put_back(self.page);
        }
    }
}

/// A page that one wait of a task has for itself, and the hold that follows it: a thread has one place to say
/// what it waits for, and runs many tasks. Whoever has this is the page's owner, whatever thread it is on.
#[cfg(feature = "tokio")]
pub(crate) struct PageOfTask {
    page: &'static Page,
    /// In a child of `fork` the page is nobody's already.
    process: u32,
}

#[cfg(feature = "tokio")]
impl PageOfTask {
    /// A page for the task of this number, or where that is 0 for the calling thread. May allocate: before a wait.
    pub(crate) fn new(task: u64) -> Self {
        let _inside = Inside::enter();
        let page = if task == 0 {
            enrol(std::thread::current().name())
        } else {
            let page = enrol(None);
            tasks::make_room(page);
            tasks::set_all(page, task);
            page
        };
        // Nobody waits for two things at once, so each wait is as one of another thread.
        page.owner
            .set_thread(THREADS.fetch_add(1, Ordering::Relaxed));
        let page = PageOfTask {
            page,
            process: std::process::id(),
        };
        page.belongs_to_operation();
        page
    }

    pub(crate) fn page(&self) -> &'static Page {
        self.page
    }

    /// What is published in it belongs to the operation of the calling thread. May allocate: before a wait.
    pub(crate) fn belongs_to_operation(&self) {
        let operation = this_thread().scope().operation();
        let scopes = match operation {
            0 => scopes::beside(self.page),
            _ => scopes::make(self.page),
        };
        if let Some(scopes) = scopes {
            scopes.mark(self.page, Scope::of_operation(operation));
        }
    }
}

#[cfg(feature = "tokio")]
impl Drop for PageOfTask {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            put_back(self.page);
        }
    }
}

/// The pages of a thread.
struct Lease(RefCell<Vec<&'static Page>>);

impl Drop for Lease {
    fn drop(&mut self) {
        let _inside = Inside::enter();
        // Guards may still drop after this, in the destructors of other thread-locals.
        let thread = this_thread();
        thread.window.set(&EMPTY);
        thread.page.set(None);
        thread.scopes.set(None);
        if let Some(held) = thread.held.take() {
            held.clear();
            brief::lock(&LOGS).unused_held.push(held);
        }
        self.0.get_mut().drain(..).for_each(give_up);
    }
}

/// The owner has done with the page.
fn give_up(page: &'static Page) {
    let locked = page.lock();
    note_use(&locked);
    fold_and_open(&locked, Scope::NONE);
    apportion::hand_on_all(&locked);
    if events::are_taken() {
        events::note_name(page);
    }
    disown(page);
    drop(locked);
    brief::lock(&LOGS).unowned.push_back(page);
}

/// Notes until when the owner of a page has used locks: to the end of the last wait or hold that is still to be read
/// there, or until now, where it waits.
fn note_use(locked: &Locked<'_>) {
    let page = locked.page;
    let is_use = |record: &&Record| {
        matches!(
            kind_of(record.what()),
            Kind::Hold | Kind::Waited | Kind::TimedOut
        )
    };
    let records = Bits(u64::MAX >> (64 - PAGE_RECORDS)).map(|index| page.record(index));
    let ends = records.filter(is_use).filter_map(Record::end);
    let last = ends.filter(|&end| end != UNTIMED_END).max();
    let waits = page.in_flight().0.is_some();
    let until = if waits { clock::now_if_settled() } else { last };
    if let Some(until) = until {
        page.owner.has_used(until);
    }
}

/// Pages that have been borrowed and put back, one behind the other: the number of the first, from 1.
static PUT_BACK: AtomicU32 = AtomicU32::new(0);

/// Puts back a borrowed page, which is folded by the next one who gets it. The lock is held that it was
/// borrowed for, and that may be an allocator's: so this waits for nobody, and allocates nothing.
fn put_back(page: &'static Page) {
    page.owner.has_left(page.unconsumed());
    let mut first = PUT_BACK.load(Ordering::Relaxed);
    loop {
        page.owner.set_next_put_back(first);
        // Release: who finds the page finds it put back.
        let put = PUT_BACK.compare_exchange_weak(
            first,
            page.owner.number() + 1,
            Ordering::Release,
            Ordering::Relaxed,
        );
        match put {
            Ok(_) => return,
            Err(now) => first = now,
        }
    }
}

impl Logs {
    /// Pages that have been put back are unowned.
    fn collect_put_back(&mut self) {
        // Acquire: pairs with the release in `put_back`. All at once, so that none comes back meanwhile.
        let mut number = PUT_BACK.swap(0, Ordering::Acquire);
        while let Some(page) = number
            .checked_sub(1)
            .and_then(|i| self.pages.get(i as usize))
        {
            number = page.owner.next_put_back();
            self.unowned.push_back(page);
        }
    }
}

/// What is still published is nobody's any more.
fn disown(page: &Page) {
    page.owner.set_name(None);
    page.owner.has_left(page.unconsumed());
}

/// The number of the next thread. Relaxed: each gets another one.
static THREADS: AtomicU32 = AtomicU32::new(1);

/// All pages of the process. They are never freed: guards point into them.
struct Logs {
    pages: Vec<&'static Page>,
    /// Those whose owners have ended.
    unowned: VecDeque<&'static Page>,
    /// What threads hold, where that is noted, and the lists that no thread has.
    held: Vec<&'static HeldLocks>,
    unused_held: Vec<&'static HeldLocks>,
}

static LOGS: Mutex<Logs> = Mutex::new(Logs {
    pages: Vec::new(),
    unowned: VecDeque::new(),
    held: Vec::new(),
    unused_held: Vec::new(),
});

/// A child of `fork` finds the logs whole from now on.
pub(crate) fn heed_forks() {
    fork::call(Whose::Logs, AT_FORK);
}

/// A page for the calling thread of that name: one whose owner has ended, or a new one.
fn enrol(name: Option<&str>) -> &'static Page {
    clock::refine();
    heed_forks();
    let mut logs = brief::lock(&LOGS);
    logs.collect_put_back();
    // Few have forgotten so many guards that it takes more than one look.
    let candidates = logs.unowned.len().saturating_sub(REST).min(4);
    let page = (0..candidates).find_map(|_| {
        let page = logs.unowned.pop_front()?;
        if fold_own(page, Scope::NONE) {
            return Some(page);
        }
        logs.unowned.push_back(page);
        None
    });
    let page = page.unwrap_or_else(|| {
        let number = u32::try_from(logs.pages.len()).unwrap_or(0);
        let page: &'static Page = Box::leak(Box::new(Page::new(PageOwner::new(number))));
        page.lock().open();
        directory::enter(number, page);
        logs.pages.push(page);
        // Who puts one back later need not allocate.
        let others = logs.pages.len() - logs.unowned.len();
        logs.unowned.reserve(others);
        page
    });
    page.owner.set_name(name.map(Arc::from));
    #[cfg(feature = "tokio")]
    tasks::set_all(page, 0);
    page.owner.starts_anew(clock::now_if_settled().unwrap_or(0));
    if let Some(scopes) = scopes::beside(page) {
        scopes.mark(page, Scope::NONE);
    }
    page
}

/// All pages there are, and what threads hold, where that is noted.
pub(crate) fn pages_and_held() -> (Vec<&'static Page>, Vec<&'static HeldLocks>) {
    let _inside = Inside::enter();
    let logs = brief::lock(&LOGS);
    (logs.pages.clone(), logs.held.clone())
}

/// All pages there are, for one reader at a time: nobody else reads them, or the figures that they are
/// folded into, as long as this lives.
pub(crate) struct Reading {
    pub(crate) pages: Vec<&'static Page>,
    _inside: Inside,
    _alone: MutexGuard<'static, ()>,
}

static READER: Mutex<()> = Mutex::new(());

/// Begins to read. Everything that has ended by now is then in the figures; what is in flight is in
/// the pages.
pub(crate) fn read() -> Reading {
    let inside = Inside::enter();
    let alone = brief::lock(&READER);
    let pages = brief::lock(&LOGS).pages.clone();
    for page in &pages {
        let locked = page.lock();
        fold::fold(&locked);
        note_use(&locked);
        if scopes::are_used() {
            apportion::hand_on_all(&locked);
        }
    }
    Reading {
        pages,
        _inside: inside,
        _alone: alone,
    }
}

impl Reading {
    /// For how many ticks threads have used locks, each from its first hold to its last one, all together.
    pub(crate) fn used_for(&self) -> u64 {
        let of_pages = self.pages.iter().map(|page| page.owner.used_for());
        of_pages.fold(0, u64::saturating_add)
    }

    /// How often each operation was opened, and what they have had by now.
    pub(crate) fn operations(&self) -> (Vec<u64>, Vec<Row>) {
        if !scopes::are_used() {
            return (Vec::new(), Vec::new());
        }
        let mut opened: Vec<u64> = operations::opened().collect();
        let scopes = self.pages.iter().filter_map(|page| scopes::beside(page));
        for of_page in scopes {
            for (sum, n) in opened.iter_mut().zip(of_page.opened()) {
                *sum += n;
            }
        }
        (opened, operations::rows())
    }
}

/// Nobody folds, reads or enrols while all of these are locked.
const AT_FORK: Hooks = Hooks {
    before: || {
        mem::forget(brief::lock(&READER));
        let logs = mem::ManuallyDrop::new(brief::lock(&LOGS));
        logs.pages.iter().for_each(|page| mem::forget(page.lock()));
    },
    after: |is_child| {
        // SAFETY: `before` has locked it and forgotten the guard, on this thread.
        let logs = unsafe { LOGS.make_guard_unchecked(brief::state()) };
        if is_child {
            events::forget();
            sampling::this_is_a_child();
            this_thread().sampling.start_over();
            let own = PAGES
                .try_with(|pages| pages.0.borrow().clone())
                .unwrap_or_default();
            disown_others(logs, &own);
        } else {
            // SAFETY: `before` has locked it and forgotten the guard, on this thread.
            logs.pages
                .iter()
                .for_each(|page| unsafe { page.force_unlock() });
        }
        // SAFETY: `before` has locked it and forgotten the guard, on this thread.
        unsafe { READER.force_unlock(brief::state()) };
    },
};

/// The threads that the child does not have have ended.
fn disown_others(mut logs: MutexGuard<'_, Logs>, own: &[&'static Page]) {
    logs.collect_put_back();
    let own_held = this_thread().held.get();
    let others = logs.held.iter().copied();
    let others = others.filter(|held| !own_held.is_some_and(|own| ptr::eq(own, *held)));
    let others: Vec<_> = others.inspect(|held| held.clear()).collect();
    logs.unused_held = others;
    let is_own = |page: &Page| own.iter().any(|own| ptr::eq(*own, page));
    for page in logs.pages.clone() {
        // SAFETY: `AT_FORK.before` has locked it and forgotten the guard, on this thread.
        unsafe { page.force_unlock() };
        let is_unowned = logs.unowned.iter().any(|unowned| ptr::eq(*unowned, page));
        if !is_own(page) && !is_unowned {
            page.end_all_waits();
            disown(page);
            logs.unowned.push_back(page);
        }
    }
}
