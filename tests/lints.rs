//! The run-time side of the rules: ranks are in the classes, and what is annotated runs as it did.

#![allow(unreachable_pub, reason = "some tests are about `pub` items")]

use instrumented_lock::{Mutex, ReentrantMutex, RwLock, instrumented};

#[instrumented(prefix = "lints")]
#[derive(Default)]
struct Store {
    #[lock(rank = 10)]
    index: RwLock<u8>,
    #[lock(rank = 20, name = "lints.log")]
    log: Mutex<Vec<u8>>,
    #[lock(rank = 0x1e)]
    pair: (Mutex<u8>, Mutex<u8>),
    unranked: ReentrantMutex<u8>,
}

#[instrumented(prefix = "lints", rank = 4_294_967_295)]
static CONFIG: Mutex<u8> = Mutex::new(0);

#[cfg(feature = "stats")]
#[test]
fn rank_of_a_class_is_what_its_lock_declares() {
    let classes = instrumented_lock::registry::classes();
    let rank = |name: &str| {
        let mut found = classes.iter().filter(|class| class.name() == name);
        let class = found.next().unwrap_or_else(|| panic!("no {name}"));
        assert!(found.next().is_none(), "two {name}");
        class.rank()
    };
    assert_eq!(rank("lints::Store::index"), Some(10));
    assert_eq!(rank("lints.log"), Some(20));
    assert_eq!(rank("lints::Store::pair.0"), Some(30));
    assert_eq!(rank("lints::Store::pair.1"), Some(30));
    assert_eq!(rank("lints::Store::unranked"), None);
    assert_eq!(rank("lints::CONFIG"), Some(u32::MAX));
}

#[cfg(feature = "stats")]
#[test]
fn rank_of_an_unannotated_class_is_none() {
    drop(Mutex::<u8>::new(0).lock());
    let classes = instrumented_lock::registry::classes();
    let here = classes
        .iter()
        .find(|class| class.name().contains("lints.rs:"));
    assert_eq!(here.map(|class| class.rank()), Some(None));
}

/// Defines the same functions twice: as they are, and annotated.
macro_rules! twice {
    ($($body:tt)*) => {
        mod plain {
            $($body)*
        }
        mod annotated {
            #[instrumented_lock::instrumented]
            $($body)*
        }
    };
}

twice! {
    /// Where its tokens are, what its text says, how it ends early.
    pub fn places<const N: usize>(numbers: &[usize; N]) -> Option<(u32, u32, &'static str, usize)> {
        let sum = numbers.iter().map(|n| n + 1).sum::<usize>();
        let first = numbers.first()?;
        let text = stringify!(self.a.lock(), { a => b }, 'c', #[lock]);
        let at = 'found: {
            if let [_, second, ..] = &numbers[..] && second > first {
                break 'found (line!(), column!());
            }
            return None;
        };
        Some((at.0, at.1, text, sum))
    }
}

#[test]
fn annotated_function_is_emitted_unchanged() {
    assert_eq!(plain::places(&[1, 2]), annotated::places(&[1, 2]));
    assert!(annotated::places(&[1, 2]).is_some());
    assert_eq!(annotated::places(&[2, 1]), None);
    assert_eq!(annotated::places(&[]), None);
}

#[instrumented]
impl Store {
    /// Holds two locks, one of them twice, and comes out.
    fn totals(&self) -> u8 {
        let outer = self.unranked.lock();
        let inner = self.unranked.lock();
        let index = self.index.read();
        let mut log = self.log.lock();
        #[lock(allow(discarded_guard))]
        #[allow(clippy::let_underscore_lock)]
        let _ = self.pair.0.lock();
        #[lock(allow(relock, rank_order))]
        log.push(*outer + *inner + *index);
        #[lock(allow(scrutinee_guard))]
        if let Some(last) = log.pop() {
            drop(log);
            return last;
        }
        0
    }

    #[instrumented(allow(relock))]
    fn early(&self, stops: bool) -> usize {
        let log = self.log.lock();
        if stops {
            return log.len();
        }
        drop(log);
        self.log.lock().push(1);
        self.log.lock().len()
    }
}

#[test]
fn allowed_statements_run_without_the_attribute() {
    let store = Store::default();
    assert_eq!(store.totals(), 0);
    assert_eq!((store.early(true), store.early(false)), (0, 1));
    assert_eq!(*CONFIG.lock() + *store.pair.1.lock(), 0);
}

#[instrumented]
async fn waits(lock: &Mutex<u8>) -> u8 {
    let value = *lock.lock();
    std::future::ready(value + 1).await
}

#[test]
fn annotated_async_function_is_a_future() {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    let lock = Mutex::new(1);
    let mut future = pin!(waits(&lock));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(future.as_mut().poll(&mut context), Poll::Ready(2));
}
