//! Lock classes: groups of locks that share a name and their figures.

use crate::brief::{self, Inside};
use crate::clock;
use crate::lock_kind::LockKind;
use crate::settings::{self, HoldTiming};
use crate::stats::{self, ClassStats, Thread};
use parking_lot::Mutex;
use std::fmt;
use std::panic::{Location, RefUnwindSafe};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// What `#[instrumented]` says of a class, in a `static` beside the item: small, because the compiler
/// evaluates every one. The class is made when one of its locks is first used, or when the registry
/// lists it.
#[derive(Debug)]
pub struct Declaration {
    pub(crate) name: &'static str,
    pub(crate) kind: LockKind,
    pub(crate) rank: Option<u32>,
    /// Why its locks may be taken in any order among themselves.
    pub(crate) nested: Option<&'static str>,
    pub(crate) declared_at: &'static Location<'static>,
    /// Module, item and field, where the name does not say so.
    path: Option<&'static str>,
    /// Made by the registry.
    pub(crate) class: OnceLock<&'static LockClass>,
}

impl Declaration {
    /// The caller is where the class is declared.
    #[track_caller]
    #[must_use]
    pub const fn new(name: &'static str, kind: LockKind, rank: Option<u32>) -> Self {
        Declaration {
            name,
            kind,
            rank,
            nested: None,
            declared_at: Location::caller(),
            path: None,
            class: OnceLock::new(),
        }
    }

    /// As [`LockClass::allow_nesting`], from the start.
    #[must_use]
    pub const fn nested(mut self, reason: &'static str) -> Self {
        self.nested = Some(reason);
        self
    }

    /// The same of a lock behind a handle, whose type says nothing of its class: it is found by `path`, which
    /// is what those call it that make it.
    #[track_caller]
    #[must_use]
    pub const fn of_handle(
        name: &'static str,
        kind: LockKind,
        rank: Option<u32>,
        path: &'static str,
    ) -> Self {
        Declaration {
            name,
            kind,
            rank,
            nested: None,
            declared_at: Location::caller(),
            path: Some(path),
            class: OnceLock::new(),
        }
    }

    /// Module, item and field.
    pub(crate) fn path(&self) -> &'static str {
        self.path.unwrap_or(self.name)
    }
}

/// A group of locks that share a name and their statistics.
///
/// Declared by `#[instrumented]`, or made at the first use of a lock that nobody annotated.
/// [`registry::classes`](crate::registry::classes) lists them all.
#[repr(C)]
pub struct LockClass {
    pub(crate) stats: ClassStats,
    name: &'static str,
    declared_at: &'static Location<'static>,
    rank: Option<u32>,
    kind: AtomicU8,
    /// A [`State`].
    state: AtomicU8,
    /// Whether it is followed what else is held when its locks are asked for.
    has_order: AtomicBool,
    /// Why its locks may be taken in any order among themselves.
    nesting: OnceLock<&'static str>,
    own: Mutex<OwnSettings>,
}

// Settings are whole after a panic.
impl RefUnwindSafe for LockClass {}

/// Its locks are not observed.
const OFF: u8 = 1;
/// Everything is recorded, and stamps are plain reads of the counter: what the fast path is for.
const EXACT: u8 = 2;
/// The same, but all lines are one.
const WITHOUT_LINES: u8 = 3;
/// Anything else that is observed: this, plus the binary logarithm of how many holds one that is
/// timed stands for, plus [`ALL_LINES_ONE`] where that is so.
const OTHERWISE: u8 = 0x20;
const SHIFT: u8 = 0x1f;
const ALL_LINES_ONE: u8 = 0x40;
/// Together with any of these: somebody measures acquisitions, whatever is recorded, or follows their order.
/// No state with it is that of the fast path.
const FOLLOWED: u8 = 0x80;
/// As [`EXACT`], and the order of locks is followed. As if one hold in 2^31 were timed, which is none of those
/// that there are: so nobody looks for it who does not have to.
const IN_ORDER: u8 = OTHERWISE + SHIFT;

/// How a hold is recorded. Decided when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// Its time is measured.
    Exact,
    /// Its time is measured and stands for 2^this holds.
    ForMany(u8),
    /// It is counted only.
    Untimed,
}

/// What the class's own settings say; `None` is what holds for all classes.
#[derive(Clone, Copy, Debug, Default)]
struct OwnSettings {
    is_off: bool,
    timing: Option<HoldTiming>,
    call_sites: Option<bool>,
}

impl LockClass {
    pub(crate) fn new(
        name: &'static str,
        kind: LockKind,
        declared_at: &'static Location<'static>,
        rank: Option<u32>,
    ) -> Self {
        let class = LockClass {
            stats: ClassStats::new(),
            name,
            declared_at,
            rank,
            kind: AtomicU8::new(kind as u8),
            state: AtomicU8::new(OFF),
            has_order: AtomicBool::new(false),
            nesting: OnceLock::new(),
            own: Mutex::new(OwnSettings::default()),
        };
        class.apply_settings();
        class
    }

    /// The class that a record is of, by the word that says so: one of a lock, not of a
    /// [`Statistic`](crate::Statistic).
    pub(crate) fn of_record(what: usize) -> &'static LockClass {
        // SAFETY: the word is made of the figures of a class, which are its first part and live as long as the
        // process.
        unsafe { &*std::ptr::with_exposed_provenance(stats::class_of(what)) }
    }

    /// The name in reports: module path, item and field, or the name given with `#[lock(name)]` or
    /// [`Mutex::named`](crate::Mutex::named); for a lock that nobody annotated the place of its creation,
    /// `file:line:column`, or in a dependency `crate-version/src/file.rs:line`, with the column where that
    /// line creates others. Those of them whose constructor
    /// was called through a pointer, or by `lock_api`, share a name that says so.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The kind of its locks.
    pub fn kind(&self) -> LockKind {
        LockKind::from_u8(self.kind.load(Ordering::Relaxed))
    }

    /// Where the class is declared: the annotated field or static, or the creation.
    pub fn declared_at(&self) -> &'static Location<'static> {
        self.declared_at
    }

    /// The place in the lock order that `#[lock(rank = ...)]` gives: a thread that holds a lock of
    /// some rank takes locks of higher ranks only.
    pub fn rank(&self) -> Option<u32> {
        self.rank
    }

    /// A lock of this class is used for the first time, and knows its kind even where the declaration
    /// could not. Before its first acquisition.
    pub(crate) fn first_use(&self, kind: LockKind) {
        clock::start();
        settings::begin_reports();
        let known = self.kind();
        // The raw mutex inside a reentrant one knows itself as a mutex.
        let is_inside = known == LockKind::ReentrantMutex && kind == LockKind::Mutex;
        if known != kind && !is_inside {
            self.kind.store(kind as u8, Ordering::Relaxed);
            if kind.is_async() {
                self.apply_settings();
            }
        }
    }

    /// Turns recording on or off for this class alone. Off for all, in the
    /// [registry](crate::registry::set_enabled), is off for each.
    pub fn set_enabled(&self, enabled: bool) {
        self.change(|own| own.is_off = !enabled);
    }

    /// Sets which holds of this class are timed; `None` goes back to what holds for
    /// [all](crate::registry::set_hold_timing).
    pub fn set_hold_timing(&self, timing: Option<HoldTiming>) {
        self.change(|own| own.timing = timing);
    }

    /// Tells the lines apart that take locks of this class, or not; `None` goes back to what holds
    /// for [all](crate::registry::set_call_sites).
    pub fn set_call_sites(&self, call_sites: Option<bool>) {
        self.change(|own| own.call_sites = call_sites);
    }

    /// Its locks may be taken while others of this class are held, in any order: see
    /// [`order`](crate::order). Says why that cannot be a deadlock; the first reason stays. On an annotated
    /// field `#[lock(nested = "...")]` says the same.
    ///
    /// ```
    /// use instrumented_lock::{registry, Mutex};
    ///
    /// struct Node { children: Mutex<Vec<Node>> }
    ///
    /// # let name = "tree nodes";
    /// let root = Node { children: Mutex::named(name, Vec::new()) };
    /// for class in registry::classes() {
    ///     if class.name() == name {
    ///         class.allow_nesting("parents are locked before their children");
    ///     }
    /// }
    /// ```
    pub fn allow_nesting(&self, reason: &'static str) {
        let _ = self.nesting.set(reason);
    }

    /// Why its locks [may be taken in any order](Self::allow_nesting) among themselves, if they may.
    pub fn nesting(&self) -> Option<&'static str> {
        self.nesting.get().copied()
    }

    /// Whether it is followed what else is held when its locks are asked for.
    pub(crate) fn has_order(&self) -> bool {
        // Relaxed: as for the state.
        self.has_order.load(Ordering::Relaxed)
    }

    fn change(&self, change: impl FnOnce(&mut OwnSettings)) {
        let _inside = Inside::enter();
        change(&mut brief::lock(&self.own));
        self.apply_settings();
    }

    /// Keeps the class's own settings as they are, whoever wants to change them, until
    /// [`let_go_of_settings`](Self::let_go_of_settings).
    pub(crate) fn hold_settings(&self) {
        std::mem::forget(brief::lock(&self.own));
    }

    /// Undoes [`hold_settings`](Self::hold_settings).
    ///
    /// # Safety
    ///
    /// The calling thread has called it, once more than this.
    pub(crate) unsafe fn let_go_of_settings(&self) {
        // SAFETY: it has the lock, and has forgotten the guard.
        unsafe { self.own.force_unlock(brief::state()) };
    }

    /// Settings may have changed, or how the clock is read.
    pub(crate) fn apply_settings(&self) {
        let _inside = Inside::enter();
        // Held until the state is stored: of two changes the later one's is kept.
        let own = brief::lock(&self.own);
        let settings = settings::current();
        let timing = own.timing.unwrap_or(settings.timing).shift();
        let call_sites = own.call_sites.unwrap_or(settings.call_sites);
        let state = if settings.is_off || own.is_off {
            OFF
        } else if timing == 0 && clock::is_plain_counter() {
            if call_sites { EXACT } else { WITHOUT_LINES }
        } else {
            OTHERWISE + timing + if call_sites { 0 } else { ALL_LINES_ONE }
        };
        // Of what a task holds it is not known what its thread does meanwhile.
        let has_order = settings.order.is_some() && state != OFF && !self.kind().is_async();
        let is_measured = settings.measurements > 0;
        let (state, followed) = match (is_measured, has_order) {
            (false, false) => (state, 0),
            (false, true) if state == EXACT => (IN_ORDER, 0),
            _ => (state, FOLLOWED),
        };
        self.has_order.store(has_order, Ordering::Relaxed);
        self.state.store(state | followed, Ordering::Relaxed);
    }

    /// What its locks record now.
    #[inline(always)]
    pub(crate) fn state(&self) -> State {
        // Relaxed: a switch takes effect soon, not at once; nothing else hangs on it.
        State(self.state.load(Ordering::Relaxed))
    }
}

/// What the locks of a class record: see [`OFF`] and what follows it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct State(u8);

impl State {
    /// Whether there is nothing to do but to acquire.
    #[inline(always)]
    pub(crate) fn is_off(self) -> bool {
        self.0 == OFF
    }

    /// Whether the locks are observed.
    #[inline]
    pub(crate) fn is_on(self) -> bool {
        self.0 & !FOLLOWED != OFF
    }

    /// Whether there is nothing to find out before a hold is recorded: it is timed, by the plain counter.
    #[inline(always)]
    pub(crate) fn is_exact(self) -> bool {
        self.0 == EXACT
    }

    /// Whether all there is to find out is in which order locks are taken.
    pub(crate) fn is_in_order(self) -> bool {
        self.0 == IN_ORDER
    }

    /// The same where lines are not told apart.
    #[inline(always)]
    pub(crate) fn is_exact_without_lines(self) -> bool {
        self.0 == WITHOUT_LINES
    }

    /// Whether some holds are passed over and only counted, and lines are told apart.
    #[inline(always)]
    pub(crate) fn may_pass_over(self) -> bool {
        (OTHERWISE + 1..IN_ORDER).contains(&self.0)
    }

    /// Whether the next hold is passed over and only counted, where that is easily said and lines are told
    /// apart.
    #[inline(always)]
    pub(crate) fn passes_over(self, thread: &Thread) -> bool {
        let shift = self.0.wrapping_sub(OTHERWISE);
        thread.sampling.passes_over(shift)
    }

    /// The same where lines are not told apart.
    pub(crate) fn passes_over_without_lines(self, thread: &Thread) -> bool {
        let shift = self.0.wrapping_sub(OTHERWISE + ALL_LINES_ONE);
        thread.sampling.passes_over(shift)
    }

    /// How to record the hold that starts now, and whether its line counts; `None` where the locks
    /// are not observed.
    #[inline]
    pub(crate) fn recording(self, thread: &Thread) -> Option<(Timing, bool)> {
        let shift = match self.0 & !FOLLOWED {
            OFF => return None,
            EXACT | WITHOUT_LINES | IN_ORDER => 0,
            more => more & SHIFT,
        };
        let timing = match shift {
            0 => Timing::Exact,
            shift if thread.sampling.one_in(shift) => Timing::ForMany(shift),
            _ => Timing::Untimed,
        };
        Some((timing, self.tells_lines()))
    }

    /// Whether lines are told apart.
    pub(crate) fn tells_lines(self) -> bool {
        let state = self.0 & !FOLLOWED;
        state != WITHOUT_LINES && state & ALL_LINES_ONE == 0
    }

    /// Whether there is more to do than to record: acquisitions are [noted](crate::notes::note), or their
    /// [order](LockClass::has_order) is followed.
    #[inline]
    pub(crate) fn is_followed(self) -> bool {
        self.0 & FOLLOWED != 0
    }
}

impl fmt::Debug for LockClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockClass")
            .field("name", &self.name)
            .field("kind", &self.kind())
            .field("declared_at", &format_args!("{}", self.declared_at))
            .finish_non_exhaustive()
    }
}

/// The class of a lock, as a type parameter of its constructor.
pub trait Class: 'static {
    /// What declares it; `None` for locks that are named by their creation site.
    const DECLARED: Option<&'static Declaration>;
}

/// A class that `#[instrumented]` declared.
pub trait DeclaredClass: 'static {
    /// What declares it.
    #[cfg(feature = "stats")]
    const DECLARATION: &'static Declaration;
}

impl<C: DeclaredClass> Class for C {
    #[cfg(feature = "stats")]
    const DECLARED: Option<&'static Declaration> = Some(C::DECLARATION);
    #[cfg(not(feature = "stats"))]
    const DECLARED: Option<&'static Declaration> = None;
}

/// The class of every lock that nobody annotated: it is named by the line that creates it.
#[derive(Debug)]
pub enum Unclassed {}

impl Class for Unclassed {
    const DECLARED: Option<&'static Declaration> = None;
}

/// A lock type to which `#[instrumented]` can give a class.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an instrumented lock",
    label = "not an instrumented lock",
    note = "import the lock from `instrumented_lock`, one of std's from `instrumented_lock::std_sync::annotated`, or leave the field as it is with `#[lock(allow(foreign_lock))]`"
)]
pub trait Instrumentable<C> {
    /// The same lock with class `C`.
    type Lock: ?Sized;
}

/// A handle keeps its type, whatever alias it has: its lock is found by the place that makes it.
#[diagnostic::do_not_recommend]
impl<C, L: ?Sized + Instrumentable<C>> Instrumentable<C> for std::sync::Arc<L> {
    type Lock = std::sync::Arc<L>;
}

#[diagnostic::do_not_recommend]
impl<C, L: ?Sized + Instrumentable<C>> Instrumentable<C> for std::rc::Rc<L> {
    type Lock = std::rc::Rc<L>;
}

/// What an item declares, as `inventory` collects it at link time.
#[derive(Debug)]
pub struct Declarations(pub &'static [&'static Declaration]);

inventory::collect!(Declarations);

/// The same of locks behind handles. Not listed before they are used, for nobody knows whether what makes them
/// is annotated too.
#[derive(Debug)]
pub struct Handles(pub &'static [&'static Declaration]);

inventory::collect!(Handles);

/// All that is declared.
pub(crate) fn declarations() -> impl Iterator<Item = &'static Declaration> {
    let listed = inventory::iter::<Declarations>.into_iter();
    let handles = inventory::iter::<Handles>.into_iter();
    let listed = listed.flat_map(|declarations| declarations.0);
    listed.chain(handles.flat_map(|handles| handles.0)).copied()
}

#[cfg(all(test, feature = "stats"))]
mod tests {
    use super::*;
    use crate::raw::RawMutex;
    use crate::registry;
    use std::process::Command;

    static DECLARED: Declaration = Declaration::new("fast::declared", LockKind::Mutex, None);

    inventory::submit! {
        Declarations(&[&DECLARED])
    }

    fn use_one() -> &'static LockClass {
        let raw = RawMutex::declared(&DECLARED, lock_api::RawMutex::INIT);
        drop(lock_api::Mutex::from_raw(raw, ()).lock());
        DECLARED.class.get().expect("it has been used")
    }

    /// Whether the fast path is taken, in a process in which nothing has been used before, as is counted on
    /// whatever takes the counter away on this machine.
    #[test]
    #[ignore = "the child of `the_fast_path_is_taken_whatever_came_before_the_first_use`"]
    fn child_takes_the_fast_path() {
        match &*std::env::var("BEFORE").unwrap_or_default() {
            "snapshot" => drop(registry::snapshot()),
            "classes" => drop(registry::classes()),
            "settings" => {
                registry::set_enabled(false);
                registry::set_enabled(true);
                registry::set_call_sites(true);
            }
            "unordered" => clock::set_ordered(false),
            "clock" => {
                clock::set_ordered(true);
                clock::set_ordered(false);
            }
            "budget" => drop(crate::budget::measure(|| ())),
            "look" => drop(format!("{:?}", crate::drop_in::Mutex::new(0))),
            "own settings" => {
                let classes = registry::classes();
                let class = classes.iter().find(|class| class.name() == DECLARED.name);
                class
                    .expect("it is declared")
                    .set_hold_timing(Some(HoldTiming::EXACT));
            }
            _ => {}
        }
        assert!(!clock::is_scale_known());
        let class = use_one();
        // What is added up later, perhaps while another lock is held, does not wait for it.
        assert!(clock::is_scale_known());
        assert_eq!(class.state().is_exact(), clock::is_plain_counter());
        for on in [false, true] {
            registry::set_enabled(on);
            assert_eq!(class.state().is_exact(), on && clock::is_plain_counter());
        }
        drop(registry::snapshot());
        assert_eq!(use_one().state().is_exact(), clock::is_plain_counter());
        let before = std::env::var("BEFORE").unwrap_or_default();
        println!("{before}: plain counter {}", clock::is_plain_counter());
    }

    /// Whether the child says that the clock is the plain counter.
    fn child(before: &str, environment: &str) -> bool {
        let output = Command::new(std::env::current_exe().expect("it runs"))
            .args([
                "class::tests::child_takes_the_fast_path",
                "--exact",
                "--ignored",
                "--nocapture",
            ])
            .env("BEFORE", before)
            .env(
                registry::ENVIRONMENT_VARIABLE,
                format!("order=off,{environment}"),
            )
            .output()
            .expect("it runs again");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{before}: {printed}");
        assert!(printed.contains("plain counter"), "{before}: {printed}");
        printed.contains("plain counter true")
    }

    #[test]
    fn the_fast_path_is_taken_whatever_came_before_the_first_use() {
        let has_counter = child("nothing", "on");
        for before in [
            "snapshot",
            "classes",
            "settings",
            "clock",
            "budget",
            "look",
            "own settings",
        ] {
            assert_eq!(child(before, "on"), has_counter, "{before}");
        }
    }

    #[test]
    fn what_the_program_says_of_the_clock_counts_more_than_the_environment() {
        assert!(!child("nothing", "ordered-clock"));
        assert_eq!(child("unordered", "ordered-clock"), child("nothing", "on"));
        assert_eq!(child("clock", "ordered-clock"), child("nothing", "on"));
        assert!(!child("snapshot", "ordered-clock"));
    }
}
