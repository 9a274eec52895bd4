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
    fn parsed(&self) {
        if let Ok(x) = self.name.lock().parse::<u8>() {
            work(x)
        }
    }
    fn option_take(&self) {
        if let Some(x) = Option::take(&mut self.opt.lock()) {
            work(x)
        }
    }
    fn mapped_to_a_len(&self) {
        if let Some(x) = self.map.read().get(&1).map(|v| v.len()) {
            work(x)
        }
    }
    fn mapped_by_clone(&self) {
        if let Some(x) = self.map.read().get(&1).map(Clone::clone) {
            work(x)
        }
    }
    fn reference_to_a_clone(&self) {
        match &self.name.lock().clone() {
            s => work(s),
        }
    }
    fn copied_element(&self) {
        match self.q.lock()[0] {
            0 => work(0),
            n => work(n),
        }
    }
    fn reversed_range(&self) {
        for i in (0..self.q.lock().len()).rev() {
            work(i)
        }
    }
    fn mem_take(&self) {
        for x in std::mem::take(&mut *self.q.lock()) {
            work(x)
        }
    }
    fn split_off(&self) {
        for x in self.q.lock().split_off(1) {
            work(x)
        }
    }
    fn chars_of_a_copy(&self) {
        for x in self.name.lock().to_string().chars() {
            work(x)
        }
    }
    fn copied_option(&self) {
        match *self.opt.lock() {
            Some(n) => work(n),
            None => work(0),
        }
    }
    fn tuple_with_a_literal(&self) {
        match (self.q.lock().len(), 1) {
            (0, _) => work(0),
            _ => work(1),
        }
    }
    fn smaller_of_two(&self) {
        match self.q.lock().len().min(3) {
            0 => work(0),
            n => work(n),
        }
    }
    fn filtered_option(&self) {
        if let Some(x) = self.q.lock().pop_front().filter(|x| *x > 1) {
            work(x)
        }
    }
    fn largest_copy(&self) {
        if let Some(x) = self.q.lock().iter().copied().max() {
            work(x)
        }
    }
    fn cast_and_added(&self) {
        match self.name.lock().len() as u8 + 1 {
            1 => work(0),
            n => work(n),
        }
    }
    fn negated_cast(&self) {
        match -(*self.n.lock() as i64) {
            0 => work(0),
            n => work(n),
        }
    }
    fn checked_add(&self) {
        match self.n.lock().checked_add(1) {
            Some(n) => work(n),
            None => {}
        }
    }
    fn converted(&self) {
        match u16::from(*self.pair.0.lock()) {
            0 => work(0),
            n => work(n),
        }
    }
    fn first_of_a_map(&self) {
        while let Some((_, v)) = self.tree.write().pop_first() {
            work(v)
        }
    }
    fn inserted_or_not(&self) {
        if let false = self.set.lock().insert(1) {
            work(1)
        }
    }
    fn replaced_in_a_map(&self) {
        match self.map.write().insert(1, String::new()) {
            Some(old) => work(old),
            None => work(0),
        }
    }
    fn cloned_map(&self) {
        for (k, v) in self.map.read().clone() {
            work((k, v))
        }
    }
    fn collected_keys(&self) {
        for k in self.map.read().keys().copied().collect::<Vec<_>>() {
            work(k)
        }
    }
}

fn main() {}
