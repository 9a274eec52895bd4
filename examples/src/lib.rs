//! What the example programs are made of, so that tests can run it too. The command lines are in
//! `examples/<name>/main.rs`.
//!
//! - [`namespace`]: the metadata service of an object store, under load.

pub mod namespace;
