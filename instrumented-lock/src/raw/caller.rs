//! Whose line it is where `lock_api` itself asks for a lock.
//!
//! | `lock_api` asks in | it is |
//! |---|---|
//! | `unlocked`, `bump`: again for what it has just let go | the line of the hold before, noted when that was let go |
//! | a reentrant mutex, always | the line that our type has left word of |
//! | `Debug`, `Serialize` | nobody's: to look at a lock is not to use it |
//! | a function of its own that was called through a pointer | its own, and reports say so |
//!
//! Which of its lines look at a lock is found out by looking at one that notes who asks.

use crate::mode::Activity;
use crate::stats::{Site, is_lock_apis, may_be_lock_apis};
use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::panic::Location;
use std::sync::OnceLock;

/// Who asks for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    /// This line uses it.
    Uses(Site),
    /// Somebody looks at what it protects.
    Looks,
}

/// Who asks for the lock at this address, at `location`, and `waits` for it if need be.
// Where the user's code is compiled the compiler knows the line, and nothing is left of this.
#[inline(always)]
pub(super) fn caller(lock: usize, activity: Activity, location: Site, waits: bool) -> Caller {
    if may_be_lock_apis(location.file()) {
        caller_of_lock_api(lock, activity, location, waits)
    } else {
        Caller::Uses(location)
    }
}

#[cold]
#[inline(never)]
fn caller_of_lock_api(lock: usize, activity: Activity, location: Site, waits: bool) -> Caller {
    if !is_lock_apis(location.file()) {
        return Caller::Uses(location);
    }
    if location.file().ends_with("remutex.rs") {
        return HERE
            .with(|here| here.word(lock))
            .unwrap_or(Caller::Uses(location));
    }
    let again = waits.then(|| HERE.with(|here| here.take_again(lock, activity)));
    if let Some(line) = again.flatten() {
        return Caller::Uses(line);
    }
    if looks().contains(&Some(location)) {
        return Caller::Looks;
    }
    Caller::Uses(location)
}

/// The lock at this address, which was acquired at the line that `site` says, is let go at `location`. Where
/// that is not in `lock_api`, as it is when a guard is dropped, `lock_api` may ask for it again: see
/// [`unlocked`](lock_api::MutexGuard::unlocked).
#[inline(always)]
pub(super) fn lets_go(
    lock: usize,
    activity: Activity,
    site: impl FnOnce() -> Option<Site>,
    location: Site,
) {
    if !is_lock_apis(location.file()) {
        may_ask_again(lock, activity, site().unwrap_or(location));
    }
}

/// The lock at this address, which was acquired at `line`, is let go, and may be asked for again.
#[cold]
#[inline(never)]
pub(super) fn may_ask_again(lock: usize, activity: Activity, line: Site) {
    let again = Again {
        lock,
        activity,
        line,
        count: 1,
    };
    HERE.with(|here| here.push_again(again));
}

/// The reentrant mutex whose raw mutex is at this address is about to be acquired at `line`.
pub(super) fn is_about_to_use(lock: usize, line: Site) {
    HERE.with(|here| here.change_word(lock, |word| word.line = Some(line)));
}

/// Somebody is about to look at the reentrant mutex whose raw mutex is at this address.
pub(super) fn is_about_to_look(lock: usize) {
    HERE.with(|here| here.change_word(lock, |word| word.looks = true));
}

/// A lock that has been let go and may be asked for again.
#[derive(Clone, Copy)]
struct Again {
    lock: usize,
    activity: Activity,
    line: Site,
    /// How often in a row the same one was.
    count: u32,
}

/// Word that our type has left of who is about to ask for a reentrant mutex.
#[derive(Clone, Copy)]
struct Word {
    lock: usize,
    /// The line of the last outermost acquisition.
    line: Option<Site>,
    /// Whether somebody looks this time.
    looks: bool,
}

/// How many are kept of each, the latest ones: no memory is allocated here, since the lock may be an
/// allocator's.
const KEPT: usize = 16;

/// What the calling thread has noted.
struct Here {
    /// What it has let go, as a stack: `unlocked` calls nest.
    again: [Cell<Option<Again>>; KEPT],
    depth: Cell<usize>,
    words: [Cell<Option<Word>>; KEPT],
    next_word: Cell<usize>,
}

thread_local! {
    // Without a destructor, so that it stays readable while the thread is being torn down.
    static HERE: Here = const {
        Here {
            again: [const { Cell::new(None) }; KEPT],
            depth: Cell::new(0),
            words: [const { Cell::new(None) }; KEPT],
            next_word: Cell::new(0),
        }
    };
}

impl Here {
    fn push_again(&self, new: Again) {
        let depth = self.depth.get();
        let is_same =
            |top: &Again| (top.lock, top.activity, top.line) == (new.lock, new.activity, new.line);
        let top = depth.checked_sub(1).map(|top| &self.again[top % KEPT]);
        if let Some((top, known)) = top.and_then(|top| Some((top, top.get().filter(is_same)?))) {
            // Who unlocks fairly in a loop does not ask again.
            let count = known.count.saturating_add(1);
            top.set(Some(Again { count, ..known }));
        } else {
            self.again[depth % KEPT].set(Some(new));
            self.depth.set(depth + 1);
        }
    }

    /// The line of what was let go last of this lock; what was let go after that is not asked for any more.
    fn take_again(&self, lock: usize, activity: Activity) -> Option<Site> {
        let depth = self.depth.get();
        for place in (depth.saturating_sub(KEPT)..depth).rev() {
            let cell = &self.again[place % KEPT];
            let Some(again) = cell.get() else { break };
            if (again.lock, again.activity) == (lock, activity) {
                if again.count > 1 {
                    cell.set(Some(Again {
                        count: again.count - 1,
                        ..again
                    }));
                    self.depth.set(place + 1);
                } else {
                    cell.set(None);
                    self.depth.set(place);
                }
                return Some(again.line);
            }
        }
        None
    }

    fn find_word(&self, lock: usize) -> Option<(&Cell<Option<Word>>, Word)> {
        self.words
            .iter()
            .find_map(|cell| Some((cell, cell.get().filter(|word| word.lock == lock)?)))
    }

    fn change_word(&self, lock: usize, change: impl FnOnce(&mut Word)) {
        let (cell, mut word) = self.find_word(lock).unwrap_or_else(|| {
            let next = self.next_word.get();
            self.next_word.set(next.wrapping_add(1));
            (
                &self.words[next % KEPT],
                Word {
                    lock,
                    line: None,
                    looks: false,
                },
            )
        });
        change(&mut word);
        cell.set(Some(word));
    }

    /// Who asks for the reentrant mutex at this address. A line stays, for `unlocked`; who looks does it once.
    fn word(&self, lock: usize) -> Option<Caller> {
        let (cell, word) = self.find_word(lock)?;
        if word.looks {
            cell.set(Some(Word {
                looks: false,
                ..word
            }));
            return Some(Caller::Looks);
        }
        word.line.map(Caller::Uses)
    }
}

/// The lines of `lock_api` that look at a lock.
fn looks() -> &'static [Option<Site>; 4] {
    static LOOKS: OnceLock<[Option<Site>; 4]> = OnceLock::new();
    LOOKS.get_or_init(|| {
        let mutex = lock_api::Mutex::<Asked, ()>::new(());
        let rwlock = lock_api::RwLock::<Asked, ()>::new(());
        [
            who_asks(format_args!("{mutex:?}")),
            who_asks(format_args!("{rwlock:?}")),
            #[cfg(feature = "serde")]
            who_asks(format_args!("{}", Serialized(&mutex))),
            #[cfg(feature = "serde")]
            who_asks(format_args!("{}", Serialized(&rwlock))),
            #[cfg(not(feature = "serde"))]
            None,
            #[cfg(not(feature = "serde"))]
            None,
        ]
    })
}

thread_local! {
    static WHO_ASKED: Cell<Option<Site>> = const { Cell::new(None) };
}

/// The line that asks for a lock when this is written.
fn who_asks(writes: fmt::Arguments<'_>) -> Option<Site> {
    struct Nowhere;

    impl fmt::Write for Nowhere {
        fn write_str(&mut self, _: &str) -> fmt::Result {
            Ok(())
        }
    }

    WHO_ASKED.set(None);
    let _ = Nowhere.write_fmt(writes);
    WHO_ASKED.get()
}

/// As serialisation writes it. To a formatter one can serialise too.
#[cfg(feature = "serde")]
struct Serialized<'a, T>(&'a T);

#[cfg(feature = "serde")]
impl<T: serde::Serialize> fmt::Display for Serialized<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}

/// A raw lock of which only this matters: who asks for it.
struct Asked;

// SAFETY: nothing is protected, since the lock of each is alone on its thread's stack and protects `()`.
unsafe impl lock_api::RawMutex for Asked {
    const INIT: Self = Asked;

    type Guard = ();

    #[track_caller]
    fn lock(&self) {
        WHO_ASKED.set(Some(Location::caller()));
    }

    #[track_caller]
    fn try_lock(&self) -> Option<()> {
        WHO_ASKED.set(Some(Location::caller()));
        None
    }

    unsafe fn unlock(&self, (): ()) {}

    fn is_locked(&self) -> bool {
        false
    }
}

// SAFETY: nothing is protected: each is alone on its thread's stack and protects `()`.
unsafe impl lock_api::RawRwLock for Asked {
    const INIT: Self = Asked;

    type SharedGuard = ();
    type ExclusiveGuard = ();

    #[track_caller]
    fn lock_shared(&self) {
        WHO_ASKED.set(Some(Location::caller()));
    }

    #[track_caller]
    fn try_lock_shared(&self) -> Option<()> {
        WHO_ASKED.set(Some(Location::caller()));
        None
    }

    unsafe fn unlock_shared(&self, (): ()) {}

    fn lock_exclusive(&self) {}

    fn try_lock_exclusive(&self) -> Option<()> {
        None
    }

    unsafe fn unlock_exclusive(&self, (): ()) {}

    fn is_locked(&self) -> bool {
        false
    }

    fn is_locked_exclusive(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_look_are_lock_apis_own() {
        let expected = if cfg!(feature = "serde") { 4 } else { 2 };
        let found: Vec<_> = looks().iter().flatten().collect();
        assert_eq!(found.len(), expected, "{found:?}");
        assert!(
            found.iter().all(|line| is_lock_apis(line.file())),
            "{found:?}"
        );
    }
}
