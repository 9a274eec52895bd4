//! Guards inside other values, and on some ways only.

use instrumented_lock::{Mutex, MutexGuard, RwLock, instrumented};

#[instrumented]
struct Store {
    log: Mutex<Vec<u8>>,
    index: RwLock<Vec<u8>>,
    client: Mutex<Client>,
}

struct Client;

impl Client {
    async fn call(&mut self) {}
}

struct Held<'a> {
    log: MutexGuard<'a, Vec<u8>>,
}

async fn send(_: u8) {}

#[instrumented]
impl Store {
    async fn in_some(&self) {
        let log = Some(self.log.lock());
        send(1).await;
        drop(log);
    }

    async fn in_a_tuple(&self) {
        let pair = (self.log.lock(), 1);
        send(pair.1).await;
    }

    async fn of_a_tuple(&self) {
        let (log, _) = (self.log.lock(), 1);
        send(log[0]).await;
    }

    async fn in_a_struct(&self) {
        let held = Held {
            log: self.log.lock(),
        };
        send(held.log[0]).await;
    }

    async fn in_a_vec(&self) {
        let guards = vec![self.log.lock()];
        send(guards[0][0]).await;
    }

    async fn of_a_match(&self) {
        let log = match self.log.try_lock() {
            Some(log) => log,
            None => return,
        };
        send(log[0]).await;
    }

    async fn of_one_branch(&self, is_on: bool) {
        let log = if is_on { Some(self.log.lock()) } else { None };
        send(0).await;
        drop(log);
    }

    async fn of_either_branch(&self, is_on: bool, other: &Mutex<Vec<u8>>) {
        let log = if is_on { self.log.lock() } else { other.lock() };
        send(log[0]).await;
    }

    async fn dropped_on_one_path(&self, is_on: bool) {
        let log = self.log.lock();
        if is_on {
            drop(log);
        }
        send(0).await;
    }

    async fn dropped_by_one_arm(&self, which: u8) {
        let log = self.log.lock();
        match which {
            0 => drop(log),
            1 => {}
            _ => return,
        }
        send(which).await;
    }

    async fn of_the_last_turn(&self) {
        let mut last = None;
        for at in 0..2 {
            send(at).await;
            last = Some(self.log.try_lock());
        }
        drop(last);
    }

    async fn in_the_receiver(&self) {
        self.client.lock().call().await;
    }

    async fn tried(&self) {
        let log = self.log.try_lock();
        send(1).await;
        drop(log);
    }

    async fn by_a_method(&self) {
        let log = self.guard();
        send(log[0]).await;
    }

    fn guard(&self) -> MutexGuard<'_, Vec<u8>> {
        self.log.lock()
    }
}

fn main() {}
