//! Closures that run where they stand.

use instrumented_lock::{Mutex, RwLock, budget, instrumented};
use std::collections::{BTreeMap, HashMap};

#[instrumented]
struct Cache {
    map: RwLock<HashMap<String, u64>>,
    order: Mutex<Vec<String>>,
    best: Mutex<Option<u64>>,
    counts: Mutex<BTreeMap<u8, u64>>,
}

fn load(_: &str) -> u64 {
    0
}

#[instrumented]
impl Cache {
    // rust-lang/rust#37612
    fn unwrap_or_else(&self, key: &str) -> u64 {
        self.map.read().get(key).copied().unwrap_or_else(|| {
            let value = load(key);
            self.map.write().insert(key.to_owned(), value);
            value
        })
    }

    fn map(&self, key: &str) -> Option<u64> {
        self.map
            .read()
            .get(key)
            .map(|value| value + self.map.read().len() as u64)
    }

    fn and_then(&self) -> Option<u64> {
        self.best.lock().and_then(|_| *self.best.lock())
    }

    fn or_else(&self, key: &str) -> Option<u64> {
        self.map
            .read()
            .get(key)
            .copied()
            .or_else(|| self.map.write().remove(key))
    }

    fn map_or(&self, key: &str) -> u64 {
        self.map
            .read()
            .get(key)
            .map_or(0, |value| *value + self.map.read().len() as u64)
    }

    fn map_or_else(&self) -> usize {
        self.order
            .lock()
            .first()
            .map_or_else(|| self.order.lock().len(), String::len)
    }

    fn ok_or_else(&self, key: &str) -> Result<u64, usize> {
        self.map
            .read()
            .get(key)
            .copied()
            .ok_or_else(|| self.map.write().len())
    }

    fn is_some_and(&self) -> bool {
        self.best
            .lock()
            .is_some_and(|best| self.best.lock().is_some_and(|other| other > best))
    }

    fn map_err(&self) -> Result<u8, usize> {
        self.order.lock()[0]
            .parse::<u8>()
            .map_err(|_| self.order.lock().len())
    }

    fn entry(&self) {
        self.counts
            .lock()
            .entry(1)
            .or_insert_with(|| self.counts.lock().len() as u64);
    }

    fn and_modify(&self) {
        self.counts
            .lock()
            .entry(1)
            .and_modify(|count| *count += self.counts.lock().len() as u64);
    }

    fn get_or_insert_with(&self) -> u64 {
        *self
            .best
            .lock()
            .get_or_insert_with(|| self.best.lock().unwrap_or(0))
    }

    fn retain(&self) {
        self.map
            .write()
            .retain(|key, _| self.map.read().contains_key(key));
    }

    fn sort(&self) {
        self.order
            .lock()
            .sort_by_key(|name| self.order.lock().iter().position(|n| n == name));
    }

    fn sort_of_a_variable(&self) {
        let mut order = self.order.lock();
        order.sort_unstable_by(|one, two| {
            let len = self.order.lock().len();
            one.len().min(len).cmp(&two.len())
        });
    }

    fn for_each(&self) {
        self.order
            .lock()
            .iter()
            .for_each(|name| self.order.lock().push(name.clone()));
    }

    fn filter(&self) -> usize {
        self.order
            .lock()
            .iter()
            .filter(|name| self.order.lock().contains(*name))
            .count()
    }

    fn filter_map(&self) -> Vec<u64> {
        let map = self.map.write();
        let order = ["a"]
            .iter()
            .filter_map(|name| self.map.read().get(*name).copied())
            .collect();
        drop(map);
        order
    }

    fn any(&self) -> bool {
        self.map
            .read()
            .values()
            .any(|value| self.map.write().len() as u64 > *value)
    }

    fn fold(&self) -> usize {
        self.order
            .lock()
            .iter()
            .fold(0, |sum, name| sum + name.len() + self.order.lock().len())
    }

    fn in_a_for(&self) {
        for len in self
            .order
            .lock()
            .iter()
            .map(|name| name.len() + self.order.lock().len())
        {
            drop(len);
        }
    }

    fn extended(&self, all: &mut Vec<usize>) {
        all.extend(
            self.order
                .lock()
                .iter()
                .map(|name| name.len() + self.order.lock().len()),
        );
    }

    fn of_a_range(&self) -> usize {
        let order = self.order.lock();
        (0..order.len()).map(|at| self.order.lock()[at].len()).sum()
    }

    fn called_where_it_stands(&self) -> usize {
        let order = self.order.lock();
        order.len() + (|| self.order.lock().len())()
    }

    fn called_by_its_name(&self) -> usize {
        let len = || self.order.lock().len();
        let order = self.order.lock();
        order.len() + len()
    }

    fn in_a_scope(&self) {
        let order = self.order.lock();
        std::thread::scope(|_| self.order.lock().clear());
        drop(order);
    }

    fn measured(&self) {
        let _order = self.order.lock();
        budget::measure(|| self.order.lock().clear());
    }
}

fn main() {}
