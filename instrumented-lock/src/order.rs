//! The order in which locks are taken: mistakes in it are found before they are deadlocks.
//!
//! While a thread holds one lock and asks for another one, the pair is learnt: an edge from the class of the
//! first to that of the second, with both lines and modes. When the edges of a process lead round in a circle,
//! of any length, threads that run them at the same time can wait for each other for ever. That is a
//! [finding](Finding) at once, though it may never have happened: each edge needs to have run once, at any
//! time, on any thread. This is what Linux' [lockdep](https://docs.kernel.org/locking/lockdep-design.html)
//! does.
//!
//! ```
//! # if !cfg!(feature = "stats") { return }
//! use instrumented_lock::{Mutex, instrumented, order};
//!
//! #[instrumented]
//! #[derive(Default)]
//! struct Bank {
//!     accounts: Mutex<Vec<u64>>,
//!     journal: Mutex<Vec<String>>,
//! }
//!
//! order::follow(order::Reaction::Collect);
//! let bank = Bank::default();
//! {
//!     let _accounts = bank.accounts.lock();
//!     bank.journal.lock().push("opened".to_owned());
//! }
//! assert!(order::findings().is_empty());
//! {
//!     // On another day, in another function: the other way around.
//!     let _journal = bank.journal.lock();
//!     bank.accounts.lock().push(1);
//! }
//! let findings = order::findings();
//! assert_eq!(findings[0].kind(), order::FindingKind::Circle);
//! println!("{}", findings[0]);
//! ```
//!
//! # What is found
//!
//! | [kind](FindingKind) | |
//! |---|---|
//! | circle | classes of locks are taken in a circle; or locks of one class in both directions, by their addresses |
//! | rank | a lock is taken whose [rank](crate::lints) is not above that of one that is held, across functions, crates and threads |
//! | recursion | a thread is about to wait for a lock that it has itself: a mutex, a write after a read, a second read while a writer waits |
//! | sleep | a thread sleeps in a condition variable with another lock than its mutex held |
//!
//! Attempts that cannot wait (`try_lock` and its like) are no edges, but what they have acquired is held like
//! all else. Attempts with a time limit count as those without. A reader counts as who may have to wait for
//! another reader, because it queues behind a writer who does; not where the lock is a
//! [`RecursiveRwLock`](crate::RecursiveRwLock).
//!
//! Locks of one class are compared by their addresses: always upwards, or always downwards, is an order. Where
//! another one is kept (parents before children), say so: `#[lock(nested = "parents come first")]` on the
//! field, or [`LockClass::allow_nesting`](crate::LockClass::allow_nesting).
//!
//! # When
//!
//! From the start where this library is compiled with `debug_assertions`, as it is in tests; not in a release
//! build. [`follow`] and [`stop`] change that, and so does the
//! [environment](crate::registry::ENVIRONMENT_VARIABLE): `order`, `order=log`, `order=panic`, `order=off`. At
//! the end of a test suite, [`assert_clean!`] says what has been found.
//!
//! # What it costs
//!
//! Nothing where it is off. Where it is on, a pair of lock and unlock notes what is held; one that is taken
//! while others are held looks each up in a table of 64 edges of its thread. A new edge takes a lock of the
//! process and some microseconds, once; the one that closes a circle is searched for among all edges that there
//! are, half a millisecond for 10,000. An edge takes some 200 bytes with all that belongs to it, and 16,384 are
//! kept; a thread takes 2 KiB.
//!
//! # Limits
//!
//! - A circle is found though a third lock, held in all of its edges, may keep the threads apart.
//! - The thread that has acquired a lock is taken for the one that holds it, also where the guard was sent to
//!   another one, until it is dropped there.
//! - Of a thread that holds more than 32 locks at once, the others are not noted, but
//!   [counted](Order::unlisted).
//! - What is taken inside a global allocator is not learnt.

use crate::nesting;
use crate::registry;
pub use crate::settings::Reaction;
pub use crate::snapshot::{Finding, FindingKind, Order, OrderEdge, OrderEnd};

/// Follows the order of locks from now on, and does this with findings.
pub fn follow(reaction: Reaction) {
    registry::change(|settings| settings.order = Some(reaction));
}

/// Follows it no longer. What has been learnt stays.
pub fn stop() {
    registry::change(|settings| settings.order = None);
}

/// All findings of the process, as they were made.
pub fn findings() -> Vec<Finding> {
    nesting::order().findings
}

/// Forgets all that has been learnt.
pub fn forget() {
    nesting::forget();
}

/// Asserts that nothing wrong has been found, as the last thing that a test or a test suite does.
///
/// ```
/// # use instrumented_lock::order;
/// order::assert_clean!();
/// ```
///
/// # Panics
///
/// Where there is a [finding](findings): the message has them all.
#[doc(hidden)]
#[macro_export]
macro_rules! __order_assert_clean {
    () => {
        $crate::order::__assert_clean()
    };
}

#[doc(inline)]
pub use crate::__order_assert_clean as assert_clean;

#[doc(hidden)]
#[track_caller]
pub fn __assert_clean() {
    let findings = findings();
    let text = findings.iter().map(|finding| format!("\n{finding}"));
    assert!(
        findings.is_empty(),
        "{} found in the order of locks:{}",
        if findings.len() == 1 {
            "a mistake was"
        } else {
            "mistakes were"
        },
        text.collect::<String>()
    );
}
