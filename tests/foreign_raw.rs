//! The instrumentation goes around raw locks of other kinds, whose guards have state of their own.
//!
//! Of the crates with raw locks none supports `lock_api` 0.5 yet (`spin` 0.12 and `usync` 0.2 are at
//! 0.4), so these are toys: a ticket lock, and a reader-writer lock that numbers its guards. Both
//! spin. They note which state comes back at an unlock, and whether any is lost on the way.

use instrumented_lock::lock_api::{
    self, MutexGuard, RawMutex, RawRwLock, RawRwLockDowngrade, RawRwLockUpgrade,
    RawRwLockUpgradeDowngrade, RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use instrumented_lock::raw::Instrumented;
use instrumented_lock::{LockKind, LockSnapshot, registry};
use std::cell::RefCell;
use std::mem;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

type TicketMutex<T> = lock_api::Mutex<Instrumented<TicketLock>, T>;
type NumberedRwLock<T> = lock_api::RwLock<Instrumented<NumberedLock>, T>;

thread_local! {
    /// What came back at this thread's unlocks and conversions.
    static RETURNED: RefCell<Vec<Ticket>> = const { RefCell::new(Vec::new()) };
}

/// Tickets that no unlock got back.
static LOST: AtomicUsize = AtomicUsize::new(0);

/// Threads that have begun to spin.
static SPINNING: AtomicUsize = AtomicUsize::new(0);

/// An acquisition, numbered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ticket {
    Alone(u32),
    Reader(u32),
    Upgradable(u32),
}

/// The state of a guard. Unlike the ticket there is one of each, and it must come back.
struct State(Ticket);

impl State {
    fn come_back(self) {
        RETURNED.with_borrow_mut(|returned| returned.push(self.0));
        mem::forget(self);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        LOST.fetch_add(1, Ordering::Relaxed);
    }
}

fn spin_until(mut condition: impl FnMut() -> bool) {
    if condition() {
        return;
    }
    SPINNING.fetch_add(1, Ordering::Relaxed);
    while !condition() {
        thread::yield_now();
    }
}

/// Threads are served in the order of the tickets they draw.
struct TicketLock {
    next: AtomicU32,
    serving: AtomicU32,
}

// SAFETY: of the tickets one is served at a time. Acquire pairs with the release in `unlock`.
unsafe impl RawMutex for TicketLock {
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "the trait's way to say `new`"
    )]
    const INIT: Self = TicketLock {
        next: AtomicU32::new(0),
        serving: AtomicU32::new(0),
    };

    type Guard = State;

    fn lock(&self) -> State {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        spin_until(|| self.serving.load(Ordering::Acquire) == ticket);
        State(Ticket::Alone(ticket))
    }

    fn try_lock(&self) -> Option<State> {
        let ticket = self.serving.load(Ordering::Acquire);
        let drawn =
            self.next
                .compare_exchange(ticket, ticket + 1, Ordering::Relaxed, Ordering::Relaxed);
        drawn.ok().map(|ticket| State(Ticket::Alone(ticket)))
    }

    unsafe fn unlock(&self, state: State) {
        state.come_back();
        self.serving.fetch_add(1, Ordering::Release);
    }

    fn is_locked(&self) -> bool {
        self.serving.load(Ordering::Relaxed) != self.next.load(Ordering::Relaxed)
    }
}

/// Counts its readers in units of `READER`.
struct NumberedLock {
    state: AtomicU32,
    next: AtomicU32,
}

const WRITER: u32 = 1;
const UPGRADABLE: u32 = 2;
const READER: u32 = 4;

impl NumberedLock {
    /// Adds `bits` if none of `unless` is set.
    fn enter(&self, bits: u32, unless: u32) -> bool {
        let add = |state| (state & unless == 0).then_some(state + bits);
        self.state
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, add)
            .is_ok()
    }

    fn number(&self, ticket: impl FnOnce(u32) -> Ticket) -> State {
        State(ticket(self.next.fetch_add(1, Ordering::Relaxed)))
    }

    /// Takes a state back, and puts the bits `to` in the place of `from`, which it stood for.
    fn leave(&self, state: State, from: u32, to: u32) {
        state.come_back();
        self.state
            .fetch_add(to.wrapping_sub(from), Ordering::Release);
    }
}

// SAFETY: a writer gets in where nobody is, a reader where no writer is. Acquire in `enter` pairs
// with the release in `leave`.
unsafe impl RawRwLock for NumberedLock {
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "the trait's way to say `new`"
    )]
    const INIT: Self = NumberedLock {
        state: AtomicU32::new(0),
        next: AtomicU32::new(0),
    };

    type SharedGuard = State;
    type ExclusiveGuard = State;

    fn lock_shared(&self) -> State {
        spin_until(|| self.enter(READER, WRITER));
        self.number(Ticket::Reader)
    }

    fn try_lock_shared(&self) -> Option<State> {
        self.enter(READER, WRITER)
            .then(|| self.number(Ticket::Reader))
    }

    unsafe fn unlock_shared(&self, state: State) {
        self.leave(state, READER, 0);
    }

    fn lock_exclusive(&self) -> State {
        spin_until(|| self.enter(WRITER, !0));
        self.number(Ticket::Alone)
    }

    fn try_lock_exclusive(&self) -> Option<State> {
        self.enter(WRITER, !0).then(|| self.number(Ticket::Alone))
    }

    unsafe fn unlock_exclusive(&self, state: State) {
        self.leave(state, WRITER, 0);
    }

    fn is_locked(&self) -> bool {
        self.state.load(Ordering::Relaxed) != 0
    }

    fn is_locked_exclusive(&self) -> bool {
        self.state.load(Ordering::Relaxed) == WRITER
    }
}

// SAFETY: the lock does not become free in between.
unsafe impl RawRwLockDowngrade for NumberedLock {
    unsafe fn downgrade(&self, state: State) -> State {
        self.leave(state, WRITER, READER);
        self.number(Ticket::Reader)
    }
}

// SAFETY: an upgradable reader gets in where no writer and no other one is, and becomes a writer
// where no other reader is.
unsafe impl RawRwLockUpgrade for NumberedLock {
    type UpgradableGuard = State;

    fn lock_upgradable(&self) -> State {
        spin_until(|| self.enter(UPGRADABLE, WRITER | UPGRADABLE));
        self.number(Ticket::Upgradable)
    }

    fn try_lock_upgradable(&self) -> Option<State> {
        self.enter(UPGRADABLE, WRITER | UPGRADABLE)
            .then(|| self.number(Ticket::Upgradable))
    }

    unsafe fn unlock_upgradable(&self, state: State) {
        self.leave(state, UPGRADABLE, 0);
    }

    unsafe fn upgrade(&self, mut state: State) -> State {
        let mut spins = false;
        loop {
            // SAFETY: the caller's promise is the callee's.
            match unsafe { self.try_upgrade(state) } {
                Ok(upgraded) => return upgraded,
                Err(same) => state = same,
            }
            if !mem::replace(&mut spins, true) {
                SPINNING.fetch_add(1, Ordering::Relaxed);
            }
            thread::yield_now();
        }
    }

    unsafe fn try_upgrade(&self, state: State) -> Result<State, State> {
        let upgraded =
            self.state
                .compare_exchange(UPGRADABLE, WRITER, Ordering::Acquire, Ordering::Relaxed);
        if upgraded.is_err() {
            return Err(state);
        }
        state.come_back();
        Ok(self.number(Ticket::Alone))
    }
}

// SAFETY: the lock does not become free in between.
unsafe impl RawRwLockUpgradeDowngrade for NumberedLock {
    unsafe fn downgrade_upgradable(&self, state: State) -> State {
        self.leave(state, UPGRADABLE, READER);
        self.number(Ticket::Reader)
    }

    unsafe fn downgrade_to_upgradable(&self, state: State) -> State {
        self.leave(state, WRITER, UPGRADABLE);
        self.number(Ticket::Upgradable)
    }
}

/// The tests take turns: all locks of a kind have one class here.
static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

/// What the locks of `kind` record while `f` runs. No state may be lost meanwhile.
fn recorded(kind: LockKind, f: impl FnOnce()) -> Option<LockSnapshot> {
    let _turn = TURN.lock();
    let before = registry::snapshot();
    f();
    assert_eq!(LOST.load(Ordering::Relaxed), 0, "every state came back");
    let after = registry::snapshot().since(&before);
    let lock = after
        .locks()
        .iter()
        .find(|lock| lock.kind() == kind)
        .cloned();
    assert_eq!(lock.is_some(), cfg!(feature = "stats"));
    lock
}

/// Acquisitions, releases, contended and try failures of read, upgradable and write.
fn counts(lock: &LockSnapshot) -> [[u64; 4]; 3] {
    [lock.read(), lock.upgradable(), lock.write()].map(|mode| {
        [
            mode.acquisitions(),
            mode.releases(),
            mode.contended(),
            mode.try_failures(),
        ]
    })
}

/// What has come back to this thread since it was last asked.
fn returned() -> Vec<Ticket> {
    RETURNED.take()
}

#[test]
fn a_ticket_lock_gets_its_tickets_back() {
    let lock = recorded(LockKind::Mutex, || {
        let mutex = TicketMutex::new(1);
        let guard = mutex.lock();
        assert!(mutex.try_lock().is_none() && mutex.is_locked());
        drop(guard);
        let mut guard = mutex.try_lock().expect("free");
        assert_eq!(returned(), [Ticket::Alone(0)]);
        MutexGuard::unlocked(&mut guard, || {
            assert_eq!(returned(), [Ticket::Alone(1)]);
        });
        drop(MutexGuard::map(guard, |n| n));
        assert_eq!(returned(), [Ticket::Alone(2)]);
    });
    let Some(lock) = lock else { return };
    assert_eq!(counts(&lock), [[0; 4], [0; 4], [3, 3, 0, 1]]);
}

#[test]
fn a_thread_that_spins_is_contended_for_as_long() {
    const HELD: Duration = Duration::from_millis(20);
    let lock = recorded(LockKind::Mutex, || {
        let mutex = TicketMutex::new(1);
        let guard = mutex.lock();
        let spinning = SPINNING.load(Ordering::Relaxed);
        thread::scope(|scope| {
            scope.spawn(|| {
                *mutex.lock() += 1;
                assert_eq!(returned(), [Ticket::Alone(1)]);
            });
            while SPINNING.load(Ordering::Relaxed) == spinning {
                thread::yield_now();
            }
            thread::sleep(HELD);
            drop(guard);
        });
        assert_eq!(returned(), [Ticket::Alone(0)]);
        assert_eq!(mutex.into_inner(), 2);
    });
    let Some(lock) = lock else { return };
    assert_eq!(counts(&lock)[2], [2, 2, 1, 0]);
    assert!(lock.write().blocked().sum() >= HELD);
    assert!(lock.write().hold().max() >= Some(HELD));
}

#[test]
fn readers_and_writers_get_their_numbers_back() {
    let lock = recorded(LockKind::RwLock, || {
        let rwlock = NumberedRwLock::new(1);
        let (first, second) = (rwlock.read(), rwlock.try_read());
        assert!(rwlock.try_write().is_none());
        drop(first);
        drop(second);
        let write = rwlock.write();
        assert!(rwlock.is_locked_exclusive() && rwlock.try_read().is_none());
        drop(write);
        let back = [Ticket::Reader(0), Ticket::Reader(1), Ticket::Alone(2)];
        assert_eq!(returned(), back);
    });
    let Some(lock) = lock else { return };
    assert_eq!(counts(&lock), [[2, 2, 0, 1], [0; 4], [1, 1, 0, 1]]);
}

#[test]
fn conversions_give_one_number_back_and_get_another() {
    let lock = recorded(LockKind::RwLock, || {
        let rwlock = NumberedRwLock::new(1);
        let up = rwlock.upgradable_read();
        let write = RwLockUpgradableReadGuard::upgrade(up);
        assert_eq!(returned(), [Ticket::Upgradable(0)]);
        let up = RwLockWriteGuard::downgrade_to_upgradable(write);
        assert_eq!(returned(), [Ticket::Alone(1)]);
        let reader = rwlock.read();
        let Err(up) = RwLockUpgradableReadGuard::try_upgrade(up) else {
            panic!("a reader is in");
        };
        assert_eq!(returned(), []);
        drop(reader);
        let read = RwLockUpgradableReadGuard::downgrade(up);
        assert_eq!(returned(), [Ticket::Reader(3), Ticket::Upgradable(2)]);
        drop(read);
        drop(RwLockWriteGuard::downgrade(rwlock.write()));
        let back = [Ticket::Reader(4), Ticket::Alone(5), Ticket::Reader(6)];
        assert_eq!(returned(), back);
    });
    let Some(lock) = lock else { return };
    assert_eq!(counts(&lock), [[3, 3, 0, 0], [2, 2, 0, 0], [2, 2, 0, 1]]);
}

#[test]
fn an_upgrade_that_spins_is_a_write_wait() {
    let lock = recorded(LockKind::RwLock, || {
        let rwlock = NumberedRwLock::new(1);
        let reader = rwlock.read();
        let spinning = SPINNING.load(Ordering::Relaxed);
        thread::scope(|scope| {
            scope.spawn(|| {
                drop(RwLockUpgradableReadGuard::upgrade(rwlock.upgradable_read()));
                assert_eq!(returned(), [Ticket::Upgradable(1), Ticket::Alone(2)]);
            });
            while SPINNING.load(Ordering::Relaxed) == spinning {
                thread::yield_now();
            }
            drop(reader);
        });
        assert_eq!(returned(), [Ticket::Reader(0)]);
    });
    let Some(lock) = lock else { return };
    assert_eq!(counts(&lock), [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]);
}
