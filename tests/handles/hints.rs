//! A lock that is used before its type is known: what does not compile without the attribute.

use super::taken;
use instrumented_lock::{Condvar, Mutex, RwLock, drop_in, instrumented};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// As sled's.
#[instrumented]
struct Flusher {
    shutdown: Arc<Mutex<bool>>,
    woken: Arc<Condvar>,
    handle: Mutex<Option<thread::JoinHandle<()>>>,
}

fn run(shutdown: &Arc<Mutex<bool>>, woken: &Arc<Condvar>) {
    let mut is_shut = shutdown.lock();
    // At least once.
    woken.wait_for(&mut is_shut, Duration::from_nanos(1));
    while !*is_shut {
        woken.wait(&mut is_shut);
    }
}

#[instrumented]
impl Flusher {
    fn new() -> Flusher {
        #[allow(clippy::mutex_atomic)] // mutex used in CondVar below
        let shutdown = Arc::new(Mutex::new(false));
        let woken = Arc::new(Condvar::new());
        let shutdown2 = shutdown.clone();
        let woken2 = woken.clone();
        let handle = thread::spawn(move || run(&shutdown2, &woken2));
        Flusher {
            shutdown,
            woken,
            handle: Mutex::new(Some(handle)),
        }
    }

    fn stop(&self) {
        *self.shutdown.lock() = true;
        self.woken.notify_all();
        let handle = self.handle.lock().take();
        handle.unwrap().join().unwrap();
    }
}

#[test]
fn a_local_that_is_cloned_before_it_becomes_a_field_compiles() {
    Flusher::new().stop();
    let snapshot = instrumented_lock::registry::snapshot();
    let names = ["shutdown", "woken", "handle"];
    for name in names {
        let name = format!("{}::Flusher::{name}", module_path!());
        assert!(snapshot.lock(&name).is_some(), "{name}");
    }
    taken("hints::Flusher::handle", 1);
}

/// What compiles without a hint keeps the class that its field gives it.
#[instrumented]
struct Marked {
    #[lock]
    shared: Arc<Mutex<u8>>,
    own: RwLock<u8>,
    optional: Option<Mutex<u8>>,
}

#[instrumented]
impl Marked {
    fn new() -> Self {
        let shared = Arc::new(Mutex::new(0));
        let again = Arc::clone(&shared);
        let own = RwLock::new(0);
        let optional = Some(Mutex::new(0));
        assert!(optional.is_some());
        let marked = Marked {
            shared,
            own,
            optional,
        };
        drop(again.lock());
        drop(marked.shared.lock());
        marked
    }
}

#[test]
fn a_class_in_the_type_stays_there() {
    let marked = Marked::new();
    drop(marked.own.read());
    drop(marked.optional.as_ref().unwrap().lock());
    taken("hints::Marked::shared", 2);
    taken("hints::Marked::own", 1);
    taken("hints::Marked::optional", 1);
}

/// Other locks, and drop-ins.
#[instrumented]
fn others() {
    let std = Arc::new(std::sync::Mutex::new(0));
    *std.clone().lock().unwrap() += 1;
    let dropped_in = Arc::new(drop_in::Mutex::new(0));
    *dropped_in.clone().lock() += 1;
    let bare = Arc::new(parking_lot::RwLock::new(0));
    *bare.clone().write() += 1;
    let woken = std::sync::Condvar::new();
    woken.notify_all();
    let woken = instrumented_lock::Condvar::new();
    woken.notify_all();
}

#[test]
fn locks_of_other_libraries_stay_as_they_are() {
    others();
    taken("hints::others::dropped_in", 1);
}

/// Lists of locks that nobody else gets.
#[instrumented]
fn lists() {
    let listed: Vec<_> = (0..3).map(|_| Mutex::new(0_u8)).collect();
    listed.iter().for_each(|lock| drop(lock.lock()));
    let mut pushed = Vec::new();
    pushed.push(Arc::new(RwLock::new(0_u8)));
    drop(pushed[0].read());
    let array = [Mutex::new(0_u8), Mutex::new(1)];
    for lock in &array {
        drop(lock.lock());
    }
    let optional = Some(Mutex::new(0_u8));
    if let Some(lock) = optional.as_ref() {
        drop(lock.lock());
    }
}

/// Lists that become fields have the classes of these.
#[instrumented]
struct Lists {
    pushed: Vec<Mutex<u8>>,
    collected: Vec<Mutex<u8>>,
    drained: Vec<Mutex<u8>>,
}

#[instrumented]
impl Lists {
    fn new() -> Self {
        let mut pushed = Vec::new();
        pushed.push(Mutex::new(0));
        assert_eq!(pushed.len(), 1);
        let collected: Vec<_> = (0..2).map(|_| Mutex::new(0)).collect();
        assert_eq!(collected.len(), 2);
        let mut other = vec![Mutex::new(0)];
        other.push(Mutex::new(0));
        let mut lists = Lists {
            pushed,
            collected: collected.into_iter().collect(),
            drained: Vec::new(),
        };
        lists.drained.extend(other.drain(..));
        lists
    }

    fn take() -> Vec<Mutex<u8>> {
        let mut given = Vec::new();
        given.push(Mutex::new(0));
        given
    }
}

#[test]
fn lists_of_locks_are_told_their_types_where_nothing_else_does() {
    lists();
    taken("hints::lists::listed", 3);
    taken("hints::lists::pushed", 1);
    taken("hints::lists::array", 2);
    taken("hints::lists::optional", 1);
    let lists = Lists::new();
    lists.pushed.iter().for_each(|lock| drop(lock.lock()));
    lists.collected.iter().for_each(|lock| drop(lock.lock()));
    lists.drained.iter().for_each(|lock| drop(lock.lock()));
    taken("hints::Lists::pushed", 1);
    taken("hints::Lists::collected", 2);
    taken("hints::Lists::drained", 2);
    // The type that it returns has no class: the place gives it one.
    drop(Lists::take()[0].lock());
    taken("hints::Lists::take::given", 1);
}
