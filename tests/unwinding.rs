//! A raw lock may unwind, and a clock may do anything: no hold and no wait is left behind by nobody, and
//! others go on.

use instrumented_lock::lock_api::{
    self, MutexGuard, RawMutex, RawMutexFair, RawMutexTimed, RawRwLock, RawRwLockDowngrade,
    RawRwLockTimed, RawRwLockUpgrade, RawRwLockUpgradeDowngrade, RawRwLockUpgradeTimed,
    RwLockUpgradableReadGuard as Up, RwLockWriteGuard as Write,
};
use instrumented_lock::raw::Instrumented;
use instrumented_lock::{LockSnapshot, registry};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
/// Longer than anything takes that is not stuck.
const LONG: Duration = Duration::from_secs(20);

thread_local! {
    /// How many operations of a raw lock go well until one unwinds.
    static UNTIL: Cell<Option<u32>> = const { Cell::new(None) };
}

/// One operation more: unwinds if it is its turn.
fn one_more() {
    if let Some(left) = UNTIL.get() {
        UNTIL.set(left.checked_sub(1));
        if left == 0 {
            resume_unwind(Box::new("the raw lock"));
        }
    }
}

/// `parking_lot`'s raw lock, which unwinds when it is told to: from an acquisition without the lock, from
/// whatever takes a guard's state when it has let go of the lock.
struct Unwinds<R>(R);

type Mutex<T> = lock_api::Mutex<Instrumented<Unwinds<parking_lot::RawMutex>>, T>;
type RwLock<T> = lock_api::RwLock<Instrumented<Unwinds<parking_lot::RawRwLock>>, T>;

// SAFETY: parking_lot's; unwinding is as the trait demands it.
unsafe impl RawMutex for Unwinds<parking_lot::RawMutex> {
    const INIT: Self = Unwinds(parking_lot::RawMutex::INIT);

    type Guard = <parking_lot::RawMutex as RawMutex>::Guard;

    fn lock(&self) -> Self::Guard {
        one_more();
        self.0.lock()
    }

    fn try_lock(&self) -> Option<Self::Guard> {
        one_more();
        self.0.try_lock()
    }

    unsafe fn unlock(&self, guard: Self::Guard) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.unlock(guard) };
        one_more();
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as above.
unsafe impl RawMutexFair for Unwinds<parking_lot::RawMutex> {
    unsafe fn unlock_fair(&self, guard: Self::Guard) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.unlock_fair(guard) };
        one_more();
    }
}

// SAFETY: as above.
unsafe impl RawMutexTimed for Unwinds<parking_lot::RawMutex> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_for(&self, timeout: Duration) -> Option<Self::Guard> {
        one_more();
        self.0.try_lock_for(timeout)
    }

    fn try_lock_until(&self, timeout: Instant) -> Option<Self::Guard> {
        one_more();
        self.0.try_lock_until(timeout)
    }
}

type Inner = parking_lot::RawRwLock;

// SAFETY: as above.
unsafe impl RawRwLock for Unwinds<Inner> {
    const INIT: Self = Unwinds(Inner::INIT);

    type SharedGuard = <Inner as RawRwLock>::SharedGuard;
    type ExclusiveGuard = <Inner as RawRwLock>::ExclusiveGuard;

    fn lock_shared(&self) -> Self::SharedGuard {
        one_more();
        self.0.lock_shared()
    }

    fn try_lock_shared(&self) -> Option<Self::SharedGuard> {
        one_more();
        self.0.try_lock_shared()
    }

    unsafe fn unlock_shared(&self, guard: Self::SharedGuard) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.unlock_shared(guard) };
        one_more();
    }

    fn lock_exclusive(&self) -> Self::ExclusiveGuard {
        one_more();
        self.0.lock_exclusive()
    }

    fn try_lock_exclusive(&self) -> Option<Self::ExclusiveGuard> {
        one_more();
        self.0.try_lock_exclusive()
    }

    unsafe fn unlock_exclusive(&self, guard: Self::ExclusiveGuard) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.unlock_exclusive(guard) };
        one_more();
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    fn is_locked_exclusive(&self) -> bool {
        self.0.is_locked_exclusive()
    }
}

/// Gives the guard's state back; or, where it is this operation's turn, unwinds when `unlock` has let go of the
/// lock.
fn or_unwinds<G>(guard: G, unlock: impl FnOnce(G)) -> G {
    if UNTIL.get() == Some(0) {
        unlock(guard);
        one_more();
        unreachable!("it is its turn");
    }
    one_more();
    guard
}

// SAFETY: as above.
unsafe impl RawRwLockDowngrade for Unwinds<Inner> {
    unsafe fn downgrade(&self, guard: Self::ExclusiveGuard) -> Self::SharedGuard {
        // SAFETY: the caller's promise is the callee's, in each case.
        let guard = or_unwinds(guard, |guard| unsafe { self.0.unlock_exclusive(guard) });
        // SAFETY: as above.
        unsafe { self.0.downgrade(guard) }
    }
}

// SAFETY: as above.
unsafe impl RawRwLockUpgrade for Unwinds<Inner> {
    type UpgradableGuard = <Inner as RawRwLockUpgrade>::UpgradableGuard;

    fn lock_upgradable(&self) -> Self::UpgradableGuard {
        one_more();
        self.0.lock_upgradable()
    }

    fn try_lock_upgradable(&self) -> Option<Self::UpgradableGuard> {
        one_more();
        self.0.try_lock_upgradable()
    }

    unsafe fn unlock_upgradable(&self, guard: Self::UpgradableGuard) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.0.unlock_upgradable(guard) };
        one_more();
    }

    unsafe fn upgrade(&self, guard: Self::UpgradableGuard) -> Self::ExclusiveGuard {
        // SAFETY: the caller's promise is the callee's.
        let guard = or_unwinds(guard, |guard| unsafe { self.0.unlock_upgradable(guard) });
        // SAFETY: as above.
        unsafe { self.0.upgrade(guard) }
    }

    unsafe fn try_upgrade(
        &self,
        guard: Self::UpgradableGuard,
    ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
        // SAFETY: the caller's promise is the callee's.
        let guard = or_unwinds(guard, |guard| unsafe { self.0.unlock_upgradable(guard) });
        // SAFETY: as above.
        unsafe { self.0.try_upgrade(guard) }
    }
}

// SAFETY: as above.
unsafe impl RawRwLockUpgradeDowngrade for Unwinds<Inner> {
    unsafe fn downgrade_upgradable(&self, guard: Self::UpgradableGuard) -> Self::SharedGuard {
        // SAFETY: the caller's promise is the callee's.
        let guard = or_unwinds(guard, |guard| unsafe { self.0.unlock_upgradable(guard) });
        // SAFETY: as above.
        unsafe { self.0.downgrade_upgradable(guard) }
    }

    unsafe fn downgrade_to_upgradable(&self, guard: Self::ExclusiveGuard) -> Self::UpgradableGuard {
        // SAFETY: the caller's promise is the callee's.
        let guard = or_unwinds(guard, |guard| unsafe { self.0.unlock_exclusive(guard) });
        // SAFETY: as above.
        unsafe { self.0.downgrade_to_upgradable(guard) }
    }
}

// SAFETY: as above.
unsafe impl RawRwLockTimed for Unwinds<Inner> {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<Self::SharedGuard> {
        one_more();
        self.0.try_lock_shared_for(timeout)
    }

    fn try_lock_shared_until(&self, timeout: Instant) -> Option<Self::SharedGuard> {
        one_more();
        self.0.try_lock_shared_until(timeout)
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<Self::ExclusiveGuard> {
        one_more();
        self.0.try_lock_exclusive_for(timeout)
    }

    fn try_lock_exclusive_until(&self, timeout: Instant) -> Option<Self::ExclusiveGuard> {
        one_more();
        self.0.try_lock_exclusive_until(timeout)
    }
}

// SAFETY: as above.
unsafe impl RawRwLockUpgradeTimed for Unwinds<Inner> {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<Self::UpgradableGuard> {
        one_more();
        self.0.try_lock_upgradable_for(timeout)
    }

    fn try_lock_upgradable_until(&self, timeout: Instant) -> Option<Self::UpgradableGuard> {
        one_more();
        self.0.try_lock_upgradable_until(timeout)
    }

    unsafe fn try_upgrade_for(
        &self,
        guard: Self::UpgradableGuard,
        timeout: Duration,
    ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
        // SAFETY: the caller's promise is the callee's.
        let guard = or_unwinds(guard, |guard| unsafe { self.0.unlock_upgradable(guard) });
        // SAFETY: as above.
        unsafe { self.0.try_upgrade_for(guard, timeout) }
    }

    unsafe fn try_upgrade_until(
        &self,
        guard: Self::UpgradableGuard,
        timeout: Instant,
    ) -> Result<Self::ExclusiveGuard, Self::UpgradableGuard> {
        // SAFETY: the caller's promise is the callee's.
        let guard = or_unwinds(guard, |guard| unsafe { self.0.unlock_upgradable(guard) });
        // SAFETY: as above.
        unsafe { self.0.try_upgrade_until(guard, timeout) }
    }
}

/// The tests take turns: each looks at all that is in flight.
static TURN: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

/// Nothing is in flight, and what was acquired has been released.
fn nothing_is_left(what: &str) {
    let snapshot = registry::snapshot();
    assert_eq!(snapshot.in_flight(), [], "{what}");
    let is_left = |lock: &&LockSnapshot| {
        let mut modes = lock.modes();
        modes.any(|(_, mode)| mode.acquisitions() != mode.releases())
    };
    assert_eq!(snapshot.locks().iter().find(is_left), None, "{what}");
}

/// Does `f` once for each operation of the raw lock that it comes to, which then unwinds.
fn unwinding_at_each(what: &str, f: impl Fn()) {
    for n in 0.. {
        UNTIL.set(Some(n));
        let unwound = catch_unwind(AssertUnwindSafe(&f)).is_err();
        UNTIL.set(None);
        nothing_is_left(&format!("{what}, operation {n}"));
        if !unwound {
            assert!(n > 0, "{what} has none");
            return;
        }
        assert!(n < 20);
    }
}

fn nested_uses(mutex: &Mutex<u32>, rwlock: &RwLock<u32>) {
    let soon = || Instant::now() + MS;
    unwinding_at_each("a mutex", || *mutex.lock() += 1);
    unwinding_at_each("an attempt", || drop(mutex.try_lock()));
    unwinding_at_each("a timed attempt", || drop(mutex.try_lock_for(MS)));
    unwinding_at_each("another one", || drop(mutex.try_lock_until(soon())));
    unwinding_at_each("a fair unlock", || MutexGuard::unlock_fair(mutex.lock()));
    unwinding_at_each("a reader", || drop(rwlock.read()));
    unwinding_at_each("a writer", || *rwlock.write() += 1);
    unwinding_at_each("timed attempts", || {
        drop(rwlock.try_read_for(MS));
        drop(rwlock.try_write_until(soon()));
        drop(rwlock.try_upgradable_read_for(MS));
    });
    unwinding_at_each("a downgrade", || drop(Write::downgrade(rwlock.write())));
    unwinding_at_each("a downgrade to upgradable", || {
        drop(Write::downgrade_to_upgradable(rwlock.write()));
    });
    unwinding_at_each("an upgradable reader", || {
        drop(Up::downgrade(rwlock.upgradable_read()));
    });
    unwinding_at_each("an upgrade", || {
        *Up::upgrade(rwlock.upgradable_read()) += 1;
    });
    unwinding_at_each("an attempt to upgrade", || {
        drop(Up::try_upgrade(rwlock.upgradable_read()).map_err(drop));
    });
    unwinding_at_each("a timed upgrade", || {
        drop(Up::try_upgrade_for(rwlock.upgradable_read(), MS).map_err(drop));
        drop(Up::try_upgrade_until(rwlock.upgradable_read(), soon()).map_err(drop));
    });
}

fn new_locks() -> (Mutex<u32>, RwLock<u32>) {
    (
        Mutex::from_raw(Instrumented::new(RawMutex::INIT), 0),
        RwLock::from_raw(Instrumented::new(RawRwLock::INIT), 0),
    )
}

#[test]
fn a_raw_lock_that_unwinds_leaves_no_hold_behind() {
    let _turn = TURN.lock();
    let (mutex, rwlock) = new_locks();
    nested_uses(&mutex, &rwlock);
    // With a clock that is not the plain counter.
    instrumented_lock::clock::set_ordered(true);
    nested_uses(&mutex, &rwlock);
    instrumented_lock::clock::set_ordered(false);
    // Where nothing is recorded.
    registry::set_enabled(false);
    nested_uses(&mutex, &rwlock);
    registry::set_enabled(true);
    nested_uses(&mutex, &rwlock);
    assert!(mutex.try_lock().is_some() && rwlock.try_write().is_some());
}

#[test]
fn a_wait_that_unwinds_leaves_no_waiter_behind() {
    let _turn = TURN.lock();
    let (mutex, rwlock) = new_locks();
    // The attempt that does not wait goes well, and fails; the wait then unwinds.
    let waits: [(&str, &(dyn Fn() + Sync)); 7] = [
        ("lock", &|| drop(mutex.lock())),
        ("try_lock_for", &|| drop(mutex.try_lock_for(LONG))),
        ("read", &|| drop(rwlock.read())),
        ("write", &|| drop(rwlock.write())),
        ("upgradable_read", &|| drop(rwlock.upgradable_read())),
        ("try_write_for", &|| drop(rwlock.try_write_for(LONG))),
        ("try_read_for", &|| drop(rwlock.try_read_for(LONG))),
    ];
    for round in 0..3 {
        for (name, wait) in &waits {
            let held = (mutex.lock(), rwlock.write());
            thread::scope(|scope| {
                let waiter = scope.spawn(|| {
                    UNTIL.set(Some(1));
                    let unwound = catch_unwind(AssertUnwindSafe(wait)).is_err();
                    UNTIL.set(None);
                    unwound
                });
                assert!(waiter.join().unwrap(), "{name}");
                // Who comes after it waits as ever.
                scope.spawn(|| (drop(mutex.lock()), drop(rwlock.read())));
                let start = Instant::now();
                let waits = || {
                    let snapshot = registry::snapshot();
                    let is_it = |entry: &&instrumented_lock::InFlight| {
                        entry.state() == instrumented_lock::InFlightState::Waiting
                    };
                    snapshot.in_flight().iter().filter(is_it).count()
                };
                while waits() == 0 {
                    assert!(start.elapsed() < LONG, "{name}");
                    thread::yield_now();
                }
                assert_eq!(waits(), 1, "{name}, round {round}");
                drop(held);
            });
            nothing_is_left(name);
        }
        // An upgrade that waits for a reader.
        let reader = rwlock.read();
        thread::scope(|scope| {
            let upgrade = scope.spawn(|| {
                let up = rwlock.upgradable_read();
                UNTIL.set(Some(1));
                let unwound = catch_unwind(AssertUnwindSafe(|| drop(Up::upgrade(up)))).is_err();
                UNTIL.set(None);
                unwound
            });
            assert!(upgrade.join().unwrap());
        });
        drop(reader);
        nothing_is_left("upgrade");
    }
    let snapshot = registry::snapshot();
    let contended =
        |lock: &LockSnapshot| lock.modes().map(|(_, mode)| mode.contended()).sum::<u64>();
    assert!(snapshot.locks().iter().map(contended).sum::<u64>() >= 21);
}
