use instrumented_lock::{
    Condvar, Mutex, MutexGuard, RecursiveRwLock, ReentrantMutex, RwLock, RwLockUpgradableReadGuard,
    instrumented,
};
use std::io::{Read, Write};
use std::mem;
use std::sync::Arc;

#[instrumented]
#[derive(Default)]
struct Store {
    log: Mutex<Vec<u8>>,
    other: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
    optional: Mutex<Option<u8>>,
    shards: [Mutex<u8>; 2],
    reentrant: ReentrantMutex<u8>,
    recursive: RecursiveRwLock<u8>,
    wake: Condvar,
}

#[instrumented]
static CONFIG: RwLock<u8> = RwLock::new(0);

fn keep<T>(_: T) {}

#[instrumented]
impl Store {
    fn one_guard(&self) -> usize {
        let log = self.log.lock();
        log.len() + log.capacity() + self.other.lock().len()
    }

    fn dropped(&self) {
        let log = self.log.lock();
        drop(log);
        let log = self.log.lock();
        mem::drop(log);
        self.log.lock().clear();
    }

    fn scoped(&self) {
        {
            let log = self.log.lock();
            self.other.lock().push(log.len() as u8);
        }
        let len = self.log.lock().len();
        self.log.lock().truncate(len);
        for _ in 0..2 {
            let mut log = self.log.lock();
            log.push(1);
        }
        self.log.lock().clear();
    }

    fn shadowed_inside(&self) {
        let log = self.log.lock();
        {
            let log = 1;
            keep(log);
        }
        drop(log);
        self.log.lock().clear();
    }

    fn assigned(&self) {
        let mut guard = self.log.lock();
        guard.push(1);
        guard = self.other.lock();
        guard.push(1);
        self.log.lock().clear();
    }

    fn early_return(&self, early: bool) -> usize {
        let log = self.log.lock();
        if early {
            return log.len();
        }
        drop(log);
        self.log.lock().len()
    }

    fn one_branch_drops(&self, early: bool) -> bool {
        let log = self.log.lock();
        if early {
            drop(log);
        }
        match early {
            true => self.log.lock().is_empty(),
            false => false,
        }
    }

    fn left_a_loop(&self) {
        let log = self.log.lock();
        loop {
            if log.is_empty() {
                drop(log);
                break;
            }
        }
        self.log.lock().clear();
    }

    fn conditions(&self) -> usize {
        if self.log.lock().is_empty() {
            self.log.lock().push(1);
        }
        while self.log.lock().len() < 3 && self.log.lock().len() > 1 {
            self.log.lock().push(1);
        }
        if let Some(log) = self.log.try_lock() {
            log.len()
        } else {
            self.log.lock().len()
        }
    }

    fn tried(&self) -> usize {
        let Some(log) = self.log.try_lock() else {
            return self.log.lock().len();
        };
        match self.log.try_lock() {
            Some(again) => again.len(),
            None => log.len(),
        }
    }

    fn unlocked(&self) {
        let mut log = self.log.lock();
        MutexGuard::unlocked(&mut log, || self.log.lock().push(1));
        log.push(2);
        MutexGuard::unlocked_fair(&mut log, || {
            let again = self.log.lock();
            keep(again.len());
        });
    }

    fn moved(&self) -> MutexGuard<'_, Vec<u8>> {
        let log = self.log.lock();
        keep(log);
        let log = self.log.lock();
        let pair = (log, 1);
        drop(pair);
        let log = self.log.lock();
        let closure = move || log.len();
        keep(closure());
        drop(closure);
        let log = self.log.lock();
        (|| drop(log))();
        let log = self.log.lock();
        let renamed = log;
        drop(renamed);
        self.log.lock()
    }

    fn waited(&self) {
        let mut log = self.log.lock();
        while log.len() > 100 {
            self.wake.wait(&mut log);
        }
    }

    fn upgraded(&self) {
        let index = self.index.upgradable_read();
        let mut index = RwLockUpgradableReadGuard::upgrade(index);
        index.push(1);
        drop(index);
        self.index.write().clear();
    }

    fn data_of_an_option(&self) -> u8 {
        let value = self.optional.lock().unwrap();
        value + self.optional.lock().unwrap()
    }

    fn elements(&self, first: usize, second: usize) -> u8 {
        let low = self.shards[0].lock();
        let sum = *low + *self.shards[1].lock();
        drop(low);
        let one = self.shards[first].lock();
        sum + *one + *self.shards[second].lock()
    }

    fn may_be_taken_twice(&self) -> u8 {
        let (outer, inner) = (&self.reentrant, &self.recursive);
        let _outer = outer.lock();
        let _inner = inner.read();
        *self.reentrant.lock() + *self.recursive.read()
    }

    fn later(&self) -> impl Fn() -> usize {
        let log = self.log.lock();
        let run = move || self.log.lock().len();
        keep(log);
        run
    }

    fn conditional(&self) {
        #[cfg(any(unix, not(unix)))]
        let log = self.log.lock();
        #[cfg(any())]
        let log = self.log.lock();
        keep(log);
        self.log.lock().clear();
    }

    fn allowed(&self, other: &Self) {
        let log = self.log.lock();
        if !std::ptr::eq(self, other) {
            #[lock(allow(relock))]
            self.log.lock().push(log.len() as u8);
        }
    }

    #[instrumented(allow(relock))]
    fn allowed_method(&self) -> usize {
        self.index.read().len() + self.index.read().len()
    }

    fn other_instance(&self, other: &Store) {
        let log = self.log.lock();
        other.log.lock().push(log.len() as u8);
    }
}

/// Neither reading and writing nor a name makes a lock.
struct Wire {
    stream: std::io::Cursor<Vec<u8>>,
    stdout: std::io::Stdout,
    door: Door,
}

#[derive(Clone, Copy)]
struct Door;

impl Door {
    fn lock(self) {}
    fn unlock(self) {}
}

#[instrumented]
impl Wire {
    fn copy(&mut self) -> std::io::Result<()> {
        let mut buffer = [0; 4];
        let first = self.stream.read(&mut buffer)?;
        let second = self.stream.read(&mut buffer)?;
        let _ = self.stream.write(&buffer[..first.min(second)])?;
        let out = self.stdout.lock();
        writeln!(self.stdout.lock())?;
        drop(out);
        self.door.lock();
        self.door.lock();
        self.door.unlock();
        Ok(())
    }
}

#[instrumented(allow(relock))]
fn allowed_function(lock: &Mutex<u8>) {
    let _guard = lock.lock();
    if false {
        *lock.lock() += 1;
    }
}

#[instrumented]
fn locals(handle: &Arc<Mutex<u8>>) -> u8 {
    let one = Mutex::<u8>::new(0);
    let guard = one.lock();
    let sum = {
        let one = Mutex::<u8>::new(1);
        *one.lock() + *guard
    };
    let another = Arc::new(Mutex::<u8>::new(0));
    let mut current = handle;
    let held = current.lock();
    current = &another;
    sum + *held + *current.lock() + *CONFIG.read()
}

#[instrumented]
const fn constant() -> u8 {
    1
}

pub(crate) fn main() {
    let store = Store::default();
    store.one_guard();
    store.dropped();
    store.scoped();
    store.shadowed_inside();
    store.assigned();
    store.early_return(true);
    store.one_branch_drops(false);
    store.conditions();
    store.unlocked();
    drop(store.moved());
    store.waited();
    store.upgraded();
    store.elements(0, 1);
    store.may_be_taken_twice();
    store.later()();
    store.conditional();
    store.allowed(&store);
    store.other_instance(&Store::default());
    keep((
        Store::tried,
        Store::left_a_loop,
        Store::data_of_an_option,
        Store::allowed_method,
    ));
    keep((Wire::copy, allowed_function, locals, constant()));
    keep(Door::unlock);
}
