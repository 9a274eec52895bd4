//! Handles, aliases of handles, and the code that makes them: nothing is refused, and nothing changes its
//! type.

use instrumented_lock::{Condvar, FairMutex, Mutex, RwLock, drop_in, instrumented};
use std::rc::Rc;
use std::sync::{Arc, LazyLock, OnceLock, Weak};

type Shared = Arc<RwLock<u8>>;

#[instrumented]
struct HandlesOnly {
    first: Arc<Mutex<u8>>,
    second: Option<Arc<RwLock<u8>>>,
    woken: Vec<Arc<Condvar>>,
    weak: Weak<Mutex<u8>>,
}

#[instrumented]
struct Beside {
    own: Mutex<u8>,
    shared: Arc<Mutex<u8>>,
    pair: (Mutex<u8>, Arc<Mutex<u8>>),
}

#[instrumented]
struct AliasOnly {
    shared: Shared,
}

#[instrumented]
struct ListedAlias {
    shared: Vec<Option<Shared>>,
}

#[instrumented]
struct Generic<T> {
    shared: Arc<Mutex<T>>,
    other: T,
}

#[instrumented]
enum Either {
    Left(Arc<Mutex<u8>>),
    Right { shared: Shared },
    Neither,
}

#[instrumented]
struct MarkedAlias {
    #[lock(name = "ui.marked")]
    shared: Shared,
}

#[instrumented(allow(unshared_lock))]
struct Single {
    mine: Rc<Mutex<u8>>,
}

#[instrumented]
static LAZY: LazyLock<FairMutex<u8>, fn() -> FairMutex<u8>> = LazyLock::new(|| FairMutex::new(1));

fn takes(_: &Arc<Mutex<u8>>, _: Shared) {}

#[instrumented]
impl Beside {
    fn new() -> Self {
        let shared = Arc::new(Mutex::new(0));
        let cloned = shared.clone();
        *cloned.lock() += 1;
        Beside {
            own: Mutex::new(0),
            shared,
            pair: (Mutex::new(0), cloned),
        }
    }
}

#[instrumented]
mod inner {
    use super::*;

    #[derive(Default)]
    pub(super) struct Unannotated {
        pub(super) own: drop_in::Mutex<u8>,
        pub(super) shared: Arc<RwLock<u8>>,
    }

    impl Unannotated {
        pub(super) const fn empty() -> drop_in::Mutex<u8> {
            drop_in::Mutex::new(0)
        }

        pub(super) async fn later(&self) -> u8 {
            let local = Arc::new(Mutex::new(1));
            let value = *local.clone().lock();
            std::future::ready(value).await
        }

        pub(super) unsafe fn odd<'a, const N: usize, T: Default>(&'a self) -> [T; N] {
            let locks: [Mutex<T>; N] = std::array::from_fn(|_| Mutex::new(T::default()));
            locks.map(Mutex::into_inner)
        }
    }

    pub(super) mod deeper {
        pub(in super::super) fn nothing() {}
    }

    macro_rules! nothing {
        () => {};
    }
    nothing!();
}

#[instrumented(allow(relock))]
mod empty {}

/// What is generated is not in the way of what is there.
#[instrumented]
fn shadowed() -> u8 {
    struct Place;
    let _ = Place;
    static PLACES: OnceLock<Arc<Mutex<u8>>> = OnceLock::new();
    *PLACES.get_or_init(|| Arc::new(Mutex::new(3))).lock()
}

#[instrumented]
fn generic<T: Clone>(value: &T) -> T {
    let shared = Arc::new(Mutex::new(value.clone()));
    let value = shared.clone().lock().clone();
    value
}

pub(crate) fn main() {
    let beside = Beside::new();
    takes(&beside.shared, Shared::default());
    assert_eq!(*beside.pair.1.lock(), 1);
    let alias = AliasOnly {
        shared: Shared::default(),
    };
    takes(&beside.shared, alias.shared);
    let marked = MarkedAlias {
        shared: Shared::default(),
    };
    takes(&beside.shared, marked.shared);
    assert_eq!(*LAZY.lock(), 1);
    assert_eq!(*inner::Unannotated::default().own.lock(), 0);
    assert_eq!(inner::Unannotated::empty().into_inner(), 0);
    inner::deeper::nothing();
    assert_eq!(shadowed(), 3);
    assert_eq!(generic(&4), 4);
}
