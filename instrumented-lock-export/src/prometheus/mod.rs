//! Prometheus' text format, version 0.0.4, and OpenMetrics, version 1.0.0.
//!
//! ```
//! use instrumented_lock::registry;
//! use instrumented_lock_export::prometheus::{Format, Sites, text};
//!
//! let snapshot = registry::snapshot();
//! let sites = Sites::of(&snapshot, Sites::DEFAULT);
//! let body = text(&snapshot, &sites, Format::Text);
//! # assert!(body.starts_with("# HELP instrumented_lock_"));
//! ```
//!
//! # What there is
//!
//! | name | labels | |
//! |---|---|---|
//! | `instrumented_lock_wait_seconds` | lock, kind, mode | histogram: how long acquisitions waited, an immediate one counting 0 |
//! | `instrumented_lock_hold_seconds` | lock, kind, mode | histogram: how long the lock was held, over holds that have ended |
//! | `instrumented_lock_sleep_seconds` | lock, kind | histogram: how long threads slept in a condition variable |
//! | `instrumented_lock_acquisitions_total` | lock, kind, mode | |
//! | `instrumented_lock_contended_total` | lock, kind, mode | acquisitions that had to block |
//! | `instrumented_lock_try_failures_total` | lock, kind, mode | `try_` calls that gave up at once |
//! | `instrumented_lock_timeouts_total` | lock, kind, mode | timed calls that gave up |
//! | `instrumented_lock_bounces_total` | lock, kind, mode | acquisitions by another thread than the one before |
//! | `instrumented_lock_hand_over_seconds_total` | lock, kind | waiting while the lock was free |
//! | `instrumented_lock_site_wait_seconds_total` | lock, kind, mode, site | waiting, by the line that waited |
//! | `instrumented_lock_blame_seconds_total` | lock, kind, mode, site | waiting of others, by the line that held the lock meanwhile |
//! | `instrumented_lock_waiting` | lock, kind, mode | gauge: who waits now |
//! | `instrumented_lock_holding` | lock, kind, mode | gauge: who holds now |
//! | `instrumented_lock_longest_wait_seconds` | lock, kind, mode | gauge: the longest wait that goes on |
//! | `instrumented_lock_longest_hold_seconds` | lock, kind, mode | gauge: the longest hold that goes on |
//! | `instrumented_lock_sleeping` | lock, kind | gauge: who sleeps in a condition variable now |
//! | `instrumented_lock_live_locks` | lock, kind | gauge |
//! | `instrumented_lock_recording` | | gauge: 1 while recording is on |
//!
//! A mode of a class has its series once it has been used; `try_failures` and `timeouts` once there has been
//! one; the longest wait and hold while there is one.
//!
//! # Buckets
//!
//! Eight to a histogram, a factor of 16 apart: 256 ns, 4 µs, 66 µs, 1 ms, 17 ms, 268 ms, 4.3 s and
//! the rest. The boundaries are powers of two of a nanosecond, which the snapshot has too, so every count is
//! exact.
//!
//! # Cardinality
//!
//! At most 35 series for each class and mode in use, some 4 KB of text. A line of the program is a label, `site`, only where it
//! is one of [`Sites`]; all others of a class and mode are `site="other"`.

mod buckets;
#[cfg(feature = "otlp")]
pub(crate) mod collected;
mod families;
mod format;
pub(crate) mod sink;
mod sites;
mod write;

pub use format::Format;
pub use sites::Sites;

use instrumented_lock::Snapshot;
use write::Writer;

/// The snapshot as metrics. Take a snapshot of the whole run, not an interval: counters of Prometheus go up.
pub fn text(snapshot: &Snapshot, sites: &Sites, format: Format) -> String {
    let mut writer = Writer::new(format);
    families::write(&mut writer, snapshot, sites);
    writer.finish()
}
