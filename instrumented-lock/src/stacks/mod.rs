//! Stacks of those that wait for locks, and of those that make them wait.
//!
//! Off from the start; see [`registry::set_stacks`](crate::registry::set_stacks). A waiter that is chosen has its
//! stack captured before it begins to wait. It says in the [watch](crate::stats::Watch) of the lock that it is one
//! of the chosen, so whoever lets go of the lock meanwhile has its stack captured too, after the unlock. What is
//! captured are addresses; what they are called is found out when a snapshot is taken.
//!
//! A waiter stands for as many as it was chosen from. Of a chosen wait there may be a thousand holders, so a
//! holder is chosen once more, by the time for which it made others wait: as if a clock ticked at random, once in
//! [`TICK_NS`] of that time on average, and those were chosen in whose time it did. A hold of `t` ns is then chosen
//! with the probability p = 1 − e^(−t / `TICK_NS`), stands for 1 / p holds, and sums are without bias (Horvitz and
//! Thompson, "A Generalization of Sampling Without Replacement From a Finite Universe", 1952). What lasts long is
//! chosen for certain.
//!
//! The stacks that are kept are in a table that is only ever added to, without any lock.

#[cfg_attr(not(feature = "stacks"), path = "unwind_off.rs")]
mod unwind;

use crate::brief::{self, Inside};
use crate::class::LockClass;
use crate::clock;
use crate::fork::{self, Hooks, Whose};
use crate::mode::Activity;
use crate::settings::{self, Chosen};
use crate::snapshot::{Frame, StackRole, StackSnapshot, sorted_stacks};
use crate::stats::{self, Thread};
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::HashMap;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The most frames that are captured: the innermost ones.
const FRAMES: usize = 64;

/// The most stacks that are kept, and how many places one of them is looked for in.
const STACKS: usize = 1024;
const PROBES: usize = 32;

/// How much time others wait until one who makes them wait is chosen, on average.
const TICK_NS: f64 = 100_000.0;

/// How often a stack counts is kept in parts of so many, because a hold may stand for one and a half.
const PARTS: f64 = 1024.0;

/// A stack that is kept, and what has been waited with it.
struct Kept {
    key: Key,
    /// How many waits or holds, in [`PARTS`], and their nanoseconds.
    count: AtomicU64,
    ns: AtomicU64,
    /// Once somebody has asked.
    names: OnceLock<Vec<Frame>>,
}

struct Key {
    class: &'static LockClass,
    activity: Activity,
    role: StackRole,
    /// Return addresses, the innermost first.
    frames: Box<[usize]>,
}

impl Kept {
    /// Adds something of which each stands for `weight`.
    fn add(&self, ns: u64, weight: f64) {
        // Relaxed: whoever reads finds a count and a time that belong to different moments, as is said there.
        self.count
            .fetch_add(whole(weight * PARTS), Ordering::Relaxed);
        self.ns
            .fetch_add(whole(ns as f64 * weight), Ordering::Relaxed);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "never negative, and what is too large is as large as can be"
)]
fn whole(n: f64) -> u64 {
    n.round() as u64
}

static TABLE: [AtomicPtr<Kept>; STACKS] = [const { AtomicPtr::new(ptr::null_mut()) }; STACKS];

/// Stacks that found no place in the table.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Held while names are looked up, which allocates: nobody needs it but other snapshots, and who forks.
static NAMING: Mutex<()> = Mutex::new(());

thread_local! {
    /// For how many more nanoseconds this thread makes others wait until it is chosen; negative where that has not
    /// been drawn.
    static UNTIL_TICK: Cell<f64> = const { Cell::new(-1.0) };
}

/// Whether stacks are captured at all.
#[inline]
pub(crate) fn is_on() -> bool {
    cfg!(feature = "stacks") && settings::chosen_stacks().is_some()
}

/// A wait that has been chosen.
pub(crate) struct ChosenWait {
    /// `None` where there was no place for it.
    kept: Option<&'static Kept>,
    chosen: Chosen,
}

impl ChosenWait {
    /// It has lasted so long.
    pub(crate) fn ends(&self, start: u64, end: u64) {
        let ns = clock::nanoseconds(start, end).unwrap_or(0);
        if let Some(kept) = self.kept
            && self.chosen.counts(ns)
        {
            kept.add(ns, self.chosen.weight());
        }
    }
}

/// Somebody is about to wait: whether it is chosen. May allocate.
#[inline]
pub(crate) fn choose_waiter(
    thread: &Thread,
    class: &'static LockClass,
    activity: Activity,
) -> Option<ChosenWait> {
    if !is_on() {
        return None;
    }
    choose_waiter_slowly(thread, class, activity)
}

#[cold]
#[inline(never)]
fn choose_waiter_slowly(
    thread: &Thread,
    class: &'static LockClass,
    activity: Activity,
) -> Option<ChosenWait> {
    let chosen = settings::chosen_stacks()?;
    if brief::is_inside() || !chosen.is_it(|shift| thread.sampling.one_in(shift)) {
        return None;
    }
    Some(ChosenWait {
        kept: capture(class, activity, StackRole::Waiter),
        chosen,
    })
}

/// Somebody has let go of a lock, and has made chosen ones wait for so long, in ticks. May allocate, so not before
/// the unlock.
#[cold]
#[inline(never)]
pub(crate) fn choose_holder(
    thread: &Thread,
    class: &'static LockClass,
    activity: Activity,
    ticks: u64,
) {
    let Some(chosen) = settings::chosen_stacks() else {
        return;
    };
    let ns = clock::nanoseconds(0, ticks).unwrap_or(0);
    if brief::is_inside() || !chosen.counts(ns) {
        return;
    }
    let time = ns as f64;
    let mut until = UNTIL_TICK.get();
    if until < 0.0 {
        until = TICK_NS * thread.sampling.exponential();
    }
    if time < until {
        UNTIL_TICK.set(until - time);
        return;
    }
    UNTIL_TICK.set(-1.0);
    let probability = -(-time / TICK_NS).exp_m1();
    if let Some(kept) = capture(class, activity, StackRole::Holder)
        && probability > 0.0
    {
        kept.add(ns, chosen.weight() / probability);
    }
}

/// The caller's stack, as it is kept; `None` where there is no place for it.
fn capture(
    class: &'static LockClass,
    activity: Activity,
    role: StackRole,
) -> Option<&'static Kept> {
    let _inside = Inside::enter();
    let mut frames = [0; FRAMES];
    let n = unwind::trace(&mut frames);
    let kept = keep(class, activity, role, &frames[..n]);
    if kept.is_none() {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
    kept
}

/// Finds a stack in the table, or enters it.
fn keep(
    class: &'static LockClass,
    activity: Activity,
    role: StackRole,
    frames: &[usize],
) -> Option<&'static Kept> {
    let first = place(class, activity, role, frames);
    let is_it = |key: &Key| {
        ptr::eq(key.class, class)
            && (key.activity, key.role) == (activity, role)
            && *key.frames == *frames
    };
    let mut new = None;
    for i in 0..PROBES {
        let slot = &TABLE[(first + i) % STACKS];
        // Acquire: pairs with the release below.
        let mut found = slot.load(Ordering::Acquire);
        if found.is_null() {
            let kept = new.take().unwrap_or_else(|| {
                Box::new(Kept {
                    key: Key {
                        class,
                        activity,
                        role,
                        frames: frames.into(),
                    },
                    count: AtomicU64::new(0),
                    ns: AtomicU64::new(0),
                    names: OnceLock::new(),
                })
            });
            let kept = Box::into_raw(kept);
            match slot.compare_exchange(ptr::null_mut(), kept, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => found = kept,
                Err(theirs) => {
                    // SAFETY: made above, and nobody else has seen it.
                    new = Some(unsafe { Box::from_raw(kept) });
                    found = theirs;
                }
            }
        }
        // SAFETY: not null, entered by this function, and never freed.
        let kept = unsafe { &*found };
        if is_it(&kept.key) {
            return Some(kept);
        }
    }
    None
}

/// Where a stack is first looked for.
fn place(class: &LockClass, activity: Activity, role: StackRole, frames: &[usize]) -> usize {
    let words = [
        ptr::from_ref(class).addr(),
        activity as usize,
        role as usize,
    ];
    // FNV-1a, by words; the high bits are the better ones.
    let hash = words
        .iter()
        .chain(frames)
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, word| {
            (hash ^ *word as u64).wrapping_mul(0x0100_0000_01b3)
        });
    usize::try_from(hash >> 40).unwrap_or(0) % STACKS
}

/// All that is kept.
fn all() -> impl Iterator<Item = &'static Kept> {
    let slots = TABLE.iter();
    // SAFETY: null, or entered by `keep` and never freed. Acquire: pairs with the release there.
    slots.filter_map(|slot| unsafe { slot.load(Ordering::Acquire).as_ref() })
}

/// The stacks of each class, with the names of what is in them; and finds out those that are not known.
pub(crate) fn by_class() -> HashMap<*const LockClass, Vec<StackSnapshot>> {
    let mut stacks = HashMap::<_, Vec<_>>::new();
    for kept in all() {
        let count = kept.count.load(Ordering::Relaxed) as f64 / PARTS;
        let Some(mode) = kept.key.activity.mode() else {
            continue;
        };
        let of_class = stacks.entry(ptr::from_ref(kept.key.class)).or_default();
        of_class.push(StackSnapshot {
            role: kept.key.role,
            mode,
            count: whole(count),
            total_ns: kept.ns.load(Ordering::Relaxed),
            frames: names(kept).to_vec(),
        });
    }
    for of_class in stacks.values_mut() {
        *of_class = sorted_stacks(of_class);
    }
    stacks
}

/// How many stacks were not kept, because there was no place for them.
pub(crate) fn dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// What the frames of a stack are called. For who is inside the library.
fn names(kept: &'static Kept) -> &'static [Frame] {
    if let Some(known) = kept.names.get() {
        return known;
    }
    fork::call(
        Whose::Stacks,
        Hooks {
            before: || std::mem::forget(brief::lock(&NAMING)),
            // SAFETY: `before` has locked it and forgotten the guard, on this thread.
            after: |_| unsafe { NAMING.force_unlock(brief::state()) },
        },
    );
    let _naming = brief::lock(&NAMING);
    kept.names
        .get_or_init(|| callers(unwind::names(&kept.key.frames)))
}

/// Without what is inside of locks, what calls `main` and the functions of threads, type parameters, and where this
/// machine keeps files.
fn callers(mut frames: Vec<Frame>) -> Vec<Frame> {
    let begins = |frame: &Frame| frame.function.contains("__rust_begin_short_backtrace");
    if let Some(begin) = frames.iter().position(begins) {
        frames.truncate(begin);
    }
    if let Some(first) = frames.iter().position(|frame| !is_of_locks(frame)) {
        frames.drain(..first);
    }
    let shown = |frame: Frame| Frame {
        function: without_parameters(&frame.function),
        file: frame
            .file
            .map(|file| stats::without_machine(&file).to_owned()),
        line: frame.line,
    };
    frames.into_iter().map(shown).collect()
}

/// Whether a function is this library's, the standard library's, or of what locks are made of.
fn is_of_locks(frame: &Frame) -> bool {
    const CRATES: [&str; 7] = [
        "instrumented_lock",
        "lock_api",
        "parking_lot",
        "backtrace",
        "core",
        "alloc",
        "std",
    ];
    if let Some(file) = &frame.file {
        return stats::is_of_locks(file);
    }
    let path = frame.function.trim_start_matches(['<', '&', '*']);
    let is_in = |name: &&str| {
        path.strip_prefix(*name)
            .is_some_and(|rest| rest.starts_with("::"))
    };
    CRATES.iter().any(is_in)
}

/// A function's name without what stands between `<` and `>` behind a name.
fn without_parameters(function: &str) -> String {
    let mut left = String::new();
    let (mut depth, mut before) = (0_usize, ' ');
    for c in function.chars() {
        let begins = c == '<' && (depth > 0 || before.is_alphanumeric() || "_:}".contains(before));
        if begins {
            // Of a turbofish.
            let end = left.trim_end_matches("::").len();
            if depth == 0 && before == ':' {
                left.truncate(end);
            }
            depth += 1;
        } else if depth == 0 {
            left.push(c);
        } else if c == '>' && before != '-' {
            depth -= 1;
        }
        before = c;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: Option<&str>) -> Frame {
        Frame {
            function: function.to_owned(),
            file: file.map(str::to_owned),
            line: file.map(|_| 7),
        }
    }

    #[test]
    fn what_is_left_of_a_stack_are_the_callers() {
        // By the names where there are no line tables.
        let functions = [
            "instrumented_lock::stacks::capture",
            "<instrumented_lock::raw::Instrumented<R,K> as lock_api::mutex::RawMutex>::lock",
            "lock_api::mutex::Mutex<R,T>::lock",
            "core::option::Option<T>::map",
            "instrumented_lock_examples::store::get",
            "std::thread::LocalKey::with",
            "app::serve",
            "std::sys::backtrace::__rust_begin_short_backtrace",
            "std::rt::lang_start",
        ];
        let left = callers(functions.map(|name| frame(name, None)).to_vec());
        let left: Vec<_> = left.iter().map(|frame| &*frame.function).collect();
        assert_eq!(left, functions[4..7]);
        // By the files where there are.
        let own = format!("/home/me/{}", file!());
        let frames = [
            frame(
                "trace<F>",
                Some("/registry/src/i/backtrace-0.3.77/src/lib.rs"),
            ),
            frame("lock<R, K>", Some(&own)),
            frame(
                "with<u64, app::{closure_env#0}>",
                Some("/home/me/app/src/store.rs"),
            ),
        ];
        assert_eq!(
            callers(frames.to_vec()),
            [frame("with", Some("app/src/store.rs"))]
        );
        // Where nothing has a name nothing is left out.
        let unnamed = ["0x7f0010", "0x7f0020"].map(|name| frame(name, None));
        assert_eq!(callers(unnamed.to_vec()), unnamed);
    }

    #[test]
    fn names_of_functions_lose_their_type_parameters() {
        for (name, shown) in [
            ("app::get", "app::get"),
            ("get<u64, fn(u8) -> alloc::vec::Vec<u8>>", "get"),
            ("app::Store<K,V>::get", "app::Store::get"),
            ("app::get::<u64>::{closure#0}", "app::get::{closure#0}"),
            (
                "<app::Store<K> as app::Get<V>>::get",
                "<app::Store as app::Get>::get",
            ),
            ("{closure#0}<u8>", "{closure#0}"),
        ] {
            assert_eq!(without_parameters(name), shown);
        }
    }
}
