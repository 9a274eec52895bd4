//! A whole program: how many requests the example `namespace` serves, of those that it serves with
//! the feature `stats` off. Two builds, which this has cargo make, and which run in turn.

use crate::output::{Output, Table, short};
use instrumented_lock_benches::measure::{in_turns, median};
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output as Printed};

/// Threads, and the bar.
const THREADS: [(usize, f64); 3] = [(2, 0.96), (8, 0.94), (64, 0.90)];
const SECONDS: &str = "1";
const ROUNDS: usize = 9;

/// Folder of the target directory, and how cargo is told what is in there.
const BUILDS: [(&str, &[&str]); 2] = [
    ("with-stats", &["--features", "stats"]),
    ("without-stats", &[]),
];

pub(crate) fn show(output: &mut Output) {
    let ([with, without], tree) = match prepared() {
        Ok(prepared) => prepared,
        Err(reason) => return println!("\na whole program: skipped, {reason}"),
    };
    let rounds = output.rounds(ROUNDS);
    let mut table = Table::new(["threads", "stats off", "stats on", "ratio", "bar"]);
    for (threads, bar) in THREADS {
        let rate = |program| rate(program, &tree, threads);
        let one = |round| in_turns(round, || rate(&with), || rate(&without));
        let (on, off): (Vec<_>, Vec<_>) = (0..rounds).map(one).unzip();
        let ratios = on.iter().zip(&off).map(|(on, off)| on / off);
        let ratio = median(ratios.collect());
        let what = format!("a whole program, threads: {threads}, stats on, of stats off");
        table.row([
            threads.to_string(),
            short(median(off)),
            short(median(on)),
            format!("{ratio:.2}"),
            output.at_least(what, ratio, bar, ""),
        ]);
    }
    table.print(&format!(
        "a whole program: requests a second that the example namespace serves, median of {rounds} \
         runs of {SECONDS} s in turn"
    ));
}

/// The example, built with and without the feature, and what it serves; or why there is none.
fn prepared() -> Result<([PathBuf; 2], PathBuf), String> {
    // This program lies in the target directory, in the folder of its profile.
    let program = env::current_exe().map_err(|reason| reason.to_string())?;
    let target = program.ancestors().nth(2).unwrap_or(Path::new("target"));
    let target = target.join("program");
    println!(
        "\nbuilding the example namespace twice, in {}",
        target.display()
    );
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    for (folder, features) in BUILDS {
        let built = Command::new(&cargo)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["build", "--release", "--quiet", "--example", "namespace"])
            .args(["-p", "instrumented-lock-examples", "--no-default-features"])
            .args(features)
            .arg("--target-dir")
            .arg(target.join(folder))
            .output();
        let built = built.map_err(|reason| format!("cargo cannot be run: {reason}"))?;
        if !built.status.success() {
            return Err(format!("cargo cannot build it:\n{}", errors(&built)));
        }
    }
    let programs = BUILDS.map(|(folder, _)| target.join(folder).join("release/examples/namespace"));
    let tree = target.join("tree");
    match plant(&tree) {
        Ok(()) => Ok((programs, tree)),
        Err(reason) => Err(format!("there is no {}: {reason}", tree.display())),
    }
}

/// Makes a tree of 8,000 empty files: about as many as this repository has once it is built, and
/// always the same.
fn plant(tree: &Path) -> io::Result<()> {
    for bucket in 0..32 {
        let bucket = tree.join(format!("volume-{}/bucket-{bucket}", bucket / 4));
        fs::create_dir_all(&bucket)?;
        for key in 0..250 {
            fs::write(bucket.join(format!("key-{key}")), "")?;
        }
    }
    Ok(())
}

/// Requests a second of one run, as its summary says them: `…: 1,234 operations, 567 a second`.
fn rate(program: &Path, tree: &Path, threads: usize) -> f64 {
    let run = Command::new(program)
        .args(["--threads", &threads.to_string(), "--seconds", SECONDS])
        .arg(tree)
        .output()
        .expect("what was built can be run");
    assert!(run.status.success(), "{}", errors(&run));
    let text = String::from_utf8_lossy(&run.stdout);
    let rate = text.split_once(" operations, ").and_then(|(_, rest)| {
        let (rate, _) = rest.split_once(" a second")?;
        rate.replace(',', "").parse().ok()
    });
    rate.expect("the summary says how many operations a second")
}

fn errors(of: &Printed) -> String {
    String::from_utf8_lossy(&of.stderr).into_owned()
}
