//! The metadata service of an object store, under load, with a report on its locks.
//!
//! `cargo run --release --example namespace -- [OPTIONS] [DIR]`; `--help` says more, and
//! `examples/README.md` how to read the report. The service is
//! `instrumented_lock_examples::namespace`.

use indicatif::{ProgressBar, ProgressStyle};
use instrumented_lock::{registry, report};
use instrumented_lock_examples::namespace::{
    Failure, Invocation, Loaded, Namespace, Options, Plan, Served, USAGE, Until, grouped, load,
    serve, summary,
};
use std::env;
use std::fmt;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    match Options::parse(env::args_os().skip(1).collect::<Vec<_>>()).and_then(invoke) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the report has seen enough of it.
        Err(Failure::Output(reason)) if reason.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            say(format_args!("namespace: {failure}"));
            ExitCode::from(failure.status())
        }
    }
}

fn invoke(invocation: Invocation) -> Result<(), Failure> {
    match invocation {
        Invocation::Help => writeln!(io::stdout(), "{USAGE}").map_err(Failure::Output),
        Invocation::Run(options) => run(&options),
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    let root = options.root.clone().unwrap_or_else(repository);
    let namespace = Namespace::new();
    let loaded = load_with_progress(&root, &namespace)?;
    let served = serve_with_progress(&namespace, &loaded, options)?;
    let summary = summary(&root, &loaded, options.threads, &served);
    print(options, &summary).map_err(Failure::Output)?;
    warn_of_unreadable(&loaded);
    Ok(())
}

/// The root of the repository that this was built in.
fn repository() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}

fn print(options: &Options, summary: &str) -> io::Result<()> {
    let mut stdout = io::stdout();
    if options.json {
        say(format_args!("{summary}"));
        serde_json::to_writer_pretty(&stdout, &registry::snapshot())?;
        return writeln!(stdout);
    }
    writeln!(stdout, "{summary}")?;
    let snapshot = registry::snapshot();
    if options.wide {
        write!(stdout, "{snapshot:#}")
    } else {
        report::print(&snapshot)
    }
}

/// Last, where it is not scrolled away, and on standard error, where it is seen even when the
/// report goes to a file.
fn warn_of_unreadable(loaded: &Loaded) {
    if loaded.unreadable > 0 {
        let n = grouped(loaded.unreadable);
        say(format_args!(
            "\nskipped, because they could not be read: {n}"
        ));
        for entry in &loaded.reasons {
            say(format_args!("  {entry}"));
        }
        let more = loaded.unreadable - loaded.reasons.len() as u64;
        if more > 0 {
            say(format_args!("  and {} more", grouped(more)));
        }
    }
}

/// On standard error. `eprintln!` would panic where nothing can be written there.
fn say(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

// Progress bars draw on standard error, and nothing at all where that is not a terminal.

fn load_with_progress(root: &Path, namespace: &Namespace) -> Result<Loaded, Failure> {
    let spinner = ProgressBar::new_spinner();
    let loaded = load(root, namespace, |loaded| {
        spinner.set_message(format!(
            "loading: {} keys",
            grouped(loaded.keys.len() as u64)
        ));
        spinner.tick();
    });
    spinner.finish_and_clear();
    loaded
}

fn serve_with_progress(
    namespace: &Namespace,
    loaded: &Loaded,
    options: &Options,
) -> Result<Served, Failure> {
    let until = Until::Elapsed(options.duration);
    let plan = Plan {
        threads: options.threads,
        until,
        seed: 0,
    };
    let bar = ProgressBar::new(millis(options.duration));
    if let Ok(style) = ProgressStyle::with_template("serving {wide_bar} {msg}") {
        bar.set_style(style);
    }
    let served = serve(namespace, &loaded.keys, &plan, |done, elapsed| {
        bar.set_position(millis(elapsed.min(options.duration)));
        bar.set_message(format!("{} operations", grouped(done)));
    });
    bar.finish_and_clear();
    served
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
