//! [`Site`]: a line that acquires, and whose it is.

/// A line that acquires.
pub(crate) type Site = &'static std::panic::Location<'static>;

/// Whether a file of this path may be one of `lock_api`'s: whether it has the name of one.
///
/// Written so that the compiler knows the answer where it knows the path, as [`is_lock_apis`] is.
#[inline(always)]
pub(crate) fn may_be_lock_apis(file: &str) -> bool {
    file.ends_with("mutex.rs") || file.ends_with("rwlock.rs")
}

/// Whether a file of this path is one of `lock_api`'s: `…/lock_api-0.5.0/src/mutex.rs`, or without the
/// version.
#[inline(always)]
pub(crate) fn is_lock_apis(file: &str) -> bool {
    const NAME: &[u8] = b"lock_api";
    /// The longest version, with a separator.
    const VERSION: usize = 16;
    // Behind the name come a separator, perhaps a version, `src` and the file.
    const SHORTEST: usize = "src/mutex.rs".len();
    const LONGEST: usize = VERSION + "src/remutex.rs".len();

    if !may_be_lock_apis(file) {
        return false;
    }
    let file = file.as_bytes();
    let is_folder = |after: usize| {
        let Some(start) = file.len().checked_sub(after + 1 + NAME.len()) else {
            return false;
        };
        let end = start + NAME.len();
        file[start..end] == *NAME
            && matches!(file[end], b'-' | b'/' | b'\\')
            && (start == 0 || matches!(file[start - 1], b'/' | b'\\'))
    };
    (SHORTEST..LONGEST).any(is_folder)
}

/// Whether a file of this path is no user's: the standard library's, `lock_api`'s or this crate's. Such a
/// line is given where a function was called through a pointer, which does not know who calls.
pub(crate) fn is_nobodys(file: &str) -> bool {
    let own = file!().strip_suffix("stats/site.rs").unwrap_or(file!());
    file.starts_with(own)
        || is_lock_apis(file)
        // As the compiler was given them, and where its sources are installed.
        || file.starts_with("/rustc/")
        || file.contains("/rustlib/src/rust/library/")
        || file.contains("\\rustlib\\src\\rust\\library\\")
}

/// The same, or what locks are made of, by the paths that a stack has.
pub(crate) fn is_of_locks(file: &str) -> bool {
    const CRATES: [&str; 5] = [
        "/parking_lot-0.",
        "/parking_lot_core-0.",
        "/lock_api-0.",
        "/backtrace-0.",
        "/compat/parking_lot-0.",
    ];
    let own = file!().strip_suffix("stats/site.rs").unwrap_or(file!());
    is_nobodys(file)
        || file.contains(&format!("/{own}"))
        || file.starts_with("library/")
        || CRATES.iter().any(|folder| file.contains(folder))
}

/// A file without the part of its path that says where this machine keeps things: of a crate from a registry
/// `name-1.2.3/src/file.rs`, of any other absolute path the crate's folder and what follows. A relative path
/// stays as it is.
pub(crate) fn without_machine(file: &str) -> &str {
    let is_separator = |c: char| c == '/' || c == '\\';
    let has_drive = file.as_bytes().get(1) == Some(&b':');
    if !file.starts_with(is_separator) && !has_drive {
        return file;
    }
    // Where each component starts.
    let separators = file.match_indices(is_separator);
    let starts: Vec<_> = separators.map(|(at, _)| at + 1).collect();
    let component = |number: usize| {
        let rest = starts.get(number).map_or("", |&start| &file[start..]);
        rest.split(is_separator).next().unwrap_or(rest)
    };
    let from = |number: usize| starts.get(number).map(|&start| &file[start..]);
    let numbers = || 0..starts.len();
    let two = |first, second| {
        let found = |&at: &usize| component(at) == first && component(at + 1) == second;
        numbers().find(found)
    };
    // `registry/src/<index>/name-1.2.3/…` and `git/checkouts/name-<hash>/…`, then the crate's own folder.
    let below_cargo = two("registry", "src")
        .and_then(|at| from(at + 3))
        .or_else(|| two("git", "checkouts").and_then(|at| from(at + 2)));
    let is_source = |&at: &usize| ["src", "tests", "examples", "benches"].contains(&component(at));
    let source = numbers().rfind(is_source).filter(|&at| at > 0);
    below_cargo
        .or_else(|| source.and_then(|at| from(at - 1)))
        .or_else(|| from(starts.len().saturating_sub(2)))
        .unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_shown_without_the_folders_of_this_machine() {
        for (file, expected) in [
            (
                "/home/me/.cargo/registry/src/index.example.org-1949cf8c6b5b557f/r2d2-0.8.10/src/lib.rs",
                "r2d2-0.8.10/src/lib.rs",
            ),
            (
                "C:\\me\\registry\\src\\index\\r2d2-0.8.10\\src\\a\\src\\lib.rs",
                "r2d2-0.8.10\\src\\a\\src\\lib.rs",
            ),
            (
                "/home/me/.cargo/git/checkouts/pool-0123456789abcdef/4e5f6a7/core/src/lib.rs",
                "pool-0123456789abcdef/4e5f6a7/core/src/lib.rs",
            ),
            (
                "/home/me/other/src/deep/store.rs",
                "other/src/deep/store.rs",
            ),
            ("/home/me/other/build.rs", "other/build.rs"),
            ("/build.rs", "build.rs"),
            ("/src/lib.rs", "src/lib.rs"),
            ("src/lib.rs", "src/lib.rs"),
            (
                "crates/registry/src/x/src/lib.rs",
                "crates/registry/src/x/src/lib.rs",
            ),
            ("<unnamed>", "<unnamed>"),
        ] {
            assert_eq!(without_machine(file), expected);
        }
    }

    #[test]
    fn files_of_the_standard_library_of_lock_api_and_of_this_crate_are_nobodys() {
        for file in [
            file!(),
            "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/ops/function.rs",
            "/home/me/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/option.rs",
            "C:\\rust\\lib\\rustlib\\src\\rust\\library\\core\\src\\option.rs",
            "/home/me/.cargo/registry/src/index.example.org-1949cf8c6b5b557f/lock_api-0.5.0/src/mutex.rs",
            "/lock_api-0.10.12-beta.1/src/remutex.rs",
            "vendor/lock_api/src/rwlock.rs",
            "C:\\registry\\lock_api-0.5.0\\src\\rwlock.rs",
        ] {
            assert!(is_nobodys(file), "{file}");
        }
        for file in [
            "src/mutex.rs",
            "mutex.rs",
            "src/lock_api.rs",
            "crates/my_lock_api_user/src/store/mutex.rs",
            "/home/me/.cargo/registry/src/index.example.org-1949cf8c6b5b557f/other-0.5.0/src/rwlock.rs",
            "library/core/src/lib.rs",
            "src/facade.rs",
        ] {
            assert!(!is_nobodys(file), "{file}");
        }
    }

    #[test]
    fn files_of_a_stack_are_of_locks_or_of_who_uses_them() {
        let own = format!("/home/me/{}", file!());
        for file in [
            &*own,
            "/home/me/.cargo/registry/src/index/parking_lot_core-0.10.0/src/word_lock.rs",
            "/rustc/59807616e1fa/library/std/src/thread/mod.rs",
        ] {
            assert!(is_of_locks(file), "{file}");
        }
        let others = [
            "/home/me/instrumented-lock-user/src/main.rs",
            "/home/me/.cargo/registry/src/index/r2d2-0.8.10/src/lib.rs",
        ];
        assert!(!others.iter().any(|file| is_of_locks(file)));
    }
}
