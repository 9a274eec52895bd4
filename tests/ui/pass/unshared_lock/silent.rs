use instrumented_lock::{Mutex, RwLock, instrumented};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

#[instrumented]
#[derive(Default)]
struct Store {
    log: Arc<Mutex<u8>>,
    // What a lock protects may be anything.
    cells: Mutex<Vec<RefCell<Cell<u8>>>>,
    table: RwLock<Option<Rc<u8>>>,
    // One thread's list of what all share.
    mine: RefCell<Vec<Arc<Mutex<u8>>>>,
    once: OnceCell<RwLock<u8>>,
    #[lock(allow(unshared_lock))]
    meant: Rc<Mutex<u8>>,
}

pub(crate) fn main() {
    let store = Store::default();
    store.mine.borrow_mut().push(store.log.clone());
    let _ = (store.cells.lock().len(), store.table.read().is_some());
    *store.meant.lock() += *store.once.get_or_init(|| RwLock::new(0)).read();
}
