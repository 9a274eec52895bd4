//! In code of types with type parameters, and where only the method is annotated.

use instrumented_lock::{Mutex, RecursiveRwLock, RwLock, instrumented};

#[instrumented]
struct Table<K, V, const N: usize> {
    rows: RwLock<Vec<(K, V)>>,
    shards: [Mutex<V>; N],
    tree: RecursiveRwLock<Vec<K>>,
}

#[instrumented]
impl<K: PartialEq, V: Clone, const N: usize> Table<K, V, N>
where
    K: Clone,
{
    fn get(&self, key: &K) -> Option<V> {
        let rows = self.rows.read();
        let found = rows
            .iter()
            .find(|row| row.0 == *key)
            .map(|row| row.1.clone());
        found.or_else(|| self.rows.write().pop().map(|row| row.1))
    }

    fn shard(&self) {
        let _one = self.shards[0].lock();
        let _two = self.shards[0].lock();
    }

    fn write_twice(&self) {
        let _tree = self.tree.read();
        self.tree.write().clear();
    }

    fn discarded(&self) {
        let _ = self.rows.write();
    }
}

struct Plain<T> {
    log: Mutex<T>,
}

impl<T: Default> Plain<T> {
    #[instrumented]
    fn reset(&self) {
        let mut log = self.log.lock();
        *log = T::default();
        drop(self.log.lock());
    }
}

fn main() {}
