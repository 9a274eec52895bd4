//! A crate: its files, and which names in each of them are locks.

use crate::annotate;
use crate::edit::{self, Edit};
use crate::imports::{self, Import};
use crate::names::LOCKS;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

pub(crate) struct Crate {
    pub(crate) files: Vec<File>,
    /// Of files that nobody can read.
    pub(crate) notes: Vec<String>,
}

pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) syntax: syn::File,
    imports: Vec<Import>,
    /// Whether names come from other modules of the crate without being named.
    has_glob: bool,
    has_modules: bool,
}

/// What is to be done with one file.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) edits: Vec<Edit>,
    /// `line: what is left alone`.
    pub(crate) notes: Vec<String>,
    pub(crate) annotations: usize,
}

impl Changes {
    pub(crate) fn note(&mut self, file: &File, at: usize, text: impl AsRef<str>) {
        let line = edit::line(&file.text, at);
        self.notes.push(format!("{line}: {}", text.as_ref()));
    }
}

impl Crate {
    /// Reads the folder of a package, any other folder, or one file.
    pub(crate) fn read(source: &Path) -> io::Result<Self> {
        let mut paths = Vec::new();
        let is_package = source.join("Cargo.toml").exists() && source.join("src").is_dir();
        let root = if is_package {
            source.join("src")
        } else {
            source.to_owned()
        };
        sources(&root, &mut paths)?;
        let (mut files, mut notes) = (Vec::new(), Vec::new());
        let manifest = fs::read_to_string(source.join("Cargo.toml")).unwrap_or_default();
        let is_edition = |line: &str| line.trim_start().starts_with("edition");
        if is_package && !manifest.lines().any(is_edition) {
            notes.push(
                "edition 2015: wants `extern crate instrumented_lock;` in the root of the crate"
                    .to_owned(),
            );
        }
        for path in paths {
            let text = fs::read_to_string(&path)?;
            if text.starts_with('\u{feff}') || text.starts_with("#!/") {
                notes.push(format!("{}: begins oddly, left alone", path.display()));
                continue;
            }
            match syn::parse_file(&text) {
                Ok(syntax) => files.push(File::new(path, text, syntax)),
                Err(error) => notes.push(format!("{}: not read: {error}", path.display())),
            }
        }
        Ok(Crate { files, notes })
    }

    pub(crate) fn changes(&self, file: &File, allow: Option<&str>) -> Changes {
        let mut changes = Changes::default();
        let locks = self.locks_in(file);
        annotate::items(file, &locks, allow, &mut changes);
        imports::change(file, self.has_classes(file), &mut changes);
        changes
    }

    /// The names that are locks in the file, of those that are changed.
    fn locks_in(&self, file: &File) -> HashSet<String> {
        let imported = self.files.iter().flat_map(|file| &file.imports);
        let of_crate: HashSet<_> = imported
            .filter(|import| import.library.is_some())
            .map(|import| import.name.as_str())
            .collect();
        LOCKS
            .into_iter()
            .filter(|&name| match file.import(name) {
                Some(import) => {
                    import.library.is_some() || import.is_of_crate && of_crate.contains(name)
                }
                None => file.has_glob && of_crate.contains(name),
            })
            .map(str::to_owned)
            .collect()
    }

    /// Whether the locks of the file are to be those whose types have classes: some of its fields do, or
    /// those of a file that takes its names from here.
    fn has_classes(&self, file: &File) -> bool {
        let own = |file: &File| annotate::has_classes(file, &self.locks_in(file));
        let takes = |other: &File| {
            let is_imported = |import: &Import| import.is_of_crate && import.is_lock();
            other.has_glob || other.imports.iter().any(is_imported)
        };
        own(file) || file.has_modules && self.files.iter().any(|other| takes(other) && own(other))
    }
}

impl File {
    fn new(path: PathBuf, text: String, syntax: syn::File) -> Self {
        let (imports, has_glob) = imports::of_file(&syntax);
        let has_modules = syntax
            .items
            .iter()
            .any(|item| matches!(item, syn::Item::Mod(_)));
        File {
            path,
            text,
            syntax,
            imports,
            has_glob,
            has_modules,
        }
    }

    /// What is imported under that name.
    fn import(&self, name: &str) -> Option<&Import> {
        self.imports.iter().find(|import| import.name == name)
    }
}

fn sources(path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_file() {
        found.push(path.to_owned());
        return Ok(());
    }
    let entries: io::Result<Vec<_>> = fs::read_dir(path)?.collect();
    let mut paths: Vec<_> = entries?.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default();
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            sources(&path, found)?;
        } else if path.is_file() && is_source {
            found.push(path);
        }
    }
    Ok(())
}
