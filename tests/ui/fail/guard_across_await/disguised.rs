use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

async fn send(_: u8) {}

#[instrumented]
impl Store {
    async fn in_the_same_statement(&self) {
        send(self.log.lock()[0]).await;
    }

    async fn in_a_scrutinee(&self) {
        for entry in self.index.read().iter() {
            send(*entry).await;
        }
    }

    fn in_a_block(&self) -> impl Future<Output = ()> {
        async {
            if let Some(log) = self.log.try_lock() {
                send(log[0]).await;
            }
        }
    }

    async fn unknown_element(&self, shards: &[Mutex<u8>]) {
        let index = &self.index;
        let guard = index.write();
        send(guard[shards.len()]).await;
    }
}

#[instrumented]
async fn of_an_argument(lock: &Mutex<u8>) {
    let guard = lock.lock();
    send(*guard).await;
}

fn main() {}
