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
    fn looked_up_and_inserted(&self, k: u8) -> String {
        match self.map.read().get(&k) {
            Some(v) => v.clone(),
            None => {
                self.map.write().insert(k, String::new());
                String::new()
            }
        }
    }
    fn popped_and_pushed_back(&self) {
        while let Some(x) = self.q.lock().pop_front() {
            self.q.lock().push_back(x)
        }
    }
    fn iterated_and_pushed(&self) {
        for x in self.q.lock().iter() {
            self.q.lock().push_back(*x)
        }
    }
    fn argument_of_its_own_method(&self) {
        self.q.lock().push_back(self.q.lock().len() as u8);
    }
    fn assigned_from_itself(&self) {
        *self.n.lock() = *self.n.lock() + 1;
    }
    fn added_to_itself(&self) {
        *self.n.lock() += *self.n.lock();
    }
    fn twice_in_a_vec(&self) {
        let v = vec![self.n.lock().count_ones(), self.n.lock().count_zeros()];
        work(v);
    }
    fn bool_then(&self, k: u8) {
        self.map
            .read()
            .contains_key(&k)
            .then(|| self.map.write().remove(&k));
    }
    fn drop_of_a_reference(&self) {
        let g = self.n.lock();
        drop(&g);
        *self.n.lock() += 1;
    }
    fn underscore_moves_nothing(&self) {
        let g = self.n.lock();
        let _ = g;
        *self.n.lock() += 1;
    }
    fn forgotten(&self) {
        let g = self.n.lock();
        std::mem::forget(g);
        *self.n.lock() += 1;
    }
    fn destructured_by_ref(&self) {
        let Store { ref n, .. } = *self;
        let _g = n.lock();
        *self.n.lock() += 1;
    }
    fn part_of_a_handle(&self) {
        let inner = Arc::clone(&self.inner);
        let _g = inner.m.lock();
        self.inner.m.lock().clear();
    }
    fn part_of_a_reborrowed_handle(&self) {
        let inner = &*self.inner;
        let _g = inner.m.lock();
        self.inner.m.lock().clear();
    }
    fn part_as_ref(&self) {
        self.inner
            .as_ref()
            .m
            .lock()
            .push(self.inner.m.lock().len() as u8);
    }
    fn lockref(&self) -> &RwLock<HashMap<u8, String>, __Store_map> {
        &self.map
    }
    fn lent_by_a_method(&self) {
        let _g = self.lockref().read();
        self.map.write().clear();
    }
    fn of_an_argument_of_the_same_type(&self, other: &Store) {
        let _g = other.n.lock();
        *other.n.lock() += 1;
    }
    fn elements_of_a_tuple(&self) {
        let (a, b) = (&self.pair.0, &self.pair.1);
        let _x = a.lock();
        let _y = b.lock();
        *self.pair.1.lock() += 1;
    }
    fn before_and_after_a_question_mark(&self) -> Option<u8> {
        let g = self.opt.lock();
        let v = (*g)?;
        drop(self.opt.lock());
        Some(v)
    }
    fn boxed(&self) {
        let g = Box::new(self.n.lock());
        work(**g);
        *self.n.lock() += 1;
    }
    fn pushed_to_an_empty_vec(&self) {
        let mut gs = vec![];
        gs.push(self.n.lock());
        *self.n.lock() += 1;
        work(gs.len());
    }
    fn inserted_into_a_map(&self) {
        let mut gs = HashMap::new();
        gs.insert(1, self.n.lock());
        *self.n.lock() += 1;
        work(gs.len());
    }
    fn some_or_return(&self, c: bool) {
        let g = if c { Some(self.n.lock()) } else { return };
        *self.n.lock() += 1;
        drop(g);
    }
    fn one_of_several_arms(&self, c: u8) {
        let g = match c {
            0 => self.n.lock(),
            1 => {
                work(1);
                self.n.lock()
            }
            _ => unreachable!(),
        };
        *self.n.lock() += *g;
    }
    fn labelled_block_without_another_end(&self) {
        let g = 'l: {
            break 'l self.n.lock();
        };
        *self.n.lock() += *g;
    }
    fn unsafe_block(&self) {
        let g = unsafe {
            std::hint::assert_unchecked(true);
            self.n.lock()
        };
        *self.n.lock() += *g;
    }
    fn inside_its_own_block(&self) {
        let n = {
            let g = self.n.lock();
            *g + *self.n.lock()
        };
        work(n);
    }
    fn returned_by_a_closure_called_at_once(&self) {
        let g = (|| self.n.lock())();
        *self.n.lock() += *g;
    }
    fn returned_by_a_named_closure(&self) {
        let take = || self.n.lock();
        let g = take();
        *self.n.lock() += *g;
    }
    fn match_that_returns_an_error(&self) -> Result<(), ()> {
        let g = match self.n.try_lock() {
            Some(g) => g,
            None => return Err(()),
        };
        *self.n.lock() += *g;
        Ok(())
    }
    fn let_else_with_a_timeout(&self) {
        let Some(g) = self.n.try_lock_for(std::time::Duration::ZERO) else {
            panic!()
        };
        *self.n.lock() += *g;
    }
    fn let_chain(&self) {
        if let Some(g) = self.n.try_lock()
            && *g > 1
        {
            *self.n.lock() += *g;
        }
    }
    fn expected(&self) {
        let g = self.n.try_lock().expect("free");
        *self.n.lock() += *g;
    }
    fn assigned_in_an_inner_block(&self) {
        let x;
        {
            x = self.n.lock();
        }
        *self.n.lock() += *x;
    }
    fn map_then_for_each(&self) {
        self.set
            .lock()
            .iter()
            .map(|x| self.set.lock().contains(x))
            .for_each(drop);
    }
    fn flat_map(&self) -> Vec<u8> {
        self.q
            .lock()
            .iter()
            .flat_map(|_| self.q.lock().clone())
            .collect()
    }
    fn retain_in_an_entry(&self) {
        self.tree
            .write()
            .entry(1)
            .or_default()
            .retain(|x| self.tree.read().contains_key(x));
    }
    fn for_each_of_an_array(&self) {
        let g = self.n.lock();
        [1, 2].iter().for_each(|_| *self.n.lock() += 1);
        work(*g);
    }
    fn map_of_some(&self) {
        let g = self.n.lock();
        Some(1).map(|x| x + *self.n.lock());
        work(*g);
    }
    fn filter_in_a_for(&self) {
        let g = self.n.lock();
        for i in (0..3).filter(|i| *i < *self.n.lock()) {
            work(i);
        }
        work(*g);
    }
    fn sort_of_another(&self) {
        let g = self.n.lock();
        let mut v = vec![3, 1];
        v.sort_by_key(|x| x + *self.n.lock());
        work(*g);
    }
    fn repeat_with(&self) {
        let g = self.n.lock();
        let v: Vec<u32> = std::iter::repeat_with(|| *self.n.lock()).take(2).collect();
        work((*g, v));
    }
    fn array_from_fn(&self) {
        let g = self.n.lock();
        let a: [u32; 2] = std::array::from_fn(|_| *self.n.lock());
        work((*g, a));
    }
    fn unwrap_or_else_of_a_guard(&self) {
        let g = self.map.read();
        let v = g
            .get(&1)
            .cloned()
            .unwrap_or_else(|| self.map.write().remove(&2).unwrap_or_default());
        work(v);
    }
    fn match_of_a_guard(&self) {
        let g = self.map.read();
        let v = match g.get(&1) {
            Some(v) => v.clone(),
            None => self.map.write().remove(&2).unwrap_or_default(),
        };
        work(v);
    }
    fn mapped_guard(&self) {
        let g = MutexGuard::map(self.q.lock(), |q| q.front_mut().unwrap());
        self.q.lock().push_back(*g);
    }
    fn element_by_a_literal(&self) {
        let g = self.table[2].read();
        *self.table[2].write() = *g;
    }
    fn element_of_a_reference(&self) {
        let t = &self.table;
        let g = t[2].read();
        *self.table[2].write() = *g;
    }
    fn element_of_a_for(&self) {
        for t in &self.table {
            let g = t.read();
            *t.write() = *g;
        }
    }
    fn element_of_for_each(&self) {
        self.table.iter().for_each(|t| {
            let g = t.read();
            *t.write() = *g;
        });
    }
    fn asserted_equal(&self) {
        println!("{}", *self.n.lock());
        assert_eq!(*self.n.lock(), *self.n.lock());
    }
    fn formatted_twice(&self) {
        let s = format!("{} {}", self.n.lock(), self.n.lock());
        work(s);
    }
    fn renamed(&self) {
        let g = self.n.lock();
        let h = g;
        *self.n.lock() += *h;
    }
    fn in_a_loop_that_leaves_early(&self) {
        let mut g = self.n.lock();
        loop {
            *g += 1;
            if *g > 3 {
                break;
            }
            *self.n.lock() += 1;
        }
    }
    fn borrowed_some(&self) {
        let g = Some(self.n.lock());
        if let Some(g) = &g {
            *self.n.lock() += **g;
        }
    }
    fn tuple_of_a_block(&self) {
        let (g, x) = {
            let g = self.n.lock();
            let x = *g;
            (g, x)
        };
        *self.n.lock() += x;
        drop(g);
    }
    fn match_that_waits_first(&self) {
        let g = match self.n.try_lock() {
            None => {
                work(1);
                self.n.lock()
            }
            Some(g) => g,
        };
        *self.n.lock() += *g;
    }
    fn typed_vec(&self) {
        let mut held: Vec<MutexGuard<'_, u32>> = Vec::with_capacity(2);
        for _ in 0..2 {
            held.push(self.n.lock());
        }
    }
    fn collected_by_a_closure(&self) {
        let held: Vec<_> = (0..2).map(|_| self.n.lock()).collect();
        work(held.len());
    }
    fn typed_guard(&self) {
        let g: RwLockReadGuard<'_, _> = RwLock::read(&self.map);
        self.map.write().clear();
        work(g.len());
    }
    fn in_a_scope_with_others(&self) {
        let mut g = self.n.lock();
        std::thread::scope(|s| {
            s.spawn(|| ());
            *self.n.lock() += 1;
        });
        *g += 1;
    }
}

fn main() {}
