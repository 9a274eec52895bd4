use instrumented_lock::{Mutex, RwLock, instrumented};
use std::collections::HashMap;

#[instrumented]
#[derive(Default)]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<HashMap<u8, String>>,
    state: Mutex<Option<u8>>,
}

fn work<T>(_: T) {}

#[instrumented]
impl Store {
    fn in_a_let(&self) {
        let last = self.log.lock().pop();
        if let Some(last) = last {
            work(last);
        }
    }

    fn may_borrow(&self) {
        for entry in self.log.lock().iter() {
            work(entry);
        }
        for entry in self.log.lock().iter().cloned().take(2) {
            work(entry);
        }
        if let Some(name) = self.index.read().get(&1) {
            work(name);
        }
        match *self.state.lock() {
            Some(ref mut state) => *state += 1,
            None => work(0),
        }
        match self.state.lock().as_mut() {
            Some(state) => work(state),
            None => {}
        }
        if let Some(state) = &mut *self.state.lock() {
            work(state);
        }
        for entry in self.log.lock().drain(..) {
            work(entry);
        }
        match self.state.lock().insert(1) {
            state => work(*state),
        }
    }

    fn ends_with_the_condition(&self) {
        if self.log.lock().is_empty() {
            work(0);
        }
        while self.log.lock().pop().is_some() {
            work(0);
        }
    }

    fn only_gives_a_value(&self) -> Result<u8, u8> {
        match self.log.lock().pop() {
            Some(last) => Ok(last),
            None => return Err(0),
        }
    }

    fn the_guard_itself(&self) {
        if let Some(mut log) = self.log.try_lock() {
            log.push(1);
        }
        match self.state.lock() {
            mut state => *state = None,
        }
    }

    fn a_guard_with_a_name(&self) {
        let mut log = self.log.lock();
        while let Some(last) = log.pop() {
            work(last);
        }
    }

    fn allowed(&self) {
        #[lock(allow(scrutinee_guard))]
        while let Some(last) = self.log.lock().pop() {
            work(last);
        }
    }
}

#[instrumented(deny(scrutinee_guard))]
impl Store {
    #[instrumented(allow(scrutinee_guard))]
    fn allowed_method(&self) {
        for entry in self.log.lock().iter() {
            work(entry);
        }
    }
}

pub(crate) fn main() {
    let store = Store::default();
    store.in_a_let();
    store.may_borrow();
    store.ends_with_the_condition();
    let _ = store.only_gives_a_value();
    store.the_guard_itself();
    store.a_guard_with_a_name();
    store.allowed();
    store.allowed_method();
}
