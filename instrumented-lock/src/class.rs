//! Lock classes: what locks are grouped by, and how a lock knows its own.
//!
//! A class is named where it is declared: by `#[instrumented]`, or, for a lock that nobody
//! annotated, by the line that creates it. All statistics belong to classes, which the program
//! text bounds; a lock itself carries one word, the [`ClassCell`].

use crate::clock;
use crate::registry;
use crate::settings::HoldTiming;
use crate::stats::slot::Thread;
use crate::stats::{ClassStats, Timing};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

/// What kind of lock a class is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
#[repr(u8)]
pub enum LockKind {
    /// Declared through a type alias, and none of its locks has been used yet.
    Unknown = 0,
    /// [`Mutex`](crate::Mutex).
    Mutex = 1,
    /// [`RwLock`](crate::RwLock).
    RwLock = 2,
    /// [`FairMutex`](crate::FairMutex).
    FairMutex = 3,
    /// [`ReentrantMutex`](crate::ReentrantMutex).
    ReentrantMutex = 4,
    /// [`RecursiveRwLock`](crate::RecursiveRwLock).
    RecursiveRwLock = 5,
    /// [`Condvar`](crate::Condvar).
    Condvar = 6,
}

impl LockKind {
    fn from_u8(kind: u8) -> Self {
        match kind {
            1 => LockKind::Mutex,
            2 => LockKind::RwLock,
            3 => LockKind::FairMutex,
            4 => LockKind::ReentrantMutex,
            5 => LockKind::RecursiveRwLock,
            6 => LockKind::Condvar,
            _ => LockKind::Unknown,
        }
    }
}

impl fmt::Display for LockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LockKind::Unknown => "unused",
            LockKind::Mutex => "Mutex",
            LockKind::RwLock => "RwLock",
            LockKind::FairMutex => "FairMutex",
            LockKind::ReentrantMutex => "ReentrantMutex",
            LockKind::RecursiveRwLock => "RecursiveRwLock",
            LockKind::Condvar => "Condvar",
        })
    }
}

/// What `#[instrumented]` says of a class, in a `static` beside the item: small, because the compiler
/// evaluates every one. The class is made when one of its locks is first used, or when the registry
/// lists it.
#[derive(Debug)]
pub struct Declaration {
    pub(crate) name: &'static str,
    pub(crate) kind: LockKind,
    pub(crate) rank: Option<u32>,
    pub(crate) declared_at: &'static Location<'static>,
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
            declared_at: Location::caller(),
            class: OnceLock::new(),
        }
    }
}

/// A group of locks that share a name and their statistics.
///
/// Declared by `#[instrumented]`, or made at the first use of a lock that nobody annotated.
/// [`registry::classes`](crate::registry::classes) lists them all.
pub struct LockClass {
    name: &'static str,
    declared_at: &'static Location<'static>,
    rank: Option<u32>,
    kind: AtomicU8,
    /// What the locks of the class record; see [`OFF`] and what follows it.
    state: AtomicU8,
    pub(crate) stats: ClassStats,
}

/// Its locks are not observed.
pub(crate) const OFF: u8 = 1;
/// Everything is recorded, and stamps are plain reads of the counter: what the fast path is for.
pub(crate) const EXACT: u8 = 2;
/// The same, but all lines are one.
pub(crate) const WITHOUT_SITES: u8 = 3;
/// Anything else that is observed: this, plus the binary logarithm of how many holds one that is
/// timed stands for, plus [`ALL_LINES_ONE`] where that is so.
const OTHERWISE: u8 = 0x20;
const SHIFT: u8 = 0x1f;
const ALL_LINES_ONE: u8 = 0x40;
/// Together with any of these: somebody measures acquisitions, whatever is recorded. No state with it
/// is one of the fast path.
const MEASURED: u8 = 0x80;

/// What the locks of a class record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recording {
    pub(crate) timing: HoldTiming,
    pub(crate) call_sites: bool,
}

/// What the class's own settings say; `None` is what holds for all classes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnSettings {
    pub(crate) is_off: bool,
    pub(crate) timing: Option<HoldTiming>,
    pub(crate) call_sites: Option<bool>,
}

impl LockClass {
    /// A class that records nothing until it is [told to](Self::switch).
    pub(crate) fn new(
        name: &'static str,
        kind: LockKind,
        declared_at: &'static Location<'static>,
        rank: Option<u32>,
    ) -> Self {
        LockClass {
            name,
            declared_at,
            rank,
            kind: AtomicU8::new(kind as u8),
            state: AtomicU8::new(OFF),
            stats: ClassStats::new(),
        }
    }

    /// The name in reports: module path, item and field, or the name given with `#[lock(name)]`;
    /// `file:line:column` of the creation for a lock that nobody annotated.
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

    /// A lock of this class knows its kind even where the declaration could not.
    pub(crate) fn set_kind(&self, kind: LockKind) {
        // The raw mutex inside a reentrant one knows itself as a mutex.
        if self.kind() != LockKind::ReentrantMutex || kind != LockKind::Mutex {
            self.kind.store(kind as u8, Ordering::Relaxed);
        }
    }

    /// Turns recording on or off for this class alone. Off for all, in the
    /// [registry](crate::registry::set_enabled), is off for each.
    pub fn set_enabled(&'static self, enabled: bool) {
        registry::change_own(self, |own| own.is_off = !enabled);
    }

    /// Sets which holds of this class are timed; `None` goes back to what holds for
    /// [all](crate::registry::set_hold_timing).
    pub fn set_hold_timing(&'static self, timing: Option<HoldTiming>) {
        registry::change_own(self, |own| own.timing = timing);
    }

    /// Tells the lines apart that take locks of this class, or not; `None` goes back to what holds
    /// for [all](crate::registry::set_call_sites).
    pub fn set_call_sites(&'static self, call_sites: Option<bool>) {
        registry::change_own(self, |own| own.call_sites = call_sites);
    }

    #[inline(always)]
    pub(crate) fn state(&self) -> u8 {
        // Relaxed, here and below: a switch takes effect soon, not at once; nothing else hangs on
        // it.
        self.state.load(Ordering::Relaxed)
    }

    /// Whether its locks are observed.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.state() & !MEASURED > OFF
    }

    /// How to record the hold that starts now, and whether its line counts; `None` where the locks
    /// are not observed.
    pub(crate) fn recording(&self, thread: &Thread) -> Option<(Timing, bool)> {
        let state = self.state() & !MEASURED;
        let shift = match state {
            OFF => return None,
            EXACT | WITHOUT_SITES => 0,
            more => more & SHIFT,
        };
        let timing = match shift {
            0 => Timing::Exact,
            shift if thread.sampling.one_in(shift) => Timing::ForMany(shift),
            _ => Timing::Untimed,
        };
        Some((timing, state != WITHOUT_SITES && state & ALL_LINES_ONE == 0))
    }

    /// Where not all holds are timed, the binary logarithm of how many one stands for, and whether
    /// lines count.
    #[inline(always)]
    pub(crate) fn sampled(&self) -> Option<(u8, bool)> {
        let state = self.state();
        ((OTHERWISE..MEASURED).contains(&state) && state & SHIFT > 0)
            .then_some((state & SHIFT, state & ALL_LINES_ONE == 0))
    }

    /// Whether acquisitions are [noted](crate::stats::note).
    pub(crate) fn is_measured(&self) -> bool {
        self.state() & MEASURED != 0
    }

    pub(crate) fn switch(&self, recording: Option<Recording>, is_measured: bool) {
        let state = match recording {
            None => OFF,
            Some(Recording { timing, call_sites }) => {
                match (timing.shift(), call_sites, clock::is_plain_counter()) {
                    (0, true, true) => EXACT,
                    (0, false, true) => WITHOUT_SITES,
                    (shift, true, _) => OTHERWISE + shift,
                    (shift, false, _) => OTHERWISE + shift + ALL_LINES_ONE,
                }
            }
        };
        let measured = if is_measured { MEASURED } else { 0 };
        self.state.store(state | measured, Ordering::Relaxed);
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
    note = "import the lock from `instrumented_lock`, or leave the field as it is with `#[lock(allow(foreign_lock))]`"
)]
pub trait Instrumentable<C> {
    /// The same lock with class `C`.
    type Lock: ?Sized;
}

/// What an item declares, as `inventory` collects it at link time.
#[derive(Debug)]
pub struct Declarations(pub &'static [&'static Declaration]);

inventory::collect!(Declarations);

/// Which class a lock belongs to, in one word.
///
/// | low bits | the rest of the word |
/// |---|---|
/// | `DECLARED` | a [`Declaration`]; this lock has not been used yet |
/// | `SITE` | the [`Location`] of the creation; this lock has not been used yet |
/// | none | a [`LockClass`]; the lock counts among its instances |
///
/// A word never changes again once its low bits are gone.
pub(crate) struct ClassCell {
    word: AtomicPtr<()>,
    /// What the word points to is shared and never freed.
    points_to: PhantomData<&'static (Declaration, Location<'static>, LockClass)>,
}

const DECLARED: usize = 1;
const SITE: usize = 2;
const TAGS: usize = DECLARED | SITE;
const _: () = assert!(align_of::<Declaration>() > TAGS && align_of::<Location<'static>>() > TAGS);
const _: () = assert!(align_of::<LockClass>() > TAGS);

impl ClassCell {
    pub(crate) const fn declared(declaration: &'static Declaration) -> Self {
        let declaration = ptr::from_ref(declaration).cast_mut().cast::<()>();
        Self::from_word(declaration.wrapping_byte_add(DECLARED))
    }

    pub(crate) const fn site(location: &'static Location<'static>) -> Self {
        let location = ptr::from_ref(location).cast_mut().cast::<()>();
        Self::from_word(location.wrapping_byte_add(SITE))
    }

    const fn from_word(word: *mut ()) -> Self {
        ClassCell {
            word: AtomicPtr::new(word),
            points_to: PhantomData,
        }
    }

    /// The class, where this lock has been used before.
    #[inline(always)]
    pub(crate) fn resolved(&self) -> Option<&'static LockClass> {
        // Acquire: pairs with the exchange in `resolve`, after which the class is complete.
        let word = self.word.load(Ordering::Acquire);
        if word.addr() & TAGS != 0 {
            return None;
        }
        // SAFETY: without a tag the word is a `&'static LockClass`, by the table above.
        Some(unsafe { &*word.cast::<LockClass>() })
    }

    /// The class; the first use of a lock finds it, enrols it and counts the lock.
    #[inline(always)]
    pub(crate) fn class(&self, kind: LockKind) -> &'static LockClass {
        match self.resolved() {
            Some(class) => class,
            None => self.resolve(kind, true),
        }
    }

    /// The class, for what belongs to a lock that counts itself.
    #[inline]
    pub(crate) fn class_uncounted(&self, kind: LockKind) -> &'static LockClass {
        match self.resolved() {
            Some(class) => class,
            None => self.resolve(kind, false),
        }
    }

    #[cold]
    #[inline(never)]
    fn resolve(&self, kind: LockKind, counts: bool) -> &'static LockClass {
        let word = self.word.load(Ordering::Acquire);
        let target = word.map_addr(|addr| addr & !TAGS);
        let class = match word.addr() & TAGS {
            SITE => {
                // SAFETY: `site` made the word from a `&'static Location`.
                let location = unsafe { &*target.cast::<Location<'static>>() };
                registry::class_of_site(location, kind)
            }
            DECLARED => {
                // SAFETY: `declared` made the word from a `&'static Declaration`.
                let declaration = unsafe { &*target.cast::<Declaration>() };
                registry::class_of(declaration)
            }
            // SAFETY: the exchange below made the word from a `&'static LockClass`.
            _ => unsafe { &*target.cast::<LockClass>() },
        };
        registry::first_use(class, kind);
        let resolved = ptr::from_ref(class).cast_mut().cast::<()>();
        // Release: whoever reads the bare word sees the class complete. Of two threads that use a
        // new lock at the same time, one counts it.
        let first =
            self.word
                .compare_exchange(word, resolved, Ordering::Release, Ordering::Relaxed);
        if counts && first.is_ok() && word != resolved {
            class.stats.add_instance();
        }
        class
    }
}
