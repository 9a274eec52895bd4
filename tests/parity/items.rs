//! A use by path of every item of `parking_lot`, under the name that `parking_lot-0.13.txt` has for it.
//!
//! Written for `parking_lot`; `parity.rs` compiles it for both crates. Types that occur twice with
//! other names (`Mutex` and `FairMutex`, `RwLock` and `RecursiveRwLock`) are written once.

use super::super::{Ask, Otherwise as _};
use super::locks;
use super::locks::lock_api;
use super::locks::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard, Condvar, FairMutex, FairMutexGuard, MappedFairMutexGuard,
    MappedMutexGuard, MappedRecursiveRwLockReadGuard, MappedRecursiveRwLockWriteGuard,
    MappedReentrantMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard,
    Once, OnceState, RawCondvar, RawFairMutex, RawMutex, RawRwLock, RawRwLockRecursive,
    RawThreadId, RecursiveRwLock, RecursiveRwLockReadGuard, RecursiveRwLockUpgradableReadGuard,
    RecursiveRwLockWriteGuard, ReentrantMutex, ReentrantMutexGuard, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard, WaitTimeoutResult,
};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fmt::{Debug, Display};
use std::marker::PhantomPinned;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The names of all items below.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let lists: [&[_]; _] = [
        MUTEX,
        MUTEX_METHODS,
        FAIR_MUTEX,
        FAIR_MUTEX_METHODS,
        RWLOCK,
        RWLOCK_METHODS,
        RECURSIVE_RWLOCK,
        RECURSIVE_RWLOCK_METHODS,
        TYPES,
        METHODS,
        VARIANTS,
    ];
    lists.into_iter().flatten().copied()
}

/// A mutex and its guards.
macro_rules! mutex {
    ($TYPES:ident, $METHODS:ident: $Mutex:ident, $Guard:ident, $Mapped:ident, $Raw:ident) => {
        types! {
            const $TYPES;
            [type] $Mutex = $Mutex<u8>:
                Debug, Default, From<u8>, Serialize, Deserialize<'static>;
            [type] $Guard = $Guard<'static, u8>: Debug, Deref, DerefMut, Display;
            [type] $Mapped = $Mapped<'static, u8>: Debug, Deref, DerefMut, Display;
            [struct] $Raw = $Raw:
                [lock_api] RawMutex, [lock_api] RawMutexFair, [lock_api] RawMutexTimed;
        }
        methods! {
            const $METHODS;
            $Mutex {
                [const fn] new(value: u8) -> $Mutex<u8> { $Mutex::new(value) }
                [const fn] from_raw(raw: $Raw, value: u8) -> $Mutex<u8> {
                    $Mutex::from_raw(raw, value)
                }
                [const fn] get_mut(lock: &mut $Mutex<u8>) -> &mut u8 { $Mutex::get_mut(lock) }
                [const fn] data_ptr(lock: &$Mutex<u8>) -> *mut u8 { $Mutex::data_ptr(lock) }
                [fn] into_inner(lock: $Mutex<u8>) -> u8 { $Mutex::into_inner(lock) }
                [fn] into_inner_with_raw(lock: $Mutex<u8>) -> ($Raw, u8) {
                    $Mutex::into_inner_with_raw(lock)
                }
                [fn] lock(lock: &$Mutex<u8>) -> $Guard<'_, u8> { $Mutex::lock(lock) }
                [fn] try_lock(lock: &$Mutex<u8>) -> Option<$Guard<'_, u8>> { $Mutex::try_lock(lock) }
                [fn] try_lock_for(lock: &$Mutex<u8>, time: Duration) -> Option<$Guard<'_, u8>> {
                    $Mutex::try_lock_for(lock, time)
                }
                [fn] try_lock_until(lock: &$Mutex<u8>, time: Instant) -> Option<$Guard<'_, u8>> {
                    $Mutex::try_lock_until(lock, time)
                }
                [fn] is_locked(lock: &$Mutex<u8>) -> bool { $Mutex::is_locked(lock) }
                [fn] lock_arc(lock: &Arc<$Mutex<u8>>) -> ArcMutexGuard<$Raw, u8> {
                    $Mutex::lock_arc(lock)
                }
                [fn] try_lock_arc(lock: &Arc<$Mutex<u8>>) -> Option<ArcMutexGuard<$Raw, u8>> {
                    $Mutex::try_lock_arc(lock)
                }
                [fn] try_lock_arc_for(
                    lock: &Arc<$Mutex<u8>>,
                    time: Duration,
                ) -> Option<ArcMutexGuard<$Raw, u8>> {
                    $Mutex::try_lock_arc_for(lock, time)
                }
                [fn] try_lock_arc_until(
                    lock: &Arc<$Mutex<u8>>,
                    time: Instant,
                ) -> Option<ArcMutexGuard<$Raw, u8>> {
                    $Mutex::try_lock_arc_until(lock, time)
                }
                [unsafe fn] raw(lock: &$Mutex<u8>) -> &$Raw { $Mutex::raw(lock) }
                [unsafe fn] make_guard_unchecked(
                    lock: &$Mutex<u8>,
                    state: <$Raw as lock_api::RawMutex>::Guard,
                ) -> $Guard<'_, u8> {
                    $Mutex::make_guard_unchecked(lock, state)
                }
                [unsafe fn] force_unlock(
                    lock: &$Mutex<u8>,
                    state: <$Raw as lock_api::RawMutex>::Guard,
                ) {
                    $Mutex::force_unlock(lock, state);
                }
                [unsafe fn] force_unlock_fair(
                    lock: &$Mutex<u8>,
                    state: <$Raw as lock_api::RawMutex>::Guard,
                ) {
                    $Mutex::force_unlock_fair(lock, state);
                }
            }
            $Guard {
                [fn] mutex(guard: &$Guard<'_, u8>) -> bool { $Guard::mutex(guard).is_locked() }
                [fn] map(guard: $Guard<'_, u8>) -> $Mapped<'_, u8> { $Guard::map(guard, |v| v) }
                [fn] try_map(guard: $Guard<'_, u8>) -> Result<$Mapped<'_, u8>, $Guard<'_, u8>> {
                    $Guard::try_map(guard, |v| Some(v))
                }
                [fn] try_map_or_err(
                    guard: $Guard<'_, u8>,
                ) -> Result<$Mapped<'_, u8>, ($Guard<'_, u8>, ())> {
                    $Guard::try_map_or_err(guard, |v| Ok(v))
                }
                [fn] unlocked(guard: &mut $Guard<'_, u8>) -> u8 { $Guard::unlocked(guard, || 1) }
                [fn] leak(guard: $Guard<'static, u8>) -> &'static mut u8 { $Guard::leak(guard) }
                [fn] unlock_fair(guard: $Guard<'_, u8>) { $Guard::unlock_fair(guard); }
                [fn] unlocked_fair(guard: &mut $Guard<'_, u8>) -> u8 {
                    $Guard::unlocked_fair(guard, || 1)
                }
                [fn] bump(guard: &mut $Guard<'_, u8>) { $Guard::bump(guard); }
            }
            $Mapped {
                [fn] map(guard: $Mapped<'_, u8>) -> $Mapped<'_, u8> { $Mapped::map(guard, |v| v) }
                [fn] try_map(guard: $Mapped<'_, u8>) -> Result<$Mapped<'_, u8>, $Mapped<'_, u8>> {
                    $Mapped::try_map(guard, |v| Some(v))
                }
                [fn] try_map_or_err(
                    guard: $Mapped<'_, u8>,
                ) -> Result<$Mapped<'_, u8>, ($Mapped<'_, u8>, ())> {
                    $Mapped::try_map_or_err(guard, |v| Ok(v))
                }
                [fn] unlock_fair(guard: $Mapped<'_, u8>) { $Mapped::unlock_fair(guard); }
            }
        }
    };
}

mutex!(MUTEX, MUTEX_METHODS: Mutex, MutexGuard, MappedMutexGuard, RawMutex);
mutex!(
    FAIR_MUTEX, FAIR_MUTEX_METHODS:
    FairMutex, FairMutexGuard, MappedFairMutexGuard, RawFairMutex
);

/// A reader-writer lock and its guards; `$raw` and `$Raw` are its raw lock, in the list and here.
macro_rules! rwlock {
    (
        $TYPES:ident, $METHODS:ident:
        $RwLock:ident, $Read:ident, $Write:ident, $Upgradable:ident,
        $MappedRead:ident, $MappedWrite:ident, [$raw:ident] $Raw:ident
    ) => {
        types! {
            const $TYPES;
            [type] $RwLock = $RwLock<u8>:
                Debug, Default, From<u8>, Serialize, Deserialize<'static>;
            [type] $Read = $Read<'static, u8>: Debug, Deref, Display;
            [type] $Write = $Write<'static, u8>: Debug, Deref, DerefMut, Display;
            [type] $Upgradable = $Upgradable<'static, u8>: Debug, Deref, Display;
            [type] $MappedRead = $MappedRead<'static, u8>: Debug, Deref, Display;
            [type] $MappedWrite = $MappedWrite<'static, u8>: Debug, Deref, DerefMut, Display;
            [$raw] $Raw = $Raw:
                [lock_api] RawRwLock, [lock_api] RawRwLockDowngrade, [lock_api] RawRwLockFair,
                [lock_api] RawRwLockTimed, [lock_api] RawRwLockUpgrade,
                [lock_api] RawRwLockUpgradeDowngrade, [lock_api] RawRwLockUpgradeFair,
                [lock_api] RawRwLockUpgradeTimed;
        }
        methods! {
            const $METHODS;
            $RwLock {
                [const fn] new(value: u8) -> $RwLock<u8> { $RwLock::new(value) }
                [const fn] from_raw(raw: $Raw, value: u8) -> $RwLock<u8> {
                    $RwLock::from_raw(raw, value)
                }
                [const fn] get_mut(lock: &mut $RwLock<u8>) -> &mut u8 { $RwLock::get_mut(lock) }
                [const fn] data_ptr(lock: &$RwLock<u8>) -> *mut u8 { $RwLock::data_ptr(lock) }
                [fn] into_inner(lock: $RwLock<u8>) -> u8 { $RwLock::into_inner(lock) }
                [fn] into_inner_with_raw(lock: $RwLock<u8>) -> ($Raw, u8) {
                    $RwLock::into_inner_with_raw(lock)
                }
                [fn] read(lock: &$RwLock<u8>) -> $Read<'_, u8> { $RwLock::read(lock) }
                [fn] try_read(lock: &$RwLock<u8>) -> Option<$Read<'_, u8>> { $RwLock::try_read(lock) }
                [fn] try_read_for(lock: &$RwLock<u8>, time: Duration) -> Option<$Read<'_, u8>> {
                    $RwLock::try_read_for(lock, time)
                }
                [fn] try_read_until(lock: &$RwLock<u8>, time: Instant) -> Option<$Read<'_, u8>> {
                    $RwLock::try_read_until(lock, time)
                }
                [fn] write(lock: &$RwLock<u8>) -> $Write<'_, u8> { $RwLock::write(lock) }
                [fn] try_write(lock: &$RwLock<u8>) -> Option<$Write<'_, u8>> { $RwLock::try_write(lock) }
                [fn] try_write_for(lock: &$RwLock<u8>, time: Duration) -> Option<$Write<'_, u8>> {
                    $RwLock::try_write_for(lock, time)
                }
                [fn] try_write_until(lock: &$RwLock<u8>, time: Instant) -> Option<$Write<'_, u8>> {
                    $RwLock::try_write_until(lock, time)
                }
                [fn] upgradable_read(lock: &$RwLock<u8>) -> $Upgradable<'_, u8> {
                    $RwLock::upgradable_read(lock)
                }
                [fn] try_upgradable_read(lock: &$RwLock<u8>) -> Option<$Upgradable<'_, u8>> {
                    $RwLock::try_upgradable_read(lock)
                }
                [fn] try_upgradable_read_for(
                    lock: &$RwLock<u8>,
                    time: Duration,
                ) -> Option<$Upgradable<'_, u8>> {
                    $RwLock::try_upgradable_read_for(lock, time)
                }
                [fn] try_upgradable_read_until(
                    lock: &$RwLock<u8>,
                    time: Instant,
                ) -> Option<$Upgradable<'_, u8>> {
                    $RwLock::try_upgradable_read_until(lock, time)
                }
                [fn] is_locked(lock: &$RwLock<u8>) -> bool { $RwLock::is_locked(lock) }
                [fn] is_locked_exclusive(lock: &$RwLock<u8>) -> bool { $RwLock::is_locked_exclusive(lock) }
                [fn] read_arc(lock: &Arc<$RwLock<u8>>) -> ArcRwLockReadGuard<$Raw, u8> {
                    $RwLock::read_arc(lock)
                }
                [fn] try_read_arc(lock: &Arc<$RwLock<u8>>) -> Option<ArcRwLockReadGuard<$Raw, u8>> {
                    $RwLock::try_read_arc(lock)
                }
                [fn] try_read_arc_for(
                    lock: &Arc<$RwLock<u8>>,
                    time: Duration,
                ) -> Option<ArcRwLockReadGuard<$Raw, u8>> {
                    $RwLock::try_read_arc_for(lock, time)
                }
                [fn] try_read_arc_until(
                    lock: &Arc<$RwLock<u8>>,
                    time: Instant,
                ) -> Option<ArcRwLockReadGuard<$Raw, u8>> {
                    $RwLock::try_read_arc_until(lock, time)
                }
                [fn] write_arc(lock: &Arc<$RwLock<u8>>) -> ArcRwLockWriteGuard<$Raw, u8> {
                    $RwLock::write_arc(lock)
                }
                [fn] try_write_arc(
                    lock: &Arc<$RwLock<u8>>,
                ) -> Option<ArcRwLockWriteGuard<$Raw, u8>> {
                    $RwLock::try_write_arc(lock)
                }
                [fn] try_write_arc_for(
                    lock: &Arc<$RwLock<u8>>,
                    time: Duration,
                ) -> Option<ArcRwLockWriteGuard<$Raw, u8>> {
                    $RwLock::try_write_arc_for(lock, time)
                }
                [fn] try_write_arc_until(
                    lock: &Arc<$RwLock<u8>>,
                    time: Instant,
                ) -> Option<ArcRwLockWriteGuard<$Raw, u8>> {
                    $RwLock::try_write_arc_until(lock, time)
                }
                [fn] upgradable_read_arc(
                    lock: &Arc<$RwLock<u8>>,
                ) -> ArcRwLockUpgradableReadGuard<$Raw, u8> {
                    $RwLock::upgradable_read_arc(lock)
                }
                [fn] try_upgradable_read_arc(
                    lock: &Arc<$RwLock<u8>>,
                ) -> Option<ArcRwLockUpgradableReadGuard<$Raw, u8>> {
                    $RwLock::try_upgradable_read_arc(lock)
                }
                [fn] try_upgradable_read_arc_for(
                    lock: &Arc<$RwLock<u8>>,
                    time: Duration,
                ) -> Option<ArcRwLockUpgradableReadGuard<$Raw, u8>> {
                    $RwLock::try_upgradable_read_arc_for(lock, time)
                }
                [fn] try_upgradable_read_arc_until(
                    lock: &Arc<$RwLock<u8>>,
                    time: Instant,
                ) -> Option<ArcRwLockUpgradableReadGuard<$Raw, u8>> {
                    $RwLock::try_upgradable_read_arc_until(lock, time)
                }
                [unsafe fn] raw(lock: &$RwLock<u8>) -> &$Raw { $RwLock::raw(lock) }
                [unsafe fn] make_read_guard_unchecked(
                    lock: &$RwLock<u8>,
                    state: <$Raw as lock_api::RawRwLock>::SharedGuard,
                ) -> $Read<'_, u8> {
                    $RwLock::make_read_guard_unchecked(lock, state)
                }
                [unsafe fn] make_write_guard_unchecked(
                    lock: &$RwLock<u8>,
                    state: <$Raw as lock_api::RawRwLock>::ExclusiveGuard,
                ) -> $Write<'_, u8> {
                    $RwLock::make_write_guard_unchecked(lock, state)
                }
                [unsafe fn] make_upgradable_guard_unchecked(
                    lock: &$RwLock<u8>,
                    state: <$Raw as lock_api::RawRwLockUpgrade>::UpgradableGuard,
                ) -> $Upgradable<'_, u8> {
                    $RwLock::make_upgradable_guard_unchecked(lock, state)
                }
                [unsafe fn] make_arc_read_guard_unchecked(
                    lock: &Arc<$RwLock<u8>>,
                    state: <$Raw as lock_api::RawRwLock>::SharedGuard,
                ) -> ArcRwLockReadGuard<$Raw, u8> {
                    $RwLock::make_arc_read_guard_unchecked(lock, state)
                }
                [unsafe fn] make_arc_write_guard_unchecked(
                    lock: &Arc<$RwLock<u8>>,
                    state: <$Raw as lock_api::RawRwLock>::ExclusiveGuard,
                ) -> ArcRwLockWriteGuard<$Raw, u8> {
                    $RwLock::make_arc_write_guard_unchecked(lock, state)
                }
                [unsafe fn] make_upgradable_arc_guard_unchecked(
                    lock: &Arc<$RwLock<u8>>,
                    state: <$Raw as lock_api::RawRwLockUpgrade>::UpgradableGuard,
                ) -> ArcRwLockUpgradableReadGuard<$Raw, u8> {
                    $RwLock::make_upgradable_arc_guard_unchecked(lock, state)
                }
                [unsafe fn] force_unlock_read(
                    lock: &$RwLock<u8>,
                    state: <$Raw as lock_api::RawRwLock>::SharedGuard,
                ) {
                    $RwLock::force_unlock_read(lock, state);
                }
                [unsafe fn] force_unlock_read_fair(
                    lock: &$RwLock<u8>,
                    state: <$Raw as lock_api::RawRwLock>::SharedGuard,
                ) {
                    $RwLock::force_unlock_read_fair(lock, state);
                }
                [unsafe fn] force_unlock_write(
                    lock: &$RwLock<u8>,
                    state: <$Raw as lock_api::RawRwLock>::ExclusiveGuard,
                ) {
                    $RwLock::force_unlock_write(lock, state);
                }
                [unsafe fn] force_unlock_write_fair(
                    lock: &$RwLock<u8>,
                    state: <$Raw as lock_api::RawRwLock>::ExclusiveGuard,
                ) {
                    $RwLock::force_unlock_write_fair(lock, state);
                }
            }
            $Read {
                [fn] rwlock(guard: &$Read<'_, u8>) -> bool { $Read::rwlock(guard).is_locked() }
                [fn] map(guard: $Read<'_, u8>) -> $MappedRead<'_, u8> { $Read::map(guard, |v| v) }
                [fn] try_map(guard: $Read<'_, u8>) -> Result<$MappedRead<'_, u8>, $Read<'_, u8>> {
                    $Read::try_map(guard, |v| Some(v))
                }
                [fn] try_map_or_err(
                    guard: $Read<'_, u8>,
                ) -> Result<$MappedRead<'_, u8>, ($Read<'_, u8>, ())> {
                    $Read::try_map_or_err(guard, |v| Ok(v))
                }
                [fn] unlocked(guard: &mut $Read<'_, u8>) -> u8 { $Read::unlocked(guard, || 1) }
                [fn] unlock_fair(guard: $Read<'_, u8>) { $Read::unlock_fair(guard); }
                [fn] unlocked_fair(guard: &mut $Read<'_, u8>) -> u8 {
                    $Read::unlocked_fair(guard, || 1)
                }
                [fn] bump(guard: &mut $Read<'_, u8>) { $Read::bump(guard); }
            }
            $Write {
                [fn] rwlock(guard: &$Write<'_, u8>) -> bool { $Write::rwlock(guard).is_locked() }
                [fn] map(guard: $Write<'_, u8>) -> $MappedWrite<'_, u8> {
                    $Write::map(guard, |v| v)
                }
                [fn] try_map(
                    guard: $Write<'_, u8>,
                ) -> Result<$MappedWrite<'_, u8>, $Write<'_, u8>> {
                    $Write::try_map(guard, |v| Some(v))
                }
                [fn] try_map_or_err(
                    guard: $Write<'_, u8>,
                ) -> Result<$MappedWrite<'_, u8>, ($Write<'_, u8>, ())> {
                    $Write::try_map_or_err(guard, |v| Ok(v))
                }
                [fn] unlocked(guard: &mut $Write<'_, u8>) -> u8 { $Write::unlocked(guard, || 1) }
                [fn] downgrade(guard: $Write<'_, u8>) -> $Read<'_, u8> { $Write::downgrade(guard) }
                [fn] downgrade_to_upgradable(guard: $Write<'_, u8>) -> $Upgradable<'_, u8> {
                    $Write::downgrade_to_upgradable(guard)
                }
                [fn] unlock_fair(guard: $Write<'_, u8>) { $Write::unlock_fair(guard); }
                [fn] unlocked_fair(guard: &mut $Write<'_, u8>) -> u8 {
                    $Write::unlocked_fair(guard, || 1)
                }
                [fn] bump(guard: &mut $Write<'_, u8>) { $Write::bump(guard); }
            }
            $Upgradable {
                [fn] rwlock(guard: &$Upgradable<'_, u8>) -> bool {
                    $Upgradable::rwlock(guard).is_locked()
                }
                [fn] unlocked(guard: &mut $Upgradable<'_, u8>) -> u8 {
                    $Upgradable::unlocked(guard, || 1)
                }
                [fn] upgrade(guard: $Upgradable<'_, u8>) -> $Write<'_, u8> {
                    $Upgradable::upgrade(guard)
                }
                [fn] try_upgrade(
                    guard: $Upgradable<'_, u8>,
                ) -> Result<$Write<'_, u8>, $Upgradable<'_, u8>> {
                    $Upgradable::try_upgrade(guard)
                }
                [fn] try_upgrade_for(
                    guard: $Upgradable<'_, u8>,
                    time: Duration,
                ) -> Result<$Write<'_, u8>, $Upgradable<'_, u8>> {
                    $Upgradable::try_upgrade_for(guard, time)
                }
                [fn] try_upgrade_until(
                    guard: $Upgradable<'_, u8>,
                    time: Instant,
                ) -> Result<$Write<'_, u8>, $Upgradable<'_, u8>> {
                    $Upgradable::try_upgrade_until(guard, time)
                }
                [fn] downgrade(guard: $Upgradable<'_, u8>) -> $Read<'_, u8> {
                    $Upgradable::downgrade(guard)
                }
                [fn] with_upgraded(guard: &mut $Upgradable<'_, u8>) -> u8 {
                    guard.with_upgraded(|v: &mut u8| *v)
                }
                [fn] try_with_upgraded(guard: &mut $Upgradable<'_, u8>) -> Option<u8> {
                    guard.try_with_upgraded(|v: &mut u8| *v)
                }
                [fn] try_with_upgraded_for(
                    guard: &mut $Upgradable<'_, u8>,
                    time: Duration,
                ) -> Option<u8> {
                    guard.try_with_upgraded_for(time, |v: &mut u8| *v)
                }
                [fn] try_with_upgraded_until(
                    guard: &mut $Upgradable<'_, u8>,
                    time: Instant,
                ) -> Option<u8> {
                    guard.try_with_upgraded_until(time, |v: &mut u8| *v)
                }
                [fn] unlock_fair(guard: $Upgradable<'_, u8>) { $Upgradable::unlock_fair(guard); }
                [fn] unlocked_fair(guard: &mut $Upgradable<'_, u8>) -> u8 {
                    $Upgradable::unlocked_fair(guard, || 1)
                }
                [fn] bump(guard: &mut $Upgradable<'_, u8>) { $Upgradable::bump(guard); }
            }
            $MappedRead {
                [fn] map(guard: $MappedRead<'_, u8>) -> $MappedRead<'_, u8> {
                    $MappedRead::map(guard, |v| v)
                }
                [fn] try_map(
                    guard: $MappedRead<'_, u8>,
                ) -> Result<$MappedRead<'_, u8>, $MappedRead<'_, u8>> {
                    $MappedRead::try_map(guard, |v| Some(v))
                }
                [fn] try_map_or_err(
                    guard: $MappedRead<'_, u8>,
                ) -> Result<$MappedRead<'_, u8>, ($MappedRead<'_, u8>, ())> {
                    $MappedRead::try_map_or_err(guard, |v| Ok(v))
                }
                [fn] unlock_fair(guard: $MappedRead<'_, u8>) { $MappedRead::unlock_fair(guard); }
            }
            $MappedWrite {
                [fn] map(guard: $MappedWrite<'_, u8>) -> $MappedWrite<'_, u8> {
                    $MappedWrite::map(guard, |v| v)
                }
                [fn] try_map(
                    guard: $MappedWrite<'_, u8>,
                ) -> Result<$MappedWrite<'_, u8>, $MappedWrite<'_, u8>> {
                    $MappedWrite::try_map(guard, |v| Some(v))
                }
                [fn] try_map_or_err(
                    guard: $MappedWrite<'_, u8>,
                ) -> Result<$MappedWrite<'_, u8>, ($MappedWrite<'_, u8>, ())> {
                    $MappedWrite::try_map_or_err(guard, |v| Ok(v))
                }
                [fn] unlock_fair(guard: $MappedWrite<'_, u8>) { $MappedWrite::unlock_fair(guard); }
            }
        }
    };
}

rwlock!(
    RWLOCK, RWLOCK_METHODS:
    RwLock, RwLockReadGuard, RwLockWriteGuard, RwLockUpgradableReadGuard,
    MappedRwLockReadGuard, MappedRwLockWriteGuard, [struct] RawRwLock
);
rwlock!(
    RECURSIVE_RWLOCK, RECURSIVE_RWLOCK_METHODS:
    RecursiveRwLock, RecursiveRwLockReadGuard, RecursiveRwLockWriteGuard,
    RecursiveRwLockUpgradableReadGuard, MappedRecursiveRwLockReadGuard,
    MappedRecursiveRwLockWriteGuard, [type] RawRwLockRecursive
);

types! {
    const TYPES;
    [type] ReentrantMutex = ReentrantMutex<u8>:
        Debug, Default, From<u8>, Serialize, Deserialize<'static>;
    [type] ReentrantMutexGuard = ReentrantMutexGuard<'static, u8>: Debug, Deref, Display;
    [type] MappedReentrantMutexGuard = MappedReentrantMutexGuard<'static, u8>:
        Debug, Deref, Display;
    [struct] RawThreadId = RawThreadId: [lock_api] GetThreadId;
    [type] Condvar = Condvar: Debug, Default;
    [struct] RawCondvar = RawCondvar:;
    [use] WaitTimeoutResult = WaitTimeoutResult:;
    [struct] Once = Once: Debug, Default;
    [enum] OnceState = OnceState:;
    [use] ArcMutexGuard = ArcMutexGuard<RawMutex, u8>: Deref, DerefMut;
    [use] ArcReentrantMutexGuard = ArcReentrantMutexGuard<RawMutex, RawThreadId, u8>: Deref;
    [use] ArcRwLockReadGuard = ArcRwLockReadGuard<RawRwLock, u8>: Debug, Deref, Display;
    [use] ArcRwLockWriteGuard = ArcRwLockWriteGuard<RawRwLock, u8>:
        Debug, Deref, DerefMut, Display;
    [use] ArcRwLockUpgradableReadGuard = ArcRwLockUpgradableReadGuard<RawRwLock, u8>:
        Debug, Deref, Display;
    [use] lock_api = locks::lock_api::Mutex<RawMutex, u8>:;
}

// How users name the guards that own a handle. `drop_in::ReentrantMutex` returns another type than
// this one: its raw mutex is not `RawMutex`.
type ReentrantArc = ArcReentrantMutexGuard<RawMutex, RawThreadId, u8>;
type MutexArc = ArcMutexGuard<RawMutex, u8>;
type ReadArc = ArcRwLockReadGuard<RawRwLock, u8>;
type WriteArc = ArcRwLockWriteGuard<RawRwLock, u8>;
type UpgradableArc = ArcRwLockUpgradableReadGuard<RawRwLock, u8>;

methods! {
    const METHODS;
    ReentrantMutex {
        [const fn] new(value: u8) -> ReentrantMutex<u8> { ReentrantMutex::new(value) }
        [const fn] get_mut(lock: &mut ReentrantMutex<u8>) -> &mut u8 { ReentrantMutex::get_mut(lock) }
        [const fn] data_ptr(lock: &ReentrantMutex<u8>) -> *mut u8 { ReentrantMutex::data_ptr(lock) }
        [fn] into_inner(lock: ReentrantMutex<u8>) -> u8 { ReentrantMutex::into_inner(lock) }
        [const fn] from_raw(value: u8) -> ReentrantMutex<u8> {
            ReentrantMutex::from_raw(lock_api::RawMutex::INIT, lock_api::GetThreadId::INIT, value)
        }
        [fn] into_inner_with_raw(lock: ReentrantMutex<u8>) -> u8 {
            let (_raw, _id, value) = ReentrantMutex::into_inner_with_raw(lock);
            value
        }
        [unsafe fn] make_arc_guard_unchecked(
            lock: &Arc<ReentrantMutex<u8>>,
        ) -> impl Deref<Target = u8> {
            ReentrantMutex::make_arc_guard_unchecked(lock)
        }
        [fn] lock(lock: &ReentrantMutex<u8>) -> ReentrantMutexGuard<'_, u8> { ReentrantMutex::lock(lock) }
        [fn] try_lock(lock: &ReentrantMutex<u8>) -> Option<ReentrantMutexGuard<'_, u8>> {
            ReentrantMutex::try_lock(lock)
        }
        [fn] try_lock_for(
            lock: &ReentrantMutex<u8>,
            time: Duration,
        ) -> Option<ReentrantMutexGuard<'_, u8>> {
            ReentrantMutex::try_lock_for(lock, time)
        }
        [fn] try_lock_until(
            lock: &ReentrantMutex<u8>,
            time: Instant,
        ) -> Option<ReentrantMutexGuard<'_, u8>> {
            ReentrantMutex::try_lock_until(lock, time)
        }
        [fn] is_locked(lock: &ReentrantMutex<u8>) -> bool { ReentrantMutex::is_locked(lock) }
        [fn] is_owned_by_current_thread(lock: &ReentrantMutex<u8>) -> bool {
            ReentrantMutex::is_owned_by_current_thread(lock)
        }
        [fn] lock_arc(lock: &Arc<ReentrantMutex<u8>>) -> impl Deref<Target = u8> {
            ReentrantMutex::lock_arc(lock)
        }
        [fn] try_lock_arc(lock: &Arc<ReentrantMutex<u8>>) -> Option<impl Deref<Target = u8>> {
            ReentrantMutex::try_lock_arc(lock)
        }
        [fn] try_lock_arc_for(
            lock: &Arc<ReentrantMutex<u8>>,
            time: Duration,
        ) -> Option<impl Deref<Target = u8>> {
            ReentrantMutex::try_lock_arc_for(lock, time)
        }
        [fn] try_lock_arc_until(
            lock: &Arc<ReentrantMutex<u8>>,
            time: Instant,
        ) -> Option<impl Deref<Target = u8>> {
            ReentrantMutex::try_lock_arc_until(lock, time)
        }
        [unsafe fn] raw(lock: &ReentrantMutex<u8>) -> bool {
            lock_api::RawMutex::is_locked(ReentrantMutex::raw(lock))
        }
        [unsafe fn] make_guard_unchecked(
            lock: &ReentrantMutex<u8>,
        ) -> ReentrantMutexGuard<'_, u8> {
            ReentrantMutex::make_guard_unchecked(lock)
        }
        [unsafe fn] force_unlock(lock: &ReentrantMutex<u8>) { ReentrantMutex::force_unlock(lock); }
        [unsafe fn] force_unlock_fair(lock: &ReentrantMutex<u8>) { ReentrantMutex::force_unlock_fair(lock); }
    }
    ReentrantMutexGuard {
        [fn] remutex(guard: &ReentrantMutexGuard<'_, u8>) -> bool {
            ReentrantMutexGuard::remutex(guard).is_locked()
        }
        [fn] map(guard: ReentrantMutexGuard<'_, u8>) -> MappedReentrantMutexGuard<'_, u8> {
            ReentrantMutexGuard::map(guard, |v| v)
        }
        [fn] try_map(
            guard: ReentrantMutexGuard<'_, u8>,
        ) -> Result<MappedReentrantMutexGuard<'_, u8>, ReentrantMutexGuard<'_, u8>> {
            ReentrantMutexGuard::try_map(guard, |v| Some(v))
        }
        [fn] try_map_or_err(
            guard: ReentrantMutexGuard<'_, u8>,
        ) -> Result<MappedReentrantMutexGuard<'_, u8>, (ReentrantMutexGuard<'_, u8>, ())> {
            ReentrantMutexGuard::try_map_or_err(guard, |v| Ok(v))
        }
        [fn] unlocked(guard: &mut ReentrantMutexGuard<'_, u8>) -> u8 {
            ReentrantMutexGuard::unlocked(guard, || 1)
        }
        [fn] unlock_fair(guard: ReentrantMutexGuard<'_, u8>) {
            ReentrantMutexGuard::unlock_fair(guard);
        }
        [fn] unlocked_fair(guard: &mut ReentrantMutexGuard<'_, u8>) -> u8 {
            ReentrantMutexGuard::unlocked_fair(guard, || 1)
        }
        [fn] bump(guard: &mut ReentrantMutexGuard<'_, u8>) { ReentrantMutexGuard::bump(guard); }
    }
    MappedReentrantMutexGuard {
        [fn] map(guard: MappedReentrantMutexGuard<'_, u8>) -> MappedReentrantMutexGuard<'_, u8> {
            MappedReentrantMutexGuard::map(guard, |v| v)
        }
        [fn] try_map(
            guard: MappedReentrantMutexGuard<'_, u8>,
        ) -> Result<MappedReentrantMutexGuard<'_, u8>, MappedReentrantMutexGuard<'_, u8>> {
            MappedReentrantMutexGuard::try_map(guard, |v| Some(v))
        }
        [fn] try_map_or_err(
            guard: MappedReentrantMutexGuard<'_, u8>,
        ) -> Result<MappedReentrantMutexGuard<'_, u8>, (MappedReentrantMutexGuard<'_, u8>, ())> {
            MappedReentrantMutexGuard::try_map_or_err(guard, |v| Ok(v))
        }
        [fn] unlock_fair(guard: MappedReentrantMutexGuard<'_, u8>) {
            MappedReentrantMutexGuard::unlock_fair(guard);
        }
    }
    Condvar {
        [const fn] new() -> Condvar { Condvar::new() }
        [fn] raw(condvar: &Condvar) -> &RawCondvar { condvar.raw() }
        [fn] notify_one(condvar: &Condvar) -> bool { condvar.notify_one() }
        [fn] notify_all(condvar: &Condvar) -> usize { condvar.notify_all() }
        [fn] wait(condvar: &Condvar, guard: &mut MutexGuard<'_, u8>) { condvar.wait(guard); }
        [fn] wait_while(condvar: &Condvar, guard: &mut MutexGuard<'_, u8>) {
            condvar.wait_while(guard, |v: &mut u8| *v == 0);
        }
        [fn] wait_until(
            condvar: &Condvar,
            guard: &mut MutexGuard<'_, u8>,
            time: Instant,
        ) -> WaitTimeoutResult {
            condvar.wait_until(guard, time)
        }
        [fn] wait_for(
            condvar: &Condvar,
            guard: &mut MutexGuard<'_, u8>,
            time: Duration,
        ) -> WaitTimeoutResult {
            condvar.wait_for(guard, time)
        }
        [fn] wait_while_until(
            condvar: &Condvar,
            guard: &mut MutexGuard<'_, u8>,
            time: Instant,
        ) -> WaitTimeoutResult {
            condvar.wait_while_until(guard, |v: &mut u8| *v == 0, time)
        }
        [fn] wait_while_for(
            condvar: &Condvar,
            guard: &mut MutexGuard<'_, u8>,
            time: Duration,
        ) -> WaitTimeoutResult {
            condvar.wait_while_for(guard, |v: &mut u8| *v == 0, time)
        }
    }
    WaitTimeoutResult {
        [const fn] timed_out(woken: WaitTimeoutResult) -> bool { woken.timed_out() }
    }
    Once {
        [const fn] new() -> Once { Once::new() }
        [const fn] new_completed() -> Once { Once::new_completed() }
        [fn] state(once: &Once) -> OnceState { once.state() }
        [fn] is_completed(once: &Once) -> bool { once.is_completed() }
        [fn] wait(once: &Once) { once.wait(); }
        [fn] wait_force(once: &Once) { once.wait_force(); }
        [fn] call_once(once: &Once) { once.call_once(|| ()); }
        [fn] call_once_force(once: &Once) { once.call_once_force(|_: OnceState| ()); }
    }
    OnceState {
        [const fn] is_poisoned(state: OnceState) -> bool { state.is_poisoned() }
        [const fn] poisoned(state: OnceState) -> bool { state.poisoned() }
        [const fn] is_completed(state: OnceState) -> bool { state.is_completed() }
        [const fn] done(state: OnceState) -> bool { state.done() }
    }
    ArcMutexGuard {
        [fn] mutex(guard: &MutexArc) -> bool { ArcMutexGuard::mutex(guard).is_locked() }
        [fn] into_arc(guard: MutexArc) -> bool { ArcMutexGuard::into_arc(guard).is_locked() }
        [fn] unlocked(guard: &mut MutexArc) -> u8 { ArcMutexGuard::unlocked(guard, || 1) }
        [fn] unlock_fair(guard: MutexArc) { ArcMutexGuard::unlock_fair(guard); }
        [fn] into_arc_fair(guard: MutexArc) -> bool {
            ArcMutexGuard::into_arc_fair(guard).is_locked()
        }
        [fn] unlocked_fair(guard: &mut MutexArc) -> u8 { ArcMutexGuard::unlocked_fair(guard, || 1) }
        [fn] bump(guard: &mut MutexArc) { ArcMutexGuard::bump(guard); }
    }
    ArcReentrantMutexGuard {
        [fn] remutex(guard: &ReentrantArc) -> bool {
            ArcReentrantMutexGuard::remutex(guard).is_locked()
        }
        [fn] into_arc(guard: ReentrantArc) -> bool {
            ArcReentrantMutexGuard::into_arc(guard).is_locked()
        }
        [fn] unlocked(guard: &mut ReentrantArc) -> u8 {
            ArcReentrantMutexGuard::unlocked(guard, || 1)
        }
        [fn] unlock_fair(guard: ReentrantArc) { ArcReentrantMutexGuard::unlock_fair(guard); }
        [fn] into_arc_fair(guard: ReentrantArc) -> bool {
            ArcReentrantMutexGuard::into_arc_fair(guard).is_locked()
        }
        [fn] unlocked_fair(guard: &mut ReentrantArc) -> u8 {
            ArcReentrantMutexGuard::unlocked_fair(guard, || 1)
        }
        [fn] bump(guard: &mut ReentrantArc) { ArcReentrantMutexGuard::bump(guard); }
    }
    ArcRwLockReadGuard {
        [fn] rwlock(guard: &ReadArc) -> bool { ArcRwLockReadGuard::rwlock(guard).is_locked() }
        [fn] into_arc(guard: ReadArc) -> bool { ArcRwLockReadGuard::into_arc(guard).is_locked() }
        [fn] unlocked(guard: &mut ReadArc) -> u8 { ArcRwLockReadGuard::unlocked(guard, || 1) }
        [fn] unlock_fair(guard: ReadArc) { ArcRwLockReadGuard::unlock_fair(guard); }
        [fn] into_arc_fair(guard: ReadArc) -> bool {
            ArcRwLockReadGuard::into_arc_fair(guard).is_locked()
        }
        [fn] unlocked_fair(guard: &mut ReadArc) -> u8 {
            ArcRwLockReadGuard::unlocked_fair(guard, || 1)
        }
        [fn] bump(guard: &mut ReadArc) { ArcRwLockReadGuard::bump(guard); }
    }
    ArcRwLockWriteGuard {
        [fn] rwlock(guard: &WriteArc) -> bool { ArcRwLockWriteGuard::rwlock(guard).is_locked() }
        [fn] into_arc(guard: WriteArc) -> bool { ArcRwLockWriteGuard::into_arc(guard).is_locked() }
        [fn] unlocked(guard: &mut WriteArc) -> u8 { ArcRwLockWriteGuard::unlocked(guard, || 1) }
        [fn] downgrade(guard: WriteArc) -> ReadArc { ArcRwLockWriteGuard::downgrade(guard) }
        [fn] downgrade_to_upgradable(guard: WriteArc) -> UpgradableArc {
            ArcRwLockWriteGuard::downgrade_to_upgradable(guard)
        }
        [fn] unlock_fair(guard: WriteArc) { ArcRwLockWriteGuard::unlock_fair(guard); }
        [fn] into_arc_fair(guard: WriteArc) -> bool {
            ArcRwLockWriteGuard::into_arc_fair(guard).is_locked()
        }
        [fn] unlocked_fair(guard: &mut WriteArc) -> u8 {
            ArcRwLockWriteGuard::unlocked_fair(guard, || 1)
        }
        [fn] bump(guard: &mut WriteArc) { ArcRwLockWriteGuard::bump(guard); }
    }
    ArcRwLockUpgradableReadGuard {
        [fn] rwlock(guard: &UpgradableArc) -> bool {
            ArcRwLockUpgradableReadGuard::rwlock(guard).is_locked()
        }
        [fn] into_arc(guard: UpgradableArc) -> bool {
            ArcRwLockUpgradableReadGuard::into_arc(guard).is_locked()
        }
        [fn] unlocked(guard: &mut UpgradableArc) -> u8 {
            ArcRwLockUpgradableReadGuard::unlocked(guard, || 1)
        }
        [fn] upgrade(guard: UpgradableArc) -> WriteArc {
            ArcRwLockUpgradableReadGuard::upgrade(guard)
        }
        [fn] try_upgrade(guard: UpgradableArc) -> Result<WriteArc, UpgradableArc> {
            ArcRwLockUpgradableReadGuard::try_upgrade(guard)
        }
        [fn] try_upgrade_for(
            guard: UpgradableArc,
            time: Duration,
        ) -> Result<WriteArc, UpgradableArc> {
            ArcRwLockUpgradableReadGuard::try_upgrade_for(guard, time)
        }
        [fn] try_upgrade_until(
            guard: UpgradableArc,
            time: Instant,
        ) -> Result<WriteArc, UpgradableArc> {
            ArcRwLockUpgradableReadGuard::try_upgrade_until(guard, time)
        }
        [fn] downgrade(guard: UpgradableArc) -> ReadArc {
            ArcRwLockUpgradableReadGuard::downgrade(guard)
        }
        [fn] with_upgraded(guard: &mut UpgradableArc) -> u8 {
            guard.with_upgraded(|v: &mut u8| *v)
        }
        [fn] try_with_upgraded(guard: &mut UpgradableArc) -> Option<u8> {
            guard.try_with_upgraded(|v: &mut u8| *v)
        }
        [fn] try_with_upgraded_for(guard: &mut UpgradableArc, time: Duration) -> Option<u8> {
            guard.try_with_upgraded_for(time, |v: &mut u8| *v)
        }
        [fn] try_with_upgraded_until(guard: &mut UpgradableArc, time: Instant) -> Option<u8> {
            guard.try_with_upgraded_until(time, |v: &mut u8| *v)
        }
        [fn] unlock_fair(guard: UpgradableArc) {
            ArcRwLockUpgradableReadGuard::unlock_fair(guard);
        }
        [fn] into_arc_fair(guard: UpgradableArc) -> bool {
            ArcRwLockUpgradableReadGuard::into_arc_fair(guard).is_locked()
        }
        [fn] unlocked_fair(guard: &mut UpgradableArc) -> u8 {
            ArcRwLockUpgradableReadGuard::unlocked_fair(guard, || 1)
        }
        [fn] bump(guard: &mut UpgradableArc) { ArcRwLockUpgradableReadGuard::bump(guard); }
    }
}

/// The variants of [`OnceState`], all of them.
const VARIANTS: &[&str] = {
    use OnceState::{Done, InProgress, New, Poisoned};
    match OnceState::New {
        New | Poisoned | InProgress | Done => &[
            "variant OnceState::New",
            "variant OnceState::Poisoned",
            "variant OnceState::InProgress",
            "variant OnceState::Done",
        ],
    }
};

/// Which automatic traits the types have, each lock and guard with several kinds of data.
pub(crate) fn auto_traits() -> Vec<(&'static str, [bool; 5])> {
    macro_rules! with {
        ($T:ty) => {
            auto_traits![
                Mutex<$T>,
                MutexGuard<'static, $T>,
                MappedMutexGuard<'static, $T>,
                ArcMutexGuard<RawMutex, $T>,
                FairMutex<$T>,
                FairMutexGuard<'static, $T>,
                MappedFairMutexGuard<'static, $T>,
                ReentrantMutex<$T>,
                ReentrantMutexGuard<'static, $T>,
                MappedReentrantMutexGuard<'static, $T>,
                ArcReentrantMutexGuard<RawMutex, RawThreadId, $T>,
                RwLock<$T>,
                RwLockReadGuard<'static, $T>,
                RwLockWriteGuard<'static, $T>,
                RwLockUpgradableReadGuard<'static, $T>,
                MappedRwLockReadGuard<'static, $T>,
                MappedRwLockWriteGuard<'static, $T>,
                ArcRwLockReadGuard<RawRwLock, $T>,
                ArcRwLockWriteGuard<RawRwLock, $T>,
                ArcRwLockUpgradableReadGuard<RawRwLock, $T>,
                RecursiveRwLock<$T>,
                RecursiveRwLockReadGuard<'static, $T>,
                RecursiveRwLockWriteGuard<'static, $T>,
                RecursiveRwLockUpgradableReadGuard<'static, $T>,
                MappedRecursiveRwLockReadGuard<'static, $T>,
                MappedRecursiveRwLockWriteGuard<'static, $T>,
            ]
        };
    }
    let others = auto_traits![
        Condvar,
        WaitTimeoutResult,
        Once,
        OnceState,
        RawMutex,
        RawFairMutex,
        RawRwLock,
        RawRwLockRecursive,
        RawCondvar,
        RawThreadId,
    ];
    [
        with!(u8),
        with!(Cell<u8>),
        with!(Rc<u8>),
        with!(std::sync::MutexGuard<'static, u8>),
        with!(&'static mut u8),
        with!(&'static Cell<u8>),
        with!(PhantomPinned),
        others,
    ]
    .concat()
}
