//! Prometheus' text format, version 0.0.4, and OpenMetrics, version 1.0.0; native histograms as protobuf.
//!
//! ```
//! use instrumented_lock::registry;
//! use instrumented_lock_export::prometheus::{Format, Series, text};
//!
//! let snapshot = registry::snapshot();
//! let series = Series::of(&snapshot, Series::DEFAULT);
//! let body = text(&snapshot, &series, Format::Text);
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
//! | `instrumented_lock_instance_contended_total` | lock, kind, `lock_instance` | acquisitions that had to block, by the lock of the class |
//! | `instrumented_lock_instance_wait_seconds_total` | lock, kind, `lock_instance` | how long those waited |
//! | `instrumented_lock_instance_blame_seconds_total` | lock, kind, `lock_instance` | waiting of others while this lock of the class was held |
//! | `instrumented_lock_operations_total` | operation | how often it was opened |
//! | `instrumented_lock_operation_acquisitions_total` | operation, lock | acquisitions within it, of holds that have ended |
//! | `instrumented_lock_operation_contended_total` | operation, lock | acquisitions within it that had to block |
//! | `instrumented_lock_operation_wait_seconds_total` | operation, lock | how long it waited |
//! | `instrumented_lock_operation_hold_seconds_total` | operation, lock | how long it held the lock |
//! | `instrumented_lock_operation_blame_seconds_total` | operation, lock | waiting of others while it held the lock |
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
//! With the feature `prometheus-native` a server that asks for native histograms gets them, one bucket for each
//! of the snapshot's, beside these: `native::protobuf`. A program that has a registry of the crate `prometheus-client`
//! registers `client::Collector` there: the feature `prometheus-client`.
//!
//! # Cardinality
//!
//! At most 35 series for each class and mode in use, some 4 KB of text, and what [`Series`] tells apart: a line
//! of the program is a label, `site`, only where it is one of those that cost most; all others of a class and mode
//! are `site="other"`. So it is with `lock_instance`, the label or address of a lock of a class that was waited
//! for, and with `operation`: at most 3 series for each of 100 locks and one more for each class, at most 6 for
//! each of 100 pairs of an operation and a lock and one more for each lock. (`instance` itself is Prometheus' word
//! for the program that it scrapes.)

pub(crate) mod buckets;
#[cfg(feature = "prometheus-client")]
pub mod client;
#[cfg(any(
    feature = "otlp",
    feature = "prometheus-native",
    feature = "prometheus-client"
))]
pub(crate) mod collected;
mod families;
mod format;
mod instances;
#[cfg(feature = "prometheus-native")]
pub mod native;
mod operations;
#[cfg(feature = "prometheus-native")]
mod proto;
mod series;
pub(crate) mod sink;
#[cfg(any(feature = "prometheus-native", feature = "prometheus-client"))]
mod sparse;
mod write;

pub use format::Format;
pub use series::Series;

use instrumented_lock::Snapshot;
use write::Writer;

/// The snapshot as metrics. Take a snapshot of the whole run, not an interval: counters of Prometheus go up.
pub fn text(snapshot: &Snapshot, series: &Series, format: Format) -> String {
    let mut writer = Writer::new(format);
    families::write(&mut writer, snapshot, series);
    writer.finish()
}
