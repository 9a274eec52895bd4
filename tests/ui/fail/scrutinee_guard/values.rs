//! Scrutinees of which only a value is needed.

use instrumented_lock::{Mutex, RwLock, instrumented};
use std::collections::HashMap;

#[derive(Clone, Copy, PartialEq)]
enum State {
    Idle,
    Running(u8),
}

struct Job {
    id: u8,
    name: String,
}

#[instrumented]
struct Pool {
    state: Mutex<State>,
    jobs: Mutex<Vec<Job>>,
    names: RwLock<HashMap<u8, String>>,
    limit: RwLock<usize>,
    current: Mutex<Job>,
}

fn work<T>(_: T) {}

#[instrumented]
impl Pool {
    fn compared(&self) {
        match self.jobs.lock().len() > 3 {
            true => work(1),
            false => {}
        }
    }

    fn compared_with_another(&self) {
        match self.jobs.lock().len().cmp(&*self.limit.read()) {
            std::cmp::Ordering::Greater => work(1),
            _ => {}
        }
    }

    fn equal(&self) {
        if let true = *self.state.lock() == State::Idle {
            work(1);
        }
    }

    fn a_tuple(&self) {
        match (self.jobs.lock().len(), self.names.read().is_empty()) {
            (0, true) => work(0),
            _ => work(1),
        }
    }

    fn a_tuple_of_copies(&self) {
        match (*self.state.lock(), *self.limit.read()) {
            (State::Idle, limit) => work(limit),
            _ => {}
        }
    }

    fn copied(&self) {
        match *self.state.lock() {
            State::Idle => work(0),
            State::Running(id) => work(id),
        }
    }

    fn copied_if(&self) {
        if let State::Running(id) = *self.state.lock() {
            work(id);
        }
    }

    fn copied_while(&self) {
        while let State::Running(id) = *self.state.lock() {
            work(id);
        }
    }

    fn a_copied_field(&self) {
        match self.current.lock().id {
            0 => work(0),
            id => work(id),
        }
    }

    fn cast(&self) {
        match *self.limit.read() as u8 {
            0 => work(0),
            limit => work(limit),
        }
    }

    fn converted(&self) {
        match u8::try_from(self.jobs.lock().len()) {
            Ok(len) => work(len),
            Err(error) => work(error),
        }
    }

    fn wrapped(&self) {
        if let Some(len) = Some(self.jobs.lock().len()) {
            work(len);
        }
    }

    fn calculated(&self) {
        match self.jobs.lock().len() + 1 {
            1 => work(0),
            more => work(more),
        }
    }

    fn subtracted(&self) {
        if let Some(rest) = self.limit.read().checked_sub(1) {
            work(rest);
        }
        if let Some(rest) = self.jobs.lock().len().checked_sub(1) {
            work(rest);
        }
    }

    fn popped_and_mapped(&self) {
        if let Some(name) = self.jobs.lock().pop().map(|job| job.name) {
            work(name);
        }
    }

    fn removed_or_not(&self) {
        match self.names.write().remove(&1).ok_or("none") {
            Ok(name) => work(name),
            Err(error) => work(error),
        }
    }

    fn collected(&self) {
        for id in self
            .jobs
            .lock()
            .iter()
            .map(|job| job.id)
            .collect::<Vec<_>>()
        {
            work(id);
        }
    }

    fn collected_clones(&self) {
        for name in self.names.read().values().cloned().collect::<Vec<_>>() {
            work(name);
        }
    }

    fn collected_drained(&self) {
        for job in self.jobs.lock().drain(..).collect::<Vec<_>>() {
            work(job.name);
        }
    }

    fn counted(&self) {
        for at in 0..self.jobs.lock().len() {
            work(at);
        }
    }

    fn summed(&self) {
        match self
            .jobs
            .lock()
            .iter()
            .map(|job| job.name.len())
            .sum::<usize>()
        {
            0 => work(0),
            sum => work(sum),
        }
    }

    fn found(&self) {
        if let Some(at) = self.jobs.lock().iter().position(|job| job.id == 1) {
            work(at);
        }
    }

    fn by_a_method(&self) {
        if let Some(job) = self.queue().pop() {
            work(job.name);
        }
    }

    fn queue(&self) -> instrumented_lock::MutexGuard<'_, Vec<Job>> {
        self.jobs.lock()
    }

    fn given_to_a_function(&self) {
        match twice(self.jobs.lock().len()) {
            0 => work(0),
            len => work(len),
        }
    }
}

fn twice(len: usize) -> usize {
    2 * len
}

fn main() {}
