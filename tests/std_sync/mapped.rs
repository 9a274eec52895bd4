//! Guards for a part of the value, which only a nightly std has.

use crate::panics;
use instrumented_lock::std_sync::{
    MappedMutexGuard, MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard, RwLock,
    RwLockReadGuard, RwLockWriteGuard,
};

type Pair = ((u32, u32), u32);

fn inner(pair: &mut Pair) -> &mut (u32, u32) {
    &mut pair.0
}

fn second(pair: &mut (u32, u32)) -> &mut u32 {
    &mut pair.1
}

#[test]
fn a_mapped_guard_holds_the_mutex_and_changes_its_part() {
    let m: Mutex<Pair> = Mutex::new(((1, 2), 3));
    let mapped = MutexGuard::map(m.lock().unwrap(), inner);
    let mut mapped = MappedMutexGuard::map(mapped, second);
    *mapped += 5;
    assert!(m.try_lock().is_err());
    assert_eq!(format!("{mapped:?} {mapped}"), "7 7");
    drop(mapped);
    assert_eq!(*m.lock().unwrap(), ((1, 7), 3));
}

#[test]
fn a_filter_that_finds_nothing_gives_the_guard_back() {
    let m: Mutex<Pair> = Mutex::new(((1, 2), 3));
    let guard = MutexGuard::filter_map(m.lock().unwrap(), |_| None::<&mut u32>).unwrap_err();
    let mapped = MutexGuard::filter_map(guard, |pair| Some(&mut pair.0));
    let Ok(mapped) = mapped else {
        panic!("it was found")
    };
    let back = MappedMutexGuard::filter_map(mapped, |_| None::<&mut u32>).unwrap_err();
    let Ok(mut first) = MappedMutexGuard::filter_map(back, |pair| Some(&mut pair.0)) else {
        panic!("it was found")
    };
    *first = 9;
    drop(first);
    assert_eq!(m.lock().unwrap().0, (9, 2));
}

#[test]
fn a_panic_with_a_mapped_guard_poisons() {
    let m: Mutex<Pair> = Mutex::new(((1, 2), 3));
    panics(|| {
        let _mapped = MutexGuard::map(m.lock().unwrap(), inner);
        panic!("with a part");
    });
    assert!(m.is_poisoned());
    let lock: RwLock<Pair> = RwLock::new(((1, 2), 3));
    panics(|| {
        let mapped = RwLockWriteGuard::map(lock.write().unwrap(), inner);
        let _mapped = MappedRwLockWriteGuard::map(mapped, second);
        panic!("with a part");
    });
    assert!(lock.is_poisoned());
}

#[test]
fn a_panic_while_mapping_unlocks_and_poisons() {
    fn fails<T, U>(_: &mut T) -> &mut U {
        panic!("while mapping")
    }
    fn fails_filtered<T, U>(_: &mut T) -> Option<&mut U> {
        panic!("while mapping")
    }
    fn fails_to_read<T, U>(_: &T) -> &U {
        panic!("while mapping")
    }
    let m: Mutex<Pair> = Mutex::default();
    let check = |maps: &(dyn Fn() + Sync)| {
        panics(maps);
        assert!(
            m.try_lock()
                .is_err_and(|error| error.to_string().starts_with("poisoned"))
        );
        m.clear_poison();
    };
    check(&|| drop(MutexGuard::map(m.lock().unwrap(), fails::<_, u32>)));
    check(&|| assert!(MutexGuard::filter_map(m.lock().unwrap(), fails_filtered::<_, u32>).is_ok()));
    check(&|| {
        let mapped = MutexGuard::map(m.lock().unwrap(), inner);
        drop(MappedMutexGuard::map(mapped, fails::<_, u32>));
    });
    check(&|| {
        let mapped = MutexGuard::map(m.lock().unwrap(), inner);
        assert!(MappedMutexGuard::filter_map(mapped, fails_filtered::<_, u32>).is_ok());
    });

    let lock: RwLock<Pair> = RwLock::default();
    panics(|| {
        drop(RwLockReadGuard::map(
            lock.read().unwrap(),
            fails_to_read::<_, u32>,
        ));
    });
    assert!(lock.try_write().is_ok(), "a reader poisons nothing");
    panics(|| {
        drop(RwLockWriteGuard::map(
            lock.write().unwrap(),
            fails::<_, u32>,
        ));
    });
    assert!(lock.is_poisoned());
    lock.clear_poison();
    panics(|| {
        let mapped = RwLockWriteGuard::map(lock.write().unwrap(), inner);
        assert!(MappedRwLockWriteGuard::filter_map(mapped, fails_filtered::<_, u32>).is_ok());
    });
    assert!(lock.is_poisoned());
    assert!(
        lock.try_read()
            .is_err_and(|error| error.to_string().starts_with("poisoned"))
    );
}

#[test]
fn mapped_guards_of_a_reader_writer_lock_hold_it_in_their_mode() {
    let lock: RwLock<Pair> = RwLock::new(((1, 2), 3));
    let read = RwLockReadGuard::map(lock.read().unwrap(), |pair| &pair.0);
    let read = MappedRwLockReadGuard::map(read, |pair| &pair.1);
    assert_eq!(*read, 2);
    assert!(lock.try_read().is_ok() && lock.try_write().is_err());
    let Err(read) = MappedRwLockReadGuard::filter_map(read, |_| None::<&u32>) else {
        panic!("it was not found")
    };
    drop(read);
    let Err(read) = RwLockReadGuard::filter_map(lock.read().unwrap(), |_| None::<&u32>) else {
        panic!("it was not found")
    };
    assert!(RwLockReadGuard::filter_map(read, |pair| Some(&pair.0)).is_ok());

    let Ok(mut write) =
        RwLockWriteGuard::filter_map(lock.write().unwrap(), |pair| Some(inner(pair)))
    else {
        panic!("it was found")
    };
    write.0 = 8;
    assert!(lock.try_read().is_err());
    drop(MappedRwLockWriteGuard::map(write, second));
    assert_eq!(lock.into_inner().unwrap(), ((8, 2), 3));
}
