//! What [`instrumented_lock`] has recorded, in the formats of other tools.
//!
//! Every format is a pure function of a [`Snapshot`](instrumented_lock::Snapshot): of a whole run, of an
//! interval, or of what another process has left as JSON.
//!
//! | module, and feature | |
//! |---|---|
//! | [`prometheus`] | Prometheus' text format and OpenMetrics; with the feature `prometheus-native` native histograms, with `prometheus-client` a collector for that crate |
//! | `otlp` | OpenTelemetry's protocol, over HTTP and over gRPC: features `otlp-http`, `otlp-grpc` |
//! | [`pprof`] | profiles as Go's mutex and block profiles, for `go tool pprof` and what else reads them |
//! | [`folded`] | folded stacks, for `inferno-flamegraph` and `flamegraph.pl` |
//! | [`html`] | one page for a browser, with nothing to load from anywhere |
//! | `serve` | all of these over HTTP: on a thread of its own, or as a router for axum |
//!
//! The features `prometheus`, `pprof`, `folded` and `html` are on by default. Of those `pprof` alone pulls in other
//! crates: `prost` and `flate2`; `prometheus-native` pulls in `prost`, `serve` pulls in axum, hyper and tokio, `otlp-http` ureq, `otlp-grpc` tonic.

#[cfg(feature = "folded")]
pub mod folded;
#[cfg(feature = "html")]
pub mod html;
#[cfg(feature = "otlp")]
pub mod otlp;
#[cfg(any(feature = "folded", feature = "pprof"))]
mod parts;
#[cfg(feature = "pprof")]
pub mod pprof;
#[cfg(feature = "prometheus")]
pub mod prometheus;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(any(feature = "folded", feature = "pprof"))]
mod stacks;

// What all formats are tested with.
#[cfg(all(test, any(feature = "pprof", feature = "prometheus-native")))]
#[path = "../tests/support/mod.rs"]
mod support;
