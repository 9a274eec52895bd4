use instrumented_lock::{Mutex, instrumented};

#[instrumented(kind = "mutex", name = "config")]
static CONFIG: Mutex<u8> = Mutex::new(0);

fn main() {}
