use instrumented_lock::{Mutex, MutexGuard, instrumented};

/// Its guards may be held across an `.await`.
#[derive(Default)]
struct AsyncMutex(Mutex<u8>);

impl AsyncMutex {
    async fn lock(&self) -> u8 {
        *self.0.lock()
    }
}

#[instrumented]
#[derive(Default)]
struct Store {
    log: Mutex<Vec<u8>>,
    waiting: AsyncMutex,
}

async fn send(_: u8) {}

#[instrumented]
impl Store {
    async fn dropped(&self) {
        let log = self.log.lock();
        let first = log[0];
        drop(log);
        send(first).await;
    }

    async fn scoped(&self) {
        let first = {
            let log = self.log.lock();
            log[0]
        };
        send(first).await;
        let first = self.log.lock()[0];
        send(first).await;
        if self.log.lock().is_empty() {
            send(0).await;
        }
    }

    async fn another_lock(&self) {
        let guard = self.waiting.lock().await;
        send(guard).await;
    }

    fn later(&self) -> impl Future<Output = ()> {
        let log = self.log.lock();
        let first = log[0];
        async move { send(first).await }
    }

    async fn unlocked(&self) {
        let mut log = self.log.lock();
        MutexGuard::unlocked(&mut log, || ());
        drop(log);
        send(1).await;
    }

    async fn allowed(&self) {
        let log = self.log.lock();
        #[lock(allow(guard_across_await))]
        send(log[0]).await;
    }

    async fn allowed_where_taken(&self) {
        #[lock(allow(guard_across_await))]
        let log = self.log.lock();
        send(log[0]).await;
    }
}

pub(crate) fn main() {
    let store = Store::default();
    drop((
        store.dropped(),
        store.scoped(),
        store.another_lock(),
        store.unlocked(),
    ));
    drop((store.allowed(), store.allowed_where_taken()));
    let _ = Store::later;
}
