//! In another module than the type, with lifetimes, in a trait's impl, and of one rank.

mod store {
    use instrumented_lock::{Mutex, RwLock, instrumented};

    #[instrumented]
    pub struct Store<'a> {
        #[lock(rank = 10)]
        pub index: RwLock<&'a str>,
        #[lock(rank = 20)]
        pub shards: Vec<Mutex<usize>>,
    }

    #[instrumented]
    #[derive(Default)]
    pub struct Pair(
        #[lock(rank = 1)] pub Mutex<u8>,
        #[lock(rank = 0)] pub Mutex<u8>,
    );
}

mod user {
    use super::store;
    use instrumented_lock::instrumented;

    #[instrumented]
    impl<'a> store::Store<'a> {
        pub fn in_one_statement(&self) -> usize {
            *self.shards[0].lock() + self.index.read().len()
        }
    }

    #[instrumented]
    impl Drop for store::Store<'_> {
        fn drop(&mut self) {
            let first = self.shards[0].lock();
            *self.shards[1].lock() += *first;
        }
    }

    #[instrumented]
    impl Clone for store::Pair {
        fn clone(&self) -> Self {
            let first = self.0.lock();
            let second = self.1.lock();
            drop((first, second));
            Self::default()
        }
    }
}

fn main() {}
