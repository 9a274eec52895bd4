//! Changes the locks of a crate to instrumented ones: the imports, and `#[instrumented]` on what has locks
//! for fields and on what makes them.
//!
//! ```text
//! cargo run -p instrumented-lock-migrate -- migrate --dry-run ../my-crate
//! ```
//!
//! `names` knows which names are locks, `krate` reads a crate, `imports` and `annotate` say what is to be
//! changed in one file, `edit` changes it, `diff` shows it. What none of them understands stays as it is,
//! with a note.

mod annotate;
mod arguments;
mod diff;
mod edit;
mod imports;
mod krate;
mod names;

use arguments::Arguments;
use krate::Crate;
use std::io::Write as _;
use std::process::ExitCode;
use std::{env, fs, io};

fn main() -> ExitCode {
    let arguments = match Arguments::read(env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> io::Result<()> {
    let krate = Crate::read(&arguments.source)?;
    let mut output = io::stdout().lock();
    let (mut files, mut annotations) = (0, 0);
    for file in &krate.files {
        let changes = krate.changes(file, arguments.allow.as_deref());
        annotations += changes.annotations;
        let after = edit::apply(&file.text, &changes.edits);
        if after != file.text {
            files += 1;
            let hunks = diff::unified(&file.path, &file.text, &after);
            output.write_all(hunks.as_bytes())?;
            if !arguments.is_dry_run {
                fs::write(&file.path, after)?;
            }
        }
        for note in &changes.notes {
            writeln!(output, "note: {}:{}", file.path.display(), note)?;
        }
    }
    for note in &krate.notes {
        writeln!(output, "note: {note}")?;
    }
    let verb = if arguments.is_dry_run {
        "would change"
    } else {
        "changed"
    };
    writeln!(
        output,
        "{verb} {files} files, {annotations} items get `#[instrumented]`"
    )?;
    if files > 0 {
        writeln!(
            output,
            "next: `instrumented-lock` in the [dependencies] of Cargo.toml, then `cargo fmt` and \
             `cargo check`; what that refuses is a rule (docs/lints.md) to follow or to `--allow`"
        )?;
    }
    Ok(())
}
