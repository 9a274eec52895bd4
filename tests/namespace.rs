//! The example `namespace`: what its report says follows from the operations that it did. Also its
//! command line, and what it makes of a directory tree.

use instrumented_lock::{LockSnapshot, Mode, Snapshot, registry};
use instrumented_lock_examples::namespace::{
    BucketPath, Entry, Failure, Invocation, KeyPath, Loaded, Namespace, Operation, Options,
    Outcome, Plan, Request, Response, Tally, Until, acquisitions, load, serve,
};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// Lock classes belong to the process: whoever counts acquisitions is alone with the service.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory with these files, each as long as its path.
fn tree(files: &[&str]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for file in files {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }
    root
}

fn load_quietly(root: &Path, namespace: &Namespace) -> Result<Loaded, Failure> {
    load(root, namespace, |_| {})
}

fn key(volume: &str, bucket: &str, key: &str) -> KeyPath {
    let name = |text| OsStr::new(text).into();
    KeyPath {
        at: BucketPath {
            volume: name(volume),
            bucket: name(bucket),
        },
        key: name(key),
    }
}

/// Every level, several volumes, buckets and directories, and one bucket so small that it is soon
/// over its quota.
const FILES: [&str; 12] = [
    "read.me",
    "src/lib.rs",
    "src/small/only",
    "src/parse/one.rs",
    "src/parse/two.rs",
    "src/parse/deep/down/here.rs",
    "src/parse/deep/down/there.rs",
    "docs/book/1.md",
    "docs/book/2.md",
    "docs/book/3.md",
    "docs/img/a.png",
    "docs/img/b.png",
];

const THREADS: usize = 4;
/// Enough for every outcome there is to happen some hundred times.
const OPERATIONS: u64 = 50_000;

#[test]
fn acquisitions_of_every_lock_after_serving_follow_from_the_operations() {
    let _alone = alone();
    let root = tree(&FILES);
    let before = registry::snapshot();
    let mut namespace = Namespace::new();
    let loaded = load_quietly(root.path(), &namespace).unwrap();
    let plan = Plan {
        threads: THREADS,
        until: Until::Operations(OPERATIONS),
        seed: 42,
    };
    let tally = serve(&namespace, &loaded.keys, &plan, |_, _| {})
        .unwrap()
        .tally;
    let report = registry::snapshot().since(&before);

    assert_eq!(tally.total(), THREADS as u64 * OPERATIONS);
    assert_every_outcome_happened(&tally);
    assert_eq!(namespace.edits(), edits(&tally));
    let expected = acquisitions(&loaded, &tally);
    let names: BTreeSet<_> = expected.iter().map(|&(name, ..)| name).collect();
    assert_eq!(
        names,
        locks_of_the_service(&report)
            .map(LockSnapshot::name)
            .collect()
    );
    for lock in locks_of_the_service(&report) {
        for (mode, figures) in lock.modes() {
            let is_this = |&&(name, m, _): &&(&str, Mode, u64)| (name, m) == (lock.name(), mode);
            let n = expected.iter().find(is_this).map_or(0, |&(.., n)| n);
            let about = format!("{} {mode:?}: {figures:?}", lock.name());
            assert_eq!(figures.acquisitions(), n, "{about}");
            assert_eq!(figures.releases(), n, "{about}");
            assert_eq!(figures.hold().count(), n, "{about}");
            assert_eq!(figures.wait().count(), n, "{about}");
            assert_eq!(figures.blocked().count(), figures.contended(), "{about}");
            assert_eq!(figures.wait().sum(), figures.blocked().sum(), "{about}");
            assert_eq!(
                (figures.try_failures(), figures.timeouts()),
                (0, 0),
                "{about}"
            );
            assert_eq!(figures.hold().sum() > Duration::ZERO, n > 0, "{about}");
        }
        assert_eq!(lock.unmatched(), 0, "{}", lock.name());
    }
}

fn locks_of_the_service(snapshot: &Snapshot) -> impl Iterator<Item = &LockSnapshot> {
    snapshot
        .locks()
        .iter()
        .filter(|lock| lock.name().starts_with("namespace::"))
}

/// Else the test above would not see a wrong count of the others.
fn assert_every_outcome_happened(tally: &Tally) {
    use Outcome::{Done, Exists, Missing, NoBucket, OverQuota};
    for operation in Operation::ALL {
        let possible: &[Outcome] = match operation {
            // Only keys that are there are looked up.
            Operation::LookUp | Operation::List => &[Done],
            Operation::Create => &[Done, OverQuota],
            Operation::Rename => &[Done, Missing, Exists],
            Operation::Move => &[Done, Missing, Exists, OverQuota],
            Operation::Delete => &[Done, Missing],
            Operation::MakeBucket => &[Done, Exists],
        };
        for outcome in Outcome::ALL {
            let n = tally.count(operation, outcome);
            assert_eq!(
                n > 0,
                possible.contains(&outcome),
                "{operation:?} {outcome:?}: {n}"
            );
        }
        assert_eq!(tally.count(operation, NoBucket), 0);
    }
}

fn edits(tally: &Tally) -> u64 {
    let edits = [
        Operation::Create,
        Operation::Rename,
        Operation::Move,
        Operation::Delete,
        Operation::MakeBucket,
    ];
    edits
        .iter()
        .map(|&edit| tally.count(edit, Outcome::Done))
        .sum()
}

#[test]
fn live_locks_are_those_of_the_volumes_and_buckets_until_they_are_dropped() {
    let _alone = alone();
    let root = tree(&FILES);
    let namespace = Namespace::new();
    let loaded = load_quietly(root.path(), &namespace).unwrap();
    assert_eq!((loaded.volumes, loaded.buckets), (3, 6));
    let live = |name| registry::snapshot().lock(name).unwrap().instances();
    let live = || ["Namespace::volumes", "Volume::buckets", "Bucket::keys"].map(live);
    assert_eq!(live(), [1, 3, 6]);
    drop(namespace);
    assert_eq!(live(), [0, 0, 0]);
}

#[test]
fn serve_with_a_time_limit_ends_after_it_and_tells_its_progress() {
    let _alone = alone();
    let root = tree(&FILES);
    let namespace = Namespace::new();
    let loaded = load_quietly(root.path(), &namespace).unwrap();
    let limit = Duration::from_millis(200);
    let plan = Plan {
        threads: 2,
        until: Until::Elapsed(limit),
        seed: 1,
    };
    let mut told = Vec::new();
    let served = serve(&namespace, &loaded.keys, &plan, |done, _| told.push(done)).unwrap();
    assert!(
        served.elapsed >= limit && served.elapsed < Duration::from_secs(60),
        "{served:?}"
    );
    assert!(told.is_sorted() && told.last().is_some_and(|&n| n <= served.tally.total()));
    assert!(served.tally.total() > 0);
}

#[test]
fn serve_without_keys_has_nothing_to_do() {
    let _alone = alone();
    let plan = Plan {
        threads: 2,
        until: Until::Operations(10),
        seed: 1,
    };
    let served = serve(&Namespace::new(), &[], &plan, |_, _| {}).unwrap();
    assert_eq!(served.tally, Tally::default());
}

#[test]
fn request_in_each_situation_ends_as_it_says() {
    let _alone = alone();
    let namespace = Namespace::new();
    let entry = Entry {
        size: 7,
        modified: None,
    };
    let [a, b, c, far] = [("x", "a"), ("x", "b"), ("x", "c"), ("y", "a")]
        .map(|(bucket, name)| key("v", bucket, name));
    namespace.restore(&a, entry);
    namespace.restore(&far, entry);
    let ask = |request| namespace.handle(1, &request).outcome();
    let rename = |from: &KeyPath, to: &KeyPath| {
        ask(Request::Rename {
            from: from.clone(),
            to: to.clone(),
        })
    };

    assert_eq!(ask(Request::LookUp(b.clone())), Outcome::Missing);
    assert_eq!(rename(&b, &c), Outcome::Missing);
    assert_eq!(ask(Request::Create(b.clone(), entry)), Outcome::Done);
    assert_eq!(rename(&b, &a), Outcome::Exists);
    assert_eq!(rename(&b, &far), Outcome::Exists);
    assert_eq!(rename(&b, &c), Outcome::Done);
    assert_eq!(rename(&c, &key("v", "y", "c")), Outcome::Done);
    assert_eq!(rename(&key("v", "y", "c"), &c), Outcome::Done);
    assert_eq!(ask(Request::Delete(c.clone())), Outcome::Done);
    assert_eq!(ask(Request::Delete(c.clone())), Outcome::Missing);
    assert_eq!(
        ask(Request::MakeBucket(key("v", "x", "").at)),
        Outcome::Exists
    );
    assert_eq!(
        ask(Request::MakeBucket(key("v", "new", "").at)),
        Outcome::Done
    );
    // An empty bucket was loaded with nothing, and may have nothing.
    assert_eq!(
        ask(Request::Create(key("v", "new", "n"), entry)),
        Outcome::OverQuota
    );
    assert_eq!(rename(&a, &key("v", "new", "n")), Outcome::OverQuota);
    assert_eq!(
        ask(Request::LookUp(key("v", "none", "n"))),
        Outcome::NoBucket
    );
    assert_eq!(
        ask(Request::LookUp(key("none", "x", "a"))),
        Outcome::NoBucket
    );
    assert_eq!(rename(&a, &key("v", "none", "n")), Outcome::NoBucket);
    assert_eq!(ask(Request::LookUp(a)), Outcome::Done, "still there");
}

#[test]
fn bucket_with_four_times_the_keys_it_was_loaded_with_takes_no_more() {
    let _alone = alone();
    let namespace = Namespace::new();
    let entry = Entry {
        size: 7,
        modified: None,
    };
    namespace.restore(&key("v", "b", "loaded"), entry);
    namespace.restore(&key("v", "b", "loaded"), entry);
    let create = |name| {
        let request = Request::Create(key("v", "b", name), entry);
        namespace.handle(1, &request).outcome()
    };
    let outcomes = ["1", "2", "3", "4", "1", "loaded"].map(create);
    let expected = [true, true, true, false, true, true];
    assert_eq!(outcomes.map(|outcome| outcome == Outcome::Done), expected);
    assert_eq!(create("4"), Outcome::OverQuota);
    let delete = Request::Delete(key("v", "b", "2"));
    assert_eq!(namespace.handle(1, &delete).outcome(), Outcome::Done);
    assert_eq!(create("4"), Outcome::Done);
}

#[test]
fn load_of_a_tree_makes_volumes_buckets_and_keys_of_its_levels() {
    let _alone = alone();
    let root = tree(&FILES);
    let namespace = Namespace::new();
    let loaded = load_quietly(root.path(), &namespace).unwrap();
    assert_eq!(
        (loaded.keys.len(), loaded.special, loaded.unreadable),
        (FILES.len(), 0, 0)
    );
    for (path, size) in [
        (key(".", ".", "read.me"), "read.me".len()),
        (key("src", ".", "lib.rs"), "src/lib.rs".len()),
        (key("docs", "img", "a.png"), "docs/img/a.png".len()),
        (
            key("src", "parse", "deep/down/here.rs"),
            "src/parse/deep/down/here.rs".len(),
        ),
    ] {
        assert!(loaded.keys.contains(&path), "{path:?}");
        let response = namespace.handle(0, &Request::LookUp(path));
        assert!(
            matches!(&response, Response::Found(found)
                if found.size == size as u64 && found.modified.is_some()),
            "{response:?}"
        );
    }
    let list = |prefix, limit| {
        let request = Request::List {
            at: key("src", "parse", "").at,
            prefix: OsStr::new(prefix).into(),
            limit,
        };
        let Response::Page(page) = namespace.handle(0, &request) else {
            panic!("no page")
        };
        page.iter()
            .map(|(key, _)| key.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        list("deep/", 9),
        ["deep/down/here.rs", "deep/down/there.rs"]
    );
    assert_eq!(
        list("", 3),
        ["deep/down/here.rs", "deep/down/there.rs", "one.rs"]
    );
    assert_eq!(list("z", 9), [""; 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn load_of_odd_entries_skips_and_counts_them() {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    let _alone = alone();
    let root = tree(&["a/b/file"]);
    let bucket = root.path().join("a/b");
    symlink(root.path(), bucket.join("circle")).unwrap();
    symlink("nowhere", bucket.join("dangling")).unwrap();
    let not_utf8 = OsStr::from_bytes(b"\xff\xfe.txt");
    fs::write(bucket.join(not_utf8), "x").unwrap();
    // Nobody, not even root, can name the bottom of a path of 5,000 bytes at once. It is made from
    // its two halves.
    let half = || {
        (0..10)
            .map(|_| "d".repeat(250))
            .collect::<Vec<_>>()
            .join("/")
    };
    fs::create_dir_all(root.path().join("upper").join(half())).unwrap();
    fs::create_dir_all(root.path().join("lower").join(half())).unwrap();
    fs::rename(
        root.path().join("lower"),
        root.path().join("upper").join(half()).join("lower"),
    )
    .unwrap();

    let namespace = Namespace::new();
    let loaded = load_quietly(root.path(), &namespace).unwrap();
    let keys: BTreeSet<_> = loaded.keys.iter().map(|path| &*path.key).collect();
    assert_eq!(keys, [OsStr::new("file"), not_utf8].into());
    assert_eq!((loaded.special, loaded.unreadable), (2, 1));
    let said = loaded.reasons[0].to_string();
    assert!(
        said.contains("/upper/ddd") && said.contains("name too long"),
        "{said}"
    );
}

#[test]
fn load_of_nothing_is_a_failure_with_status_1_that_names_the_directory() {
    let _alone = alone();
    let root = tree(&["dir/file"]);
    fs::create_dir(root.path().join("empty")).unwrap();
    for (name, reason) in [
        ("missing", "cannot read the directory"),
        ("dir/file", "cannot read the directory"),
        ("empty", "nothing to serve"),
    ] {
        let path = root.path().join(name);
        let failure = load_quietly(&path, &Namespace::new()).unwrap_err();
        assert_eq!(failure.status(), 1, "{name}");
        let said = failure.to_string();
        assert!(
            said.contains(reason) && said.contains(path.to_str().unwrap()),
            "{said}"
        );
    }
}

#[test]
fn command_line_that_is_wrong_is_a_failure_with_status_2_that_says_what_and_the_usage() {
    let wrong: [(&[&str], &str); 12] = [
        (&["--frob"], "--frob"),
        (&["-x"], "-x"),
        (&["one", "two"], "two"),
        (&["--threads"], "--threads"),
        (&["--threads", "0"], "`0`"),
        (&["--threads", "1025"], "`1025`"),
        (&["--threads=many"], "`many`"),
        (&["--seconds", "0"], "`0`"),
        (&["--seconds=-1"], "`-1`"),
        (&["--seconds", "NaN"], "`NaN`"),
        (&["--wide=1"], "--wide"),
        (&["--json", "--wide"], "--wide and --json"),
    ];
    for (arguments, what) in wrong {
        let failure = Options::parse(arguments).unwrap_err();
        assert_eq!(failure.status(), 2, "{arguments:?}");
        let said = failure.to_string();
        assert!(said.lines().next().unwrap().contains(what), "{said}");
        assert!(said.contains("usage: cargo run"), "{said}");
    }
}

#[test]
fn command_line_that_is_right_is_taken_as_said() {
    let parse = |arguments: &[&str]| Options::parse(arguments).unwrap();
    assert_eq!(parse(&[]), Invocation::Run(Options::default()));
    assert_eq!(parse(&["--threads", "3", "--help"]), Invocation::Help);
    let all = Options {
        root: Some("--dir".into()),
        threads: 16,
        duration: Duration::from_millis(1500),
        wide: true,
        json: false,
    };
    let arguments = ["--threads=16", "--seconds", "1.5", "--wide", "--", "--dir"];
    assert_eq!(parse(&arguments), Invocation::Run(all));
    let json = Options {
        json: true,
        ..Options::default()
    };
    assert_eq!(parse(&["--json"]), Invocation::Run(json));
}
