//! The command, on small crates: what becomes of them, and what is left alone with a note.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What the command prints, and what the files of the folder `src` are afterwards.
fn migrated(files: &[(&str, &str)], options: &[&str]) -> (String, Vec<String>) {
    let folder = tempfile::tempdir().expect("there is room");
    fs::create_dir(folder.path().join("src")).expect("it is new");
    fs::write(
        folder.path().join("Cargo.toml"),
        "[package]\nedition = \"2024\"\n",
    )
    .expect("as above");
    let path = |name: &str| folder.path().join("src").join(name);
    for (name, text) in files {
        fs::write(path(name), text).expect("there is room");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_instrumented-lock-migrate"))
        .arg("migrate")
        .args(options)
        .arg(folder.path())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).expect("it is text");
    let printed = printed.replace(&format!("{}", folder.path().display()), "");
    let read = |(name, _): &(&str, &str)| fs::read_to_string(path(name)).expect("it is there");
    (printed, files.iter().map(read).collect())
}

fn one(text: &str) -> String {
    migrated(&[("lib.rs", text)], &[]).1.remove(0)
}

const BOTH: &str = "\
use parking_lot::{Mutex, MutexGuard};
use std::sync::{Arc, Condvar, PoisonError, RwLock, atomic::AtomicU8};

/// What is documented.
#[cfg(unix)]
#[derive(Debug, Default)]
pub struct Store {
    index: RwLock<u8>,
    shared: Arc<Mutex<u8>>,
}

impl Store {
    pub fn new() -> Self {
        Store { index: RwLock::new(0), shared: Arc::new(Mutex::new(0)) }
    }
}

impl Store {
    pub fn get(&self) -> MutexGuard<'_, u8> {
        self.shared.lock()
    }
}

fn local() {
    let woken = std::sync::Condvar::new();
    println!(\"{:?}\", parking_lot::Mutex::new(1));
}
";

const BOTH_AFTER: &str = "\
use instrumented_lock::{Mutex, MutexGuard};
use std::sync::{Arc, PoisonError, atomic::AtomicU8};
use instrumented_lock::std_sync::annotated::{Condvar, RwLock};

/// What is documented.
#[cfg(unix)]
#[instrumented_lock::instrumented]
#[derive(Debug, Default)]
pub struct Store {
    index: RwLock<u8>,
    shared: Arc<Mutex<u8>>,
}

#[instrumented_lock::instrumented]
impl Store {
    pub fn new() -> Self {
        Store { index: RwLock::new(0), shared: Arc::new(Mutex::new(0)) }
    }
}

impl Store {
    pub fn get(&self) -> MutexGuard<'_, u8> {
        self.shared.lock()
    }
}

#[instrumented_lock::instrumented]
fn local() {
    let woken = instrumented_lock::std_sync::annotated::Condvar::new();
    println!(\"{:?}\", instrumented_lock::Mutex::new(1));
}
";

#[test]
fn imports_paths_types_and_makers_are_changed() {
    assert_eq!(one(BOTH), BOTH_AFTER);
}

#[test]
fn what_is_changed_is_not_changed_again() {
    assert_eq!(one(BOTH_AFTER), BOTH_AFTER);
}

#[test]
fn dry_run_shows_the_difference_and_changes_nothing() {
    let (printed, files) = migrated(&[("lib.rs", BOTH)], &["--dry-run"]);
    assert_eq!(files[0], BOTH);
    assert!(
        printed.contains("--- /src/lib.rs\n+++ /src/lib.rs\n@@ -1,7 +1,9 @@\n"),
        "{printed}"
    );
    assert!(
        printed.contains("-use parking_lot::{Mutex, MutexGuard};\n"),
        "{printed}"
    );
    assert!(
        printed.contains("+#[instrumented_lock::instrumented]\n"),
        "{printed}"
    );
    assert!(
        printed.contains("would change 1 files, 3 items"),
        "{printed}"
    );
}

#[test]
fn a_file_without_classes_imports_drop_ins() {
    let before = "use std::sync::Mutex;\n\npub fn lock(lock: &Mutex<u8>) {}\n";
    assert_eq!(
        one(before),
        before.replace("std::sync", "instrumented_lock::std_sync")
    );
    let before = "use parking_lot::RwLock;\n\npub fn lock(lock: &RwLock<u8>) {}\n";
    assert_eq!(
        one(before),
        before.replace("parking_lot", "instrumented_lock::drop_in")
    );
}

#[test]
fn names_from_the_root_of_the_crate_are_known_in_its_modules() {
    let root = "mod store;\n\nuse {parking_lot::Mutex, std::sync::Arc};\n";
    let store = "use super::*;\n\nstruct Store {\n    log: Mutex<u8>,\n}\n";
    let (_, files) = migrated(&[("lib.rs", root), ("store.rs", store)], &[]);
    assert_eq!(files[0], root.replace("parking_lot", "instrumented_lock"));
    assert!(files[1].contains("#[instrumented_lock::instrumented]\nstruct Store"));
}

#[test]
fn rules_are_allowed_where_they_are_to_be() {
    let before = "use std::sync::Mutex;\nfn make() {\n    let lock = Mutex::new(0);\n}\n";
    let (_, files) = migrated(
        &[("lib.rs", before)],
        &["--allow", "relock,scrutinee_guard"],
    );
    assert!(files[0].contains("instrumented(allow(relock, scrutinee_guard))]\nfn make"));
}

#[test]
fn traits_inner_functions_and_turbofishes_are_seen() {
    let before = "\
use std::sync::Mutex;

trait Makes {
    fn make() -> u8 {
        Mutex::<u8>::new(0).into_inner().unwrap()
    }
}

mod inner {
    use super::Mutex;

    async fn made() {
        fn helper() {}
        let lock = <Mutex<Vec<u8>>>::default();
    }
}
";
    let after = one(before);
    assert_eq!(
        after.matches("#[instrumented_lock::instrumented]").count(),
        2,
        "{after}"
    );
    assert!(
        after.contains("    #[instrumented_lock::instrumented]\n    fn make()"),
        "{after}"
    );
    assert!(
        after.contains("    #[instrumented_lock::instrumented]\n    async fn made()"),
        "{after}"
    );
}

#[test]
fn what_is_not_understood_is_left_alone_with_a_note() {
    let before = "\
use parking_lot::{const_mutex, Mutex as Lock};
use std::sync;
use std::sync::*;
use tokio::sync::RwLock;

struct Odd {
    lock: sync::Mutex<u8>,
    other: RwLock<u8>,
}

struct Mixed {
    std: std::sync::Mutex<u8>,
    tokio: tokio::sync::Mutex<u8>,
}

static LAZY: Lazy<std::sync::Mutex<u8>, fn() -> std::sync::Mutex<u8>> = Lazy::new(init);

macro_rules! lock {
    () => {
        std::sync::Mutex::new(0)
    };
}
";
    let (printed, files) = migrated(&[("lib.rs", before)], &[]);
    assert!(!files[0].contains("#[instrumented"), "{}", files[0]);
    assert!(
        files[0].starts_with("use parking_lot::const_mutex;\n"),
        "{}",
        files[0]
    );
    for note in [
        "1: `parking_lot::const_mutex` has no counterpart that is known: left alone",
        "1: `Mutex as Lock` is not seen by `#[instrumented]` under that name",
        "2: `std::sync` as a name: left alone",
        "3: `std::sync::*` has no counterpart that is known: left alone",
        "7: a lock by way of `sync::`: left alone",
        "11: a lock of another library is beside those that are changed: not annotated",
        "16: a static whose type names its function: not annotated",
        "18: locks that this macro makes are named by their lines",
    ] {
        assert!(
            printed.contains(&format!("note: /src/lib.rs:{note}")),
            "{note}\n{printed}"
        );
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let (printed, files) = migrated(&[("lib.rs", "fn {"), ("other.rs", "")], &[]);
    assert_eq!(files[0], "fn {");
    assert!(
        printed.contains("note: /src/lib.rs: not read: "),
        "{printed}"
    );
    let failed = Command::new(env!("CARGO_BIN_EXE_instrumented-lock-migrate"))
        .arg(Path::new("there/is/no/such/folder"))
        .output()
        .expect("it runs");
    assert!(!failed.status.success());
}
