//! What `#[instrumented]` does at run time: every shape of item has exactly the expected classes in
//! the registry, before any of its locks is used, and its locks build and work as without it.
//!
//! Each shape has a module, so that the module path tells its classes from all others.

#![allow(unreachable_pub, reason = "some tests are about `pub` items")]

use instrumented_lock::{LockClass, LockKind, registry};

/// Name, kind and line, sorted by name.
type Declared = Vec<(String, LockKind, u32)>;

/// The classes declared directly in `module`.
fn declared_in(module: &str) -> Declared {
    let classes = registry::classes().into_iter();
    let declared = classes.filter_map(|class| {
        let name = class.name().strip_prefix(module)?.strip_prefix("::")?;
        Some((name.to_owned(), class.kind(), line_of(class)))
    });
    declared.collect()
}

/// The one class of that name.
fn class(name: &str) -> &'static LockClass {
    let found: Vec<_> = registry::classes()
        .into_iter()
        .filter(|class| class.name() == name)
        .collect();
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found[0]
}

fn line_of(class: &LockClass) -> u32 {
    assert!(
        class.declared_at().file().ends_with("attribute.rs"),
        "{class:?}"
    );
    class.declared_at().line()
}

/// Write acquisitions of the one lock of that name.
fn writes(name: &str) -> u64 {
    let snapshot = registry::snapshot();
    snapshot
        .lock(name)
        .unwrap_or_else(|| panic!("no {name}"))
        .write()
        .acquisitions()
}

/// `assert_declared! { BASE; "Store::index" RwLock 2; ... }`: this module declares exactly these,
/// each that many lines below `BASE`.
macro_rules! assert_declared {
    ($base:expr; $($name:literal $kind:ident $below:literal);* $(;)?) => {
        let mut expected: crate::Declared =
            vec![$(($name.to_owned(), LockKind::$kind, $base + $below)),*];
        expected.sort();
        assert_eq!(crate::declared_in(module_path!()), expected);
    };
}

mod named_struct {
    use instrumented_lock::{LockKind, Mutex, RwLock, instrumented};
    use std::collections::HashMap;

    const BASE: u32 = line!();
    /// Documented.
    #[instrumented]
    #[derive(Debug, Default)]
    pub(crate) struct Store {
        /// Documented too.
        pub(crate) index: RwLock<HashMap<String, u64>>,
        pub count: u64,
        log: Mutex<Vec<String>>,
    }

    #[test]
    fn named_struct_before_use_declares_its_locks_at_their_fields() {
        assert_declared! { BASE; "Store::index" RwLock 6; "Store::log" Mutex 8 }
    }

    #[test]
    fn named_struct_in_use_builds_and_counts_by_field() {
        let store = Store {
            index: RwLock::new(HashMap::from([("a".to_owned(), 1)])),
            count: 0,
            log: Mutex::new(Vec::new()),
        };
        assert_eq!(store.index.read()["a"], store.count + 1);
        store.log.lock().push("line".to_owned());
        assert_eq!(Store::default().log.into_inner(), Vec::<String>::new());
        assert_eq!(crate::writes(concat!(module_path!(), "::Store::log")), 1);
        assert_eq!(crate::writes(concat!(module_path!(), "::Store::index")), 0);
    }
}

mod tuple_struct {
    use instrumented_lock::{LockKind, Mutex, RwLock, instrumented};

    const BASE: u32 = line!();
    #[instrumented]
    struct Pair(
        Mutex<u8>,
        #[allow(dead_code)] u8,
        #[allow(dead_code)] pub RwLock<u8>,
    );

    #[test]
    fn tuple_struct_names_locks_by_index() {
        assert_declared! { BASE; "Pair::0" Mutex 3; "Pair::2" RwLock 5 }
        let pair = Pair(Mutex::new(1), 2, RwLock::new(3));
        assert_eq!(*pair.0.lock(), 1);
    }
}

mod generic {
    use instrumented_lock::{LockKind, Mutex, MutexGuard, RwLock, instrumented};
    use std::fmt::Debug;

    const BASE: u32 = line!();
    #[instrumented]
    #[derive(Debug, Default)]
    struct Cache<'a, K, V: ?Sized, const N: usize>
    where
        K: Ord + Default,
        V: Debug + 'a,
    {
        keys: RwLock<Vec<K>>,
        borrowed: Mutex<Option<&'a V>>,
        slots: Vec<Mutex<[u8; N]>>,
    }

    #[instrumented]
    struct Unbounded<'a, T>(Mutex<&'a T>);

    #[instrumented]
    struct Tail<T: ?Sized> {
        len: usize,
        data: Mutex<T>,
    }

    #[instrumented]
    #[derive(Default)]
    struct Node {
        next: Mutex<Option<Box<Node>>>,
        children: RwLock<Vec<Self>>,
    }

    #[instrumented]
    struct Unsized {
        boxed: Box<Mutex<[u8]>>,
    }

    #[test]
    fn generic_items_have_one_class_for_all_instances() {
        assert_declared! {
            BASE;
            "Cache::keys" RwLock 8; "Cache::borrowed" Mutex 9; "Cache::slots" Mutex 10;
            "Unbounded::0" Mutex 14;
            "Tail::data" Mutex 19;
            "Node::next" Mutex 25; "Node::children" RwLock 26;
            "Unsized::boxed" Mutex 31;
        }
    }

    #[test]
    fn generic_items_in_use_infer() {
        let text = "text".to_owned();
        let cache: Cache<'_, String, str, 4> = Cache {
            keys: RwLock::new(vec![]),
            borrowed: Mutex::new(Some(&*text)),
            slots: vec![Mutex::new([0; 4])],
        };
        assert_eq!(*cache.borrowed.lock(), Some("text"));
        cache.keys.write().push("key".to_owned());
        assert_eq!(cache.slots[0].lock().len(), 4);
        assert_eq!(Cache::<u8, u8, 2>::default().slots.len(), 0);
        assert!(format!("{cache:?}").contains("key"));
        assert_eq!(**Unbounded(Mutex::new(&7)).0.lock(), 7);
    }

    #[test]
    fn generic_tail_unsized_coerces() {
        let tail: Box<Tail<[u8; 3]>> = Box::new(Tail {
            len: 3,
            data: Mutex::new([1, 2, 3]),
        });
        let tail: Box<Tail<[u8]>> = tail;
        assert_eq!(tail.data.lock().len(), tail.len);
    }

    #[test]
    fn recursive_item_links_to_itself() {
        let node = Node {
            next: Mutex::new(Some(Box::default())),
            children: RwLock::default(),
        };
        node.children.write().push(Node::default());
        assert!(
            node.next
                .lock()
                .as_ref()
                .is_some_and(|next| next.next.lock().is_none())
        );
    }

    fn first(lock: &Mutex<[u8]>) -> MutexGuard<'_, [u8]> {
        lock.lock()
    }

    #[test]
    fn unsized_data_is_a_lock_of_its_class() {
        let holder = Unsized {
            boxed: Box::new(Mutex::new([1, 2, 3])),
        };
        assert_eq!(first(&holder.boxed)[0], 1);
    }
}

mod conditional {
    use instrumented_lock::{LockKind, Mutex, RwLock, instrumented};

    const BASE: u32 = line!();
    #[instrumented]
    #[derive(Default)]
    struct Fields {
        #[cfg(not(any()))]
        present: Mutex<u8>,
        #[cfg(any())]
        absent: Mutex<u8>,
        #[cfg(any())]
        either: Mutex<u8>,
        #[cfg(not(any()))]
        either: RwLock<u8>,
    }

    #[instrumented]
    enum Variants {
        #[cfg(any())]
        Absent(Mutex<u8>),
        Present(Mutex<u8>),
    }

    #[instrumented]
    #[cfg(any())]
    static ABSENT: Mutex<u8> = Mutex::new(0);

    #[test]
    fn conditional_field_absent_declares_no_class() {
        assert_declared! {
            BASE;
            "Fields::present" Mutex 5; "Fields::either" RwLock 11; "Variants::Present::0" Mutex 18;
        }
        let fields = Fields::default();
        assert_eq!(*fields.present.lock() + *fields.either.read(), 0);
        let Variants::Present(lock) = Variants::Present(Mutex::new(1));
        assert_eq!(*lock.lock(), 1);
    }
}

mod derives {
    use instrumented_lock::{LockKind, Mutex, instrumented};

    const BASE: u32 = line!();
    #[derive(Debug)]
    #[instrumented]
    #[derive(Default)]
    struct Both<T> {
        #[lock(name = "derives.value")]
        value: Mutex<T>,
        plain: Mutex<u8>,
    }

    #[test]
    fn derives_above_and_below_work() {
        assert_declared! { BASE; "Both::plain" Mutex 7 }
        assert_eq!(crate::line_of(crate::class("derives.value")), BASE + 6);
        let both = Both::<u8>::default();
        assert_eq!(*both.value.lock() + *both.plain.lock(), 0);
        let debug = format!("{both:?}");
        assert!(
            debug.contains("value") && debug.contains("plain"),
            "{debug}"
        );
    }
}

mod enums {
    use instrumented_lock::{LockKind, Mutex, RwLock, instrumented};

    const BASE: u32 = line!();
    #[instrumented]
    #[derive(Debug, Default)]
    enum State {
        #[default]
        Idle,
        Running(Mutex<u32>, RwLock<u32>),
        Stopping {
            reason: Mutex<String>,
            #[lock(skip)]
            quiet: Mutex<u8>,
        },
    }

    #[test]
    fn enum_variants_name_locks_by_variant_and_field() {
        assert_declared! {
            BASE;
            "State::Running::0" Mutex 6; "State::Running::1" RwLock 6;
            "State::Stopping::reason" Mutex 8;
        }
        for state in [
            State::default(),
            State::Running(Mutex::new(1), RwLock::new(2)),
            State::Stopping {
                reason: Mutex::new("end".into()),
                quiet: Mutex::new(0),
            },
        ] {
            match state {
                State::Idle => {}
                State::Running(count, limit) => assert!(*count.lock() < *limit.read()),
                State::Stopping { reason, quiet } => {
                    assert_eq!((reason.lock().len(), *quiet.lock()), (3, 0));
                }
            }
        }
    }
}

mod statics {
    use instrumented_lock::{LockKind, Mutex, RwLock, instrumented};
    use std::sync::{Arc, LazyLock, OnceLock};

    type Table = RwLock<Vec<u8>>;

    const BASE: u32 = line!();
    #[instrumented]
    pub(crate) static CONFIG: RwLock<u32> = RwLock::new(0);
    #[instrumented]
    static ARRAY: [Mutex<u8>; 2] = [Mutex::new(0), Mutex::new(1)];
    #[instrumented]
    static OPTIONAL: Option<Mutex<&str>> = Some(Mutex::new("text"));
    #[instrumented]
    static LAZY: LazyLock<Mutex<String>> = LazyLock::new(|| Mutex::new("lazy".to_owned()));
    #[instrumented]
    static ONCE: OnceLock<Arc<Mutex<u8>>> = OnceLock::new();
    #[instrumented]
    static ALIAS: Table = RwLock::new(Vec::new());
    #[instrumented]
    static mut MUTABLE: Mutex<u8> = Mutex::new(0);
    #[instrumented(name = "statics.named")]
    static NAMED: Mutex<u8> = Mutex::new(0);

    #[test]
    fn statics_before_use_are_declared_at_their_lines() {
        if crate::class(concat!(module_path!(), "::ALIAS")).kind() == LockKind::Unknown {
            assert_declared! {
                BASE;
                "CONFIG" RwLock 2; "ARRAY" Mutex 4; "OPTIONAL" Mutex 6; "LAZY" Mutex 8;
                "ONCE" Mutex 10; "ALIAS" Unknown 12; "MUTABLE" Mutex 14;
            }
        }
        assert_eq!(crate::line_of(crate::class("statics.named")), BASE + 16);
        ALIAS.write().push(1);
        assert_eq!(
            crate::class(concat!(module_path!(), "::ALIAS")).kind(),
            LockKind::RwLock
        );
    }

    #[test]
    fn statics_in_use_lock() {
        *CONFIG.write() += 1;
        assert_eq!(*ARRAY[1].lock(), 1);
        assert_eq!(OPTIONAL.as_ref().map(|lock| lock.lock().len()), Some(4));
        LAZY.lock().push('!');
        *ONCE.get_or_init(|| Arc::new(Mutex::new(1))).lock() += 1;
        *NAMED.lock() += 1;
        let mutable = &raw mut MUTABLE;
        // SAFETY: nothing else touches it.
        *unsafe { (*mutable).get_mut() } += 1;
        assert_eq!(crate::writes("statics.named"), 1);
    }
}

mod containers {
    use instrumented_lock::{LockKind, Mutex, RwLock, instrumented};
    use std::collections::{BTreeMap, HashMap, VecDeque};
    use std::sync::OnceLock;

    type Entry = (Mutex<u8>, RwLock<u8>);

    const BASE: u32 = line!();
    #[instrumented(allow(nested_lock))]
    #[derive(Default)]
    struct All {
        vec: Vec<Mutex<u8>>,
        deque: VecDeque<Option<Box<Mutex<u8>>>>,
        option: Option<RwLock<u8>>,
        boxed: Box<Mutex<u8>>,
        array: [Mutex<u8>; 2],
        slice: Box<[Mutex<u8>]>,
        pair: (Mutex<u8>, u8, RwLock<u8>),
        map: HashMap<String, Mutex<u8>>,
        tree: BTreeMap<u8, (Mutex<u8>, Mutex<u8>)>,
        once: OnceLock<instrumented_lock::Mutex<u8>>,
        big: RwLock<HashMap<String, Vec<(u64, String)>>>,
        #[allow(unused_parens)]
        #[rustfmt::skip]
        parens: ((Mutex<u8>)),
        nested: Mutex<Vec<Mutex<u8>>>,
        opaque: Vec<Entry>,
        #[lock(name = "containers.named")]
        named: (Mutex<u8>, RwLock<u8>),
        #[allow(dead_code)]
        pair_0: Mutex<u8>,
    }

    #[test]
    fn containers_of_locks_have_a_class_for_each_lock_in_the_type() {
        assert_declared! {
            BASE;
            "All::vec" Mutex 4; "All::deque" Mutex 5; "All::option" RwLock 6; "All::boxed" Mutex 7;
            "All::array" Mutex 8; "All::slice" Mutex 9; "All::pair.0" Mutex 10;
            "All::pair.1" RwLock 10; "All::map" Mutex 11; "All::tree.0" Mutex 12;
            "All::tree.1" Mutex 12; "All::once" Mutex 13; "All::big" RwLock 14; "All::parens" Mutex 17;
            "All::nested" Mutex 18; "All::pair_0" Mutex 23;
        }
        assert_eq!(
            crate::line_of(crate::class("containers.named.0")),
            BASE + 21
        );
        assert_eq!(crate::class("containers.named.1").kind(), LockKind::RwLock);
    }

    #[test]
    fn containers_of_locks_in_use_infer() {
        let mut all = All::default();
        all.vec.push(Mutex::new(1));
        all.vec.extend((0..3).map(Mutex::new));
        all.deque.push_back(Some(Box::new(Mutex::new(1))));
        all.option = Some(RwLock::new(1));
        *all.boxed.lock() += 1;
        all.array = [Mutex::new(1), Mutex::new(2)];
        all.slice = vec![Mutex::new(1)].into_boxed_slice();
        all.pair = (Mutex::new(1), 2, RwLock::new(3));
        all.map.insert("key".to_owned(), Mutex::new(1));
        *all.map
            .entry("other".to_owned())
            .or_insert_with(|| Mutex::new(0))
            .lock() += 1;
        all.tree.insert(1, (Mutex::new(1), Mutex::new(2)));
        all.once.get_or_init(|| Mutex::new(1));
        all.opaque.push((Mutex::new(1), RwLock::new(1)));
        all.nested.lock().push(Mutex::new(1));
        all.big
            .write()
            .insert("key".to_owned(), vec![(1, "value".to_owned())]);
        let sum: u8 = all.vec.iter().map(|lock| *lock.lock()).sum();
        assert_eq!(sum, 4);
        assert_eq!(
            *all.parens.lock() + *all.named.0.lock() + *all.named.1.read(),
            0
        );
        assert_eq!(
            all.deque.len() + all.slice.len() + all.tree.len() + all.array.len(),
            5
        );
        assert_eq!(all.pair.1 + all.option.map_or(0, |lock| *lock.read()), 3);
    }
}

mod handles {
    use instrumented_lock::{LockKind, Mutex, RwLock, instrumented};
    use std::rc::Rc;
    use std::sync::{Arc, Weak};

    type Table = RwLock<Vec<u8>>;

    const BASE: u32 = line!();
    #[instrumented(allow(unshared_lock))]
    struct Handles<'a> {
        own: Mutex<u8>,
        shared: Arc<Mutex<u8>>,
        weak: Weak<Mutex<u8>>,
        borrowed: &'a Mutex<u8>,
        make: fn() -> Mutex<u8>,
        many: Vec<Rc<Mutex<u8>>>,
        #[lock]
        marked: Arc<Mutex<u8>>,
        #[lock]
        shards: Vec<Arc<RwLock<u8>>>,
        #[lock()]
        reference: Option<&'a Mutex<u8>>,
        #[lock]
        table: Table,
        #[lock(name = "handles.tables")]
        tables: Arc<Vec<Table>>,
    }

    #[instrumented]
    struct Lender {
        lock: Mutex<u8>,
    }

    #[test]
    fn handles_unless_marked_stay_unclassed() {
        if crate::class("handles.tables").kind() == LockKind::Unknown {
            assert_declared! {
                BASE;
                "Handles::own" Mutex 3; "Handles::marked" Mutex 10; "Handles::shards" RwLock 12;
                "Handles::reference" Mutex 14; "Handles::table" Unknown 16; "Lender::lock" Mutex 23;
            }
        }
        let outside = Arc::new(Mutex::<u8>::new(1));
        let handles = Handles {
            own: Mutex::new(0),
            shared: Arc::clone(&outside),
            weak: Arc::downgrade(&outside),
            borrowed: &outside,
            make: || Mutex::new(0),
            many: vec![Rc::new(Mutex::new(0))],
            marked: Arc::new(Mutex::new(5)),
            shards: (0..4).map(|shard| Arc::new(RwLock::new(shard))).collect(),
            reference: None,
            table: RwLock::new(vec![1]),
            tables: Arc::new(vec![RwLock::new(vec![])]),
        };
        *handles.own.lock() += *handles.borrowed.lock();
        *handles.marked.lock() += *handles.shared.lock();
        assert!(handles.weak.upgrade().is_some() && handles.reference.is_none());
        assert_eq!(*(handles.make)().lock() + *handles.many[0].lock(), 0);
        assert_eq!(*handles.shards[3].read(), 3);
        assert_eq!(
            crate::writes(concat!(module_path!(), "::Handles::marked")),
            1
        );
        handles.table.write().push(2);
        handles.tables[0].write().push(2);
        assert_eq!(crate::class("handles.tables").kind(), LockKind::RwLock);
        assert_eq!(crate::writes("handles.tables"), 1);
        assert_eq!(crate::line_of(crate::class("handles.tables")), BASE + 18);
        // A borrowed lock of another class is lent as an un-annotated one.
        let lender = Lender {
            lock: Mutex::new(3),
        };
        let borrower = Handles {
            borrowed: &lender.lock,
            ..handles
        };
        assert_eq!(*borrower.borrowed.lock(), 3);
    }
}

mod options {
    use instrumented_lock as renamed;
    use renamed::{LockKind, Mutex, instrumented};

    mod inner {
        pub(super) use instrumented_lock as again;
    }

    const BASE: u32 = line!();
    #[instrumented(prefix = "storage", crate = renamed)]
    #[derive(Default)]
    struct Store {
        index: Mutex<u8>,
        #[lock(name = "options.journal")]
        log: Mutex<u8>,
        #[lock(skip)]
        scratch: Mutex<u8>,
        pair: (Mutex<u8>, Mutex<u8>),
    }

    #[instrumented(crate = inner::again)]
    struct Reexported(Mutex<u8>);

    #[instrumented(crate = self::inner::again, prefix = "storage")]
    static CONFIG: Mutex<u8> = Mutex::new(0);

    #[test]
    fn options_replace_parts_of_the_name() {
        assert_declared! { BASE; "Reexported::0" Mutex 13 }
        for (name, below) in [
            ("storage::Store::index", 4),
            ("options.journal", 6),
            ("storage::Store::pair.0", 9),
            ("storage::Store::pair.1", 9),
            ("storage::CONFIG", 16),
        ] {
            assert_eq!(crate::line_of(crate::class(name)), BASE + below, "{name}");
        }
        let scratch = crate::registry::classes().into_iter();
        assert_eq!(
            scratch
                .filter(|class| class.name().contains("scratch"))
                .count(),
            0
        );
        let store = Store::default();
        *store.scratch.lock() += *store.index.lock() + *store.log.lock() + *store.pair.0.lock();
        *Reexported(Mutex::new(1)).0.lock() += *CONFIG.lock() + *store.pair.1.lock();
        assert_eq!(crate::writes("options.journal"), 1);
    }
}

mod in_function {
    use instrumented_lock::{LockKind, Mutex, RwLock, instrumented};

    const BASE: u32 = line!();
    fn body<T: Into<u8>>(start: T) -> u8 {
        #[instrumented]
        #[derive(Default)]
        struct Local {
            lock: Mutex<u8>,
        }
        #[instrumented]
        static COUNT: RwLock<u8> = RwLock::new(0);
        let local = Local::default();
        *COUNT.write() += start.into();
        *local.lock.lock() + *COUNT.read()
    }

    #[allow(dead_code)]
    fn never_called() {
        #[instrumented]
        static UNUSED: RwLock<u8> = RwLock::new(0);
    }

    #[test]
    fn items_in_functions_are_declared_called_or_not() {
        assert_declared! {
            BASE; "Local::lock" Mutex 5; "COUNT" RwLock 8; "UNUSED" RwLock 17;
        }
        assert_eq!(body(1), 1);
    }
}

mod in_macro {
    use instrumented_lock::{LockKind, Mutex, RwLock, instrumented};

    macro_rules! store {
        ($Store:ident { $($field:ident: $ty:ty),* }, $name:literal, $data:ty, $prefix:expr) => {
            #[instrumented]
            #[derive(Default)]
            struct $Store {
                $($field: $ty,)*
                #[lock(name = $name)]
                own: Mutex<$data>,
            }

            #[instrumented(prefix = $prefix)]
            #[derive(Default)]
            struct Other {
                lock: Vec<RwLock<$data>>,
            }
        };
    }

    const BASE: u32 = line!();
    store! {
        First {
            index: Mutex<u8>,
            table: Vec<RwLock<u8>>
        },
        "in_macro.own",
        Vec<u8>,
        "prefixed"
    }

    #[test]
    fn macro_generated_item_is_declared_at_the_fields_the_user_wrote() {
        assert_declared! { BASE; "First::index" Mutex 3; "First::table" RwLock 4 }
        // A field that the macro made is at the macro's call.
        assert_eq!(crate::line_of(crate::class("in_macro.own")), BASE + 1);
        assert_eq!(
            crate::line_of(crate::class("prefixed::Other::lock")),
            BASE + 1
        );
        let mut first = First::default();
        first.table.push(RwLock::new(*first.index.lock()));
        first.own.lock().push(1);
        assert_eq!(Other::default().lock.len(), 0);
    }
}

mod raw_identifiers {
    use instrumented_lock::{LockKind, Mutex, instrumented};

    const BASE: u32 = line!();
    #[instrumented]
    #[allow(non_camel_case_types)]
    #[derive(Default)]
    struct r#struct {
        r#type: Mutex<u8>,
        größe: Mutex<u8>,
    }

    #[instrumented]
    #[allow(non_upper_case_globals)]
    static r#static: Mutex<u8> = Mutex::new(0);

    #[test]
    fn raw_identifiers_are_named_without_the_prefix() {
        assert_declared! {
            BASE; "struct::type" Mutex 5; "struct::größe" Mutex 6; "static" Mutex 11;
        }
        let value = r#struct::default();
        *value.r#type.lock() += *value.größe.lock() + *r#static.lock();
    }
}

mod visibility {
    /// A public item with private data in its locks, in a private module.
    pub mod inner {
        use instrumented_lock::{Mutex, instrumented};

        #[derive(Debug, Default)]
        struct Private(u8);

        #[instrumented]
        #[derive(Debug, Default)]
        pub struct Public {
            data: Mutex<Private>,
            pub(super) near: Mutex<u8>,
            pub(in super::super) far: Mutex<u8>,
            pub open: Mutex<u8>,
        }

        impl Public {
            pub fn data(&self) -> u8 {
                self.data.lock().0
            }
        }
    }

    #[test]
    fn visibility_of_fields_is_kept() {
        let names: Vec<_> = crate::declared_in(concat!(module_path!(), "::inner"))
            .into_iter()
            .map(|(name, ..)| name)
            .collect();
        assert_eq!(
            names,
            [
                "Public::data",
                "Public::far",
                "Public::near",
                "Public::open"
            ]
        );
        let public = inner::Public::default();
        assert_eq!(public.data() + *public.near.lock() + *public.open.lock(), 0);
        assert_eq!(*super::far(&public), 0);
    }
}

fn far(public: &visibility::inner::Public) -> instrumented_lock::MutexGuard<'_, u8> {
    public.far.lock()
}
