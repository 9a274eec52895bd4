use instrumented_lock::{Mutex, instrumented};

#[instrumented]
enum State {
    #[lock(name = "running")]
    Running(Mutex<u8>),
}

fn main() {}
