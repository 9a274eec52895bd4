use instrumented_lock::{Mutex, instrumented};

struct Store(Mutex<u8>);

#[instrumented]
#[instrumented]
#[lock(allow(relock))]
impl Store {
    fn method(&self) {
        *self.0.lock() += 1;
    }
}

#[instrumented(name = "function", crate = instrumented_lock)]
fn function() {}

fn main() {}
