use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

#[instrumented]
static CONFIG: Mutex<u8> = Mutex::new(0);

#[instrumented]
#[allow(unused_must_use)]
impl Store {
    fn bare(&self) {
        (self.log).lock();
    }

    fn assigned(&self) {
        _ = self.index.upgradable_read();
    }

    fn in_a_block(&self, is_on: bool) {
        if is_on {
            let _: instrumented_lock::RwLockReadGuard<'_, _> = self.index.read();
        }
    }
}

#[instrumented]
fn of_a_static() {
    let _ = CONFIG.lock();
}

fn main() {}
