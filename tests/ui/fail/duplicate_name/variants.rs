use instrumented_lock::{Mutex, instrumented};

#[instrumented]
enum State {
    Running(#[lock(name = "running")] Mutex<u8>),
    Stopping {
        #[lock(name = "running")]
        log: Mutex<u8>,
    },
}

fn main() {}
