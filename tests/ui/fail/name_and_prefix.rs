use instrumented_lock::{Mutex, instrumented};

#[instrumented(name = "config", prefix = "storage")]
static CONFIG: Mutex<u8> = Mutex::new(0);

fn main() {}
