//! More shapes, one a method, that compile and run.

use instrumented_lock::{
    Condvar, Mutex, MutexGuard, RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard, instrumented,
};
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
#[instrumented]
#[derive(Default)]
pub(crate) struct Store {
    q: Mutex<VecDeque<u8>>,
    map: RwLock<HashMap<u8, String>>,
    n: Mutex<u32>,
    m: Mutex<u32>,
    opt: Mutex<Option<u8>>,
    name: Mutex<String>,
    cv: Condvar,
    #[lock]
    shared: Arc<Mutex<u32>>,
    shards: Vec<Mutex<u32>>,
    by_key: HashMap<u8, Mutex<u32>>,
    dev: Dev,
    file: Fileish,
    pool: Vec<Dev>,
}
#[derive(Default, Clone)]
struct Dev(Cell<u32>);
impl Dev {
    fn read(&self) -> u32 {
        self.0.get()
    }
    fn write(&self) -> Option<u32> {
        Some(1)
    }
    fn lock(&mut self) -> u32 {
        1
    }
    fn try_lock(&self) -> Option<u32> {
        None
    }
}
#[derive(Default)]
struct Fileish;
impl Fileish {
    fn lock(&self) -> std::io::Result<()> {
        Ok(())
    }
    async fn read(&self) -> u8 {
        1
    }
    fn write(&self) -> std::future::Ready<u8> {
        std::future::ready(1)
    }
}
fn work<T>(_: T) {}
async fn send<T>(_: T) {}
struct Spawner;
impl Spawner {
    fn map<F: Fn() + 'static>(&self, _: F) {}
    fn for_each<F: Fn(u8) + 'static>(&self, _: F) {}
    fn retain(&self) {}
}
#[instrumented]
impl Store {
    fn two_statements(&self) -> u32 {
        let a = *self.n.lock();
        let b = *self.n.lock();
        a + b
    }
    fn dropped_at_the_end_of_if_let(&self) {
        if let Some(v) = self.map.read().get(&1) {
            work(v.len());
        }
        self.map.write().clear();
    }
    fn value_in_a_let(&self) {
        let v = self.map.read().get(&1).cloned();
        match v {
            Some(v) => work(v),
            None => {
                self.map.write().insert(1, String::new());
            }
        }
    }
    fn dropped_and_taken_again(&self) {
        let mut g = self.n.lock();
        *g += 1;
        drop(g);
        let mut g = self.n.lock();
        *g += 1;
    }
    fn two_blocks(&self) {
        {
            let _g = self.n.lock();
        }
        {
            let _g = self.n.lock();
        }
    }
    fn each_turn(&self) {
        for _ in 0..3 {
            let mut g = self.n.lock();
            *g += 1;
        }
    }
    fn unlocked_meanwhile(&self) {
        let mut g = self.n.lock();
        for _ in 0..3 {
            MutexGuard::unlocked(&mut g, || *self.n.lock() += 1);
        }
    }
    fn dropped_in_a_tuple(&self) {
        let g = self.n.lock();
        let h = self.m.lock();
        drop((g, h));
        let _g = self.n.lock();
        let _h = self.m.lock();
    }
    fn guards_of_all_elements(&self) {
        let mut v = Vec::new();
        for s in &self.shards {
            v.push(s.lock());
        }
        v.iter().for_each(|g| work(**g));
    }
    fn collected_guards_of_all_elements(&self) {
        let v: Vec<_> = self.shards.iter().map(|s| s.lock()).collect();
        work(v.len());
    }
    fn one_at_a_time(&self) {
        let v: u32 = self.shards.iter().map(|s| *s.lock()).sum();
        work(v);
        let w: Vec<u32> = (0..3).map(|_| *self.n.lock()).collect();
        work(w);
    }
    fn neighbours(&self) {
        for i in 0..self.shards.len() {
            let a = self.shards[i].lock();
            if i + 1 < self.shards.len() {
                let b = self.shards[i + 1].lock();
                work(*a + *b);
            }
        }
    }
    fn zipped_neighbours(&self) {
        for (a, b) in self.shards.iter().zip(self.shards.iter().skip(1)) {
            let x = a.lock();
            let y = b.lock();
            work(*x + *y);
        }
    }
    fn two_halves(&self) {
        let (a, b) = self.shards.split_at(1);
        let x = a[0].lock();
        let y = b[0].lock();
        work(*x + *y);
    }
    fn kept_element(&self) {
        let mut best = None;
        for s in &self.shards {
            let g = s.lock();
            if best.is_none() {
                best = Some(g);
            }
        }
        work(best.is_some());
    }
    fn elements_by_key(&self) {
        let g = self.by_key[&1].lock();
        work(*g + *self.by_key[&2].lock());
    }
    fn elements_by_get(&self) {
        let a = self.by_key.get(&1).unwrap().lock();
        let b = self.by_key.get(&2).unwrap().lock();
        work(*a + *b);
    }
    fn device_by_value(&mut self) -> u32 {
        self.dev.lock() + self.dev.lock() + self.dev.read() + self.dev.read()
    }
    fn device_dropped(&self) {
        let _ = self.dev.write();
        let _ = self.dev.try_lock();
        self.dev.read();
        let _ = self.file.lock();
        match self.dev.read() {
            _ => work(1),
        }
    }
    fn device_in_a_scrutinee(&self) {
        if let Some(x) = self.dev.write().filter(|x| *x > 1) {
            work(x);
            self.dev.write();
        }
    }
    fn list_of_devices(&self) {
        for d in &self.pool {
            work(d.read() + d.read());
        }
        self.pool.iter().for_each(|d| work(d.read() | d.read()));
    }
    async fn async_file(&self) {
        let r = self.file.read();
        send(1).await;
        let w = self.file.write();
        work(r.await + w.await);
        self.file.write().await;
    }
    async fn awaited_in_a_tuple(&self) {
        let x = self.file.write().into_inner();
        send(x).await;
        let (a, b) = (self.file.write().await, self.file.write().await);
        work(a + b);
    }
    async fn block_before_an_await(&self) {
        let v = {
            let g = self.n.lock();
            *g
        };
        send(v).await;
        let w = self.n.lock().clone();
        send(w).await;
    }
    async fn dropped_where_it_awaits(&self, c: bool) {
        let mut g = self.n.lock();
        *g += 1;
        if c {
            drop(g);
            send(1).await;
            return;
        }
        *g += 1;
    }
    async fn mem_drop_before_an_await(&self) {
        let g = self.n.lock();
        let n = *g;
        std::mem::drop(g);
        send(n).await;
    }
    async fn loop_that_leaves(&self) {
        loop {
            let n = {
                let g = self.n.lock();
                if *g > 3 {
                    break;
                }
                *g
            };
            send(n).await;
            *self.n.lock() += 4;
        }
    }
    async fn future_made_under_the_lock(&self) {
        let f = {
            let g = self.n.lock();
            send(*g)
        };
        f.await;
        if *self.n.lock() > 1 {
            send(1).await;
        }
    }
    async fn queue_taken_out(&self) {
        let q = std::mem::take(&mut *self.q.lock());
        for x in q {
            send(x).await;
        }
        while let Some(x) = {
            let x = self.q.lock().pop_front();
            x
        } {
            send(x).await;
        }
    }
    async fn moved_into_a_future(&self) {
        let g = self.n.lock();
        let fut = async move {
            drop(g);
            send(1).await;
        };
        fut.await;
    }
    fn closure_of_another_lock(&self) {
        let g = self.n.lock();
        let f = || *self.m.lock();
        work(f() + *g);
    }
    fn closure_called_later(&self) {
        let f = || *self.n.lock();
        {
            let g = self.n.lock();
            work(*g);
        }
        work(f());
    }
    fn closure_that_has_the_guard(&self) {
        let g = self.n.lock();
        let f = move || *g;
        work(f());
        drop(f);
        work(*self.n.lock());
    }
    fn option_mapped(&self) {
        let g = Some(self.n.lock());
        g.map(|g| *g);
        work(*self.n.lock());
    }
    fn option_taken(&self) {
        let mut g = Some(self.n.lock());
        drop(g.take());
        work(*self.n.lock());
        g = None;
        work(g.is_none());
    }
    fn option_overwritten(&self) {
        let mut g = Some(self.n.lock());
        g = None;
        work(*self.n.lock());
        work(g.is_none());
    }
    fn taken_again_in_a_branch(&self) {
        let mut g = self.n.lock();
        if *g == 0 {
            drop(g);
            *self.n.lock() += 1;
            g = self.n.lock();
        }
        *g += 1;
    }
    fn option_of_a_match(&self) {
        let g = match self.n.try_lock() {
            Some(g) => Some(g),
            None => None,
        };
        if let Some(g) = g {
            work(*g);
        }
        work(*self.n.lock());
    }
    fn let_else_that_waits(&self) {
        let Some(g) = self.n.try_lock() else {
            work(*self.n.lock());
            return;
        };
        work(*g);
    }
    fn match_that_waits(&self) {
        match self.n.try_lock() {
            Some(g) => work(*g),
            None => {
                let g = self.n.lock();
                work(*g)
            }
        }
        work(*self.n.lock());
    }
    fn upgraded_or_dropped(&self) {
        let r = self.map.upgradable_read();
        if r.is_empty() {
            let mut w = RwLockUpgradableReadGuard::upgrade(r);
            w.insert(1, String::new());
        } else {
            drop(r);
            self.map.write().clear();
        }
    }
    fn downgraded(&self) {
        let w = self.map.write();
        let r = RwLockWriteGuard::downgrade(w);
        work(r.len());
        drop(r);
        self.map.write().clear();
    }
    fn waited(&self) {
        let mut g = self.q.lock();
        while g.is_empty() {
            if true {
                break;
            }
            self.cv.wait(&mut g);
        }
        g.pop_front();
    }
    fn lockn(&self) -> MutexGuard<'_, u32> {
        self.n.lock()
    }
    fn locked<R>(&self, f: impl FnOnce(&mut u32) -> R) -> R {
        f(&mut self.n.lock())
    }
    fn by_methods(&self) {
        self.locked(|n| *n += 1);
        let n = *self.lockn();
        self.locked(|x| *x += n);
        drop(self.lockn());
        work(*self.lockn());
    }
    fn as_ref(&self) {
        match self.opt.lock().as_ref() {
            Some(x) => work(x),
            None => work(&0),
        }
    }
    fn arms_with_conditions(&self) {
        match self.q.lock().front() {
            Some(x) if *x > 1 => work(*x),
            Some(x) => work(*x),
            None => {}
        }
    }
    fn mutable_elements(&self) {
        if let Some(v) = self.map.write().get_mut(&1) {
            v.push('a');
        }
        for v in self.map.write().values_mut() {
            v.push('b');
        }
    }
    fn text(&self) {
        match self.name.lock().as_str() {
            "" => work(1),
            name => work(name.len()),
        }
        for c in self.name.lock().chars() {
            work(c);
        }
    }
    fn drained(&self) {
        for x in self.q.lock().drain(..) {
            work(x);
        }
        for x in self.q.lock().iter_mut() {
            *x += 1;
        }
    }
    fn only_a_value(&self) -> u8 {
        match self.opt.lock().take() {
            Some(x) => x,
            None => 0,
        }
    }
    fn only_a_text(&self) -> &'static str {
        match *self.n.lock() {
            0 => "zero",
            1 => "one",
            _ => "many",
        }
    }
    fn kept_closures(&self) {
        let spawner = Spawner;
        let s = self.shared.clone();
        let g = self.shared.lock();
        spawner.map(move || work(*s.lock()));
        let s = self.shared.clone();
        spawner.for_each(move |_| work(*s.lock()));
        work(*g);
    }
    fn thread_that_waits(&self) {
        let s = self.shared.clone();
        let t = std::thread::spawn(move || *s.lock());
        let g = self.shared.lock();
        work(*g);
        drop(g);
        t.join().unwrap();
    }
    fn another_shared_lock(&self) {
        let other = Arc::new(Mutex::<u32>::new(1));
        let g = self.shared.lock();
        let h = other.lock();
        work(*g + *h);
    }
    fn two_arguments(&self, a: &Mutex<u32>, b: &Mutex<u32>) {
        let x = a.lock();
        let y = b.lock();
        work(*x + *y);
    }
    fn other_instances(&self, a: &Self, b: &Store) {
        let x = a.n.lock();
        let y = b.n.lock();
        let z = self.n.lock();
        work(*x + *y + *z);
    }
    fn different_locks(&self) {
        self.q.lock().push_back(self.n.lock().count_ones() as u8);
        *self.n.lock() = self.q.lock().len() as u32;
    }
    fn defaults(&self) {
        let x = self
            .n
            .lock()
            .checked_add(1)
            .unwrap_or_else(|| *self.m.lock());
        work(x);
        let y = self.opt.lock().unwrap_or_default();
        work(y);
    }
    fn then_another(&self) -> Option<u32> {
        let g = self.n.lock();
        (*g > 100).then(|| *g + *self.m.lock())
    }
    fn other_names(&self) {
        let this = self;
        {
            let g = this.n.lock();
            work(*g);
        }
        work(*self.n.lock());
        let Store { n, m, .. } = self;
        let a = n.lock();
        let b = m.lock();
        work(*a + *b);
    }
    fn place_and_closure(&self) {
        let g = self.n.lock();
        let n = *g;
        let _ = g;
        work((|| 1)());
        work(n);
    }
    fn popped_guards(&self) {
        let mut gs = Vec::new();
        gs.push(self.n.lock());
        gs.pop();
        work(*self.n.lock());
        let mut gs = vec![self.m.lock()];
        gs.truncate(0);
        work(*self.m.lock());
        drop(gs);
    }
    fn in_turns(&self) {
        let mut g = self.n.lock();
        loop {
            if *g > 3 {
                break;
            }
            drop(g);
            *self.n.lock() += 2;
            g = self.n.lock();
        }
        work(*g);
    }
    fn cloned_queue(&self) {
        let mut it = self.q.lock().clone().into_iter();
        while let Some(x) = it.next() {
            self.q.lock().push_back(x);
            if x > 3 {
                break;
            }
        }
    }
    fn one_statement_after_the_other(&self) {
        let n = self
            .q
            .lock()
            .iter()
            .map(|x| *x as u32)
            .filter(|x| *x > 1)
            .sum::<u32>()
            + *self.n.lock();
        work(n);
        self.q.lock().retain(|x| *x > 1);
        self.q.lock().extend([1, 2].iter().map(|x| x + 1));
    }
    fn collected_before(&self) {
        let e = self.map.read();
        let v: Vec<_> = e.iter().map(|(k, v)| (*k, v.clone())).collect();
        drop(e);
        for (k, v) in v {
            self.map.write().insert(k, v);
        }
    }
    fn trait_method_of_a_lock(&self) {
        let _a = self.map.read_x();
    }
}
trait X {
    fn read_x(&self) -> u8;
}
impl<T, C> X for RwLock<T, C> {
    fn read_x(&self) -> u8 {
        1
    }
}
#[instrumented]
fn free(m: &Mutex<u32>, list: &[Mutex<u32>]) {
    let a = list[0].lock();
    let b = list[1].lock();
    work(*a + *b + *m.lock());
    drop((a, b));
    let v: Vec<_> = list.iter().map(|m| *m.lock()).collect();
    work(v);
    for m in list {
        work(*m.lock());
    }
}
pub(crate) fn main() {
    let mut by_key = HashMap::new();
    by_key.insert(1, Mutex::new(1));
    by_key.insert(2, Mutex::new(2));
    let mut store = Store {
        shards: vec![Mutex::new(1), Mutex::new(2)],
        by_key,
        pool: vec![Dev::default()],
        ..Default::default()
    };
    store.device_by_value();
    store.two_statements();
    store.dropped_at_the_end_of_if_let();
    store.value_in_a_let();
    store.dropped_and_taken_again();
    store.two_blocks();
    store.each_turn();
    store.unlocked_meanwhile();
    store.dropped_in_a_tuple();
    store.guards_of_all_elements();
    store.collected_guards_of_all_elements();
    store.one_at_a_time();
    store.neighbours();
    store.zipped_neighbours();
    store.two_halves();
    store.kept_element();
    store.elements_by_key();
    store.elements_by_get();
    store.device_dropped();
    store.device_in_a_scrutinee();
    store.list_of_devices();
    store.closure_of_another_lock();
    store.closure_called_later();
    store.closure_that_has_the_guard();
    store.option_mapped();
    store.option_taken();
    store.option_overwritten();
    store.taken_again_in_a_branch();
    store.option_of_a_match();
    store.let_else_that_waits();
    store.match_that_waits();
    store.upgraded_or_dropped();
    store.downgraded();
    store.waited();
    store.by_methods();
    store.as_ref();
    store.arms_with_conditions();
    store.mutable_elements();
    store.text();
    store.drained();
    store.only_a_value();
    store.only_a_text();
    store.kept_closures();
    store.thread_that_waits();
    store.another_shared_lock();
    store.different_locks();
    store.defaults();
    store.then_another();
    store.other_names();
    store.place_and_closure();
    store.popped_guards();
    store.in_turns();
    store.cloned_queue();
    store.one_statement_after_the_other();
    store.collected_before();
    store.trait_method_of_a_lock();
    store.two_arguments(&Mutex::<u32>::new(1), &Mutex::<u32>::new(1));
    store.other_instances(&Store::default(), &Store::default());
}
