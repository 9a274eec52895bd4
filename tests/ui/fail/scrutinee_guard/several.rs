use instrumented_lock::{Mutex, instrumented};
use std::sync::mpsc::Receiver;

#[instrumented]
struct Pool {
    jobs: Mutex<Receiver<fn()>>,
    last: Mutex<Option<fn()>>,
}

#[instrumented]
impl Pool {
    // The receiver is locked while the job runs: one job at a time.
    fn run(&self) {
        while let Ok(job) = self.jobs.lock().recv() {
            job();
        }
        if let Some(job) = self.last.lock().take() {
            job();
        }
    }
}

fn main() {}
