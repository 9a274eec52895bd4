//! What the example programs are made of, so that tests can run it too. The command lines are in
//! `examples/<name>/main.rs`.
//!
//! - [`namespace`]: the metadata service of an object store, under load.
//! - Public reports of lock trouble, reproduced, diagnosed and mended: [`ozone_lock_metrics`],
//!   [`config_parse`], [`ord_map_cache`], [`hsm_coordinator`]; [`incident`] is what they share.
//! - Where exactly: [`slow_request`] is about operations, [`hot_shard`] about single locks of a class,
//!   [`callers`] about stacks, [`timeline`] about what happened when. [`what_if`] predicts what would come of a change,
//!   and looks whether it does.

pub mod callers;
pub mod config_parse;
pub mod hot_shard;
pub mod hsm_coordinator;
pub mod incident;
pub mod namespace;
pub mod ord_map_cache;
pub mod ozone_lock_metrics;
pub mod slow_request;
pub mod timeline;
pub mod what_if;
