//! Closures that run later, elsewhere, or without the guard.

use instrumented_lock::{Mutex, RwLock, instrumented};
use std::collections::HashMap;
use std::sync::Arc;

#[instrumented]
#[derive(Default)]
pub(crate) struct Cache {
    map: RwLock<HashMap<String, u64>>,
    order: Mutex<Vec<String>>,
    #[lock]
    shared: Arc<Mutex<Vec<u8>>>,
    jobs: Mutex<Jobs>,
}

/// Keeps closures for later, under names that an `Option` has too.
#[derive(Default)]
struct Jobs;

#[derive(Default)]
struct Job(Vec<Box<dyn FnOnce() + Send>>);

impl Jobs {
    fn start(&mut self) -> Job {
        Job::default()
    }
}

impl Job {
    fn and_then(mut self, next: impl FnOnce() + Send + 'static) -> Self {
        self.0.push(Box::new(next));
        self
    }

    fn map(self, next: impl FnOnce() + Send + 'static) -> Self {
        self.and_then(next)
    }

    fn run(self) {
        self.0.into_iter().for_each(|job| job());
    }
}

#[instrumented]
impl Cache {
    fn in_a_let(&self, key: &str) -> u64 {
        let known = self.map.read().get(key).copied();
        known.unwrap_or_else(|| {
            self.map.write().insert(key.to_owned(), 0);
            0
        })
    }

    fn another_lock(&self, key: &str) -> u64 {
        self.map
            .read()
            .get(key)
            .copied()
            .unwrap_or_else(|| self.order.lock().len() as u64)
    }

    fn spawned(&self) -> std::thread::JoinHandle<()> {
        let shared = Arc::clone(&self.shared);
        let guard = self.shared.lock();
        let thread = std::thread::spawn(move || shared.lock().push(1));
        drop(guard);
        thread
    }

    fn kept(&self) {
        let shared = self.shared.clone();
        let again = self.shared.clone();
        let job = self
            .jobs
            .lock()
            .start()
            .and_then(move || shared.lock().push(1));
        let guard = self.shared.lock();
        let job = job.map(move || again.lock().push(2));
        drop(guard);
        job.run();
    }

    fn lazy(&self) -> usize {
        let mut names = self.order.lock().clone().into_iter().map(|name| {
            self.order.lock().push(name.clone());
            name.len()
        });
        names.next().unwrap_or(0) + names.count()
    }

    fn lazy_from_a_guard(&self) -> usize {
        let order = self.order.lock();
        let lens: Vec<_> = order.iter().map(String::len).collect();
        drop(order);
        let sums = lens.iter().map(|len| len + self.order.lock().len());
        sums.sum()
    }

    fn dropped_in_it(&self) -> usize {
        let order = self.order.lock();
        let len = Some(order.len());
        len.map(|len| {
            drop(order);
            len + self.order.lock().len()
        })
        .unwrap_or(0)
    }

    fn returned(&self) -> impl Fn() -> usize + '_ {
        let len = self.order.lock().len();
        move || self.order.lock().len() + len
    }

    fn named(&self) -> usize {
        let len = || self.order.lock().len();
        let before = len();
        self.order.lock().clear();
        before + len()
    }

    fn named_before_another(&self) -> usize {
        let order = &self.order;
        let len = || order.lock().len();
        let order = &self.shared;
        let guard = order.lock();
        guard.len() + len()
    }

    fn one_after_the_other(&self) {
        self.order.lock().retain(|name| !name.is_empty());
        self.order.lock().sort_by_key(String::len);
        self.order.lock().iter_mut().for_each(|name| name.push('.'));
    }

    fn of_the_data(&self) {
        self.map
            .write()
            .retain(|key, value| key.len() as u64 > *value);
        let mut map = self.map.write();
        map.entry("a".into())
            .and_modify(|value| *value += 1)
            .or_insert_with(|| 0);
        drop(map);
        self.map
            .write()
            .entry("b".into())
            .or_insert_with(|| self.order.lock().len() as u64);
    }

    fn own_argument(&self) {
        let shared = self.shared.lock();
        [Mutex::<u8>::new(0)]
            .iter()
            .for_each(|shard| *shard.lock() += shared.len() as u8);
    }

    fn nothing_left(&self) -> usize {
        self.order
            .try_lock()
            .map(|order| order.len())
            .unwrap_or_else(|| self.order.lock().len())
    }
}

pub(crate) fn main() {
    let cache = Cache::default();
    cache.in_a_let("a");
    cache.another_lock("b");
    cache.spawned().join().unwrap();
    cache.kept();
    cache.lazy();
    cache.lazy_from_a_guard();
    cache.dropped_in_it();
    cache.returned()();
    cache.named();
    cache.named_before_another();
    cache.one_after_the_other();
    cache.of_the_data();
    cache.own_argument();
    cache.nothing_left();
}
