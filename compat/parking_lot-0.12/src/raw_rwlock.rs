//! The raw reader-writer lock that 0.12 has: one whose `read` queues behind writers that wait, and which can be
//! read again nevertheless. 0.13 has a lock of each kind.
//!
//! It is the second kind with a gate before it. Who has to wait to write goes through the gate one at a time, and
//! keeps it closed until the lock is had; a reader who finds that somebody waits to write goes through the gate
//! too, and so comes after that. Who reads again does not look at the gate. Where nobody waits to write, the gate
//! costs a reader one load, and a writer nothing.

use instrumented_lock::lock_api::{
    RawMutex as _, RawMutexFair as _, RawMutexTimed as _, RawRwLock as Api, RawRwLockDowngrade,
    RawRwLockFair, RawRwLockTimed, RawRwLockUpgrade, RawRwLockUpgradeDowngrade,
    RawRwLockUpgradeFair, RawRwLockUpgradeTimed,
};
use instrumented_lock::raw::{ReadAgain, ReadAgainTimed};
use parking_lot_013::RawMutex;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

type Lock = parking_lot_013::RawRwLock<true>;
type Shared = <Lock as Api>::SharedGuard;
type Exclusive = <Lock as Api>::ExclusiveGuard;
type Upgradable = <Lock as RawRwLockUpgrade>::UpgradableGuard;

/// A raw reader-writer lock that can be read again.
pub struct RereadableRwLock {
    lock: Lock,
    /// How many wait to write. Relaxed throughout: it says who comes first, and the lock itself who is alone.
    writers: AtomicU32,
    /// Held by the writer who waits for the lock, and by readers for a moment after that.
    gate: RawMutex,
}

/// Somebody waits to write as long as this lives.
struct WaitsToWrite<'a>(&'a RereadableRwLock);

impl Drop for WaitsToWrite<'_> {
    fn drop(&mut self) {
        self.0.writers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The gate is closed as long as this lives.
struct Closed<'a>(
    &'a RawMutex,
    Option<<RawMutex as instrumented_lock::lock_api::RawMutex>::Guard>,
);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        if let Some(state) = self.1.take() {
            // In turn, so that nobody who waits at the gate is overtaken again and again.
            // SAFETY: it is held with this state.
            unsafe { self.0.unlock_fair(state) };
        }
    }
}

impl RereadableRwLock {
    fn waits_to_write(&self) -> WaitsToWrite<'_> {
        self.writers.fetch_add(1, Ordering::Relaxed);
        WaitsToWrite(self)
    }

    fn close(&self) -> Closed<'_> {
        Closed(&self.gate, Some(self.gate.lock()))
    }

    /// Closes the gate by this time, if that can be; for ever, if there is none.
    fn close_until(&self, timeout: Option<Instant>) -> Option<Closed<'_>> {
        let Some(timeout) = timeout else {
            return Some(self.close());
        };
        let state = self.gate.try_lock_until(timeout)?;
        Some(Closed(&self.gate, Some(state)))
    }

    #[inline]
    fn is_asked_for_by_writers(&self) -> bool {
        self.writers.load(Ordering::Relaxed) != 0
    }

    /// Waits until no writer is before this reader any more. Returns whether that was so in time.
    #[inline]
    fn comes_after_writers(&self, timeout: Option<Instant>) -> bool {
        !self.is_asked_for_by_writers() || self.close_until(timeout).is_some()
    }

    #[cold]
    fn write_slow(&self, timeout: Option<Instant>) -> Option<Exclusive> {
        let _waits = self.waits_to_write();
        let _closed = self.close_until(timeout)?;
        match timeout {
            Some(timeout) => self.lock.try_lock_exclusive_until(timeout),
            None => Some(self.lock.lock_exclusive()),
        }
    }

    /// Keeps readers out while somebody waits for those who read to be done, who has the lock upgradably. Where
    /// the gate is closed by a writer, that one waits for the lock, and the gate stays closed for as long.
    fn keep_readers_out(&self) -> (WaitsToWrite<'_>, Closed<'_>) {
        let waits = self.waits_to_write();
        // A reader is through in a moment.
        for _ in 0..100 {
            if let Some(state) = self.gate.try_lock() {
                return (waits, Closed(&self.gate, Some(state)));
            }
            spin_loop();
        }
        (waits, Closed(&self.gate, None))
    }
}

/// When that is; never, if it cannot be told.
fn after(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
}

// SAFETY: who acquires has acquired `lock` in the same mode, with its state.
unsafe impl Api for RereadableRwLock {
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "the trait's way to say `new`"
    )]
    const INIT: Self = RereadableRwLock {
        lock: Lock::INIT,
        writers: AtomicU32::new(0),
        gate: RawMutex::INIT,
    };

    type SharedGuard = Shared;
    type ExclusiveGuard = Exclusive;

    #[inline]
    fn lock_shared(&self) -> Shared {
        self.comes_after_writers(None);
        self.lock.lock_shared()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<Shared> {
        if self.is_asked_for_by_writers() {
            return None;
        }
        self.lock.try_lock_shared()
    }

    #[inline]
    unsafe fn unlock_shared(&self, state: Shared) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.lock.unlock_shared(state) }
    }

    #[inline]
    fn lock_exclusive(&self) -> Exclusive {
        let now = self.lock.try_lock_exclusive();
        now.or_else(|| self.write_slow(None))
            .unwrap_or_else(|| self.lock.lock_exclusive())
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<Exclusive> {
        self.lock.try_lock_exclusive()
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, state: Exclusive) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.lock.unlock_exclusive(state) }
    }

    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    fn is_locked_exclusive(&self) -> bool {
        self.lock.is_locked_exclusive()
    }
}

// SAFETY: every method is that of `lock`.
unsafe impl RawRwLockFair for RereadableRwLock {
    #[inline]
    unsafe fn unlock_shared_fair(&self, state: Shared) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.lock.unlock_shared_fair(state) }
    }

    #[inline]
    unsafe fn unlock_exclusive_fair(&self, state: Exclusive) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.lock.unlock_exclusive_fair(state) }
    }
}

// SAFETY: the method is that of `lock`.
unsafe impl RawRwLockDowngrade for RereadableRwLock {
    #[inline]
    unsafe fn downgrade(&self, state: Exclusive) -> Shared {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.lock.downgrade(state) }
    }
}

// SAFETY: who acquires has acquired `lock`.
unsafe impl RawRwLockTimed for RereadableRwLock {
    type Duration = Duration;
    type Instant = Instant;

    #[inline]
    fn try_lock_shared_for(&self, timeout: Duration) -> Option<Shared> {
        match after(timeout) {
            Some(timeout) => self.try_lock_shared_until(timeout),
            None => Some(self.lock_shared()),
        }
    }

    #[inline]
    fn try_lock_shared_until(&self, timeout: Instant) -> Option<Shared> {
        if !self.comes_after_writers(Some(timeout)) {
            return None;
        }
        self.lock.try_lock_shared_until(timeout)
    }

    #[inline]
    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<Exclusive> {
        match after(timeout) {
            Some(timeout) => self.try_lock_exclusive_until(timeout),
            None => Some(self.lock_exclusive()),
        }
    }

    #[inline]
    fn try_lock_exclusive_until(&self, timeout: Instant) -> Option<Exclusive> {
        let now = self.lock.try_lock_exclusive();
        now.or_else(|| self.write_slow(Some(timeout)))
    }
}

// SAFETY: who acquires or upgrades has acquired or upgraded `lock`.
unsafe impl RawRwLockUpgrade for RereadableRwLock {
    type UpgradableGuard = Upgradable;

    #[inline]
    fn lock_upgradable(&self) -> Upgradable {
        self.comes_after_writers(None);
        self.lock.lock_upgradable()
    }

    #[inline]
    fn try_lock_upgradable(&self) -> Option<Upgradable> {
        if self.is_asked_for_by_writers() {
            return None;
        }
        self.lock.try_lock_upgradable()
    }

    #[inline]
    unsafe fn unlock_upgradable(&self, state: Upgradable) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.lock.unlock_upgradable(state) }
    }

    #[inline]
    unsafe fn upgrade(&self, state: Upgradable) -> Exclusive {
        // SAFETY: the caller's promise is the callee's.
        match unsafe { self.lock.try_upgrade(state) } {
            Ok(state) => state,
            Err(state) => {
                let _out = self.keep_readers_out();
                // SAFETY: the attempt has given the state back, so the lock is still held with it.
                unsafe { self.lock.upgrade(state) }
            }
        }
    }

    #[inline]
    unsafe fn try_upgrade(&self, state: Upgradable) -> Result<Exclusive, Upgradable> {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.lock.try_upgrade(state) }
    }
}

// SAFETY: the method is that of `lock`.
unsafe impl RawRwLockUpgradeFair for RereadableRwLock {
    #[inline]
    unsafe fn unlock_upgradable_fair(&self, state: Upgradable) {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.lock.unlock_upgradable_fair(state) }
    }
}

// SAFETY: every method is that of `lock`.
unsafe impl RawRwLockUpgradeDowngrade for RereadableRwLock {
    #[inline]
    unsafe fn downgrade_upgradable(&self, state: Upgradable) -> Shared {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.lock.downgrade_upgradable(state) }
    }

    #[inline]
    unsafe fn downgrade_to_upgradable(&self, state: Exclusive) -> Upgradable {
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.lock.downgrade_to_upgradable(state) }
    }
}

// SAFETY: who acquires or upgrades has acquired or upgraded `lock`.
unsafe impl RawRwLockUpgradeTimed for RereadableRwLock {
    #[inline]
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<Upgradable> {
        match after(timeout) {
            Some(timeout) => self.try_lock_upgradable_until(timeout),
            None => Some(self.lock_upgradable()),
        }
    }

    #[inline]
    fn try_lock_upgradable_until(&self, timeout: Instant) -> Option<Upgradable> {
        if !self.comes_after_writers(Some(timeout)) {
            return None;
        }
        self.lock.try_lock_upgradable_until(timeout)
    }

    #[inline]
    unsafe fn try_upgrade_for(
        &self,
        state: Upgradable,
        timeout: Duration,
    ) -> Result<Exclusive, Upgradable> {
        let _out = self.keep_readers_out();
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.lock.try_upgrade_for(state, timeout) }
    }

    #[inline]
    unsafe fn try_upgrade_until(
        &self,
        state: Upgradable,
        timeout: Instant,
    ) -> Result<Exclusive, Upgradable> {
        let _out = self.keep_readers_out();
        // SAFETY: the caller's promise is the callee's.
        unsafe { self.lock.try_upgrade_until(state, timeout) }
    }
}

// SAFETY: these acquire `lock` as a reader does, and leave out the gate.
unsafe impl ReadAgain for RereadableRwLock {
    #[inline]
    fn lock_shared_recursive(&self) -> Shared {
        self.lock.lock_shared()
    }

    #[inline]
    fn try_lock_shared_recursive(&self) -> Option<Shared> {
        self.lock.try_lock_shared()
    }
}

// SAFETY: as above.
unsafe impl ReadAgainTimed for RereadableRwLock {
    #[inline]
    fn try_lock_shared_recursive_for(&self, timeout: Duration) -> Option<Shared> {
        self.lock.try_lock_shared_for(timeout)
    }

    #[inline]
    fn try_lock_shared_recursive_until(&self, timeout: Instant) -> Option<Shared> {
        self.lock.try_lock_shared_until(timeout)
    }
}
