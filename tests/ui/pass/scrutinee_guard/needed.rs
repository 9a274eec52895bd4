//! Scrutinees that need the guard, or let go of it before the blocks.

use instrumented_lock::{Mutex, MutexGuard, RwLock, instrumented};
use std::collections::HashMap;

enum State {
    Idle,
    Running(String),
}

#[instrumented]
pub(crate) struct Pool {
    state: Mutex<State>,
    jobs: Mutex<Vec<(u8, String)>>,
    names: RwLock<HashMap<u8, String>>,
    pairs: Mutex<HashMap<u8, Option<u8>>>,
}

fn work<T>(_: T) {}

#[instrumented]
impl Pool {
    fn by_reference(&self) {
        match &*self.state.lock() {
            State::Idle => work(0),
            State::Running(name) => work(name),
        }
        match *self.state.lock() {
            State::Running(ref mut name) => name.push('.'),
            State::Idle => work(0),
        }
        if let State::Running(ref name) = *self.state.lock() {
            work(name);
        }
    }

    fn an_entry(&self) {
        if let Some(name) = self.names.read().get(&1) {
            work(name);
        }
        match self.pairs.lock().entry(1).or_default() {
            Some(value) => *value += 1,
            none => *none = Some(1),
        }
        if let Some(job) = self.jobs.lock().last_mut() {
            job.1.push('.');
        }
    }

    fn jobs(&self) -> MutexGuard<'_, Vec<(u8, String)>> {
        self.jobs.lock()
    }

    fn by_a_method(&self) {
        if let Some(job) = self.jobs().first() {
            work(job);
        }
        for job in self.jobs().drain(..) {
            work(job);
        }
    }

    fn iterated(&self) {
        for (id, name) in self.jobs.lock().iter() {
            work((id, name));
        }
        for name in self.names.read().values().map(String::as_str) {
            work(name);
        }
        for job in self
            .jobs
            .lock()
            .iter()
            .map(|job| &job.1)
            .collect::<Vec<_>>()
        {
            work(job);
        }
        for name in self.names.read().values().cloned() {
            work(name);
        }
    }

    fn largest(&self) {
        if let Some(job) = self.jobs.lock().iter().max_by_key(|job| job.0) {
            work(job);
        }
        if let Some(job) = self.jobs.lock().iter().max() {
            work(job);
        }
    }

    fn first_of_both(&self) {
        if let (Some(one), Some(two)) = (self.jobs.lock().first(), self.names.read().get(&1)) {
            work((one, two));
        }
    }

    fn in_a_let(&self) {
        let len = self.jobs.lock().len();
        match len {
            0 => work(0),
            len => work(len),
        }
        let ids: Vec<_> = self.jobs.lock().iter().map(|job| job.0).collect();
        for id in ids {
            work(id);
        }
    }

    fn in_a_block(&self) {
        while let Some(job) = {
            let job = self.jobs.lock().pop();
            job
        } {
            work(job);
        }
    }

    fn only_a_value(&self) -> Result<u8, String> {
        let first = match self.jobs.lock().first() {
            Some(first) => first.0,
            None => return Err("none".into()),
        };
        match self.jobs.lock().len() {
            0 => Err(format!("{first}")),
            1 => Ok(first),
            len => Ok(first + len as u8),
        }
    }

    fn conditions(&self) {
        if *self.pairs.lock() == HashMap::new() {
            work(0);
        }
        while self.jobs.lock().len() > 3 {
            work(self.jobs.lock().pop());
        }
        if matches!(*self.state.lock(), State::Idle) {
            work(1);
        }
    }

    fn a_guard_with_a_name(&self) {
        let state = self.state.lock();
        match *state {
            State::Idle => work(0),
            State::Running(_) => work(1),
        }
        match self.jobs.try_lock() {
            Some(jobs) => work(jobs.len()),
            None => work(0),
        }
        if let Some(_) = self.names.try_read() {
            work(2);
        }
    }
}

pub(crate) fn main() {
    let pool = Pool {
        state: Mutex::new(State::Running("a".into())),
        jobs: Mutex::new(vec![(1, "a".into())]),
        names: RwLock::default(),
        pairs: Mutex::default(),
    };
    pool.by_reference();
    *pool.state.lock() = State::Idle;
    pool.an_entry();
    pool.iterated();
    pool.by_a_method();
    pool.largest();
    pool.first_of_both();
    pool.in_a_let();
    let _ = pool.only_a_value();
    pool.conditions();
    pool.in_a_block();
    pool.a_guard_with_a_name();
}
