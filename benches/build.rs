//! Writes a thousand locks, one a line: a lock that nobody annotated has its class from the line
//! that makes it, and a macro's lines are all the same.

use std::{env, fs, path::PathBuf};

fn main() {
    let locks = "    Mutex::new(0),\n".repeat(1000);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("thousand.rs"), format!("[\n{locks}]\n")).expect("the folder is there");
    println!("cargo::rerun-if-changed=build.rs");
}
