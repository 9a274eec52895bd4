//! Guards of a part of the value: the lock is held until they go, whatever their type.

use super::locks::{FairMutex, FairMutexGuard};
use super::locks::{
    MappedFairMutexGuard, MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex,
    MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

#[derive(Default)]
struct Account {
    owner: String,
    entries: Vec<i64>,
}

/// The last entry, where there is one.
fn last(account: &mut Account) -> Option<&mut i64> {
    account.entries.last_mut()
}

#[test]
fn a_mapped_guard_holds_the_mutex_until_it_goes() {
    let mutex = Mutex::new(Account::default());
    let owner: MappedMutexGuard<'_, String> =
        MutexGuard::map(mutex.lock(), |account| &mut account.owner);
    let mut owner: MappedMutexGuard<'_, str> =
        MappedMutexGuard::map(owner, |owner| owner.as_mut_str());
    owner.make_ascii_uppercase();
    assert!(mutex.is_locked());
    drop(owner);
    assert!(!mutex.is_locked());
}

#[test]
fn maps_of_maps_lead_to_the_same_value() {
    let mutex = Mutex::new(((1_u8, 2_u16), 3_u32));
    let guard = MutexGuard::map(mutex.lock(), |outer| &mut outer.0);
    let mut guard = MappedMutexGuard::map(guard, |inner| &mut inner.1);
    *guard += 40;
    drop(guard);
    assert_eq!(mutex.into_inner(), ((1, 42), 3));
}

#[test]
fn try_map_that_fails_gives_the_guard_back() {
    let mutex = Mutex::new(Account::default());
    let Err(mut guard) = MutexGuard::try_map(mutex.lock(), last) else {
        panic!("there is no entry");
    };
    guard.entries.push(7);
    let Ok(entry) = MutexGuard::try_map(guard, last) else {
        panic!("there is one");
    };
    assert_eq!(*entry, 7);
    let Err(entry) = MappedMutexGuard::try_map(entry, |_| None::<&mut i64>) else {
        panic!("nothing comes of it");
    };
    assert!(mutex.is_locked());
    assert!(MappedMutexGuard::try_map(entry, |n| Some(n)).is_ok());
    assert!(!mutex.is_locked());
}

#[test]
fn try_map_or_err_that_fails_gives_the_error_too() {
    let mutex = Mutex::new(Account::default());
    let failed = MutexGuard::try_map_or_err(mutex.lock(), |a| last(a).ok_or("empty"));
    let Err((mut guard, "empty")) = failed else {
        panic!("there is no entry");
    };
    guard.entries.push(7);
    let Ok(entry) = MutexGuard::try_map_or_err(guard, |a| last(a).ok_or("empty")) else {
        panic!("there is one");
    };
    let failed = MappedMutexGuard::try_map_or_err(entry, |n| if *n > 7 { Ok(n) } else { Err(*n) });
    let Err((entry, 7)) = failed else {
        panic!("it is too small");
    };
    assert!(MappedMutexGuard::try_map_or_err(entry, |n| Ok::<_, ()>(n)).is_ok());
    assert!(!mutex.is_locked());
}

#[test]
fn a_fair_mutex_maps_alike() {
    let mutex = FairMutex::new((1, "two"));
    let guard = FairMutexGuard::map(mutex.lock(), |pair| &mut pair.1);
    let Err(guard) = MappedFairMutexGuard::try_map(guard, |_| None::<&mut str>) else {
        panic!("nothing comes of it");
    };
    let guard: MappedFairMutexGuard<'_, u8> =
        MappedFairMutexGuard::map(guard, |_| Box::leak(Box::new(3)));
    assert_eq!((*guard, mutex.is_locked()), (3, true));
    drop(guard);
    assert!(!mutex.is_locked());
}

#[test]
fn a_mapped_read_guard_lets_readers_in_and_keeps_writers_out() {
    let rwlock = RwLock::new(Account::default());
    let owner = RwLockReadGuard::map(rwlock.read(), |account| &account.owner);
    let owner: MappedRwLockReadGuard<'_, str> =
        MappedRwLockReadGuard::map(owner, |owner| owner.as_str());
    assert!(rwlock.try_read().is_some() && rwlock.try_write().is_none());
    drop(owner);
    assert!(rwlock.try_write().is_some());
}

#[test]
fn a_mapped_write_guard_keeps_everybody_out() {
    let rwlock = RwLock::new(Account::default());
    let owner = RwLockWriteGuard::map(rwlock.write(), |account| &mut account.owner);
    let mut owner: MappedRwLockWriteGuard<'_, str> =
        MappedRwLockWriteGuard::map(owner, |owner| owner.as_mut_str());
    owner.make_ascii_uppercase();
    assert!(rwlock.is_locked_exclusive() && rwlock.try_read().is_none());
    drop(owner);
    assert!(!rwlock.is_locked());
}

#[test]
fn maps_of_read_guards_that_fail_give_them_back() {
    let rwlock = RwLock::new(vec![1, 2]);
    let Err(guard) = RwLockReadGuard::try_map(rwlock.read(), |list| list.get(9)) else {
        panic!("there are two");
    };
    let Err((guard, 2)) =
        RwLockReadGuard::try_map_or_err(guard, |list| list.get(9).ok_or(list.len()))
    else {
        panic!("there are two");
    };
    let Ok(guard) = RwLockReadGuard::try_map(guard, |list| list.get(1)) else {
        panic!("there is one");
    };
    let Err(guard) = MappedRwLockReadGuard::try_map(guard, |_| None::<&i32>) else {
        panic!("nothing comes of it");
    };
    let Err((guard, ())) = MappedRwLockReadGuard::try_map_or_err(guard, |_| Err::<&i32, _>(()))
    else {
        panic!("nothing comes of it");
    };
    assert_eq!((*guard, rwlock.is_locked()), (2, true));
    drop(guard);
    assert!(RwLockReadGuard::try_map_or_err(rwlock.read(), |list| Ok::<_, ()>(list)).is_ok());
    assert!(!rwlock.is_locked());
}

#[test]
fn maps_of_write_guards_that_fail_give_them_back() {
    let rwlock = RwLock::new(vec![1, 2]);
    let Err(guard) = RwLockWriteGuard::try_map(rwlock.write(), |list| list.get_mut(9)) else {
        panic!("there are two");
    };
    let Err((guard, "short")) =
        RwLockWriteGuard::try_map_or_err(guard, |list| list.get_mut(9).ok_or("short"))
    else {
        panic!("there are two");
    };
    let Ok(guard) = RwLockWriteGuard::try_map(guard, |list| list.get_mut(1)) else {
        panic!("there is one");
    };
    let Err(guard) = MappedRwLockWriteGuard::try_map(guard, |_| None::<&mut i32>) else {
        panic!("nothing comes of it");
    };
    let Err((guard, ())) =
        MappedRwLockWriteGuard::try_map_or_err(guard, |_| Err::<&mut i32, _>(()))
    else {
        panic!("nothing comes of it");
    };
    assert_eq!((*guard, rwlock.is_locked_exclusive()), (2, true));
    drop(guard);
    assert!(RwLockWriteGuard::try_map_or_err(rwlock.write(), |list| Ok::<_, ()>(list)).is_ok());
    assert!(!rwlock.is_locked());
}
