use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

async fn send(_: u8) {}

#[instrumented]
impl Store {
    async fn flush(&self) {
        let log = self.log.lock();
        let index = self.index.read();
        send(log[0] + index[0]).await;
    }
}

fn main() {}
