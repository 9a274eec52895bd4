//! Reports: pure functions of a [`Snapshot`](crate::Snapshot), one format a file.

mod table;
mod units;

pub use table::{TableOptions, print, table, table_with};
