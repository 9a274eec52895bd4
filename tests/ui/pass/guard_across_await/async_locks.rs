//! Async locks, wherever the `.await` stands, and guards that are gone.

use instrumented_lock::{Mutex, RwLock, instrumented};
use std::pin::Pin;

/// Its guards may be held across an `.await`.
#[derive(Default)]
pub(crate) struct AsyncLock(Mutex<Vec<u8>>);

pub(crate) struct Guard(Vec<u8>);

impl Guard {
    async fn flush(&self) {
        std::future::ready(self.0.len()).await;
    }
}

impl AsyncLock {
    async fn lock(&self) -> Guard {
        Guard(self.0.lock().clone())
    }

    async fn read(&self) -> Guard {
        self.lock().await
    }

    async fn write(&self) -> Guard {
        self.lock().await
    }
}

trait FutureExt: Future + Sized {
    fn instrument(self, _: &str) -> Self {
        self
    }

    fn boxed<'a>(self) -> Pin<Box<dyn Future<Output = Self::Output> + 'a>>
    where
        Self: 'a,
    {
        Box::pin(self)
    }
}

impl<F: Future> FutureExt for F {}

async fn within<F: Future>(future: F) -> F::Output {
    future.await
}

async fn send(_: u8) {}

static STATE: AsyncLock = AsyncLock(Mutex::new(Vec::new()));
static OTHER: AsyncLock = AsyncLock(Mutex::new(Vec::new()));
static THIRD: AsyncLock = AsyncLock(Mutex::new(Vec::new()));
static FOURTH: AsyncLock = AsyncLock(Mutex::new(Vec::new()));

#[instrumented]
#[derive(Default)]
pub(crate) struct Store {
    st: AsyncLock,
    other: AsyncLock,
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
}

#[instrumented]
impl Store {
    async fn awaited(&self) {
        let guard = self.st.lock().await;
        send(guard.0.len() as u8).await;
        guard.flush().await;
    }

    async fn with_a_span(&self) {
        let guard = self.st.read().instrument("read").await;
        send(guard.0.len() as u8).await;
        self.other.lock().instrument("lock").await.flush().await;
    }

    async fn boxed(&self) -> usize {
        self.st.lock().boxed().await.0.len() + self.st.write().boxed().await.0.len()
    }

    async fn kept_future(&self) {
        let future = self.st.lock();
        send(0).await;
        let guard = future.await;
        let again = self.st.lock();
        guard.flush().await;
        drop(again);
    }

    async fn given_to_a_function(&self) {
        let guard = within(self.st.write()).await;
        send(guard.0.len() as u8).await;
        if let true = within(self.other.read()).await.0.is_empty() {
            send(0).await;
        }
    }

    async fn in_a_scrutinee(&self) {
        match self.st.lock().await.0.len() {
            0 => send(0).await,
            _ => self.awaited().await,
        }
        let _ = self.st.lock().await;
        let _ = self.st.lock();
    }

    async fn dropped_before(&self, is_on: bool) {
        let log = self.log.lock();
        let first = log.first().copied();
        drop(log);
        send(first.unwrap_or(0)).await;
        let log = self.log.lock();
        if is_on {
            drop(log);
            send(1).await;
        } else {
            drop(log);
        }
        send(2).await;
    }

    async fn only_until_the_end_of_the_statement(&self) {
        let pair = (self.log.lock().len(), self.index.read().len());
        send(pair.0 as u8).await;
        let first = Some(self.log.lock().len());
        send(first.map_or(0, |len| len as u8)).await;
        let len = match self.log.try_lock() {
            Some(log) => log.len(),
            None => 0,
        };
        send(len as u8).await;
    }

    async fn moved_before(&self) {
        let log = Some(self.log.lock());
        if let Some(log) = log {
            drop(log);
        }
        send(1).await;
        let mut kept = Some(self.log.lock());
        kept.take();
        send(2).await;
    }

    async fn in_turns(&self) {
        let mut log = self.log.lock();
        for _ in 0..2 {
            log.push(1);
            drop(log);
            send(1).await;
            log = self.log.lock();
        }
    }

    async fn not_to_be_had(&self) {
        let Some(log) = self.log.try_lock() else {
            send(0).await;
            return;
        };
        drop(log);
        match self.log.try_lock() {
            Some(log) => drop(log),
            None => send(0).await,
        }
        if let Some(log) = self.log.try_lock() {
            drop(log);
        } else {
            send(0).await;
        }
        let mut log = self.log.try_lock();
        while log.is_none() {
            send(0).await;
            log = self.log.try_lock();
        }
    }
}

#[instrumented]
async fn of_statics() {
    let guard = STATE.lock().instrument("state").await;
    send(guard.0.len() as u8).await;
    let future = OTHER.lock();
    guard.flush().await;
    let other = future.boxed().await;
    send(other.0.len() as u8).await;
    let third = within(THIRD.read()).await;
    let again = within(THIRD.read()).await;
    send(third.0.len() as u8 + again.0.len() as u8).await;
    let fourth = FOURTH.write().await;
    send(fourth.0.len() as u8).await;
}

#[instrumented]
impl<'a> Borrowed<'a> {
    async fn of_a_reference(&self) -> usize {
        let guard = self.0.lock().boxed().await;
        let again = self.0.lock().instrument("again").await;
        guard.flush().await;
        again.0.len()
    }
}

pub(crate) struct Borrowed<'a>(&'a AsyncLock);

pub(crate) fn main() {
    let store = Store::default();
    drop((store.awaited(), store.with_a_span(), store.boxed()));
    drop((store.kept_future(), store.given_to_a_function()));
    drop((store.in_a_scrutinee(), store.dropped_before(true)));
    drop(store.only_until_the_end_of_the_statement());
    drop((
        store.moved_before(),
        store.in_turns(),
        store.not_to_be_had(),
    ));
    drop((of_statics(), Borrowed(&store.st).of_a_reference()));
}
