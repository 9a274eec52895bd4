//! Reports: pure functions of a [`Snapshot`](crate::Snapshot), one format a file.

mod lock_stat;
mod table;
pub(crate) mod units;
mod who;

pub use lock_stat::lock_stat;
pub use table::{TableOptions, print, table, table_with};
