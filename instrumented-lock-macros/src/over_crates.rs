//! The rules for bodies, run over the sources of other crates: how `tests/lints_over_crates` looks
//! for false alarms. Every function and method is walked as if it were annotated.

use crate::body::{self, Reading, Returned, Settings, Unless};
use crate::rule::Rules;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Block, ImplItem, ImplItemFn, ItemFn, ItemImpl, Signature, TraitItemFn};

#[test]
#[ignore = "needs sources, in the directory that LINTS_OVER names"]
fn lints_over_crates_print_what_they_find() {
    let root = std::env::var_os("LINTS_OVER").expect("LINTS_OVER names a directory");
    let reading = match std::env::var_os("LINTS_POISONING") {
        Some(_) => Reading::Poisoning,
        None => Reading::Plain,
    };
    let mut files = Vec::new();
    sources(Path::new(&root), &mut files);
    let mut totals = [0, 0, 0, 0];
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let Ok(parsed) = syn::parse_file(&text) else {
            println!("{}: not read", file.display());
            continue;
        };
        let mut scan = Scan {
            file,
            reading,
            others: HashSet::new(),
            returning: HashMap::new(),
            bodies: 0,
            locking: 0,
            findings: 0,
        };
        scan.visit_file(&parsed);
        let counts = [
            text.lines().count(),
            scan.bodies,
            scan.locking,
            scan.findings,
        ];
        for (total, count) in totals.iter_mut().zip(counts) {
            *total += count;
        }
    }
    let [lines, bodies, locking, findings] = totals;
    println!(
        "{} files, {lines} lines, {bodies} bodies, {locking} of them take a lock: \
         {findings} findings",
        files.len()
    );
    assert!(bodies > 0, "no function in {}", root.display());
}

fn sources(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

struct Scan<'a> {
    file: &'a Path,
    reading: Reading,
    /// Of the `impl` or the function.
    others: HashSet<String>,
    returning: HashMap<String, Returned>,
    bodies: usize,
    locking: usize,
    findings: usize,
}

impl Scan<'_> {
    fn check(&mut self, sig: &Signature, body: &Block) {
        self.bodies += 1;
        self.locking += usize::from(body::summary(body, &self.others).has_locked);
        let settings = Settings {
            allowed: Rules::default(),
            denied: Rules::default(),
            locking: &HashSet::new(),
            returning: &self.returning,
            own: None,
            others: &self.others,
            reading: self.reading,
            // There is no compiler: names have to do.
            is_asking: false,
        };
        for finding in body::walk(sig, body, settings).findings {
            // Nothing here has a rank.
            if matches!(finding.unless, Some(Unless::Ordered { .. })) {
                continue;
            }
            self.findings += 1;
            let (file, line) = (self.file.display(), finding.at.line());
            println!("{file}:{line}: {}", finding.message);
        }
    }
}

impl Visit<'_> for Scan<'_> {
    fn visit_item_fn(&mut self, function: &ItemFn) {
        self.others = body::in_body(&function.block, false);
        self.returning.clear();
        self.check(&function.sig, &function.block);
    }

    fn visit_item_impl(&mut self, item: &ItemImpl) {
        self.others = body::in_impl(item, false);
        self.returning = HashMap::new();
        for part in &item.items {
            if let ImplItem::Fn(method) = part
                && let Some(guard) = body::summary(&method.block, &self.others).returned
            {
                self.returning.insert(method.sig.ident.to_string(), guard);
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_impl_item_fn(&mut self, method: &ImplItemFn) {
        self.check(&method.sig, &method.block);
    }

    fn visit_trait_item_fn(&mut self, method: &TraitItemFn) {
        if let Some(body) = &method.default {
            self.others = body::in_body(body, false);
            self.check(&method.sig, body);
        }
    }
}
