//! Reports: pure functions of a [`Snapshot`], one format a file.

mod json;
mod lock_stat;
mod operations;
mod order;
mod stacks;
mod table;
pub(crate) mod units;
mod who;

pub use json::json;
pub(crate) use json::quote;
pub use lock_stat::lock_stat;
pub use order::dot;
pub use table::{TableOptions, print, table, table_with};
pub use units::{count, time};

use crate::snapshot::Snapshot;
use std::fmt;

/// The [table](table()); the wide one for `{:#}`.
impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = TableOptions {
            wide: f.alternate(),
            ..Default::default()
        };
        f.write_str(&table_with(self, options))
    }
}
