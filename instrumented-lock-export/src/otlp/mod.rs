//! OpenTelemetry's protocol for metrics: OTLP over HTTP, or over gRPC.
//!
//! ```no_run
//! # #[cfg(any(feature = "otlp-http", feature = "otlp-grpc"))] {
//! // To where OTEL_EXPORTER_OTLP_ENDPOINT says, once a minute, until it is dropped.
//! let exporter = instrumented_lock_export::otlp::start()?;
//! # }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! [`request`] makes the message of a snapshot and sends nothing.
//!
//! # What is sent
//!
//! The metrics of [`prometheus`](crate::prometheus), under the names that OpenTelemetry gives to such things:
//! `instrumented_lock.wait` for `instrumented_lock_wait_seconds`, `instrumented_lock.acquisitions`, and so on,
//! with the attributes `lock`, `kind`, `mode` and `site`. Distributions are exponential histograms of scale 3.
//!
//! Times are in **nanoseconds**, unit `ns`, though seconds are the custom. The boundaries of this library's
//! buckets are the powers of 2^(1/8) of a nanosecond, and those of scale 3 the powers of 2^(1/8) of the unit:
//! in nanoseconds they are the same, and every bucket is sent as it was counted. In seconds none is a boundary
//! of the other, whatever the scale. A bucket beyond 2^63 ns, which is 292 years, is sent as the next one.
//! Counts are exact; sums are exact up to 2^53 ns, 104 days, and have 53 bits beyond.
//!
//! # Nothing is lost or counted twice
//!
//! What is sent is cumulative: each message has all that has happened since locks were first used, and says
//! since when. If the collector is away, the next message that arrives has everything; if an answer is lost
//! and the message is sent again, it says the same. A new process has a new start, and a
//! `service.instance.id` of its own.
//!
//! # Cost
//!
//! A snapshot and its message once an interval, on a thread of its own: some milliseconds and 2 MB, before
//! compression, for a thousand lock classes in use. Collectors take 4 MB where nobody has told them
//! otherwise. Between messages nothing.

#[cfg(any(feature = "otlp-http", feature = "otlp-grpc"))]
mod exporter;
#[cfg(feature = "otlp-grpc")]
mod grpc;
#[cfg(feature = "otlp-http")]
mod http;
mod message;
mod settings;
#[cfg(any(feature = "otlp-http", feature = "otlp-grpc"))]
mod transport;

pub use crate::prometheus::Series;
#[cfg(any(feature = "otlp-http", feature = "otlp-grpc"))]
pub use exporter::{Exporter, Status, start};
pub use message::request;
pub use opentelemetry_proto;
pub use settings::{Invalid, Protocol, Settings};
