//! `cargo run --release --example timeline`: a convoy, a starving writer and a lock that two threads take from each
//! other, as a trace for <https://ui.perfetto.dev>. `examples/README.md` says what to look at; the system is
//! `instrumented_lock_examples::timeline`.
//!
//! The trace is in the folder for temporary files unless it is named: `-- FILE.json`. `-- FILE.svg` draws it instead.

mod picture;

use instrumented_lock_examples::timeline::{assert_found, run};
use std::fs::{self, File};
use std::path::PathBuf;
use std::{env, io};

/// What the picture says of what happens to each lock.
const CAPTIONS: [(&str, &str); 3] = [
    ("Shop::stock", "a convoy"),
    ("Shop::prices", "a starving writer"),
    ("Shop::till", "ping-pong"),
];

fn main() -> io::Result<()> {
    let named = env::args_os().nth(1).map(PathBuf::from);
    let file = named.unwrap_or_else(|| env::temp_dir().join("timeline.trace.json"));
    let timeline = run();
    println!("{timeline}");
    for found in assert_found(&timeline) {
        println!("{found}");
    }
    if file.extension().is_some_and(|ending| ending == "svg") {
        fs::write(&file, picture::svg(&timeline, &CAPTIONS))?;
        println!("drawn into {}", file.display());
    } else {
        timeline.write_trace(File::create(&file)?)?;
        println!("open {} with https://ui.perfetto.dev", file.display());
    }
    Ok(())
}
