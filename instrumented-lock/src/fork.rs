//! What happens to the library's own locks when the process forks: who forks takes them all before, and
//! both processes let go of them after. So the child finds them free, and what they protect whole.

use crate::brief::Inside;
use std::mem;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

/// Whose locks; in the order in which they may be taken.
#[derive(Clone, Copy)]
pub(crate) enum Whose {
    Logs,
    Operations,
    Names,
    Classes,
    Watches,
    Nesting,
    Stacks,
    Settings,
}

/// What to do at a fork.
pub(crate) struct Hooks {
    /// Takes the locks.
    pub(crate) before: fn(),
    /// Lets go of them; told whether this is the child.
    pub(crate) after: fn(bool),
}

static HOOKS: [OnceLock<Hooks>; 8] = [const { OnceLock::new() }; 8];

/// Which hooks have been called before the fork that is under way; a bit for each.
static CALLED: AtomicU16 = AtomicU16::new(0);

/// Has `hooks` called at every fork, from now on.
pub(crate) fn call(whose: Whose, hooks: Hooks) {
    if HOOKS[whose as usize].set(hooks).is_ok() {
        watch();
    }
}

fn before() {
    // Until `after`.
    mem::forget(Inside::enter());
    let mut called = 0;
    for (i, hooks) in HOOKS.iter().enumerate() {
        if let Some(hooks) = hooks.get() {
            (hooks.before)();
            called |= 1 << i;
        }
    }
    // Relaxed: forks take turns, and the others are called by the same thread.
    CALLED.store(called, Ordering::Relaxed);
}

fn after(is_child: bool) {
    let _inside = Inside::entered();
    // Others may have been entered in between.
    let called = CALLED.load(Ordering::Relaxed);
    let was_called = |i: usize| called >> i & 1 == 1;
    for (i, hooks) in HOOKS.iter().enumerate().rev() {
        if let Some(hooks) = hooks.get().filter(|_| was_called(i)) {
            (hooks.after)(is_child);
        }
    }
}

#[cfg(unix)]
fn watch() {
    extern "C" fn prepare() {
        before();
    }
    extern "C" fn parent() {
        after(false);
    }
    extern "C" fn child() {
        after(true);
    }

    static IS_WATCHING: AtomicBool = AtomicBool::new(false);
    if !IS_WATCHING.swap(true, Ordering::Relaxed) {
        // SAFETY: the functions do what may be done around a fork: they take locks, for which nobody
        // waits who needs what they have, and store to memory. Where there is no memory for the
        // entry, a child may find locks taken, as without it.
        unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
    }
}

/// Nothing forks here.
#[cfg(not(unix))]
fn watch() {}
