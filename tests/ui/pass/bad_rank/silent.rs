use instrumented_lock::{Mutex, RwLock, instrumented};

#[instrumented]
#[derive(Default)]
struct Store<T> {
    #[lock(rank = 0)]
    first: Mutex<T>,
    #[lock(rank = 4_294_967_295, name = "ranks.last")]
    last: RwLock<T>,
    #[lock(rank = 7)]
    shards: Vec<Mutex<T>>,
    #[lock(rank = 7, allow(bad_rank))]
    meant: Mutex<T>,
    unranked: Mutex<T>,
    #[cfg(any(unix, not(unix)))]
    #[lock(rank = 8)]
    either: Mutex<T>,
    #[cfg(any())]
    #[lock(rank = 8)]
    either: RwLock<T>,
}

/// Another item has ranks of its own.
#[instrumented(rank = 7)]
static CONFIG: Mutex<u8> = Mutex::new(0);

pub(crate) fn main() {
    let store = Store::<u8>::default();
    *store.first.lock() += *store.last.read() + *store.meant.lock() + *store.unranked.lock();
    *CONFIG.lock() += *store.either.lock() + store.shards.len() as u8;
}
