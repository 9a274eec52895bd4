//! Still more shapes, one a method.
#![allow(unused)]

use instrumented_lock::*;
use std::collections::*;
use std::sync::Arc;
#[instrumented]
#[derive(Default)]
struct S {
    v: Mutex<Vec<u8>>,
    map: RwLock<HashMap<u8, u8>>,
    flag: Mutex<bool>,
    rw: RwLock<u8>,
    a: Mutex<Stats>,
    b: Mutex<Stats>,
}
#[derive(Default, Clone, Copy)]
struct Stats {
    len: usize,
    cap: usize,
}
fn work<T>(_: T) {}
#[instrumented]
impl S {
    fn extended_from_itself(&self) {
        self.v.lock().extend_from_slice(&self.v.lock());
    }
    fn swapped_with_itself(&self) {
        std::mem::swap(&mut *self.a.lock(), &mut *self.a.lock());
    }
    fn field_from_another_field(&self) {
        self.a.lock().len = self.a.lock().cap;
    }
    fn fields_of_a_literal(&self) {
        work(Stats {
            len: self.v.lock().len(),
            cap: self.v.lock().capacity(),
        });
    }
    fn last_by_index(&self) {
        let v = self.v.lock()[self.v.lock().len() - 1];
        work(v);
    }
    fn then_of_a_flag(&self) {
        self.flag.lock().then(|| *self.flag.lock() = false);
    }
    fn iterator_of_a_variable(&self) {
        let g = self.v.lock();
        let it = g.iter();
        let n: usize = it.map(|_| self.v.lock().len()).sum();
        work(n);
    }
    fn closure_called_in_a_for(&self) {
        let update = |x: u8| self.v.lock().push(x);
        for x in self.v.lock().iter() {
            update(*x);
        }
    }
    fn compared_in_a_sort(&self) {
        let mut order = vec![1u8, 2];
        order.sort_by(|a, b| self.map.read()[a].cmp(&self.map.read()[b]));
    }
    fn entry_by_its_path(&self) {
        HashMap::entry(&mut self.map.write(), 1).or_insert_with(|| self.map.read().len() as u8);
    }
    fn map_by_its_path(&self) {
        let n = Option::map(self.map.read().get(&1), |v| {
            *v as usize + self.map.read().len()
        });
        work(n);
    }
    fn upgraded_under_a_read(&self) {
        let g = self.rw.read();
        let u = RwLockUpgradableReadGuard::upgrade(self.rw.upgradable_read());
        work(*g + *u);
    }
    fn write_under_an_upgradable(&self) {
        let up = self.rw.upgradable_read();
        if *up > 1 {
            *self.rw.write() = 1;
        }
    }
    fn extended_from_within(&self) {
        self.v.lock().extend_from_within(..self.v.lock().len());
    }
    fn asserted(&self) {
        assert!(self.v.lock().len() == self.v.lock().capacity());
    }
    fn try_map(&self) {
        let g = MutexGuard::try_map(self.v.lock(), |v| v.first_mut());
        self.v.lock().push(1);
        work(g.is_ok());
    }
    fn queue_of_guards(&self) {
        let mut q = VecDeque::new();
        q.push_back(self.v.lock());
        self.v.lock().push(1);
        work(q.len());
    }
    fn tuple_in_a_tuple(&self) {
        let t = (1, (self.v.lock(), 2));
        self.v.lock().push((t.1).1);
    }
    fn pattern_in_a_pattern(&self) {
        let ((g, _), _) = ((self.v.lock(), 1), 2);
        self.v.lock().push(g[0]);
    }
    fn out_of_two_blocks(&self) {
        let g = {
            let (g, n) = (self.v.lock(), 1);
            work(n);
            g
        };
        self.v.lock().push(g[0]);
    }
    fn arms_with_conditions(&self, o: Option<u8>) {
        let g = match o {
            Some(n) if n > 1 => self.v.lock(),
            Some(_) => return,
            None => self.v.lock(),
        };
        self.v.lock().push(g[0]);
    }
    fn alias_of_an_alias(&self) {
        let s = self;
        let t = s;
        let g = t.v.lock();
        s.v.lock().push(g[0]);
    }
    fn pattern_of_a_reference(&self) {
        let &S { ref v, .. } = self;
        let g = v.lock();
        self.v.lock().push(g[0]);
    }
    fn pattern_with_a_new_name(&self) {
        let S { v, map: m, .. } = &self;
        let g = m.read();
        v.lock().push(1);
        m.write().insert(1, g[&1]);
    }
    fn handle_of_self(self: Arc<Self>) {
        let me = Arc::clone(&self);
        let g = me.v.lock();
        self.v.lock().push(g[0]);
    }
    fn self_in_a_handle(self: &Arc<Self>) {
        let g = self.v.lock();
        self.v.lock().push(g[0]);
    }
    fn exclusive_self(&mut self) {
        let g = self.v.lock();
        work(g.len());
        self.v.lock().push(1);
    }
    fn in_a_closure_called_at_once(&self) {
        let lock = &self.v;
        (|| {
            let g = lock.lock();
            lock.lock().push(g[0]);
        })();
    }
    fn or_else_of_a_result(&self) {
        let r: Result<u8, usize> = Err(1);
        let n = r.or_else(|_| {
            let g = self.v.lock();
            if g.is_empty() {
                Err(self.v.lock().len())
            } else {
                Ok(1)
            }
        });
        work(n.is_ok());
    }
    fn two_loops(&self) {
        'outer: for i in 0..2 {
            let g = self.v.lock();
            for _ in 0..2 {
                if g.is_empty() {
                    continue 'outer;
                }
                self.v.lock().push(i);
            }
        }
    }
}
fn main() {}
