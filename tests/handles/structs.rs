//! Annotated structs with handles.

use super::{kind, taken};
use instrumented_lock::{Condvar, LockKind, Mutex, RwLock, instrumented, registry};
use std::sync::{Arc, LazyLock};

type Shared = Arc<RwLock<u8>>;
type Lock = Mutex<u8>;

const FIRST: u32 = line!() + 6;

/// Handles only: nothing is refused, and nothing changes its type.
#[instrumented]
struct Handles {
    #[allow(unused)] // the line is that of the name
    first: Arc<Mutex<u8>>,
    second: Option<Arc<RwLock<u8>>>,
    woken: Arc<Condvar>,
    pair: Arc<(Mutex<u8>, Condvar)>,
}

fn takes_handle(lock: &Arc<Mutex<u8>>) -> u8 {
    *lock.lock()
}

#[instrumented]
impl Handles {
    fn new() -> Self {
        Handles {
            first: Arc::new(Mutex::new(0)),
            second: Some(Arc::new(RwLock::new(0))),
            woken: Arc::new(Condvar::new()),
            pair: Arc::new((Mutex::new(0), Condvar::new())),
        }
    }
}

#[test]
fn a_struct_of_handles_is_annotated() {
    let handles = Handles::new();
    takes_handle(&handles.first);
    drop(handles.second.as_ref().unwrap().read());
    drop(handles.pair.0.lock());
    let nanosecond = std::time::Duration::from_nanos(1);
    handles
        .pair
        .1
        .wait_for(&mut handles.pair.0.lock(), nanosecond);
    handles
        .woken
        .wait_for(&mut handles.first.lock(), nanosecond);
    taken("structs::Handles::first", 3);
    taken("structs::Handles::second", 1);
    assert_eq!(kind("structs::Handles::pair.0"), Some(LockKind::Mutex));
    assert_eq!(kind("structs::Handles::pair.1"), Some(LockKind::Condvar));
    assert_eq!(kind("structs::Handles::woken"), Some(LockKind::Condvar));
    let snapshot = registry::snapshot();
    let first = snapshot.lock("structs::Handles::first").unwrap();
    // Where the field is, as of any annotated field.
    assert_eq!(first.declared_at().line(), FIRST);
}

/// The options of the item hold for handles too, wherever they are made.
#[instrumented(prefix = "handles.app")]
struct App {
    state: Arc<Mutex<u8>>,
    own: Mutex<u8>,
}

#[instrumented]
fn app() -> App {
    let state = Arc::new(Mutex::new(0));
    App {
        state: Arc::clone(&state),
        own: Mutex::new(0),
    }
}

#[test]
fn a_prefix_is_that_of_handles_too() {
    let app = app();
    drop((app.state.lock(), app.own.lock()));
    let snapshot = registry::snapshot();
    for name in ["handles.app::App::state", "handles.app::App::own"] {
        let lock = snapshot.lock(name).unwrap();
        assert_eq!(lock.write().acquisitions(), 1, "{name}");
    }
}

/// Aliases: of a handle alone, marked with a name, and of a lock.
#[instrumented]
struct Alias {
    shared: Shared,
}

#[instrumented]
struct Marked {
    #[lock(name = "handles.journal")]
    journal: Shared,
    #[lock]
    own: Lock,
}

fn takes_alias(lock: Shared) {
    drop(lock.write());
}

#[instrumented]
impl Alias {
    fn new() -> Self {
        Alias {
            shared: Shared::new(RwLock::new(0)),
        }
    }
}

#[instrumented]
impl Marked {
    fn new() -> Self {
        let journal: Shared = Arc::new(RwLock::new(0));
        Marked {
            journal: journal.clone(),
            own: Mutex::new(0),
        }
    }
}

#[test]
fn aliases_keep_their_types() {
    takes_alias(Alias::new().shared);
    taken("structs::Alias::shared", 1);
    let marked = Marked::new();
    takes_alias(marked.journal);
    drop(marked.own.lock());
    taken("structs::Marked::own", 1);
    let snapshot = registry::snapshot();
    let journal = snapshot.lock("handles.journal").unwrap();
    assert_eq!(journal.write().acquisitions(), 1);
    assert_eq!(journal.kind(), LockKind::RwLock);
}

/// A method that is annotated alone does not see its type, but the declared fields of its module.
#[instrumented]
struct Alone {
    only_here: Arc<Mutex<u8>>,
}

impl Alone {
    #[instrumented]
    fn new() -> Self {
        Self {
            only_here: Arc::new(Mutex::new(0)),
        }
    }
}

struct Undeclared {
    nowhere_else: Arc<Mutex<u8>>,
}

impl Undeclared {
    #[instrumented]
    fn create() -> Self {
        Self {
            nowhere_else: Arc::new(Mutex::new(0)),
        }
    }
}

#[test]
fn a_method_that_is_annotated_alone_finds_the_declared_field() {
    drop(Alone::new().only_here.lock());
    taken("structs::Alone::only_here", 1);
    drop(Undeclared::create().nowhere_else.lock());
    taken("structs::create::nowhere_else", 1);
}

#[instrumented]
static LAZY: LazyLock<Mutex<u8>, fn() -> Mutex<u8>> = LazyLock::new(|| Mutex::new(7));

#[instrumented]
struct Lazy {
    lazy: LazyLock<RwLock<u8>, fn() -> RwLock<u8>>,
}

#[test]
fn an_initialiser_in_the_type_returns_the_same_lock() {
    assert_eq!(*LAZY.lock(), 7);
    taken("structs::LAZY", 1);
    let lazy = Lazy {
        lazy: LazyLock::new(|| RwLock::new(3)),
    };
    assert_eq!(*lazy.lazy.read(), 3);
    taken("structs::Lazy::lazy", 1);
}

/// Two fields of one kind and a name of the same function.
#[instrumented]
fn kinds() {
    {
        let lock = Arc::new(Mutex::new(0_u8));
        drop(lock.lock());
    }
    let lock = Arc::new(RwLock::new(0_u8));
    drop(lock.read());
}

#[test]
fn locks_of_two_kinds_are_never_one_class() {
    kinds();
    let snapshot = registry::snapshot();
    let named =
        |lock: &&instrumented_lock::LockSnapshot| lock.name().contains("structs::kinds::lock");
    let kinds: Vec<_> = snapshot
        .locks()
        .iter()
        .filter(named)
        .map(|lock| lock.kind())
        .collect();
    assert_eq!(kinds, [LockKind::Mutex, LockKind::RwLock]);
}

/// What derives make is named too.
#[instrumented]
#[derive(Debug, Clone, Default)]
struct Derived<T> {
    shared: Arc<Mutex<Vec<T>>>,
    pair: Arc<(Mutex<u8>, Condvar)>,
    boxed: Arc<Box<RwLock<u8>>>,
    optional: Option<Arc<Mutex<T>>>,
    plain: u8,
}

#[instrumented(prefix = "handles.derived")]
#[derive(Default)]
struct DerivedTuple(Arc<Mutex<u8>>, Mutex<u8>, #[cfg(any())] Missing);

#[test]
fn what_a_derive_makes_has_the_name_of_its_field() {
    let derived = Derived::<u8>::default();
    derived.shared.lock().push(1);
    assert_eq!(
        *derived.pair.0.lock() + *derived.boxed.read() + derived.plain,
        0
    );
    assert!(derived.optional.is_none());
    assert_eq!(derived.clone().shared.lock().len(), 1);
    taken("structs::Derived::shared", 2);
    taken("structs::Derived::pair.0", 1);
    taken("structs::Derived::boxed", 1);
    let tuple = DerivedTuple::default();
    drop((tuple.0.lock(), tuple.1.lock()));
    let snapshot = registry::snapshot();
    for name in [
        "handles.derived::DerivedTuple::0",
        "handles.derived::DerivedTuple::1",
    ] {
        assert_eq!(
            snapshot.lock(name).unwrap().write().acquisitions(),
            1,
            "{name}"
        );
    }
}
