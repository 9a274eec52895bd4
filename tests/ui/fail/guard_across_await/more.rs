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
async fn send<T>(_: T) {}
macro_rules! join { ($($t:tt)*) => { async { $($t)* }.await } }
#[instrumented]
impl Store {
    async fn joined(&self) {
        let g = self.n.lock();
        join!(send(1));
        work(*g);
    }
    async fn in_an_arm(&self) {
        match self.q.lock().len() {
            n => send(n).await,
        }
    }
    async fn in_the_other_branch(&self, c: bool) {
        let g = self.n.lock();
        if c {
            drop(g);
        } else {
            send(*g).await;
        }
    }
    async fn assigned_for_the_next_turn(&self) {
        let mut g = self.n.lock();
        for _ in 0..2 {
            send(*g).await;
            g = self.n.lock();
        }
    }
    async fn future_made_before(&self) {
        let g = self.n.lock();
        let r = async { send(1).await };
        work(*g);
        r.await;
    }
    async fn tuple_with_an_await(&self) {
        let x = (send(1).await, self.n.lock());
        send(1).await;
        work(*x.1);
    }
    async fn upgradable(&self) {
        let g = self.map.upgradable_read();
        {
            send(g.len()).await;
        }
    }
    async fn boxed_in_some(&self) {
        let g = Some(Box::new(self.n.lock()));
        send(1).await;
        drop(g);
    }
    async fn shared(&self) {
        let g = Arc::new(self.n.lock());
        send(1).await;
        drop(g);
    }
    async fn assigned_in_a_branch(&self, c: bool) {
        let g;
        if c {
            g = self.n.lock();
            send(*g).await;
        }
    }
    async fn let_else(&self) {
        let Some(g) = self.n.try_lock() else { return };
        send(*g).await;
    }
    async fn if_let(&self) {
        if let Some(g) = self.n.try_lock() {
            send(*g).await;
        }
    }
    async fn part_of_a_tuple(&self) {
        send((self.n.lock(), 1).1).await;
    }
    async fn moved_in_a_branch_that_returns(&self, c: bool) {
        let g = self.n.lock();
        if c {
            work(g);
            return;
        }
        send(1).await;
    }
}

fn main() {}
