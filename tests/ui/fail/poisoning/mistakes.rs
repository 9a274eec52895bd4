use instrumented_lock::std_sync::annotated::{Mutex, PoisonError, RwLock};
use instrumented_lock::instrumented;

#[instrumented]
struct Store {
    #[lock(rank = 1)]
    index: RwLock<Vec<u8>>,
    #[lock(rank = 2)]
    log: Mutex<Vec<u8>>,
    plain: instrumented_lock::Mutex<Vec<u8>>,
}

#[instrumented]
impl Store {
    fn relock(&self) {
        let log = self.log.lock().unwrap();
        self.log.lock().unwrap().push(log[0]);
    }

    fn relock_expected(&self) {
        let index = self.index.write().expect("nobody panics");
        self.index.read().expect("nobody panics").get(index.len());
    }

    fn relock_poisoned(&self) {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        self.log.lock().unwrap_or_else(|poison| poison.into_inner()).push(log[0]);
    }

    fn relock_matched(&self) {
        let log = match self.log.lock() {
            Ok(log) => log,
            Err(poison) => poison.into_inner(),
        };
        self.log.lock().unwrap().push(log[0]);
    }

    fn relock_tried(&self) -> Result<(), String> {
        let log = self.log.lock().map_err(|_| "poisoned".to_owned())?;
        self.log.lock().unwrap().push(log[0]);
        Ok(())
    }

    fn relock_otherwise(&self) {
        if let Ok(log) = self.log.lock() {
            self.log.lock().unwrap().push(log[0]);
        }
    }

    fn relock_later(&self) {
        let result = self.log.lock();
        let log = result.unwrap();
        self.log.lock().unwrap().push(log[0]);
    }

    fn relock_in_one(&self) {
        self.log.lock().unwrap().push(self.log.lock().unwrap()[0]);
    }

    fn relock_returned(&self) {
        let log = self.log();
        self.log.lock().unwrap().push(log[0]);
    }

    fn log(&self) -> instrumented_lock::std_sync::MutexGuard<'_, Vec<u8>> {
        self.log.lock().unwrap()
    }

    fn relock_beside_a_plain_one(&self) {
        let plain = self.plain.lock();
        let log = self.log.lock().unwrap();
        self.log.lock().unwrap().push(log[0]);
        self.plain.lock().push(plain[0]);
    }

    fn scrutinee(&self) {
        match self.log.lock().unwrap().pop() {
            Some(last) => println!("{last}"),
            None => println!("nothing"),
        }
    }

    fn discarded(&self) {
        let _ = self.log.lock().unwrap();
        self.index.read().expect("nobody panics");
        let _ = self.log.lock();
    }

    async fn across_await(&self) {
        let mut log = self.log.lock().unwrap();
        std::future::ready(()).await;
        log.push(1);
    }

    fn against_the_ranks(&self) {
        let log = self.log.lock().unwrap();
        self.index.write().unwrap().push(log[0]);
    }
}

#[instrumented]
impl<T> Generic<T> {
    fn relock(&self) {
        let data = self.data.lock().unwrap();
        self.data.lock().unwrap();
        drop(data);
    }
}

struct Generic<T> {
    data: instrumented_lock::std_sync::Mutex<Vec<T>>,
}

static CONFIG: std::sync::Mutex<Vec<u8>> = std::sync::Mutex::new(Vec::new());

#[instrumented]
fn relock_of_a_static() {
    let config = CONFIG.lock().unwrap();
    CONFIG.lock().unwrap().push(config[0]);
}

fn main() {}
