//! How a lock becomes a field.

use super::taken;
use instrumented_lock::{Condvar, FairMutex, Mutex, ReentrantMutex, RwLock, instrumented};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, OnceLock};

type Shared = Arc<RwLock<u8>>;

mod literal {
    use super::*;

    struct Literal {
        plain: Arc<Mutex<u8>>,
        optional: Option<Arc<Mutex<u8>>>,
        boxed: Box<Arc<Mutex<u8>>>,
        many: Vec<Arc<Mutex<u8>>>,
        listed: Vec<Arc<Mutex<u8>>>,
        array: [Arc<Mutex<u8>>; 2],
        map: HashMap<u8, Arc<Mutex<u8>>>,
        single: Rc<RefCell<Mutex<u8>>>,
        alias: Shared,
        fair: Arc<FairMutex<u8>>,
        again: Arc<ReentrantMutex<u8>>,
        from: Arc<Mutex<u8>>,
        default: Arc<Mutex<u8>>,
        qualified: Arc<Mutex<u8>>,
        turbofish: Arc<Mutex<u8>>,
        whole_default: Arc<Mutex<u8>>,
        lazy: LazyLock<Arc<Mutex<u8>>>,
        once: OnceLock<Arc<Mutex<u8>>>,
        trait_object: Arc<Mutex<dyn Send>>,
    }

    #[instrumented]
    impl Literal {
        fn new(is_first: bool) -> Self {
            Self {
                plain: Arc::new(Mutex::new(0)),
                optional: Some(Arc::new(Mutex::new(0))),
                boxed: Box::new(Arc::new(Mutex::new(0))),
                many: (0..3).map(|_| Arc::new(Mutex::new(0))).collect(),
                listed: vec![Arc::new(Mutex::new(0)), Arc::new(Mutex::new(1))],
                array: [Arc::new(Mutex::new(0)), Arc::new(Mutex::new(1))],
                map: HashMap::from([(1, Arc::new(Mutex::new(0)))]),
                single: Rc::new(RefCell::new(Mutex::new(0))),
                alias: Shared::new(RwLock::new(0)),
                fair: if is_first {
                    Arc::new(FairMutex::new(0))
                } else {
                    Arc::new(FairMutex::new(1))
                },
                again: match is_first {
                    true => Arc::new(ReentrantMutex::new(0)),
                    false => Arc::new(ReentrantMutex::new(1)),
                },
                from: Arc::from(Mutex::from(0)),
                default: Arc::new(Default::default()),
                qualified: std::sync::Arc::new(instrumented_lock::Mutex::new(0)),
                turbofish: Arc::new(<Mutex<u8>>::new(0)),
                whole_default: Arc::<Mutex<u8>>::default(),
                lazy: LazyLock::new(|| Arc::new(Mutex::new(0))),
                once: OnceLock::from(Arc::new(Mutex::new(0))),
                trait_object: Arc::new(Mutex::new(0_u8)),
            }
        }
    }

    #[test]
    fn a_field_of_a_literal_names_its_lock() {
        let first = Literal::new(true);
        drop(first.plain.lock());
        drop(first.optional.as_ref().unwrap().lock());
        drop(first.boxed.lock());
        first.many.iter().for_each(|lock| drop(lock.lock()));
        first.listed.iter().for_each(|lock| drop(lock.lock()));
        first.array.iter().for_each(|lock| drop(lock.lock()));
        drop(first.map[&1].lock());
        drop(first.single.borrow().lock());
        drop(first.alias.read());
        drop(first.fair.lock());
        drop(Literal::new(false).fair.lock());
        drop(first.again.lock());
        drop(Literal::new(false).again.lock());
        drop(first.from.lock());
        drop(first.default.lock());
        drop(first.qualified.lock());
        drop(first.turbofish.lock());
        drop(first.whole_default.lock());
        drop(first.lazy.lock());
        drop(first.once.get().unwrap().lock());
        drop(first.trait_object.lock());
        for (field, times) in [
            ("plain", 1),
            ("optional", 1),
            ("boxed", 1),
            ("many", 3),
            ("listed", 2),
            ("array", 2),
            ("map", 1),
            ("single", 1),
            ("alias", 1),
            ("fair", 2),
            ("again", 2),
            ("from", 1),
            ("default", 1),
            ("qualified", 1),
            ("turbofish", 1),
            ("whole_default", 1),
            ("lazy", 1),
            ("once", 1),
            ("trait_object", 1),
        ] {
            taken(&format!("fields::literal::Literal::{field}"), times);
        }
    }
}

mod variables {
    use super::*;

    struct Variables {
        shutdown: Arc<Mutex<u8>>,
        renamed: Arc<Mutex<u8>>,
        cloned: Arc<Mutex<u8>>,
        method: Arc<Mutex<u8>>,
        twice: Option<Arc<Mutex<u8>>>,
        late: Arc<Mutex<u8>>,
        shadowed: Arc<Mutex<u8>>,
        first: Arc<Mutex<u8>>,
        second: Arc<RwLock<u8>>,
        chosen: Arc<Mutex<u8>>,
        pushed: Vec<Arc<Mutex<u8>>>,
        made: Arc<Mutex<u8>>,
    }

    #[instrumented]
    impl Variables {
        fn start() -> Self {
            let shutdown = Arc::new(Mutex::new(0));
            let stop = Arc::new(Mutex::new(0));
            let cloned = Arc::new(Mutex::new(0));
            let its_clone = Arc::clone(&cloned);
            let method = Arc::new(Mutex::new(0));
            let for_thread = method.clone();
            let pair = Arc::new(Mutex::new(0));
            let pair = Some(pair);
            let late;
            late = Arc::new(Mutex::new(0));
            let shadowed = Mutex::new(0);
            let shadowed = Arc::new(shadowed);
            let (first, second) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
            let chosen = loop {
                break Arc::new(Mutex::new(0));
            };
            let mut pushed = Vec::new();
            for _ in 0..2 {
                pushed.push(Arc::new(Mutex::new(0)));
            }
            let make = || Arc::new(Mutex::new(0));
            drop(for_thread);
            Self {
                shutdown,
                renamed: stop,
                cloned: its_clone,
                method,
                twice: pair,
                late,
                shadowed,
                first,
                second,
                chosen,
                pushed,
                made: make(),
            }
        }
    }

    #[test]
    fn a_variable_goes_where_it_is_given_to() {
        let all = Variables::start();
        drop(all.shutdown.lock());
        drop(all.renamed.lock());
        drop(all.cloned.lock());
        drop(all.method.lock());
        drop(all.twice.as_ref().unwrap().lock());
        drop(all.late.lock());
        drop(all.shadowed.lock());
        drop(all.first.lock());
        drop(all.second.write());
        drop(all.chosen.lock());
        all.pushed.iter().for_each(|lock| drop(lock.lock()));
        drop(all.made.lock());
        for field in [
            "shutdown", "renamed", "cloned", "method", "twice", "late", "shadowed", "first",
            "second", "chosen", "made",
        ] {
            taken(&format!("fields::variables::Variables::{field}"), 1);
        }
        taken("fields::variables::Variables::pushed", 2);
    }
}

mod shared {
    use super::*;

    struct Sender {
        queue: Arc<Mutex<u8>>,
    }

    struct Receiver {
        queue: Arc<Mutex<u8>>,
    }

    struct Channel {
        ends: (Sender, Receiver),
        all: Arc<Mutex<u8>>,
    }

    #[instrumented]
    fn channel() -> (Sender, Receiver) {
        let queue = Arc::new(Mutex::new(0));
        let sender = Sender {
            queue: queue.clone(),
        };
        (sender, Receiver { queue })
    }

    #[instrumented]
    impl Channel {
        fn new() -> Self {
            let all = Arc::new(Mutex::new(0));
            let queue = Arc::clone(&all);
            let sender = Sender {
                queue: Arc::clone(&queue),
            };
            let ends = (sender, Receiver { queue });
            Channel { ends, all }
        }
    }

    #[test]
    fn of_two_structs_that_share_a_handle_one_has_it() {
        let (sender, receiver) = channel();
        drop(sender.queue.lock());
        drop(receiver.queue.lock());
        taken("fields::shared::Sender::queue", 2);
        let channel = Channel::new();
        drop(channel.ends.0.queue.lock());
        drop(channel.ends.1.queue.lock());
        drop(channel.all.lock());
        taken("fields::shared::Channel::all", 3);
    }
}

mod tuples {
    use super::*;

    struct Newtype(Arc<Mutex<u8>>);
    struct Two(Arc<Mutex<u8>>, Arc<RwLock<u8>>);

    enum Shape {
        Circle(Arc<Mutex<u8>>),
        Square { side: Arc<Mutex<u8>> },
    }

    struct Pair {
        pair: Arc<(Mutex<u8>, Condvar)>,
        counted: (u8, Arc<Mutex<u8>>, Arc<RwLock<u8>>),
        one: (u8, Arc<Mutex<u8>>),
        parts: Arc<(Mutex<u8>, Condvar)>,
    }

    #[instrumented]
    impl Newtype {
        fn new() -> Self {
            Self(Arc::new(Mutex::new(0)))
        }

        fn again() -> Newtype {
            let lock = Arc::new(Mutex::new(0));
            Newtype(lock)
        }
    }

    #[instrumented]
    impl Two {
        fn new() -> Self {
            Two(Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)))
        }
    }

    #[instrumented]
    impl Shape {
        fn both() -> [Self; 2] {
            let side = Arc::new(Mutex::new(0));
            [
                Self::Circle(Arc::new(Mutex::new(0))),
                Shape::Square { side },
            ]
        }
    }

    #[instrumented]
    impl Pair {
        fn new() -> Self {
            let (lock, woken) = (Mutex::new(0), Condvar::new());
            Pair {
                pair: Arc::new((Mutex::new(0), Condvar::new())),
                counted: (0, Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0))),
                one: (0, Arc::new(Mutex::new(0))),
                parts: Arc::new((lock, woken)),
            }
        }
    }

    #[test]
    fn parts_are_numbered() {
        drop(Newtype::new().0.lock());
        drop(Newtype::again().0.lock());
        taken("fields::tuples::Newtype::0", 2);
        let two = Two::new();
        drop((two.0.lock(), two.1.read()));
        taken("fields::tuples::Two::0", 1);
        taken("fields::tuples::Two::1", 1);
        for shape in Shape::both() {
            match shape {
                Shape::Circle(lock) | Shape::Square { side: lock } => drop(lock.lock()),
            }
        }
        taken("fields::tuples::Shape::Circle::0", 1);
        taken("fields::tuples::Shape::Square::side", 1);
        let pair = Pair::new();
        drop((pair.pair.0.lock(), pair.parts.0.lock()));
        pair.pair.1.notify_one();
        pair.parts.1.notify_one();
        drop((
            pair.counted.1.lock(),
            pair.counted.2.read(),
            pair.one.1.lock(),
        ));
        for name in ["pair.0", "parts.0", "counted.0", "counted.1", "one"] {
            taken(&format!("fields::tuples::Pair::{name}"), 1);
        }
        let nanosecond = std::time::Duration::from_nanos(1);
        pair.pair.1.wait_for(&mut pair.pair.0.lock(), nanosecond);
        pair.parts.1.wait_for(&mut pair.parts.0.lock(), nanosecond);
        for name in ["pair.1", "parts.1"] {
            let name = format!("fields::tuples::Pair::{name}");
            assert_eq!(
                super::super::kind(&name),
                Some(instrumented_lock::LockKind::Condvar),
                "{name}"
            );
        }
    }
}

mod assigned {
    use super::*;

    #[derive(Default)]
    struct Assigned {
        plain: Option<Arc<Mutex<u8>>>,
        pushed: Vec<Arc<Mutex<u8>>>,
        by_key: HashMap<u8, Arc<Mutex<u8>>>,
        made_once: OnceLock<Arc<Mutex<u8>>>,
        replaced: Option<Arc<Mutex<u8>>>,
        guarded: Mutex<HashMap<u8, Arc<Mutex<u8>>>>,
        returned: Mutex<HashMap<u8, Arc<RwLock<u8>>>>,
    }

    #[instrumented]
    impl Assigned {
        fn fill(&mut self) {
            self.plain = Some(Arc::new(Mutex::new(0)));
            self.pushed.push(Arc::new(Mutex::new(0)));
            self.by_key
                .entry(1)
                .or_insert_with(|| Arc::new(Mutex::new(0)));
            self.made_once.get_or_init(|| Arc::new(Mutex::new(0)));
            let _ = std::mem::replace(&mut self.replaced, Some(Arc::new(Mutex::new(0))));
        }

        fn guarded(&self) {
            let mut guarded = self.guarded.lock();
            guarded.insert(1, Arc::new(Mutex::new(0)));
        }

        fn returned(&self, key: u8) -> Arc<RwLock<u8>> {
            let mut returned = self.returned.lock();
            returned
                .entry(key)
                .or_insert_with(|| Arc::new(RwLock::new(0)))
                .clone()
        }
    }

    #[test]
    fn what_is_put_into_a_field_is_one_of_it() {
        let mut all = Assigned::default();
        all.fill();
        all.guarded();
        drop(all.returned(3).read());
        drop(all.plain.as_ref().unwrap().lock());
        drop(all.pushed[0].lock());
        drop(all.by_key[&1].lock());
        drop(all.made_once.get().unwrap().lock());
        drop(all.replaced.as_ref().unwrap().lock());
        let inner = all.guarded.lock()[&1].clone();
        drop(inner.lock());
        for name in [
            "plain",
            "pushed",
            "by_key",
            "made_once",
            "replaced",
            "guarded.inner",
            "returned.inner",
        ] {
            taken(&format!("fields::assigned::Assigned::{name}"), 1);
        }
    }
}

mod generics {
    use super::*;

    struct Cache<K, V> {
        map: Arc<RwLock<HashMap<K, V>>>,
        slot: Option<Arc<Mutex<V>>>,
    }

    #[instrumented]
    impl<K, V> Cache<K, V>
    where
        V: Default,
    {
        fn new() -> Self {
            Cache::<K, V> {
                map: Arc::new(RwLock::new(HashMap::new())),
                slot: Some(Arc::new(Mutex::new(V::default()))),
            }
        }
    }

    #[instrumented]
    impl<K, V: Default> Default for Cache<K, V> {
        fn default() -> Self {
            let map = Arc::default();
            Cache {
                slot: Some(Arc::new(Mutex::default())),
                map,
            }
        }
    }

    #[test]
    fn all_instances_of_a_type_with_parameters_have_one_class() {
        drop(Cache::<u8, u8>::new().map.write());
        drop(Cache::<u8, String>::new().map.read());
        drop(Cache::<u8, String>::new().slot.unwrap().lock());
        drop(Cache::<u8, String>::default().slot.unwrap().lock());
        taken("fields::generics::Cache::map", 2);
        taken("fields::generics::Cache::slot", 2);
    }
}
