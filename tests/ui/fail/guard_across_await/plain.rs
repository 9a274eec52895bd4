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
        send(log[0]).await;
        send(log[1]).await;
    }
}

fn main() {}
