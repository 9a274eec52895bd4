use instrumented_lock::{Mutex, instrumented};

#[instrumented(name = "state")]
enum State {
    Running(Mutex<u8>),
}

fn main() {}
