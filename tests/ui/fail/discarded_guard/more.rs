//! More shapes, one a method.
#![allow(unused)]

use instrumented_lock::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, instrumented};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
#[instrumented]
#[derive(Default)]
struct Store {
    q: Mutex<VecDeque<u8>>,
    map: RwLock<HashMap<u8, String>>,
    n: Mutex<u32>,
    opt: Mutex<Option<u8>>,
    name: Mutex<String>,
    pair: (Mutex<u8>, Mutex<u8>),
    set: Mutex<HashSet<u8>>,
    tree: RwLock<BTreeMap<u8, Vec<u8>>>,
    cv: Condvar,
    inner: Arc<Deep>,
    table: [RwLock<u8>; 4],
}
#[instrumented]
#[derive(Default)]
struct Deep {
    m: Mutex<Vec<u8>>,
    r: RwLock<u8>,
}
fn work<T>(_: T) {}
#[instrumented]
impl Store {
    fn match_of_a_try(&self) {
        let _ = match self.n.try_lock() {
            Some(g) => g,
            None => return,
        };
    }
    fn assigned_underscore(&self) {
        _ = self.n.try_lock();
    }
    fn first_of_three(&self) {
        let (_, _, _c) = (self.n.lock(), 1, self.q.lock());
    }
    fn block(&self) {
        {
            self.n.lock()
        };
    }
    fn boxed(&self) {
        let _ = Box::new(self.n.lock());
    }
    fn by_its_path(&self) {
        let _ = RwLock::write(&self.map);
    }
    fn ok_underscore(&self) {
        let Ok(_) = self.n.try_lock().ok_or(()) else {
            return;
        };
        work(1);
    }
    fn whole_tuple(&self) {
        let _ = (self.n.lock(), self.q.lock());
    }
    fn underscore_in_an_arm(&self) {
        match (self.n.lock(), 1) {
            (_, one) => work(one),
        }
    }
    fn with_a_timeout(&self) {
        let _ = self.n.try_lock_for(std::time::Duration::ZERO);
    }
}

fn main() {}
