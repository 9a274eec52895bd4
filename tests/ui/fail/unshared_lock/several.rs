use instrumented_lock::{FairMutex, Mutex, RwLock, instrumented};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

#[instrumented]
struct Store {
    #[lock]
    marked: Rc<Mutex<u8>>,
    cell: Cell<Option<FairMutex<u8>>>,
    both: Rc<RefCell<RwLock<u8>>>,
}

fn main() {}
