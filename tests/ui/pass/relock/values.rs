//! Guards that come out of expressions and go again; other names of other locks.

use instrumented_lock::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, instrumented};
use std::sync::{Arc, LazyLock};

#[instrumented]
#[derive(Default)]
pub(crate) struct Store {
    log: Mutex<Vec<u8>>,
    other: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
    shards: Vec<Mutex<u8>>,
    wake: Condvar,
    inner: Inner,
}

#[instrumented]
#[derive(Default)]
struct Inner {
    log: Mutex<Vec<u8>>,
}

/// A deep copy, with a lock of its own.
impl Clone for Inner {
    fn clone(&self) -> Self {
        Inner {
            log: Mutex::new(self.log.lock().clone()),
        }
    }
}

struct Held<'a> {
    log: MutexGuard<'a, Vec<u8>>,
}

impl Held<'_> {
    fn release(self) {}
}

#[instrumented]
static TABLE: LazyLock<RwLock<Vec<u8>>> = LazyLock::new(|| RwLock::new(Vec::new()));

fn keep<T>(_: T) {}

#[instrumented]
impl Store {
    fn tried_or_waited(&self) -> usize {
        let len = match self.log.try_lock() {
            Some(log) => log.len(),
            None => self.log.lock().len(),
        };
        len + self.log.lock().len()
    }

    fn tried_and_dropped(&self) -> usize {
        let log = match self.log.try_lock() {
            Some(log) => log,
            None => return 0,
        };
        drop(log);
        self.log.lock().len()
    }

    fn either(&self, is_on: bool) -> usize {
        let one = if is_on {
            self.log.lock()
        } else {
            self.other.lock()
        };
        let len = one.len();
        drop(one);
        len + self.log.lock().len() + self.other.lock().len()
    }

    fn the_other(&self, is_on: bool) -> u8 {
        let (one, two) = if is_on {
            (&self.shards[0], &self.shards[1])
        } else {
            (&self.shards[1], &self.shards[0])
        };
        let guard = one.lock();
        *guard + *two.lock()
    }

    fn tuple(&self) -> usize {
        let (log, other) = (self.log.lock(), self.other.lock());
        let len = log.len() + other.len();
        drop(log);
        drop(other);
        len + self.log.lock().len() + self.other.lock().len()
    }

    fn pair(&self) {
        let pair = (self.log.lock(), self.other.lock());
        drop(pair.0);
        self.log.lock().push(pair.1[0]);
        drop(pair.1);
        self.other.lock().clear();
    }

    fn option(&self, is_on: bool) {
        let mut log = None;
        if is_on {
            log = Some(self.log.lock());
        }
        if let Some(log) = &mut log {
            log.push(1);
        }
        drop(log);
        self.log.lock().clear();
    }

    fn emptied_option(&self) {
        let mut log = Some(self.log.lock());
        if let Some(log) = log.take() {
            drop(log);
        }
        self.log.lock().clear();
        let mut log = Some(self.log.lock());
        keep(std::mem::take(&mut log));
        self.log.lock().clear();
    }

    fn released(&self) {
        let held = Held {
            log: self.log.lock(),
        };
        keep(held.log.len());
        held.release();
        self.log.lock().clear();
    }

    fn emptied_vec(&self) {
        let mut guards = Vec::new();
        guards.push(self.log.lock());
        guards.clear();
        self.log.lock().clear();
        let guards: Vec<_> = self.shards.iter().map(|shard| shard.lock()).collect();
        keep(guards);
    }

    fn all_shards(&self) -> u8 {
        let mut guards = Vec::new();
        for shard in &self.shards {
            guards.push(shard.lock());
        }
        guards.iter().map(|guard| **guard).sum()
    }

    fn taken_when_there_is_none(&self) {
        let mut log = Some(self.log.lock());
        for _ in 0..3 {
            match log {
                None => log = Some(self.log.lock()),
                Some(_) => log = None,
            }
        }
        drop(log);
        let mut log = None;
        for _ in 0..3 {
            if log.is_none() {
                log = Some(self.log.lock());
            }
            keep(log.as_ref().map(|log| log.len()));
        }
    }

    fn one_guard_after_the_other(&self) -> Vec<usize> {
        let locks = (0..3).map(|_| self.log.lock());
        let lens = locks.map(|log| log.len()).collect::<Vec<_>>();
        let more = (0..3).map(|_| self.log.lock()).map(|log| log.len());
        more.chain(lens).collect()
    }

    fn one_guard_after_the_other_in_one_chain(&self) -> Vec<usize> {
        (0..3)
            .map(|_| self.log.lock())
            .map(|log| log.len())
            .collect()
    }

    fn swapped(&self) {
        let mut guard = self.log.lock();
        guard.push(1);
        let old = std::mem::replace(&mut guard, self.other.lock());
        drop(old);
        self.log.lock().push(guard.len() as u8);
    }

    fn in_turns(&self) {
        let mut log = self.log.lock();
        while log.len() < 3 {
            drop(log);
            self.log.lock().push(1);
            log = self.log.lock();
        }
    }

    fn after_a_loop(&self) {
        let log = loop {
            let log = self.log.lock();
            if !log.is_empty() {
                break log;
            }
            drop(log);
            self.log.lock().push(1);
        };
        drop(log);
        self.log.lock().clear();
    }

    fn only_one_turn(&self) {
        let mut kept = Vec::new();
        loop {
            kept.push(self.log.lock());
            if kept.len() == 1 {
                break;
            }
            return;
        }
        keep(kept);
    }

    fn waited(&self) {
        let mut log = self.log.lock();
        self.wake
            .wait_while_for(&mut log, |log| log.len() > 9, std::time::Duration::ZERO);
        drop(log);
        self.wake.notify_one();
        self.log.lock().clear();
    }

    fn log(&self) -> MutexGuard<'_, Vec<u8>> {
        self.log.lock()
    }

    fn at(&self, at: usize) -> MutexGuard<'_, u8> {
        self.shards[at].lock()
    }

    fn entries(&self, is_other: bool) -> MutexGuard<'_, Vec<u8>> {
        if is_other {
            return self.other.lock();
        }
        self.log.lock()
    }

    fn read(&self) -> Option<RwLockReadGuard<'_, Vec<u8>>> {
        self.index.try_read()
    }

    fn by_methods(&self) -> usize {
        let len = self.log().len();
        self.log().clear();
        let other = self.entries(true);
        let len = len + self.log.lock().len() + other.len();
        drop(other);
        if let Some(index) = self.read() {
            return index.len() + len;
        }
        self.index.write().len()
    }

    fn two_elements(&self) -> u8 {
        let one = self.at(0);
        *one + *self.at(1)
    }

    fn copied_deeply(&self) -> usize {
        let copy = self.inner.clone();
        let log = self.inner.log.lock();
        log.len() + copy.log.lock().len()
    }

    fn another_one(&self, other: &Self, third: Arc<Self>) -> usize {
        let log = self.log.lock();
        log.len() + other.log.lock().len() + third.log.lock().len()
    }

    fn shadowed(&self) -> usize {
        let this = self;
        let len = this.log.lock().len();
        let this = Store::default();
        let log = self.log.lock();
        len + log.len() + this.log.lock().len()
    }

    fn destructured(&self) -> usize {
        let Store {
            log, other, inner, ..
        } = self;
        let guard = log.lock();
        guard.len() + other.lock().len() + inner.log.lock().len()
    }

    fn elements(&self) -> u8 {
        let mut sum = 0;
        for shard in &self.shards {
            sum += *shard.lock();
        }
        let (one, two) = (&self.shards[0], &self.shards[1]);
        let guard = one.lock();
        sum + *guard + *two.lock()
    }
}

#[instrumented]
fn of_statics() -> usize {
    let len = TABLE.read().len();
    TABLE.write().push(0);
    let table = TABLE.read();
    table.len() + len
}

pub(crate) fn main() {
    let store = Store {
        shards: vec![Mutex::new(1), Mutex::new(2)],
        ..Store::default()
    };
    store.tried_or_waited();
    store.tried_and_dropped();
    store.either(true);
    store.the_other(false);
    store.log.lock().push(1);
    store.other.lock().push(1);
    store.tuple();
    store.pair();
    store.option(true);
    store.emptied_option();
    store.released();
    store.emptied_vec();
    store.all_shards();
    store.taken_when_there_is_none();
    store.one_guard_after_the_other();
    store.one_guard_after_the_other_in_one_chain();
    store.swapped();
    store.in_turns();
    store.after_a_loop();
    store.only_one_turn();
    store.waited();
    store.by_methods();
    store.two_elements();
    store.copied_deeply();
    store.another_one(&Store::default(), Arc::default());
    store.shadowed();
    store.destructured();
    store.elements();
    of_statics();
}
