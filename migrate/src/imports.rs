//! `use` declarations, and paths that are written out.

use crate::edit::{Edit, indentation};
use crate::krate::{Changes, File};
use crate::names::{LOCKS, Library, library_of};
use proc_macro2::{TokenStream, TokenTree};
use std::fmt::Write as _;
use std::ops::Range;
use syn::spanned::Spanned as _;
use syn::visit::Visit;
use syn::{ItemUse, UseTree};

/// One name that a file imports.
pub(crate) struct Import {
    /// As it is called in the file.
    pub(crate) name: String,
    /// As it is called where it comes from.
    original: String,
    /// Whose it is, if it becomes something else.
    pub(crate) library: Option<Library>,
    /// From `crate`, `self` or `super`.
    pub(crate) is_of_crate: bool,
}

impl Import {
    pub(crate) fn is_lock(&self) -> bool {
        LOCKS.contains(&self.original.as_str())
    }
}

/// A name in a tree of imports.
struct Leaf {
    path: Vec<String>,
    /// `name` or `name as other`.
    text: String,
    name: String,
    is_glob: bool,
}

/// What is imported in the file, and whether anything comes from the crate's own modules by `*`.
pub(crate) fn of_file(syntax: &syn::File) -> (Vec<Import>, bool) {
    let (mut imports, mut has_glob) = (Vec::new(), false);
    for item in uses(syntax) {
        let mut leaves = Vec::new();
        leaves_of(&item.tree, &mut Vec::new(), &mut leaves);
        for leaf in leaves {
            let first = leaf.path.first().map(String::as_str);
            let is_of_crate = matches!(first, Some("crate" | "self" | "super"));
            has_glob |= leaf.is_glob && is_of_crate;
            let original = leaf.path.last().cloned().unwrap_or_default();
            imports.push(Import {
                library: library_of(&leaf.path).filter(|library| library.has(&original)),
                name: leaf.name,
                original,
                is_of_crate,
            });
        }
    }
    (imports, has_glob)
}

fn uses(syntax: &syn::File) -> Vec<&ItemUse> {
    struct Uses<'a>(Vec<&'a ItemUse>);

    impl<'a> Visit<'a> for Uses<'a> {
        fn visit_item_use(&mut self, item: &'a ItemUse) {
            self.0.push(item);
        }
    }

    let mut uses = Uses(Vec::new());
    uses.visit_file(syntax);
    uses.0
}

fn leaves_of(tree: &UseTree, prefix: &mut Vec<String>, found: &mut Vec<Leaf>) {
    let mut leaf = |last: &str, text: String, name: String| {
        let mut path = prefix.clone();
        path.push(last.to_owned());
        let is_glob = last == "*";
        found.push(Leaf {
            path,
            text,
            name,
            is_glob,
        });
    };
    match tree {
        UseTree::Path(inner) => {
            prefix.push(inner.ident.to_string());
            leaves_of(&inner.tree, prefix, found);
            prefix.pop();
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            leaf(&name, name.clone(), name.clone());
        }
        UseTree::Rename(inner) => {
            let (name, other) = (inner.ident.to_string(), inner.rename.to_string());
            leaf(&name, format!("{name} as {other}"), other);
        }
        UseTree::Glob(_) => leaf("*", "*".to_owned(), "*".to_owned()),
        UseTree::Group(group) => {
            for tree in &group.items {
                leaves_of(tree, prefix, found);
            }
        }
    }
}

/// Changes the imports of the file, and the paths that are written out.
pub(crate) fn change(file: &File, has_classes: bool, changes: &mut Changes) {
    let mut done = Vec::new();
    for item in uses(&file.syntax) {
        done.push(item.span().byte_range());
        change_import(file, item, has_classes, changes);
    }
    if let Ok(tokens) = file.text.parse::<TokenStream>() {
        let found = flat(tokens);
        change_paths(file, &found, &done, has_classes, changes);
    }
}

fn change_import(file: &File, item: &ItemUse, has_classes: bool, changes: &mut Changes) {
    let at = item.span().byte_range().start;
    let mut leaves = Vec::new();
    leaves_of(&item.tree, &mut Vec::new(), &mut leaves);
    for leaf in &leaves {
        let Some(library) = library_of(&leaf.path) else {
            let is_module = leaf.path == ["std", "sync"] || leaf.path == ["parking_lot"];
            if is_module {
                let path = leaf.path.join("::");
                changes.note(file, at, format!("`{path}` as a name: left alone"));
            }
            continue;
        };
        let name = leaf.path.last().map_or("", String::as_str);
        let is_lock_of_std = library == Library::Std && !LOCKS.contains(&name);
        let is_all_of_it = leaf.is_glob && leaf.path.len() == library.path().len() + 1;
        if !library.has(name) && (library == Library::ParkingLot || is_all_of_it) {
            let path = leaf.path.join("::");
            changes.note(
                file,
                at,
                format!("`{path}` has no counterpart that is known: left alone"),
            );
        } else if library.has(name) && leaf.name != name && !is_lock_of_std {
            let text = format!(
                "`{}` is not seen by `#[instrumented]` under that name",
                leaf.text
            );
            changes.note(file, at, text);
        }
    }
    let moved: Vec<_> = leaves.iter().filter(|leaf| moves(leaf).is_some()).collect();
    if moved.is_empty() {
        return;
    }
    if replace_prefixes(&item.tree, &mut Vec::new(), has_classes, changes) == moved.len() {
        return;
    }
    // Some stay: they keep their declaration, and the others get one of their own.
    let head = &file.text[at..item.use_token.span.byte_range().end];
    let indent = indentation(&file.text, at);
    let mut text = String::new();
    if let Some(kept) = kept(&item.tree, &mut Vec::new()) {
        text = format!("{head} {kept};");
    }
    for library in [Library::Std, Library::ParkingLot] {
        let names: Vec<_> = moved
            .iter()
            .filter(|leaf| moves(leaf) == Some(library))
            .map(|leaf| leaf.text.as_str())
            .collect();
        let path = library.replacement(has_classes);
        let names = match names[..] {
            [] => continue,
            [name] => name.to_owned(),
            _ => format!("{{{}}}", names.join(", ")),
        };
        if !text.is_empty() {
            text.push('\n');
            text.push_str(indent);
        }
        let _ = write!(text, "{head} {path}::{names};");
    }
    // Instead of what may have been said of parts.
    let range = item.span().byte_range();
    changes
        .edits
        .retain(|edit| !(range.contains(&edit.range.start)));
    changes.edits.push(Edit { range, text });
}

fn moves(leaf: &Leaf) -> Option<Library> {
    let name = leaf.path.last()?;
    library_of(&leaf.path).filter(|library| library.has(name))
}

/// Replaces the prefixes of subtrees that move as a whole; returns how many names these have.
fn replace_prefixes(
    tree: &UseTree,
    prefix: &mut Vec<String>,
    has_classes: bool,
    changes: &mut Changes,
) -> usize {
    match tree {
        UseTree::Group(group) => group
            .items
            .iter()
            .map(|tree| replace_prefixes(tree, prefix, has_classes, changes))
            .sum(),
        UseTree::Path(path) if prefix.is_empty() => {
            let mut leaves = Vec::new();
            leaves_of(tree, prefix, &mut leaves);
            let library = leaves.first().and_then(moves);
            let Some(library) = library else { return 0 };
            if !leaves.iter().all(|leaf| moves(leaf) == Some(library)) {
                return 0;
            }
            let mut end = path.ident.span();
            if library == Library::Std {
                // `std::{sync::Mutex, ..}` cannot be, for all of it moves.
                let UseTree::Path(sync) = &*path.tree else {
                    return 0;
                };
                end = sync.ident.span();
            }
            let range = path.ident.span().byte_range().start..end.byte_range().end;
            let text = library.replacement(has_classes).to_owned();
            changes.edits.push(Edit { range, text });
            leaves.len()
        }
        _ => 0,
    }
}

/// The tree without the names that move.
fn kept(tree: &UseTree, prefix: &mut Vec<String>) -> Option<String> {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            let inner = kept(&path.tree, prefix);
            prefix.pop();
            inner.map(|inner| format!("{}::{inner}", path.ident))
        }
        UseTree::Group(group) => {
            let kept: Vec<_> = group
                .items
                .iter()
                .filter_map(|tree| kept(tree, prefix))
                .collect();
            match &kept[..] {
                [] => None,
                // `std::sync::{self}` is no `std::sync::self`.
                [one] if one != "self" => Some(one.clone()),
                all => Some(format!("{{{}}}", all.join(", "))),
            }
        }
        leaf => {
            let mut leaves = Vec::new();
            leaves_of(leaf, prefix, &mut leaves);
            let leaf = leaves.pop()?;
            moves(&leaf).is_none().then_some(leaf.text)
        }
    }
}

/// A token that counts in a path, and where it stands.
struct Token {
    text: String,
    range: Range<usize>,
}

/// All tokens in the order of the text.
fn flat(tokens: TokenStream) -> Vec<Token> {
    fn collect(tokens: TokenStream, found: &mut Vec<Token>) {
        for token in tokens {
            let range = token.span().byte_range();
            match token {
                TokenTree::Group(group) => {
                    found.push(Token {
                        text: "(".to_owned(),
                        range: range.start..range.start,
                    });
                    collect(group.stream(), found);
                    found.push(Token {
                        text: ")".to_owned(),
                        range: range.end..range.end,
                    });
                }
                other => found.push(Token {
                    text: other.to_string(),
                    range,
                }),
            }
        }
    }

    let mut found = Vec::new();
    collect(tokens, &mut found);
    found
}

/// `std::sync::Mutex`, also in macros.
fn change_paths(
    file: &File,
    tokens: &[Token],
    done: &[Range<usize>],
    has_classes: bool,
    changes: &mut Changes,
) {
    let is_done = |at: usize| done.iter().any(|range| range.contains(&at));
    for (index, token) in tokens.iter().enumerate() {
        if is_done(token.range.start) {
            continue;
        }
        // `crate::std::sync` is somebody else's; `::std::sync` is std's.
        let before = index.checked_sub(3).map(|before| &tokens[before..index]);
        let is_continued = before.is_some_and(|before| {
            before[1].text == ":" && before[2].text == ":" && is_name(&before[0].text)
        });
        for library in [Library::Std, Library::ParkingLot] {
            let prefix = library.path();
            let Some(last) = path_at(&tokens[index..], prefix) else {
                continue;
            };
            let name = &tokens[index + last];
            if is_continued || name.text == "{" {
                continue;
            }
            if library.has(&name.text) {
                let end = tokens[index + last - 3].range.end;
                let range = token.range.start..end;
                let text = library.replacement(has_classes).to_owned();
                changes.edits.push(Edit { range, text });
            } else if library == Library::ParkingLot {
                let text = format!(
                    "`parking_lot::{}` has no counterpart that is known",
                    name.text
                );
                changes.note(file, token.range.start, format!("{text}: left alone"));
            }
        }
        let is_of_module = token.text == "sync"
            && !is_continued
            && path_at(&tokens[index..], &["sync"])
                .is_some_and(|last| LOCKS.contains(&tokens[index + last].text.as_str()));
        if is_of_module {
            changes.note(
                file,
                token.range.start,
                "a lock by way of `sync::`: left alone",
            );
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The position of what follows the path, where it stands there.
fn path_at(tokens: &[Token], path: &[&str]) -> Option<usize> {
    let mut at = 0;
    for name in path {
        let is_there = tokens.get(at)?.text == *name
            && tokens.get(at + 1)?.text == ":"
            && tokens.get(at + 2)?.text == ":";
        if !is_there {
            return None;
        }
        at += 3;
    }
    tokens.get(at).map(|_| at)
}
